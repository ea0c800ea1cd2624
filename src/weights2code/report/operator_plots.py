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

#: A column with at most this many different values is drawn value by value, a map of few has numbers in it.
FEW, FEW_CELLS = 8, 36
GRID, POINTS = 28, 160
SIDE, LEFT, TOP = 190.0, 56.0, 30.0


def operator_drawing(explained: ExplainedGraph, index: int, values: np.ndarray) -> Drawing | None:
    """What the sub-MLP computes and what the formula computes; None where it reads nothing."""
    node, fit = explained.graph.nodes[index], explained.operators[index]
    assert isinstance(node, OperatorNode)
    if not fit.operands:
        return None
    units = explained.graph.units()
    seen = values.reshape(-1, values.shape[2]) * units
    rest = {operand: float(np.quantile(seen[:, operand], 0.5, method="nearest")) for operand in fit.operands}

    def both(points: dict[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        shape = np.broadcast_shapes(*(np.shape(some) for some in points.values()))
        at = {o: np.broadcast_to(points.get(o, rest.get(o, 0.0)), shape) for o in (*node.operands, *rest)}
        with np.errstate(all="ignore"):
            fitted = evaluate(fit.formula, {node_variable(o): at[o] for o in fit.operands})
        network = node.apply(np.stack([at[o] / units[o] for o in node.operands], -1))
        return network, np.broadcast_to(fitted, shape).astype(float)

    title = f"Sub-MLP {node.name} and its formula"
    if len(fit.operands) == 1:
        (only,) = fit.operands
        body, size, words = _curve(seen[:, only], short_name(explained, only), lambda at: both({only: at}))
    else:
        moves = {o: float(np.ptp(both({o: _levels(seen[:, o])})[0])) for o in fit.operands}
        drawn = sorted(sorted(fit.operands, key=lambda o: -moves[o])[:2])
        levels = [_levels(seen[:, o]) for o in drawn]
        grid = dict(zip(drawn, (levels[0][None, :], levels[1][::-1][:, None]), strict=True))
        body, size, words = _maps(both(grid), levels, [short_name(explained, o) for o in drawn])
        fixed = [f"{short_name(explained, o)} = {number(rest[o])}" for o in fit.operands if o not in drawn]
        words += f" A slice: {', '.join(fixed)}." if fixed else ""
    return Drawing(f"operator_{node.name}", *size, body, title, words)


def _curve(
    seen: np.ndarray, name: str, both: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
) -> tuple[str, tuple[float, float], str]:
    low, high = spread([float(seen.min()), float(seen.max())])
    grid = np.linspace(low, high, POINTS)
    network, fitted = both(grid)
    frame = Frame.at((52, 40, 330, 170), (low, high), spread([*network, *fitted]))
    different = np.unique(seen)
    some = different[np.linspace(0, len(different) - 1, min(len(different), 40)).astype(int)]
    marks = [("line second", "sub-MLP"), ("line dashed", "formula"), ("dot", "values in the data")]
    body = (
        legend(52, 14, marks)
        + frame.axes("", name, some.tolist() if len(different) <= FEW else None)
        + frame.line(grid.tolist(), network.tolist(), "line second wide")
        + frame.line(grid.tolist(), fitted.tolist(), "line dashed")
        + frame.dots(some.tolist(), both(some)[0].tolist())
    )
    return body, (400, 252), f"Its value over {name}, from {number(low)} to {number(high)}."


def _maps(
    both: tuple[np.ndarray, np.ndarray], levels: list[np.ndarray], names: list[str]
) -> tuple[str, tuple[float, float], str]:
    """The sub-MLP's values and the formula's, the second operand growing upwards."""
    across, down = levels
    finite = np.concatenate([shown[np.isfinite(shown)] for shown in both])
    low, high = float(finite.min()), float(finite.max())
    cell, parts = (SIDE / len(across), SIDE / len(down)), list[str]()
    lefts = (LEFT, LEFT + SIDE + 34)
    for left, heading, shown in zip(lefts, ("Sub-MLP", "Formula"), both, strict=True):
        parts += [text(left, 14, heading, "panel-title"), heat(shown, left, TOP, cell, low, high)]
        for (row, column), value in np.ndenumerate(shown) if shown.size <= FEW_CELLS else ():
            dark = value - low > 0.66 * (high - low)
            at = left + (column + 0.5) * cell[0], TOP + (row + 0.5) * cell[1] + 4
            parts.append(text(*at, number(float(value), 3), "cell on-dark" if dark else "cell"))
        for place in _marked(across):
            at = left + (place + 0.5) * cell[0], TOP + SIDE + 15
            parts.append(text(*at, number(float(across[place]), 3), "tick middle"))
        parts.append(text(left + SIDE / 2, TOP + SIDE + 31, names[0], "tick middle"))
    for place in _marked(down):
        at = LEFT - 6, TOP + SIDE - (place + 0.5) * cell[1] + 3.5
        parts.append(text(*at, number(float(down[place]), 3), "tick end"))
    parts.append(beside(12, TOP + SIDE / 2, names[1]))
    gap = float(np.nanmax(np.abs(both[0] - both[1])))
    words = (
        f"Both over {names[0]} and {names[1]}, from {number(low, 3)} (light) to {number(high, 3)} (dark); "
        f"on this grid they differ by at most {number(gap, 3)}."
    )
    return "".join(parts), (lefts[1] + SIDE + 20, TOP + SIDE + 40), words


def _levels(column: np.ndarray) -> np.ndarray:
    """The values themselves if they are few, else an even grid over their range."""
    different = np.unique(column)
    return different if len(different) <= FEW else np.linspace(different[0], different[-1], GRID)


def _marked(levels: np.ndarray) -> list[int]:
    """The levels that carry a number on the axis."""
    count = len(levels)
    return list(range(count)) if count <= FEW else [0, count // 2, count - 1]
