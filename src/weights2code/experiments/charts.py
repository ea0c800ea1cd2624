"""Drawings of experiments: curves of several tasks side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weights2code.report.svg import Drawing, Frame, spread, text

#: The series of a chart differ in dash and weight, not only in colour.
KINDS = ("line", "line second", "line dashed", "line second dashed", "line wide", "line faint")
PANEL, HEIGHT, LEFT, TOP, GAP = 250.0, 150.0, 52.0, 64.0, 62.0


def curves_chart(
    name: str, title: str, panels: Sequence[tuple[str, bool, Mapping[str, Sequence[float]]]]
) -> Drawing:
    """Panels side by side, each with the same series over the epochs.

    Parameters
    ----------
    panels : (title, logarithmic, values by series).
    """
    labels = list(panels[0][2])
    parts, at = [], LEFT
    for index, label in enumerate(labels):
        parts.append(f'<path class="{KINDS[index % len(KINDS)]}" d="M{at:.1f} 20h22"/>')
        parts.append(text(at + 28, 24, label, "tick"))
        at += 46 + 6.4 * len(label)
    for place, (heading, log, series) in enumerate(panels):
        left = LEFT + place * (PANEL + GAP)
        values = [max(v, 1e-12) if log else v for line in series.values() for v in line]
        longest = max((len(line) for line in series.values()), default=1)
        frame = Frame.at(
            (left, TOP, PANEL, HEIGHT), (0.0, max(longest, 1.0)), spread(values, log=log), log=log
        )
        parts.append(frame.axes(heading, "epoch"))
        for index, line in enumerate(series.values()):
            shown = [max(v, 1e-12) for v in line] if log else list(line)
            parts.append(frame.line([i + 1.0 for i in range(len(line))], shown, KINDS[index % len(KINDS)]))
    width = LEFT + len(panels) * (PANEL + GAP) - GAP + 20
    return Drawing(name, width, TOP + HEIGHT + 44, "".join(parts), title, ", ".join(labels))
