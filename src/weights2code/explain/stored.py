"""The formulas of operators as JSON, beside the graph that they explain, so that nobody searches twice."""

from __future__ import annotations

from typing import Any

from weights2code.explain.operators import OperatorFit
from weights2code.language import from_dict, to_dict


def formulas_to_dict(operators: dict[int, OperatorFit]) -> dict[str, Any]:
    """One entry an operator; the other candidates of the search are left out."""
    return {
        str(index): {
            "operands": list(fit.operands),
            "formula": to_dict(fit.formula),
            "kind": fit.kind,
            "max_error": fit.max_error,
            "tolerance": fit.tolerance,
        }
        for index, fit in operators.items()
    }


def formulas_from_dict(data: dict[str, Any]) -> dict[int, OperatorFit]:
    """Inverse of `formulas_to_dict`."""
    return {
        int(index): OperatorFit(
            tuple(int(operand) for operand in item["operands"]),
            from_dict(item["formula"]),
            (),
            str(item["kind"]),
            float(item["max_error"]),
            float(item["tolerance"]),
        )
        for index, item in data.items()
    }
