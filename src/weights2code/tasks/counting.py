"""Tasks that follow the whole past with a few numbers: totals, counts, running extrema, majorities."""

from __future__ import annotations

from math import inf

from weights2code.language import BITS, integers
from weights2code.tasks.declare import declare
from weights2code.tasks.task import Task

_DIGITS = integers(0, 9)
_NUMBERS = integers(0, 99)


def _majority(highest: int) -> Task:
    """`lead_k` is how often k was seen more than 0; on a tie the lower value wins."""
    leads = ["0", *(f"lead_{value}[t]" for value in range(1, highest + 1))]
    winner = str(highest)
    for value in reversed(range(highest)):
        others = leads[value + 1 :]
        most = f"max({', '.join(others)})" if others[1:] else others[0]
        winner = f"{value} if {leads[value]} >= {most} else {winner}"
    return declare(
        f"most frequent value so far among 0..{highest}, the lower one on a tie",
        BITS if highest == 1 else integers(0, highest),
        {f"lead_{k}": f"lead_{k}[t-1] + [x[t] == {k}] - [x[t] == 0]" for k in range(1, highest + 1)}
        | {"y": winner},
        mips=f"Majority_0_{highest}",
        language="most_frequent" if highest == 3 else None,
        window_class="c",
    )


TASKS = (
    declare("sum of the inputs so far", _NUMBERS, "y[t-1] + x[t]", name="sum", mips="Sum_All"),
    declare("number of even inputs so far", _DIGITS, "y[t-1] + 1 - x[t] % 2", mips="Evens_Counter"),
    declare("smallest input so far", _DIGITS, "min(y[t-1], x[t])", mips="Min_Seen", start={"y": inf}),
    declare("largest input so far", _NUMBERS, "max(y[t-1], x[t])", mips="Max_Seen"),
    *(_majority(highest) for highest in (1, 2, 3)),
)
