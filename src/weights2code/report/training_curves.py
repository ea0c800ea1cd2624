"""How training went: loss, temperature, agreement and discrepancy over epochs, rung after rung."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, zip_longest

import numpy as np

from weights2code.report.contents import Epoch
from weights2code.report.svg import Drawing, Frame, legend, n, plural, spread, text

WIDTH, PANEL_HEIGHT, GAP = 772.0, 120.0, 84.0
LEFT, TOP = 56.0, 62.0
#: Losses below this are rounding: there is nothing to see there.
FLOOR = 1e-16
#: Title, logarithmic or not, what is drawn.
PANELS = (
    ("Loss, relative to the variance", True, ("soft_loss", "hard_loss")),
    ("Temperature", True, ("temperature",)),
    ("Agreement with the final choices", False, ("agreement",)),
    ("Discrepancy: hard minus soft loss", False, ("discrepancy",)),
)


def training_drawing(epochs: Sequence[Epoch]) -> Drawing:
    """Four panels side by side in pairs; the band holds the middle half of the members."""
    rungs = [(name, list(lines)) for name, lines in groupby(epochs, key=lambda line: line.stage)]
    width = (WIDTH - 2 * LEFT - 36) / 2
    marks = [("line", "best member"), ("line second", "its soft loss"), ("band", "middle half")]
    body = legend(LEFT, 14, marks)
    for place, panel in enumerate(PANELS):
        left, top = LEFT + (place % 2) * (width + LEFT + 24), TOP + (place // 2) * (PANEL_HEIGHT + GAP)
        body += _panel((left, top, width, PANEL_HEIGHT), *panel, rungs)
    names = ", ".join(f"{name} ({plural(len(lines), 'epoch')})" for name, lines in rungs)
    lowest = min((v for line in epochs for v in line.hard_loss if v is not None), default=None)
    told = "" if lowest is None else f" Lowest hard loss {lowest:.2g}."
    title = "Loss, temperature, agreement and discrepancy over training"
    return Drawing(
        "training", WIDTH, TOP + 2 * PANEL_HEIGHT + GAP + 40, body, title, f"Rungs: {names}.{told}"
    )


def _panel(
    box: tuple[float, float, float, float],
    title: str,
    log: bool,
    names: tuple[str, ...],
    rungs: list[tuple[str, list[Epoch]]],
) -> str:
    curves = [[_curves(lines, name) for name in names] for _, lines in rungs]
    shown = np.concatenate([curve.ravel() for rung in curves for curve in rung])
    low, high = spread((np.maximum(shown, FLOOR) if log else shown).tolist(), log=log)
    if names == ("agreement",):
        low, high = min(low, 0.5), 1.02
    total = sum(len(lines) for _, lines in rungs)
    frame = Frame.at(box, (0.0, max(float(total), 1.0)), (low, high), log=log)
    _, top, _, height = box
    parts = [frame.axes(title, "epoch, all rungs", [t for t in frame.x.ticks(5) if t == round(t)])]
    first = 0
    for (rung, lines), found in zip(rungs, curves, strict=True):
        xs, at = [first + i + 0.5 for i in range(len(lines))], frame.x(float(first))
        if first:
            parts.append(f'<path class="divide" d="M{n(at)} {n(top)}V{n(top + height)}"/>')
        first += len(lines)
        if title.startswith("Loss") and frame.x(float(first)) - at > 6.2 * len(rung):
            parts.append(text(at + 4, top + height - 5, rung, "tick faint"))
        for name, (best, lower, upper) in reversed([*zip(names, found, strict=True)]):
            if name not in ("temperature", "soft_loss"):
                parts.append(frame.band(xs, lower.tolist(), upper.tolist()))
            parts.append(frame.line(xs, best.tolist(), "line second" if name == "soft_loss" else "line"))
    return "".join(parts)


def _curves(lines: list[Epoch], name: str) -> np.ndarray:
    """Of each epoch the value of the member that ends best, and the quartiles of all (3, epochs); what is
    missing is no number: a rung under way has no agreement yet."""
    if name == "temperature":
        return np.array([[line.temperature] * 3 for line in lines], float).T
    values, losses = (
        np.array([*zip_longest(*(getattr(line, key) for line in lines))], float).reshape(-1, len(lines))
        for key in (name, "hard_loss")
    )
    best = int(np.nanargmin(losses[:, -1])) if np.isfinite(losses[:, -1]).any() else 0
    shown = values[best] if best < len(values) else np.full(len(lines), np.nan)
    quartiles = [
        np.quantile(some, (0.25, 0.75)) if len(some) else np.full(2, np.nan)
        for some in (column[np.isfinite(column)] for column in values.T)
    ]
    return np.array([np.maximum(shown, FLOOR if name.endswith("loss") else -np.inf), *np.array(quartiles).T])
