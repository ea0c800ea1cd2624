"""`python -m weights2code` is `w2c`."""

import sys

from weights2code.cli import main

if __name__ == "__main__":
    sys.exit(main())
