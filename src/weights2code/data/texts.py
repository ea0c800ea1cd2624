"""Texts as numbers: columns of the same texts share their numbers, so that they can be compared and copied.

The numbers begin at 1, in the order of the alphabet, which nothing downstream may use. 0 is no text: what
lies before the start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from weights2code.data.cells import NUMBER
from weights2code.language.domain import Category


def numbered(
    places: np.ndarray, texts: Sequence[str], numbers: Mapping[str, float], nothing: float = 0.0
) -> np.ndarray:
    """A column of texts (see `Column`) as the numbers that stand for them; a text that has none is -1."""
    return np.array([nothing, *(numbers.get(text, -1.0) for text in texts)])[places]


def shared_numbers(
    known: Mapping[str, Sequence[str]], declared: frozenset[str] = frozenset()
) -> tuple[dict[str, dict[str, float]], dict[str, tuple[Category, ...]]]:
    """For the texts of each column their numbers, and the texts that the numbers stand for.

    Columns that were `declared` to hold categories and hold nothing but whole numbers keep these.
    """
    numbers = {
        name
        for name in declared & set(known)
        if all(NUMBER.fullmatch(text) and _whole(text) for text in known[name])
    }
    codes: dict[str, dict[str, float]] = {}
    categories: dict[str, tuple[Category, ...]] = {}
    for group in _groups({name: set(texts) for name, texts in known.items()}):
        texts = sorted({text for name in group for text in known[name]})
        if all(name in numbers for name in group):
            texts.sort(key=float)
            shared: tuple[Category, ...] = tuple(int(float(text)) for text in texts)
        else:
            shared = tuple(texts)
        places = {text: float(place) for place, text in enumerate(texts, start=1)}
        for name in group:
            codes[name], categories[name] = places, shared
    return codes, categories


def _whole(text: str) -> bool:
    return float(text).is_integer() and str(int(float(text))) == text.removeprefix("+").removesuffix(".0")


def _groups(texts: Mapping[str, set[str]]) -> list[list[str]]:
    """Columns that share half of their texts: one text alone may mean two things."""
    groups: list[tuple[list[str], set[str]]] = []
    for name, own in texts.items():
        names, all_of_them = [name], set(own)
        rest = []
        for group, known in groups:
            if 2 * len(known & own) >= min(len(known), len(own)):
                names, all_of_them = group + names, all_of_them | known
            else:
                rest.append((group, known))
        groups = [*rest, (names, all_of_them)]
    return [group for group, _ in groups]
