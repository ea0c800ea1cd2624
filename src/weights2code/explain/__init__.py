"""What every node of a discrete graph does: routing hypotheses for heads, formulas for sub-MLPs."""

from weights2code.explain.explanation import (
    ExplainedGraph,
    RouterMatch,
    UnmatchedHead,
    explain,
    match_routers,
    require_matches,
    stream_values,
    unmatched_heads,
)
from weights2code.explain.operators import OperatorFit, explain_operator
from weights2code.explain.routing import (
    EqualityRetrieval,
    Evidence,
    FixedOffset,
    Hypothesis,
    Nothing,
    OffsetExtremum,
    PrefixAggregate,
    WindowedExtremum,
    compare_hypotheses,
)

__all__ = [
    "EqualityRetrieval",
    "Evidence",
    "ExplainedGraph",
    "FixedOffset",
    "Hypothesis",
    "Nothing",
    "OffsetExtremum",
    "OperatorFit",
    "PrefixAggregate",
    "RouterMatch",
    "UnmatchedHead",
    "WindowedExtremum",
    "compare_hypotheses",
    "explain",
    "explain_operator",
    "match_routers",
    "require_matches",
    "stream_values",
    "unmatched_heads",
]
