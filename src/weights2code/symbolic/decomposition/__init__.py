"""Rules taken apart: y = F(s(A), rest), found from which rows no context tells apart; sums and bounds."""

from weights2code.symbolic.decomposition.added import added_by_lag_stage, added_stage
from weights2code.symbolic.decomposition.either import either_stage
from weights2code.symbolic.decomposition.peeling import peeling_stage
from weights2code.symbolic.decomposition.repeated_functions import repeated_function_stage
from weights2code.symbolic.decomposition.repeated_tests import repeated_test_stage
from weights2code.symbolic.decomposition.stage import copies_stage, decomposition_stage, ends_stage

__all__ = [
    "added_by_lag_stage",
    "added_stage",
    "copies_stage",
    "decomposition_stage",
    "either_stage",
    "ends_stage",
    "peeling_stage",
    "repeated_function_stage",
    "repeated_test_stage",
]
