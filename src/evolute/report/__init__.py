"""What people see of a run: while it goes on, at its end, and afterwards. Reads core and store only, no plug-in."""
