"""Where numbers come from: the command, the commit, the machine, the date, the versions."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from weights2code import __version__
from weights2code.experiments.engines.local import cores

LIBRARIES = ("torch", "numpy", "scipy", "sympy", "z3-solver", "aalpy", "pyoperon", "ray")


def provenance(command: str, device: str = "cpu") -> dict[str, Any]:
    """What a reader needs to make the numbers again."""
    return {
        "command": command,
        "commit": commit(),
        "src": source(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(device),
        "versions": versions(),
    }


#: Marks a commit or a tree that was changed since and not committed.
CHANGES = "+changes"


def commit() -> str | None:
    """The commit of the checkout that the package runs from, marked if it was changed since; else None."""
    return _checkout("--short=10", "HEAD")


def source() -> str | None:
    """The Git tree of the folder that the package lies in, marked likewise: the same code, the same name."""
    return _checkout("HEAD:../../")


def _checkout(*what: str) -> str | None:
    try:
        found = _git("rev-parse", *what)
        # a package that merely lies inside somebody else's checkout has no commit
        if not _git("ls-files", "--", Path(__file__).name):
            return None
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", "../..")
    except (OSError, subprocess.SubprocessError):
        return None
    return found + (CHANGES if changed else "")


def _git(*words: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()


def machine(device: str = "cpu") -> dict[str, Any]:
    """Processor, cores that this process may use, system; and the accelerator, if it was asked for."""
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": cores(),
        "system": platform.system(),
        "python": platform.python_version(),
    }
    if device != "cpu":
        import torch

        if torch.cuda.is_available():
            found["accelerator"] = torch.cuda.get_device_name()
    return found


def place(machine: Mapping[str, Any]) -> str:
    """The machine in words."""
    found = f"{machine['processor']}, {machine['cores']} cores"
    return found + (f", {machine['accelerator']}" if "accelerator" in machine else "")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Of the package and of the libraries that numbers depend on, as far as they are installed."""
    found = {"weights2code": __version__, "python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
