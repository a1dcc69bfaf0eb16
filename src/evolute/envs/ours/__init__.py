"""Our own environments, one per file: each defines an `OurEnv` of its own name."""
