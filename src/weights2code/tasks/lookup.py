"""Tasks that one attention head solves alone, by equality or by averaging (paper, "Attention Patterns").

They read the whole prefix, but through the inputs only, so they are tagged.
"""

from __future__ import annotations

from weights2code.language import Retrieval, Var, integers, reals
from weights2code.tasks.declare import declare
from weights2code.tasks.paper import CONTINUOUS

_KEYS = integers(0, 7)

TASKS = (
    declare(
        "the value at the last earlier position whose key equals the query, 0 if there is none",
        {"key": _KEYS, "value": integers(0, 99), "query": _KEYS},
        Retrieval(key="key", value="value", query=Var("query"), gap=1),
        name="retrieve_value_by_key",
        window_class="c",
        appendix=True,
        tagged=True,
    ),
    declare(
        "mean of the inputs so far",
        reals(0, 1),
        {
            "total": Var("total", 1) + Var("x"),
            "count": Var("count", 1) + 1,
            "y": Var("total") / Var("count"),
        },
        name="prefix_mean",
        window_class="c",
        category=CONTINUOUS,
        appendix=True,
        tagged=True,
    ),
)
