"""A package, so that no other one called `tests` comes first: some libraries install theirs."""
