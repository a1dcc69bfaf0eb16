"""The dashboard: a local web page that shows runs, live while they train."""
