"""What every node of a discrete graph does: routing hypotheses for heads, formulas for sub-MLPs."""

from weights2code.explain.by_value import ByValue
from weights2code.explain.explanation import (
    ExplainedGraph,
    MatchedGraph,
    match_heads,
    stream_values,
)
from weights2code.explain.hypotheses import (
    EqualityRetrieval,
    FixedOffset,
    Hypothesis,
    Nothing,
    OffsetExtremum,
    PrefixAggregate,
    WindowedExtremum,
)
from weights2code.explain.operators import OperatorFit, explain_operator
from weights2code.explain.own_heads import RunningHead, register
from weights2code.explain.routing import RouterMatch, compare_hypotheses

__all__ = [
    "ByValue",
    "EqualityRetrieval",
    "ExplainedGraph",
    "FixedOffset",
    "Hypothesis",
    "MatchedGraph",
    "Nothing",
    "OffsetExtremum",
    "OperatorFit",
    "PrefixAggregate",
    "RouterMatch",
    "RunningHead",
    "WindowedExtremum",
    "compare_hypotheses",
    "explain_operator",
    "match_heads",
    "register",
    "stream_values",
]
