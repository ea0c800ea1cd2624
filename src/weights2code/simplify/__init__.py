"""Shorter and more readable formulas and recurrences that compute the same."""

from weights2code.simplify.cost import cost
from weights2code.simplify.expressions import simplify
from weights2code.simplify.recurrences import grouped_as_read, simplify_recurrence

__all__ = ["cost", "grouped_as_read", "simplify", "simplify_recurrence"]
