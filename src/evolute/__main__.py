"""`python -m evolute` is the program `evolute`."""

from evolute.cli.main import main

if __name__ == "__main__":
    main()
