"""Train the models that `measure.py` decompiles: `python benchmarks/decompile/make.py gallery|damaged`."""

from __future__ import annotations

import sys
from pathlib import Path

from networks import make
from recipes import DAMAGED, GALLERY

from rules import RULES

FOLDER = Path("runs/decompile")


def main() -> None:
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in ("gallery", "damaged"):
        sys.exit(__doc__)
    make({"gallery": GALLERY, "damaged": DAMAGED}[name], RULES, FOLDER / name)


if __name__ == "__main__":
    main()
