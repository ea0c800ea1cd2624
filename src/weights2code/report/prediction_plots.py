"""Predictions against targets, on sequences that training did not see; the program runs by itself."""

from __future__ import annotations

from collections import Counter

import numpy as np

from weights2code.data import Sequences
from weights2code.program import Program
from weights2code.report.svg import Drawing, Frame, legend, number, plural, spread

#: Outputs that get a picture of their own, points of the scatter, positions of the trace.
OUTPUTS, POINTS, POSITIONS = 4, 400, 80


def prediction_drawings(program: Program, fresh: Sequences, *, one_step: bool = False) -> list[Drawing]:
    """One drawing an output of numbers: a single sequence over time, and all sequences against their targets.

    What a sequence gives as context is given to the program too, and not shown. With `one_step` the true
    past outputs are given everywhere: so are programs judged where noise drives the process itself.
    """
    until = fresh.lengths if one_step else fresh.given
    with np.errstate(all="ignore"):
        answers = program.recurrence.run(fresh.x, fresh.y, until)
    ran = "with the true past outputs given" if one_step else "by itself"
    seen = f"on {plural(len(fresh.x), 'sequence')} of up to {int(fresh.lengths.max())} positions"
    told = f"The program ran {ran} {seen} that training did not see"
    return [
        _drawing(name, fresh.y[..., i], answers[..., i], fresh, program.integer_outputs, told)
        for i, name in enumerate(program.recurrence.outputs[:OUTPUTS])
        if name not in program.output_categories
    ]


def _drawing(
    name: str, targets: np.ndarray, answers: np.ndarray, fresh: Sequences, whole: bool, told: str
) -> Drawing:
    # the liveliest sequence tells most
    one = int(np.argmax([np.std(row[seen]) for row, seen in zip(targets, fresh.scored, strict=True)]))
    first = int(fresh.given[one])
    shown = slice(first, min(int(fresh.lengths[one]), first + POSITIONS))
    target, answer = targets[one, shown].tolist(), answers[one, shown].tolist()
    steps = list(range(len(target)))
    trace = Frame.at((56, 44, 400, 180), (-0.5, len(steps) - 0.5), spread([*target, *answer], margin=0.08))
    ticks = [tick for tick in trace.x.ticks(5) if tick == round(tick) and tick >= 0]
    body = legend(56, 14, [("line second", "target"), ("dot", "program")])
    body += trace.axes("", "position t of one sequence", ticks)
    body += (trace.stairs if whole else trace.line)(steps, target, "line second")
    body += trace.dots(steps, answer, 2.2 if len(steps) > 45 else 2.8)
    pairs = np.stack([targets[fresh.scored], answers[fresh.scored]], 1)
    pairs = pairs[np.isfinite(pairs).all(1)]
    both = spread(pairs.ravel().tolist(), margin=0.08)
    scatter = Frame.at((530, 44, 180, 180), both, both)
    body += scatter.axes("program, all sequences", "target") + scatter.line(both, both, "line faint")
    body += _points(scatter, pairs, whole)
    error = float(np.max(np.abs(pairs[:, 0] - pairs[:, 1]))) if len(pairs) else float("nan")
    words = f"{told}; the largest error is {number(error, 3)}."
    return Drawing(f"predictions_{name}", 730, 270, body, f"Predictions of {name} against targets", words)


def _points(frame: Frame, pairs: np.ndarray, whole: bool) -> str:
    """Equal points become one, the larger the more there are."""
    counts = Counter(map(tuple, np.round(pairs) if whole else pairs))
    if len(counts) <= 40:
        most = max(counts.values(), default=1)
        return "".join(
            frame.dots([target], [answer], 2.5 + 7 * (count / most) ** 0.5, "dot soft")
            for (target, answer), count in counts.items()
        )
    chosen = pairs[np.linspace(0, len(pairs) - 1, min(POINTS, len(pairs))).astype(int)]
    return frame.dots(chosen[:, 0].tolist(), chosen[:, 1].tolist(), 1.8, "dot soft")
