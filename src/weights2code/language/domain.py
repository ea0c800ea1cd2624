"""Value domains: what a column may hold. Proofs cover the whole domain; searches choose operators by it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from weights2code.json_values import items, mapping, number, shown, text, truth

#: What a category is called: a text, or a whole number that stands for something.
Category = str | int
Kind = Literal["bits", "integers", "reals", "texts"]
#: Whole numbers up to here are float64 numbers, each of them.
EXACT = 2**53
#: Categories that a sentence names.
MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Domain:
    """Bits, integers low..high (both included), reals between low and high, or texts.

    Texts are numbered from 1 on, in the order of `categories`, and the numbers mean nothing but which text it
    is; 0, which is none of them, is what lies before the start. Bits that are written as True and False are
    `truths`: they are computed with as bits, and go in and out as truth values.
    """

    kind: Kind
    low: float
    high: float
    categories: tuple[Category, ...] = ()
    truths: bool = field(default=False, compare=False)

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
        listed = {"categories": list(self.categories)} if self.categories else {}
        listed |= {"truths": True} if self.truths else {}
        return {"kind": self.kind, "low": self.low, "high": self.high, **listed}

    @staticmethod
    def from_dict(data: Any) -> Domain:
        """Inverse of `to_dict`; what holds no value, or none of its kind, is refused."""
        kind = mapping(data, "a domain")["kind"]
        low, high = (number(data[end], "the end of a domain") for end in ("low", "high"))
        whole = float(low).is_integer() and float(high).is_integer()
        if kind not in get_args(Kind) or low > high or (kind != "reals" and not whole):
            raise ValueError(f"not a domain: {shown(data)}")
        if (kind == "bits" and (low, high) != (0, 1)) or (kind != "bits" and data.get("truths")):
            raise ValueError("bits are 0 and 1, and only they are truth values")
        listed = read_categories(data.get("categories", []))
        if (kind == "texts") != bool(listed) or (listed and (low, high) != (1, len(set(listed)))):
            raise ValueError(f"not a domain: {shown(data)}")
        return Domain(kind, low, high, listed, truth(data.get("truths", False), "truths"))

    def __str__(self) -> str:
        if self.categories:
            some = [quoted(category) for category in self.categories[:MOST_NAMED]]
            rest = len(self.categories) - len(some)
            if rest:
                return f"{', '.join(some)} and {rest} other texts"
            return f"{', '.join(some[:-1])} or {some[-1]}" if len(some) > 1 else some[0]
        if self.kind == "bits":
            return "True or False" if self.truths else "bits"
        if self.kind == "integers":
            return f"integers {int(self.low)}..{int(self.high)}"
        return f"reals {self.low:g}..{self.high:g}"


BITS = Domain("bits", 0, 1)
TRUTHS = Domain("bits", 0, 1, truths=True)


def texts(categories: Sequence[Category]) -> Domain:
    """One of these categories; they have no order."""
    return Domain("texts", 1, len(categories), tuple(categories))


def read_categories(data: Any) -> tuple[Category, ...]:
    """Categories out of a JSON file."""
    found = items(data, "categories")
    return tuple(item if isinstance(item, int) else text(item, "a category") for item in found)


def quoted(category: Category | None) -> str:
    """A text as Python writes it, in double quotes; None is nothing."""
    if not isinstance(category, str):
        return str(category)
    written = json.dumps(category, ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in written)


def integers(low: int, high: int) -> Domain:
    return Domain("integers", low, high)


def reals(low: float, high: float) -> Domain:
    return Domain("reals", low, high)


def infer(values: np.ndarray) -> Domain:
    """The narrowest domain that holds `values`; beyond 2^53 every float64 is whole, which says nothing."""
    low, high = float(np.min(values)), float(np.max(values))
    return between(
        low, high, whole=low >= -EXACT and high <= EXACT and bool((values == np.round(values)).all())
    )


def between(low: float, high: float, *, whole: bool) -> Domain:
    """The narrowest domain of numbers between two, all of which are whole, or not."""
    if not whole:
        return reals(low, high)
    return BITS if low >= 0 and high <= 1 else integers(int(low), int(high))


def uniform(rng: np.random.Generator, domains: Sequence[Domain], count: int, length: int) -> np.ndarray:
    """Independent uniform draws, shape (count, length, columns); the upper end of reals is left out."""
    columns = [
        rng.integers(int(d.low), int(d.high) + 1, (count, length)).astype(float)
        if d.discrete
        else rng.uniform(d.low, d.high, (count, length))
        for d in domains
    ]
    return np.stack(columns, axis=-1)
