"""Functional decomposition: y = F(s(A), rest), found from which rows of A no context tells apart."""

from weights2code.symbolic.decomposition.stage import decomposition_stage, ends_stage

__all__ = ["decomposition_stage", "ends_stage"]
