"""From files, overrides and Python arguments to one resolved config in which every value knows where it came from."""
