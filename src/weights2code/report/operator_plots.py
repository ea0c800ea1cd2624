"""Sub-MLPs as pictures beside the formulas that were fitted to them (paper, section 4.2).

One operand gives a curve, two give a map. With more operands two vary, those with the largest effect, and
the others rest at a value that occurs; the picture says which.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import node_variable
from weights2code.graph import OperatorNode
from weights2code.language import evaluate
from weights2code.report.node_names import short_name
from weights2code.report.svg import Drawing, Frame, beside, heat, legend, number, spread, text

#: A column with at most this many different values is drawn value by value.
FEW = 8
GRID = 28
SIDE = 190.0


def operator_drawing(explained: ExplainedGraph, index: int, values: np.ndarray) -> Drawing | None:
    """What the sub-MLP computes and what the formula computes; None where it reads nothing."""
    node, fit = explained.graph.nodes[index], explained.operators[index]
    assert isinstance(node, OperatorNode)

    def name(operand: int) -> str:
        return short_name(explained, operand)

    if not fit.operands:
        return None
    units = explained.graph.units()
    flat = values.reshape(-1, values.shape[2]) * units
    rest = {operand: _typical(flat[:, operand]) for operand in fit.operands}

    def network(points: dict[int, np.ndarray]) -> np.ndarray:
        shape = np.broadcast_shapes(*(np.shape(v) for v in points.values()))
        columns = [np.broadcast_to(points.get(o, rest.get(o, 0.0)) / units[o], shape) for o in node.operands]
        return node.apply(np.stack(columns, -1))

    def formula(points: dict[int, np.ndarray]) -> np.ndarray:
        shape = np.broadcast_shapes(*(np.shape(v) for v in points.values()))
        inputs = {node_variable(o): points.get(o, np.full(shape, rest[o])) for o in fit.operands}
        with np.errstate(all="ignore"):
            return np.broadcast_to(evaluate(fit.formula, inputs), shape).astype(float)

    title = f"Sub-MLP {node.name} and its formula"
    if len(fit.operands) == 1:
        body, width, height, words = _curve(fit.operands[0], flat, network, formula, name)
    else:
        first, second = _strongest(node, fit.operands, flat, units)
        body, width, height, words = _map(first, second, flat, network, formula, name)
        fixed = [f"{name(o)} = {number(rest[o])}" for o in fit.operands if o not in (first, second)]
        if fixed:
            words += f" A slice: {', '.join(fixed)}."
    return Drawing(f"operator_{node.name}", width, height, body, title, words)


Function = Callable[[dict[int, np.ndarray]], np.ndarray]


def _curve(
    operand: int,
    flat: np.ndarray,
    network: Function,
    formula: Function,
    name: Callable[[int], str],
) -> tuple[str, float, float, str]:
    seen = flat[:, operand]
    low, high = spread([float(seen.min()), float(seen.max())])
    grid = np.linspace(low, high, 160)
    model, fitted = network({operand: grid}), formula({operand: grid})
    frame = Frame.at((52, 40, 330, 170), (low, high), spread([*model, *fitted]))
    sample = np.unique(seen)
    sample = sample[np.linspace(0, len(sample) - 1, min(len(sample), 40)).astype(int)]
    few = len(np.unique(seen)) <= FEW
    body = (
        legend(
            52, 14, [("line second", "sub-MLP"), ("line dashed", "formula"), ("dot", "values in the data")]
        )
        + frame.axes("", name(operand), sample.tolist() if few else None)
        + frame.line(grid.tolist(), model.tolist(), "line second wide")
        + frame.line(grid.tolist(), fitted.tolist(), "line dashed")
        + frame.dots(sample.tolist(), network({operand: sample}).tolist())
    )
    return body, 400, 252, f"Its value over {name(operand)}, from {number(low)} to {number(high)}."


def _map(
    first: int,
    second: int,
    flat: np.ndarray,
    network: Function,
    formula: Function,
    name: Callable[[int], str],
) -> tuple[str, float, float, str]:
    across, down = _levels(flat[:, first]), _levels(flat[:, second])
    points = {first: across[None, :], second: down[::-1][:, None]}  # the second operand grows upwards
    model, fitted = network(points), formula(points)
    finite = np.concatenate([model.ravel(), fitted[np.isfinite(fitted)]])
    low, high = float(finite.min()), float(finite.max())
    cell = SIDE / len(across), SIDE / len(down)
    parts, lefts, top = [], (56.0, 56.0 + SIDE + 34), 30.0
    for left, heading, shown in zip(lefts, ("Sub-MLP", "Formula"), (model, fitted), strict=True):
        parts.append(text(left, 14, heading, "panel-title"))
        parts.append(heat(shown, left, top, cell, low, high))
        if shown.size <= 36:
            parts += _cell_numbers(shown, left, top, cell, low, high)
        parts += [
            text(left + (column + 0.5) * cell[0], top + SIDE + 15, number(value, 3), "tick middle")
            for column, value in _marks(across)
        ]
        parts.append(text(left + SIDE / 2, top + SIDE + 31, name(first), "tick middle"))
    parts += [
        text(lefts[0] - 6, top + SIDE - (row + 0.5) * cell[1] + 3.5, number(value, 3), "tick end")
        for row, value in _marks(down)
    ]
    parts.append(beside(12, top + SIDE / 2, name(second)))
    parts.append(_shade_key(lefts[1] + SIDE + 18, top, low, high))
    gap = float(np.nanmax(np.abs(model - fitted)))
    words = (
        f"Both over {name(first)} and {name(second)}; on this grid they differ by at most {number(gap, 3)}."
    )
    return "".join(parts), lefts[1] + SIDE + 84, top + SIDE + 40, words


def _shade_key(left: float, top: float, low: float, high: float) -> str:
    ramp = np.linspace(1, 0, 24)[:, None]
    return (
        heat(ramp, left, top, (10, SIDE / 24), 0.0, 1.0)
        + text(left + 16, top + 8, number(high, 3), "tick")
        + text(left + 16, top + SIDE, number(low, 3), "tick")
    )


def _cell_numbers(
    shown: np.ndarray, left: float, top: float, cell: tuple[float, float], low: float, high: float
) -> list[str]:
    span = high - low or 1.0
    return [
        text(
            left + (column + 0.5) * cell[0],
            top + (row + 0.5) * cell[1] + 4,
            number(float(value), 3),
            "cell on-dark" if (value - low) / span > 0.66 else "cell",
        )
        for (row, column), value in np.ndenumerate(shown)
    ]


def _levels(column: np.ndarray) -> np.ndarray:
    """The values themselves if they are few, else an even grid over their range."""
    different = np.unique(column)
    return different if len(different) <= FEW else np.linspace(different[0], different[-1], GRID)


def _marks(levels: np.ndarray) -> list[tuple[int, float]]:
    """Which cells carry a number on the axis."""
    chosen = range(len(levels)) if len(levels) <= FEW else (0, len(levels) // 2, len(levels) - 1)
    return [(i, float(levels[i])) for i in chosen]


def _typical(column: np.ndarray) -> float:
    """A value that occurs, in the middle of what occurs."""
    ordered = np.sort(column)
    return float(ordered[len(ordered) // 2])


def _strongest(
    node: OperatorNode, operands: tuple[int, ...], flat: np.ndarray, units: np.ndarray
) -> tuple[int, int]:
    effect = {
        operand: sum(
            float(np.abs(node.output_weight * node.hidden_weight[:, slot]).sum())
            for slot, other in enumerate(node.operands)
            if other == operand
        )
        * float(flat[:, operand].std() / units[operand])
        for operand in operands
    }
    first, second = sorted(operands, key=lambda o: -effect[o])[:2]
    return (first, second) if first < second else (second, first)
