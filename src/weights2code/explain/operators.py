"""Symbolic regression of one sub-MLP on its own inputs and outputs (paper, section 4.2).

The tolerance comes from what the node does to the output: an integer output may be off by less than half,
a real one by about the model's own error. Where no formula fits, the fallback is faithful and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.data import Problem
from weights2code.graph import DiscreteGraph, OperatorNode
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import MOST_NODES, mapping
from weights2code.language import Const, Expr, Var, evaluate, from_dict, infer, to_dict
from weights2code.symbolic import NativeEngine
from weights2code.symbolic.engine import pick
from weights2code.symbolic.relu_readoff import piecewise_readoff

#: Rows that an operator is regressed on.
ROWS = 4000
#: What a formula may be off by, of the largest value, to be called exact.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class OperatorFit:
    """A sub-MLP as a formula of its operands, in the user's units.

    Parameters
    ----------
    operands : the node index of each operand that matters.
    formula : in the variables `V<index>`.
    kind : "formula" or "piecewise".
    max_error : on the rows seen; tolerance : what was allowed.
    exact_formula : the simplest that is right to rounding on the rows seen, if one was found.
    """

    operands: tuple[int, ...]
    formula: Expr
    kind: str
    max_error: float
    tolerance: float
    exact_formula: Expr | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON form, which is left beside the graph so that nobody searches twice."""
        exact = self.exact_formula
        return to_fields(self, formula=to_dict(self.formula), exact_formula=exact and to_dict(exact))

    @staticmethod
    def from_dict(data: dict[str, Any]) -> OperatorFit:
        """Inverse of `to_dict`."""
        exact = mapping(data, "a formula").get("exact_formula")
        formulas = [from_dict(data["formula"]), *([] if exact is None else [from_dict(exact)])]
        fit = from_fields(
            OperatorFit, data, "a formula", formula=formulas[0], exact_formula=(*formulas, None)[1]
        )
        known = {node_variable(operand) for operand in fit.operands}
        if not all(set(formula.variables()) <= known for formula in formulas):
            raise ValueError("a formula reads what is no operand of it")
        if any(formula.size() > MOST_NODES for formula in formulas):
            raise ValueError(f"a formula has more than {MOST_NODES} parts")
        return fit


def node_variable(index: int) -> Var:
    return Var(f"V{index}")


def explain_operator(
    graph: DiscreteGraph, index: int, values: np.ndarray, problem: Problem, effort: float
) -> OperatorFit:
    """The simplest formula of a live operator within its tolerance, else a faithful fallback."""
    node = graph.nodes[index]
    assert isinstance(node, OperatorNode)
    used = tuple(sorted(node.used()))
    inputs, outputs = operator_rows(graph, index, values)
    tolerance = operator_tolerance(graph, index, outputs, problem)
    if not used:
        constant = Const(float(outputs.mean()))
        return OperatorFit((), constant, "formula", float(np.ptp(outputs)), tolerance)
    front = NativeEngine().search(
        inputs,
        outputs,
        variables=tuple(map(node_variable, used)),
        domains=tuple(infer(column) for column in inputs.T),
        tolerance=tolerance,
        effort=effort,
    )
    best, rounding = pick(front, tolerance), ROUNDING * float(np.abs(outputs).max(initial=0.0))
    plain = (found.expr for found in front if found.kind == "formula" and found.max_error <= rounding)
    exact = next(plain, None)
    if best.max_error <= tolerance:
        return OperatorFit(used, best.expr, best.kind, best.max_error, tolerance, exact)
    return OperatorFit(used, _read_off(graph, node, inputs), "piecewise", 0.0, tolerance, exact)


def operator_rows(graph: DiscreteGraph, index: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What an operator reads, in the user's units, and gives, on some rows of the stream (n, T, nodes)."""
    used = sorted(graph.nodes[index].used())
    flat = values.reshape(-1, values.shape[2])
    flat = flat[np.linspace(0, len(flat) - 1, min(ROWS, len(flat))).astype(int)]
    return flat[:, used] * graph.units()[used], flat[:, index]


def formula_problems(graph: DiscreteGraph, fits: Mapping[int, OperatorFit], values: np.ndarray) -> str:
    """Why stored formulas are not those of the graph's operators; empty if they are, on this stream."""
    for index, fit in fits.items():
        name, used = graph.nodes[index].name, sorted(graph.nodes[index].used())
        if fit.max_error > fit.tolerance or not set(fit.operands) <= set(used):
            return f"the formula of {name} does not claim to be near it"
        inputs, outputs = operator_rows(graph, index, values)
        read = dict(zip(map(node_variable, used), inputs.T, strict=True))
        rounding = ROUNDING * float(np.abs(outputs).max(initial=0.0))
        with np.errstate(all="ignore"):
            off = float(np.abs(evaluate(fit.formula, read) - outputs).max(initial=0.0))
        if not off <= fit.max_error * (1 + 1e-6) + max(rounding, 1e-9 * fit.tolerance):
            return f"the formula of {name} is off by {off:.3g}, not by {fit.max_error:.3g}"
    return ""


def _read_off(graph: DiscreteGraph, node: OperatorNode, inputs: np.ndarray) -> Expr:
    """The ReLU network itself, written out: exact on the box of the data."""
    used, operands = sorted(node.used()), np.array(node.operands)
    weight = np.stack([node.hidden_weight[:, operands == o].sum(1) / graph.units()[o] for o in used], 1)
    box = np.column_stack([inputs.min(0), inputs.max(0)])
    names = tuple(map(node_variable, used))
    return piecewise_readoff(weight, node.hidden_bias, node.output_weight, node.output_bias, box, names)


def operator_tolerance(graph: DiscreteGraph, index: int, outputs: np.ndarray, problem: Problem) -> float:
    """How far a formula of the node may be off without changing the output noticeably."""
    span = max(float(np.ptp(outputs)), 1e-12)
    weight = np.abs(graph.head[:, index]) * np.array(graph.layout.output_scales)
    if not weight.any():
        return 1e-2 * span
    terms = max(int((graph.head[:, :-1] != 0).sum()), 1)
    widest = max(domain.high - domain.low for domain in problem.output_domains)
    allowed = (0.2 if problem.integer_outputs else 1e-3 * widest) / terms
    return float(min(allowed / weight.max(), 0.05 * span))
