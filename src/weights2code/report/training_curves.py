"""How training went: loss, temperature, agreement and discrepancy over epochs, rung after rung."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from weights2code.report.svg import Drawing, Frame, legend, n, plural, spread, text

WIDTH, PANEL_HEIGHT, GAP = 772.0, 120.0, 84.0
LEFT, TOP = 56.0, 62.0


def training_drawing(epochs: Sequence[dict[str, Any]]) -> Drawing:
    """Four panels side by side in pairs; the band holds the middle half of the members."""
    stages = [(name, list(lines)) for name, lines in groupby(epochs, key=lambda line: line["stage"])]
    bounds = np.cumsum([0, *(len(lines) for _, lines in stages)])
    width = (WIDTH - 2 * LEFT - 36) / 2
    panels = [
        ("Loss, relative to the variance", True, ("soft_loss", "hard_loss")),
        ("Temperature", True, ("temperature",)),
        ("Agreement with the final choices", False, ("agreement",)),
        ("Discrepancy: hard minus soft loss", False, ("discrepancy",)),
    ]
    parts = [
        legend(LEFT, 14, [("line", "best member"), ("line second", "its soft loss"), ("band", "middle half")])
    ]
    for place, (title, log, names) in enumerate(panels):
        left = LEFT + (place % 2) * (width + LEFT + 24)
        top = TOP + (place // 2) * (PANEL_HEIGHT + GAP)
        box = (left, top, width, PANEL_HEIGHT)
        parts.append(_panel(box, title, log, names, stages, bounds))
    names = ", ".join(f"{name} ({plural(len(lines), 'epoch')})" for name, lines in stages)
    losses = np.concatenate([_column(line, "hard_loss") for line in epochs])
    losses = losses[np.isfinite(losses)]
    lowest = f" Lowest hard loss {losses.min():.2g}." if len(losses) else ""
    return Drawing(
        "training",
        WIDTH,
        TOP + 2 * PANEL_HEIGHT + GAP + 40,
        "".join(parts),
        "Loss, temperature, agreement and discrepancy over training",
        f"Rungs: {names}.{lowest}",
    )


def _panel(
    box: tuple[float, float, float, float],
    title: str,
    log: bool,
    names: tuple[str, ...],
    stages: list[tuple[str, list[dict[str, Any]]]],
    bounds: np.ndarray,
) -> str:
    shown = [value for _, lines in stages for name in names for value in _shown(lines, name)]
    # losses below this are rounding: there is nothing to see there
    low, high = spread([max(v, 1e-16) for v in shown] if log else shown, log=log)
    if names == ("agreement",):
        low, high = min(low, 0.5), 1.02
    frame = Frame.at(box, (0.0, max(float(bounds[-1]), 1.0)), (low, high), log=log)
    _, top, _, height = box
    ticks = [tick for tick in frame.x.ticks(5) if tick == round(tick)]
    parts = [frame.axes(title, "epoch, all rungs", ticks)]
    for (stage, lines), first in zip(stages, bounds, strict=False):
        xs = [first + i + 0.5 for i in range(len(lines))]
        at = frame.x(float(first))
        if first:
            parts.append(f'<path class="divide" d="M{n(at)} {n(top)}V{n(top + height)}"/>')
        if title.startswith("Loss") and frame.x(float(first + len(lines))) - at > 6.2 * len(stage):
            parts.append(text(at + 4, top + height - 5, stage, "tick faint"))
        for name in reversed(names):
            kind = "line second" if name == "soft_loss" else "line"
            if name != "temperature" and name != "soft_loss":
                quartiles = np.array([_quartiles(line, name) for line in lines])
                parts.append(frame.band(xs, quartiles[:, 0].tolist(), quartiles[:, 1].tolist()))
            parts.append(frame.line(xs, _best(lines, name), kind))
    return "".join(parts)


def _shown(lines: list[dict[str, Any]], name: str) -> list[float]:
    values = _best(lines, name)
    if name not in ("temperature", "soft_loss"):
        values += [v for line in lines for v in _quartiles(line, name)]
    return values


def _column(line: dict[str, Any], name: str) -> np.ndarray:
    """One value a member, null as NaN; a rung under way has no agreement yet."""
    values = np.array(line[name], float)
    return values if values.size else np.array([np.nan])


def _best(lines: list[dict[str, Any]], name: str) -> list[float]:
    """The values of the member that ends best."""
    if name == "temperature":
        return [float(line[name]) for line in lines]
    final = _column(lines[-1], "hard_loss")
    member = int(np.nanargmin(final)) if np.isfinite(final).any() else 0
    columns = [_column(line, name) for line in lines]
    floor = 1e-16 if name.endswith("loss") else -np.inf
    return [max(float(c[member]), floor) if member < len(c) else float("nan") for c in columns]


def _quartiles(line: dict[str, Any], name: str) -> tuple[float, float]:
    values = _column(line, name)
    values = values[np.isfinite(values)]
    if not len(values):
        return float("nan"), float("nan")
    return float(np.quantile(values, 0.25)), float(np.quantile(values, 0.75))
