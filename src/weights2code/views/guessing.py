"""Whether anything that the rows show foretells an output better than guessing, on rows that were not asked.

Rows that agree in a view vote: what half of them say most often is compared with the other half, and the
reverse. A view that is no better than the commonest output knows nothing, and where none is no rule will be
found in these columns, by whatever is tried after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from weights2code.language import Var
from weights2code.views.features import Feature
from weights2code.views.rows import Features, Rows

#: Standard errors by which a view must be better; views that left the fewest contradictions and are asked.
EVIDENT, ASKED = 3.5, 12
#: Values of a column from which on its rows are taken together, in so many parts.
MANY, PARTS = 24, 8
#: What a rule leaves that explains nothing, of the variance, and near rows of what any two differ in.
LEFT, APART = 0.95, 0.75
#: Values of a column that may only stand for something.
FEWEST_CODES, MOST_CODES = 3, 20


@dataclass(frozen=True, slots=True)
class Guess:
    """How well an output is foretold by the best that was tried, and by a constant, in shares of `rows`; of
    reals in shares of their variance, of which the mean, which has no name, says nothing."""

    output: str
    best: float
    usual: float
    constant: str
    rows: int

    @property
    def better(self) -> bool:
        """Whether the view is better, beyond chance."""
        return self.best - self.usual > EVIDENT * sqrt(max(self.usual * (1 - self.usual), 1e-4) / self.rows)

    def __str__(self) -> str:
        both = f"{self.best:.0%}; {self.constant}: {self.usual:.0%}"
        if not self.constant:
            both = f"{self.best:.0%} of what it varies by is explained"
        return f"no rule of {self.output} is better than guessing ({both})"


def guess_of(rows: Rows) -> Guess:
    """What can be foretold of an output that is a whole number or a text."""
    problem, name = rows.problem, rows.problem.outputs[rows.row]
    present = tuple(Feature("visible", Var(name), 1.0) for name in problem.inputs)
    last = tuple(Feature("visible", Var(name, 1), 1.0) for name in problem.outputs)
    views = [present, last, (*present, *last), *((one,) for one in (*present, *last))]
    views += [scored.features for scored in rows.partial[:ASKED]]
    label = rows.full.label
    usual = int(np.bincount(label).argmax())
    value = rows.full.target[int(np.argmax(label == usual))]
    said = problem.output_categories.get(name)
    best = max(max(foretold(rows, view), foretold(rows, view, PARTS)) for view in views)
    share = float(np.mean(label == usual))
    constant = f"always {said[int(value)] if said else f'{value:g}'}"
    return Guess(name, max(best, share), share, constant, len(label))


def explained(rows: Rows, left: float) -> Guess | None:
    """The same of a real output of which the best rule leaves that share of the variance; None if that is
    less than all, or near rows are alike."""
    name = rows.problem.outputs[rows.row]
    if left <= LEFT or rows.least <= APART:
        return None
    return Guess(name, max(1 - left, 0.0), 0.0, "", rows.full.most)


def foretold(rows: Rows, view: Features, parts: int = 0) -> float:
    """The share of outputs that the commonest output of other rows that agree in a view says right, columns
    of many values in so many `parts`."""
    columns = [_in_parts(column, parts) if parts else column for column in rows.checked(view)]
    return _foretold(rows, columns)


def _foretold(rows: Rows, columns: Sequence[np.ndarray]) -> float:
    evidence = rows.full
    code = np.unique(evidence.group(columns)[0], return_inverse=True)[1].reshape(-1)
    half = np.random.default_rng(0).permutation(len(code)) % 2
    right = 0
    for side in (0, 1):
        told, asked = half == side, half != side
        pairs, counts = np.unique(code[told] * evidence.labels + evidence.label[told], return_counts=True)
        order = np.argsort(counts, kind="stable")  # of several the commonest is written last
        says = np.full(int(code.max(initial=0)) + 1, int(np.bincount(evidence.label[told]).argmax()))
        says[pairs[order] // evidence.labels] = pairs[order] % evidence.labels
        right += int((says[code[asked]] == evidence.label[asked]).sum())
    return right / max(len(code), 1)


def _in_parts(column: np.ndarray, parts: int) -> np.ndarray:
    values, code = np.unique(column, return_inverse=True)
    return code.reshape(-1) * parts // len(values) if len(values) > MANY else column


def standing_for_something(rows: Rows) -> list[str]:
    """Input columns of a few whole numbers that foretell more than their order does: two neighbouring values
    are as different as any two."""
    problem, found = rows.problem, []
    for place, (name, domain) in enumerate(zip(problem.inputs, problem.domains, strict=True)):
        others = [_in_parts(rows.many.x[..., i][rows.many.scored], PARTS) for i in range(len(problem.inputs))]
        column = others.pop(place)
        values, code = np.unique(column, return_inverse=True)
        if domain.kind != "integers" or not FEWEST_CODES <= len(values) <= MOST_CODES:
            continue
        mixed = np.random.default_rng(1).permutation(len(values))[code.reshape(-1)] // 2
        own, neighbours, any_two = (
            _foretold(rows, [*others, some]) for some in (column, code.reshape(-1) // 2, mixed)
        )
        unsure = EVIDENT * sqrt(0.25 / len(code))
        if own - neighbours > unsure and neighbours - any_two < unsure:
            found.append(name)
    return found
