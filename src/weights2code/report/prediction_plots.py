"""Predictions against targets, on sequences that training did not see; the program runs free."""

from __future__ import annotations

from collections import Counter

import numpy as np

from weights2code.data import Sequences
from weights2code.language.domain import quoted
from weights2code.program import Program
from weights2code.report.svg import Drawing, Frame, legend, number, plural, spread

#: Outputs that get a picture of their own, points of the scatter, positions of the trace.
OUTPUTS, POINTS, POSITIONS = 4, 400, 80
#: Texts that are named below a drawing.
TEXTS = 12


def prediction_drawings(program: Program, fresh: Sequences, *, one_step: bool = False) -> list[Drawing]:
    """One drawing an output: a single sequence over time, and all sequences against their targets.

    What a sequence gives as context is given to the program too, and not shown. With `one_step` the true
    past outputs are given everywhere: so are programs judged where noise drives the process itself.
    """
    until = fresh.lengths if one_step else fresh.given
    with np.errstate(all="ignore"):
        answers = program.recurrence.run(fresh.x, fresh.y, until)
    return [
        _drawing(name, answers[..., i], fresh, i, program.integer_outputs, one_step, program)
        for i, name in enumerate(program.recurrence.outputs[:OUTPUTS])
    ]


def _drawing(
    name: str,
    answers: np.ndarray,
    fresh: Sequences,
    output: int,
    whole: bool,
    one_step: bool,
    program: Program,
) -> Drawing:
    targets = fresh.y[..., output]
    # the liveliest sequence tells most
    one = int(np.argmax([np.std(row[seen]) for row, seen in zip(targets, fresh.scored, strict=True)]))
    first = int(fresh.given[one])
    shown = min(int(fresh.lengths[one]) - first, POSITIONS)
    target, answer = targets[one, first : first + shown], answers[one, first : first + shown]
    limits = spread([*target, *answer], margin=0.08)
    trace = Frame.at((56, 44, 400, 180), (-0.5, shown - 0.5), limits)
    steps = list(range(shown))
    ticks = [tick for tick in trace.x.ticks(5) if tick == round(tick) and tick >= 0]
    body = legend(56, 14, [("line second", "target"), ("dot", "program")])
    body += trace.axes("", "position t of one sequence", ticks)
    body += (trace.stairs if whole else trace.line)(steps, target.tolist(), "line second")
    body += trace.dots(steps, answer.tolist(), 2.2 if shown > 45 else 2.8)
    pairs = np.stack([targets[fresh.scored], answers[fresh.scored]], 1)
    pairs = pairs[np.isfinite(pairs).all(1)]
    both = spread(pairs.ravel().tolist(), margin=0.08)
    scatter = Frame.at((530, 44, 180, 180), both, both)
    body += scatter.axes("", "target") + scatter.line(both, both, "line faint")
    body += _points(scatter, pairs, whole)
    body += f'<text x="530" y="34" class="tick">program, {plural(len(targets), "sequence")}</text>'
    error = float(np.max(np.abs(pairs[:, 0] - pairs[:, 1]))) if len(pairs) else float("nan")
    known = program.output_categories.get(name, ())[:TEXTS]
    told = f"the largest error is {number(error, 3)}"
    if known:
        wrong = int((np.round(pairs[:, 0]) != np.round(pairs[:, 1])).sum())
        listed = ", ".join(f"{place} is {quoted(text)}" for place, text in enumerate(known, start=1))
        told = f"{plural(wrong, 'text')} of {len(pairs)} wrong; {listed}"
    ran = "one step ahead, the true past outputs given" if one_step else "free-running"
    return Drawing(
        f"predictions_{name}",
        730,
        270,
        body,
        f"Predictions of {name} against targets",
        f"The program {ran} on {plural(len(targets), 'sequence')} of up to {int(fresh.lengths.max())} "
        f"positions that training did not see; {told}.",
    )


def _points(frame: Frame, pairs: np.ndarray, whole: bool) -> str:
    """Equal points become one, the larger the more there are."""
    counts = Counter(map(tuple, np.round(pairs) if whole else pairs))
    if len(counts) <= 40:
        most = max(counts.values(), default=1)
        return "".join(
            frame.dots([target], [answer], 2.5 + 7 * (count / most) ** 0.5, "dot soft")
            for (target, answer), count in counts.items()
        )
    chosen = np.linspace(0, len(pairs) - 1, min(POINTS, len(pairs))).astype(int)
    return frame.dots(pairs[chosen, 0].tolist(), pairs[chosen, 1].tolist(), 1.8, "dot soft")
