"""Which of many columns tell anything about the targets: asked before anything is learned, in a second.

A column tells something if a target, or its change since the last row, depends on it more than chance would
have it: linearly, beside the columns that were found before it, or in any way at all (chi-square), alone or,
where that shows too little, together with one other. Columns are looked at now and a few rows back. Only rows
that are learned from are asked. What does not show in any of these ways is left out, and the certificate says
that it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from weights2code.data.problem import Problem

#: With more columns than this some are left out; so many stay at most.
MANY, MOST_KEPT = 12, 8
#: Rows that are asked, and how far back columns are looked at.
ASKED, BACK = 6000, 3
#: Standard deviations beyond chance that count, of a correlation and of chi-square.
CORRELATED, DEPENDENT = 6.0, 5.5
#: Groups of neighbouring values that a column is divided into, alone and in pairs.
GROUPS, FEW_GROUPS = 12, 4
#: Pairs of columns that are asked, at most.
MOST_PAIRS = 12_000
#: What linear dependence leaves of a target that it explains.
EXPLAINED = 1e-6


def narrowed(problem: Problem) -> Problem:
    """The problem with the columns that tell something; as it is, if there are not many."""
    if len(problem.inputs) <= MANY:
        return problem
    kept = relevant(problem)
    remark = words_for(problem.inputs, kept, problem.outputs)
    return problem.changed(lambda one: _with_columns(one, kept, remark))


def words_for(inputs: Sequence[str], kept: Sequence[int], outputs: Sequence[str]) -> str:
    """What is said of columns that were left out."""
    names = ", ".join(inputs[i] for i in kept)
    return (
        f"{len(inputs) - len(kept)} of {len(inputs)} columns are not inputs of the program: beside {names} "
        f"nothing was found in them that tells about {', '.join(outputs)}"
    )


def _with_columns(problem: Problem, kept: list[int], remark: str) -> Problem:
    """The problem with some of its columns, and a remark more."""
    names = ("training", "validation", "held_out", "beginnings", "rows")
    parts = {name: getattr(problem, name) for name in names}
    return replace(
        problem,
        inputs=tuple(problem.inputs[i] for i in kept),
        domains=tuple(problem.domains[i] for i in kept),
        remarks=(*problem.remarks, remark),
        **{name: part and replace(part, x=part.x[..., kept]) for name, part in parts.items()},
    )


def relevant(problem: Problem) -> list[int]:
    """The columns that tell most, in their own order; one at least."""
    values, past = _rows(problem)
    texts = np.array([bool(domain.categories) for domain in problem.domains])
    scores = np.zeros(len(problem.inputs))
    for row, domain in enumerate(problem.output_domains):
        target, before = past[0][:, row], past[1][:, row]
        asked = [target] if domain.categories else [target, target - before]
        explained = False
        for wanted in asked if not domain.categories else []:
            picked, left = _linear(values, texts, wanted)
            scores[picked] += 2 * DEPENDENT
            explained |= left < EXPLAINED
        if explained:
            continue
        for wanted in asked:
            codes, levels = _grouped(wanted, GROUPS)
            scores = np.maximum(scores, _dependence(values, codes, levels))
        both = _grouped(target, GROUPS), _grouped(before, GROUPS)
        scores = np.maximum(scores, _dependence(values, both[0][0], both[0][1], both[1]))
        for found in np.flatnonzero(scores > DEPENDENT)[:MOST_KEPT].tolist():
            for wanted in asked:
                known = _best(values, found, wanted)
                scores = np.maximum(scores, _dependence(values[:, :1], *_grouped(wanted, GROUPS), known))
        if (scores > DEPENDENT).sum() < 2:
            for i, j, excess in _pairs(values, *_grouped(target, FEW_GROUPS)):
                if excess > DEPENDENT:
                    scores[[i, j]] = np.maximum(scores[[i, j]], excess)
    order = np.argsort(-scores, kind="stable")
    kept = [int(i) for i in order[:MOST_KEPT] if scores[i] > DEPENDENT]
    return sorted(kept or [int(order[0])])


def _rows(problem: Problem) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Columns (rows, lags, columns), and targets now and one row back."""
    part = problem.training
    back = min(BACK, max(part.x.shape[1] - 1, 0))
    places = np.argwhere(part.scored & (np.arange(part.x.shape[1]) >= back))
    chosen = places[np.sort(np.random.default_rng(0).permutation(len(places))[:ASKED])]
    sequence, position = chosen.T
    values = np.stack([part.x[sequence, position - lag] for lag in range(back + 1)], axis=1)
    last = part.y[sequence, np.maximum(position - 1, 0)]
    return values, (part.y[sequence, position], last)


