"""What people see of a run: while it trains, at its end, and afterwards. Imports no plug-in."""
