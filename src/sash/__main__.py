"""`python -m sash`: the command line."""

from sash.cli import main

if __name__ == "__main__":
    main()
