"""One run, from its config to its result: assembled, trained, restored, forked, replayed and read."""
