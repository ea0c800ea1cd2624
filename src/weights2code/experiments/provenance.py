"""Where numbers come from: machine, versions, date and commit, for the summaries that carry them."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

#: Packages whose versions may change a result.
PACKAGES = ("weights2code", "torch", "numpy", "scipy", "sympy", "z3-solver")


def provenance() -> dict[str, Any]:
    """Date, machine, versions and, in a checkout, the commit."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
        },
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def commit() -> str | None:
    """The commit of the checkout that this package runs from; None if it is installed from elsewhere."""
    here = Path(__file__).resolve()
    if not _git("ls-files", "--error-unmatch", here.name, at=here.parent):
        return None  # a repository around the place, perhaps, but not ours
    found = _git("rev-parse", "HEAD", at=here.parent)
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", at=here.parent.parent)
    return f"{found} with changes" if found and changed else found


def _git(*arguments: str, at: Path) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=at, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def processor() -> str:
    """The processor's name, as well as the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