def _linear(values: np.ndarray, texts: np.ndarray, target: np.ndarray) -> tuple[list[int], float]:
    """Columns that a sum of columns at their lags needs, the most telling first, and what it leaves."""
    rows, lags, columns = values.shape
    features = values.reshape(rows, lags * columns).copy()
    features[:, np.tile(texts, lags)] = 0.0
    features -= features.mean(0)
    size = np.sqrt((features**2).sum(0))
    features = features / np.where(size > 0, size, 1.0)
    left = target - target.mean()
    whole = float(left @ left)
    chosen: list[int] = []
    while whole and float(left @ left) > EXPLAINED * whole and len(chosen) < 2 * MOST_KEPT:
        told = np.abs(features.T @ left) / np.sqrt(left @ left)
        told[chosen] = 0.0
        best = int(np.argmax(told))
        if told[best] * np.sqrt(rows) < CORRELATED * np.sqrt(max(1.0, 1 - told[best] ** 2)):
            break
        chosen.append(best)
        solution = np.linalg.lstsq(features[:, chosen], target - target.mean(), rcond=None)[0]
        left = target - target.mean() - features[:, chosen] @ solution
    share = float(left @ left) / whole if whole else 0.0
    return list(dict.fromkeys(place % columns for place in chosen)), share


def _dependence(
    values: np.ndarray, target: np.ndarray, levels: int, beside: tuple[np.ndarray, int] | None = None
) -> np.ndarray:
    """The most that each column tells about a target at any lag, in standard deviations beyond chance."""
    _, lags, columns = values.shape
    known, width = beside if beside is not None else (np.zeros(len(target), int), 1)
    base = chi_square(known, width, target, levels)
    found = np.zeros(columns)
    for column in range(columns):
        for lag in range(lags):
            codes, groups = _grouped(values[:, lag, column], GROUPS if beside is None else FEW_GROUPS)
            more = chi_square(known * groups + codes, width * groups, target, levels)
            found[column] = max(found[column], _beyond(more[0] - base[0], more[1] - base[1]))
    return found


def chi_square(code: np.ndarray, levels: int, answer: np.ndarray, answers: int) -> tuple[float, float]:
    """Pearson's statistic of a column and the target, and its degrees of freedom; levels that never occur are
    none."""
    table = np.bincount(code * answers + answer, minlength=levels * answers).reshape(levels, answers)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / max(len(code), 1)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return statistic, float((table.shape[0] - 1) * (table.shape[1] - 1))


def _best(values: np.ndarray, column: int, target: np.ndarray) -> tuple[np.ndarray, int]:
    """A column at the lag at which it tells most, in groups."""
    codes, levels = _grouped(target, GROUPS)
    lagged = [_grouped(values[:, lag, column], GROUPS) for lag in range(values.shape[1])]
    return max(lagged, key=lambda found: _beyond(*chi_square(*found, codes, levels)))


def _pairs(values: np.ndarray, target: np.ndarray, levels: int) -> Iterator[tuple[int, int, float]]:
    """Pairs of columns, now, and what they tell together that neither tells alone."""
    coded = [_grouped(column, FEW_GROUPS) for column in values[:, 0].T]
    alone = [chi_square(codes, groups, target, levels) for codes, groups in coded]
    for count, (i, j) in enumerate(combinations(range(len(coded)), 2)):
        if count == MOST_PAIRS:
            return
        (one, few), (other, many) = coded[i], coded[j]
        both = chi_square(one * many + other, few * many, target, levels)
        single = max(alone[i], alone[j])
        yield i, j, _beyond(both[0] - single[0], both[1] - single[1])


def _grouped(column: np.ndarray, most: int) -> tuple[np.ndarray, int]:
    """A number for every value, neighbours together where there are many."""
    values, codes = np.unique(column, return_inverse=True)
    if len(values) > most:
        borders = np.unique(np.quantile(column, np.linspace(0, 1, most + 1)[1:-1]))
        codes = np.searchsorted(borders, column, side="right")
        return codes.astype(np.int64), len(borders) + 1
    return codes.reshape(-1).astype(np.int64), max(len(values), 1)


def _beyond(statistic: float, freedom: float) -> float:
    """Standard deviations beyond chance (Wilson and Hilferty's cube root of chi-square)."""
    freedom = max(freedom, 1.0)
    scatter = 2 / (9 * freedom)
    return float((np.cbrt(max(statistic, 0.0) / freedom) - (1 - scatter)) / np.sqrt(scatter))
