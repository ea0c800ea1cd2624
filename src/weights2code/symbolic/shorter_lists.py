"""A list of rules without what it does not need: rules, tests, and a last value that another rule can take.

A list is put together from the top, each rule where it is right at once; what comes later often makes earlier
ones unnecessary. Whatever can go without making a row wrong goes, whole rules first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weights2code.language import Expr, Var, compile_numpy

#: The tests of a rule, and what it says where all of them hold; the last rule has none.
Tested = tuple[tuple[Expr, ...], Expr]


def shortened(
    rules: Sequence[Tested], columns: np.ndarray, target: np.ndarray, variables: Sequence[Var]
) -> list[Tested]:
    """The rules that are needed for a list that is right on all rows (n, k)."""
    evaluated: dict[Expr, np.ndarray] = {}

    def values(expr: Expr) -> np.ndarray:
        if expr not in evaluated:
            found = compile_numpy(expr, tuple(variables))(*columns.T)
            evaluated[expr] = np.broadcast_to(found, len(columns))
        return evaluated[expr]

    def right(some: Sequence[Tested]) -> bool:
        left = np.ones(len(target), bool)
        for tests, value in some:
            now = left.copy()
            for test in tests:
                now &= values(test) != 0
            if (values(value)[now] != target[now]).any():
                return False
            left &= ~now
        return True

    found = list(rules)
    shorter: list[Tested] | None = found
    while shorter is not None:
        found = shorter
        shorter = next((fewer for fewer in _with_less(found) if right(fewer)), None)
    return found


def _with_less(rules: list[Tested]) -> Iterator[list[Tested]]:
    """The list without one rule, with the last but one as the last, or without one test."""
    for place in range(len(rules) - 1):
        yield [*rules[:place], *rules[place + 1 :]]
    if len(rules) > 1:
        yield [*rules[:-2], ((), rules[-2][1])]
    for place, (tests, value) in enumerate(rules):
        for test in tests if len(tests) > 1 else ():
            kept = tuple(other for other in tests if other is not test)
            yield [*rules[:place], (kept, value), *rules[place + 1 :]]
