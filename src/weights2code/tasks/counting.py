"""Tasks that follow the whole past with a few numbers: totals, counts, running extrema, majorities."""

from __future__ import annotations

from functools import reduce
from math import inf

from weights2code.language import BITS, Const, Definition, Expr, Var, integers, maximum, minimum, where
from weights2code.tasks.declare import declare
from weights2code.tasks.task import Task

_DIGITS = integers(0, 9)
_NUMBERS = integers(0, 99)

x, y1 = Var("x"), Var("y", 1)


def _majority(highest: int) -> Task:
    """`lead_k` is how often k was seen more than 0; on a tie the lower value wins."""
    leads: list[Expr] = [Const(0), *(Var(f"lead_{value}") for value in range(1, highest + 1))]
    steps: dict[str, Definition] = {
        f"lead_{value}": Var(f"lead_{value}", 1) + x.equals(value) - x.equals(0)
        for value in range(1, highest + 1)
    }
    winner: Expr = Const(highest)
    for value in reversed(range(highest)):
        winner = where(leads[value] >= reduce(maximum, leads[value + 1 :]), value, winner)
    return declare(
        f"most frequent value so far among 0..{highest}, the lower one on a tie",
        BITS if highest == 1 else integers(0, highest),
        {**steps, "y": winner},
        mips=f"Majority_0_{highest}",
        language="most_frequent" if highest == 3 else None,
        window_class="c",
    )


TASKS = (
    declare("sum of the inputs so far", _NUMBERS, y1 + x, name="sum", mips="Sum_All"),
    declare("number of even inputs so far", _DIGITS, y1 + 1 - x % 2, mips="Evens_Counter"),
    declare("smallest input so far", _DIGITS, minimum(y1, x), mips="Min_Seen", start={"y": inf}),
    declare("largest input so far", _NUMBERS, maximum(y1, x), mips="Max_Seen"),
    *(_majority(highest) for highest in (1, 2, 3)),
)
