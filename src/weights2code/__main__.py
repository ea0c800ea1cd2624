"""`python -m weights2code` is `w2c`."""

from weights2code.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
