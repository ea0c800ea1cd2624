"""Value domains: what a column may hold. Proofs cover the whole domain; searches choose operators by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from weights2code.json_values import mapping, number, shown

Kind = Literal["bits", "integers", "reals"]
#: Whole numbers up to here are float64 numbers, each of them.
EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Domain:
    """Bits, integers low..high (both included), or reals between low and high."""

    kind: Kind
    low: float
    high: float

    @property
    def discrete(self) -> bool:
        return self.kind != "reals"

    @property
    def size(self) -> int:
        """How many values a discrete domain has: ask before listing them."""
        return int(self.high) - int(self.low) + 1

    def values(self) -> np.ndarray:
        """Every value of a discrete domain."""
        if not self.discrete:
            raise ValueError("a domain of reals has no list of values")
        return np.arange(self.low, self.high + 1)

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {"kind": self.kind, "low": self.low, "high": self.high}

    @staticmethod
    def from_dict(data: Any) -> Domain:
        """Inverse of `to_dict`; what holds no value, or none of its kind, is refused."""
        kind = mapping(data, "a domain")["kind"]
        low, high = (number(data[end], "the end of a domain") for end in ("low", "high"))
        whole = float(low).is_integer() and float(high).is_integer()
        if kind not in get_args(Kind) or low > high or (kind != "reals" and not whole):
            raise ValueError(f"not a domain: {shown(data)}")
        if kind == "bits" and (low, high) != (0, 1):
            raise ValueError("bits are 0 and 1")
        return Domain(kind, low, high)

    def __str__(self) -> str:
        if self.kind == "bits":
            return "bits"
        if self.kind == "integers":
            return f"integers {int(self.low)}..{int(self.high)}"
        return f"reals {self.low:g}..{self.high:g}"


BITS = Domain("bits", 0, 1)


def integers(low: int, high: int) -> Domain:
    return Domain("integers", low, high)


def reals(low: float, high: float) -> Domain:
    return Domain("reals", low, high)


def infer(values: np.ndarray) -> Domain:
    """The narrowest domain that holds `values`; beyond 2^53 every float64 is whole, which says nothing."""
    low, high = float(np.min(values)), float(np.max(values))
    if low >= -EXACT and high <= EXACT and np.all(values == np.round(values)):
        return BITS if low >= 0 and high <= 1 else integers(int(low), int(high))
    return reals(low, high)


def uniform(rng: np.random.Generator, domains: Sequence[Domain], count: int, length: int) -> np.ndarray:
    """Independent uniform draws, shape (count, length, columns); the upper end of reals is left out."""
    columns = [
        rng.integers(int(d.low), int(d.high) + 1, (count, length)).astype(float)
        if d.discrete
        else rng.uniform(d.low, d.high, (count, length))
        for d in domains
    ]
    return np.stack(columns, axis=-1)
