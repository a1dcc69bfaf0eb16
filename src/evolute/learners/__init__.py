"""Learners train members: one to a file, named for the file."""
