"""Where the runs of a sweep take place: the options of `w2c bench` and `w2c experiment`, and their engine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from weights2code.cli.parser import whole
from weights2code.errors import InputError

if TYPE_CHECKING:
    from weights2code.experiments.engines import Engine


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add `--engine`, `--jobs` and `--address`."""
    group = parser.add_argument_group("where it runs")
    group.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="processes of this machine (default), or Ray (needs the extra: weights2code[ray])",
    )
    group.add_argument("--jobs", metavar="N", type=whole, help="runs at once; default as many as cores")
    group.add_argument(
        "--address",
        metavar="ADDRESS",
        help="a Ray cluster that is there, such as auto or HOST:6379; by default Ray starts one here",
    )


def engine_from(options: argparse.Namespace) -> Engine:
    """The engine that the options ask for; if they contradict each other, or Ray is missing, InputError."""
    if options.jobs is not None and options.jobs < 1:
        raise InputError(f"--jobs must be at least 1, got {options.jobs}.")
    if options.engine == "ray":
        from weights2code.experiments.engines.ray import Ray, imported

        imported()  # what is missing shows before anything is written
        return Ray(options.address, options.jobs, options.device or "cpu")
    if options.address is not None:
        raise InputError("--address is the address of a Ray cluster; it needs --engine ray.")
    from weights2code.experiments.engines.local import Local

    local = Local(options.jobs)
    if options.device in (None, "cpu"):
        return local
    from weights2code.experiments.engines.on_device import OnDevice
    from weights2code.training.search import pick_device

    device = pick_device(options.device)  # what is missing shows here too
    return OnDevice(local, str(device)) if device.type == "cuda" else local


def seeds_of(text: str) -> list[int]:
    """`0,1,2`, or ranges such as `0-4`, as numbers."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise InputError(f"--seeds must be whole numbers such as 0,1,2 or 0-4, got {text!r}.")
        found += range(int(first), int(last or first) + 1)
    if not found:
        raise InputError(f"--seeds names no seed: {text!r}.")
    return list(dict.fromkeys(found))
