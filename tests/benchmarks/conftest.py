"""Benchmarks are scripts, not a package: their folders are where tests import from."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("", "ledger", "reliability", "random_programs", "own_data", "tables", "decompile")
sys.path += [str(ROOT / "benchmarks" / folder) for folder in FOLDERS] + [str(ROOT / "docs")]
