"""The records, protocols and loop of Evolute. Imports nothing but the standard library and numpy."""
