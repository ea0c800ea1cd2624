"""What the texts of machines call. Each function is copied into the texts that use it (`machine_text`), so
that these stand beside `check.py` alone, which gives them `Fraction`, `Stopped`, `Unsuited`, `Table`,
`MOST_POWER`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weights2code.kernel.closing import MOST_POWER, Stopped, Table, Unsuited

__all__ = [
    "counted", "entered", "floor", "given", "mixed", "number", "power", "quotient", "relu", "select",
    "summed"
]  # fmt: skip


def given(a):
    return a if isinstance(a, (int, Fraction)) else Fraction(repr(float(a)))


def floor(a):
    return a if abs(a) == float("inf") else int(a // 1)


def number(a):
    if a != a:
        raise Stopped("infinity less infinity, or times zero, is no number")
    return a


def quotient(a, b):
    if abs(a) == float("inf"):
        return number(a / b)
    return 0 if abs(b) == float("inf") else Fraction(a) / Fraction(b)


def power(a, b):
    if abs(a) == float("inf") or abs(b) == float("inf") or b != int(b) or abs(b) > MOST_POWER:
        raise Unsuited("a power that is no small whole number has no exact value")
    return Fraction(a) ** int(b)


def relu(a):
    return a if a > 0.0 else 0.0


def entered(table, gap, key, value):
    """What a lookup goes over after one more position; the newest may not be seen yet."""
    waiting = (*table.waiting, (key, value))
    seen = len(waiting) - max(0, gap - 1)
    return Table(table.content | dict(waiting[:seen]), waiting[seen:])


def counted(table, key):
    return Table(table.content | {key: table.content.get(key, 0) + 1})


def summed(terms):
    total = next(terms)
    for term in terms:
        total = total + term
    return total


def mixed(x, table, low, high):
    """A value as the mix of the two rows of a table between which it lies."""
    place = min(max((x - low) / (high - low), 0.0), 1.0) * (len(table) - 1)
    left = min(int(place), len(table) - 2)
    share = place - left
    return [(1 - share) * a + share * b for a, b in zip(table[left], table[left + 1], strict=True)]


def select(query, kept, known, head, window=None, keys=()):
    """The value whose key and place score highest, the oldest of several; 0.0 if none reaches `null`.

    With a window nothing older is kept: none of the keys may score as high there.
    """
    content, recency, bias, null = head

    def score(key, back):
        if (query, key) not in known:
            known[query, key] = content(query, key)
        return known[query, key] - recency * back if recency else known[query, key]

    best, found, last = None, 0.0, len(bias) - 1
    for place, (key, value) in enumerate(kept):
        back = len(kept) - 1 - place
        reached = score(key, back) + bias[min(back, last)]
        if best is None or reached > best:
            best, found = reached, value
    if best < null:
        best, found = null, 0.0
    if window is not None:
        if kept[-1][0] not in keys:
            raise Unsuited("a head meets another key than was said")
        beyond = max(bias[min(window + 1, last) :])
        if len(kept) > window and any(score(key, window + 1) + beyond >= best for key in keys):
            raise Unsuited("a head may select what lies far back")
    return found
