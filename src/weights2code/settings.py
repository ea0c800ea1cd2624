"""Settings of a run: one dataclass that is the command line's options, the API's and `config.json`."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from weights2code.errors import InputError

LAYOUT_CHOICES = ("auto", "tagging", "autoregressive", "concat")
DEVICE_CHOICES = ("cpu", "cuda", "auto")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to search. Sizes left at None are up to the ladder (`fast`) or to the paper's table (`paper`).

    Parameters
    ----------
    seed : of data, initial weights and noise.
    recipe : "fast", the ladder of architectures, or "paper", the paper's own numbers.
    layout : "auto" lets the search decide between tagging and autoregressive.
    layers, heads, submlps, arity, hidden : a fixed architecture instead of the ladder; `heads` are
        location heads in `fast` and pointer heads in `paper`.
    pointer, equality, mean, sum : further heads of those kinds, in a fixed architecture.
    members, epochs, samples, length, l1 : override the recipe's numbers.
    hide : stream variables and offsets that nothing may read, such as "y[t-1]" (the paper's masks).
    device : "cpu", "cuda" or "auto".
    time_limit : seconds after which no further rung is started.
    """

    seed: int = 0
    recipe: Literal["fast", "paper"] = "fast"
    layout: Literal["auto", "tagging", "autoregressive", "concat"] = "auto"
    layers: int | None = None
    heads: int | None = None
    submlps: int | None = None
    arity: int | None = None
    hidden: int | None = None
    pointer: int | None = None
    equality: int | None = None
    mean: int | None = None
    sum: int | None = None
    members: int | None = None
    epochs: int | None = None
    samples: int | None = None
    length: int | None = None
    l1: float = 0.0
    hide: tuple[str, ...] = ()
    device: str = "cpu"
    time_limit: float = 120.0

    def __post_init__(self) -> None:
        least = {"layers": 0, "heads": 0, "submlps": 0, "pointer": 0, "equality": 0, "mean": 0, "sum": 0,
                 "arity": 1, "hidden": 1, "members": 1, "epochs": 0, "samples": 1, "length": 1}  # fmt: skip
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and value < bound:
                raise InputError(f"--{name} must be at least {bound}, got {value}.")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed must lie between 0 and {2**32 - 1}, got {self.seed}.")
        if self.recipe not in ("fast", "paper"):
            raise InputError(f"unknown recipe {self.recipe!r}; choose fast or paper.")
        if self.layout not in LAYOUT_CHOICES:
            raise InputError(f"unknown layout {self.layout!r}; choose one of {', '.join(LAYOUT_CHOICES)}.")
        if self.device not in DEVICE_CHOICES:
            raise InputError(f"unknown device {self.device!r}; choose one of {', '.join(DEVICE_CHOICES)}.")
        if not (self.time_limit > 0 and math.isfinite(self.time_limit)):
            raise InputError(f"--time-limit must be a positive number of seconds, got {self.time_limit}.")
        if not (self.l1 >= 0 and math.isfinite(self.l1)):
            raise InputError(f"--l1 must not be negative, got {self.l1}.")

    def fixed_architecture(self) -> bool:
        """True if any size is given: then there is one rung, as asked."""
        sizes = ("layers", "heads", "submlps", "arity", "hidden", "pointer", "equality", "mean", "sum")
        return any(getattr(self, name) is not None for name in sizes)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "hide": list(self.hide)}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Settings:
        known = {field.name for field in fields(Settings)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise InputError(f"unknown settings: {', '.join(unknown)}.")
        return Settings(**{**data, "hide": tuple(data.get("hide", ()))})
