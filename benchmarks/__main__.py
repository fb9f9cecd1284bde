"""`python -m benchmarks SUITE`; without a suite, it lists them."""

from benchmarks.command import main

if __name__ == "__main__":
    raise SystemExit(main())
