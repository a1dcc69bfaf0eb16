"""What commands and pages show of a run, as plain data."""
