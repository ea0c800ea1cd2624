"""Is a view enough? Pairs of rows that agree in it and differ in the output say no.

Rows that agree in a view and differ in the output contradict it. Where none do, that means something only if
many would, had the view nothing to do with the output: so agreeing rows are counted, and how often rows that
agree in less contradict each other. Of columns whose values hardly repeat the nearest rows take the place of
equal ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from weights2code.effort import charge
from weights2code.views.features import BEFORE

#: Seconds of a usual machine: a value that is numbered or sorted, one that is compared, one that is near.
SORTED, COMPARED, NEARBY = 4e-8, 5e-9, 6e-7
#: Contradictions that chance must leave where none were found.
EXPECTED = 20.0
#: Pairs of a context that features are asked about: in contradiction, and in agreement; those asked first.
CONFLICTS, AGREED, FIRST = 600, 400, 64
#: Features that leave more than this share of the contradictions (against agreeing pairs) are not looked at.
TELLING = 0.97
#: Different values, as a share of the rows, from which on a column is one whose rows lie near each other.
REAL = 0.3
#: Rows that are compared with their nearest, and in a quick look.
NEAREST, FEW_NEAREST = 700, 150
#: Rows that are too few to lie near each other.
FEWEST = 20
#: Neighbours that a plane is laid through, for each of its numbers; how little a plane likes to be steep.
AROUND, SMOOTH = 3, 1e-9


def coded(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Numbers 0, 1, ... for the different values, up to rounding errors."""
    if not len(values):
        return np.zeros(0, np.int64), 1
    low, high = values.min(), values.max()
    if high - low < 4 * len(values) and low > BEFORE and (values == np.floor(values)).all():
        return (values - low).astype(np.int64), int(high - low) + 1
    charge(SORTED * len(values))
    inside = values[values != BEFORE]
    scale = max(1.0, float(np.abs(inside).max(initial=0.0)))
    with np.errstate(over="ignore"):  # of what lies before the start
        distinct, code = np.unique(np.round(values / scale, 11), return_inverse=True)
    return code.reshape(-1).astype(np.int64), len(distinct)


#: Values on some rows, a column after the other.
Columns = Sequence[np.ndarray] | np.ndarray


@dataclass(slots=True, eq=False)
class Context:
    """Rows that agree in a view: pairs of them that contradict each other, and pairs that agree."""

    conflicts: tuple[np.ndarray, np.ndarray]
    agreed: tuple[np.ndarray, np.ndarray]
    #: Contradictions in all, of which some are asked about.
    found: int

    def left(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of features, values (features, rows): the share of the contradictions that each leaves, and of the
        agreeing pairs that it leaves together."""
        i, j = self.conflicts
        one, other = self.agreed
        unresolved = np.ones(len(values))
        first, kept = _same(values, i[:FIRST], j[:FIRST]), _same(values, one[:FIRST], other[:FIRST])
        some = np.flatnonzero((first <= TELLING * np.maximum(kept, 1e-9)) & (kept > 0))
        unresolved[some], kept[some] = _same(values, i, j, some), _same(values, one, other, some)
        return unresolved, kept

    def resolved(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of features, the contradictions that each resolves, and the agreeing pairs that it leaves."""
        return ~_alike(values, *self.conflicts), _alike(values, *self.agreed)


def _same(values: np.ndarray, i: np.ndarray, j: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
    """Of all features or some, the share of pairs of rows that they leave together."""
    if not len(i):
        return np.zeros(len(values) if some is None else len(some))
    return _alike(values, i, j, some).mean(1)


def _alike(values: np.ndarray, i: np.ndarray, j: np.ndarray, some: np.ndarray | None = None) -> np.ndarray:
    """Whether each feature, or each of some, is the same in these pairs of rows."""
    charge(COMPARED * len(i) * (len(values) if some is None else len(some)))
    one, other = (values[:, of] if some is None else values[np.ix_(some, of)] for of in (i, j))
    return np.abs(one - other) <= 1e-9 * np.maximum(np.abs(one), 1.0)


@dataclass(slots=True, eq=False)
class Evidence:
    """Some rows, and the output on them."""

    target: np.ndarray
    label: np.ndarray = field(init=False)
    labels: int = field(init=False)
    real: bool = field(init=False)
    #: How many rows contradict the others where nothing is known.
    most: int = field(init=False)
    _rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.label, self.labels = coded(self.target)
        self.most = len(self.label) - int(np.bincount(self.label, minlength=1).max())
        self.real = len(np.unique(self.label)) > REAL * len(self.label)
        self._rng = np.random.default_rng(0)

    def group(self, columns: Columns) -> tuple[np.ndarray, int]:
        """A number for each row, equal for rows that agree."""
        code, size = np.zeros(len(self.label), np.int64), 1
        for column in columns:
            own, levels = coded(column)
            if size * levels >= 2**40:
                code = np.unique(code, return_inverse=True)[1].reshape(-1).astype(np.int64)
                size = int(code.max()) + 1
            code, size = code * levels + own, size * levels
        return code, size

    def context(self, columns: Columns) -> Context:
        """Pairs of neighbours among rows that agree, in random order."""
        code, _ = self.group(columns)
        shuffled = self._rng.permutation(len(code))
        order = shuffled[np.argsort(code[shuffled], kind="stable")]
        i, j = order[:-1], order[1:]
        together = code[i] == code[j]
        apart = self.label[i] != self.label[j]
        conflicts, agreed = np.flatnonzero(together & apart), np.flatnonzero(together & ~apart)
        some, others = (
            self._rng.permutation(which)[:most] for which, most in ((conflicts, CONFLICTS), (agreed, AGREED))
        )
        return Context((i[some], j[some]), (i[others], j[others]), len(conflicts))

    def contradicted(self, columns: Columns) -> tuple[int, float]:
        """Rows that contradict their group, and how many would by chance: with labels drawn anew."""
        code, _ = self.group(columns)
        return self._minorities(code, self.label), self._minorities(code, self._rng.permutation(self.label))

    def enough(self, columns: Columns) -> bool:
        """Whether no rows that agree in them contradict each other, where many would by chance."""
        found, chance = self.contradicted(columns)
        return found == 0 and chance >= EXPECTED

    def smallest(self, columns: Columns, costs: Sequence[float]) -> list[int]:
        """The places of those that are needed, of enough columns, the dearest left out first."""
        kept = list(range(len(columns)))
        for place in sorted(kept, key=lambda place: -costs[place]):
            rest = [other for other in kept if other != place]
            if self.enough([columns[other] for other in rest]):
                kept = rest
        return kept

    def needed(self, columns: Columns, costs: Sequence[float]) -> list[int]:
        """The same of columns that rows may hardly agree in: then those are taken one by one that resolve the
        most contradictions; all of them where that shows nothing."""
        if self.labels == 1:
            return []
        if self.enough(columns):
            return self.smallest(columns, costs)
        chosen: list[int] = []
        while len(chosen) < len(columns):
            context = self.context([columns[place] for place in chosen])
            if not context.found:
                break
            left, kept = context.left(np.stack(list(columns)))
            worth = np.where(kept > 0, left / np.maximum(kept, 1e-9), 1.0) + 0.01 * np.array(costs)
            worth[chosen] = np.inf
            chosen.append(int(worth.argmin()))
        some = [columns[place] for place in chosen]
        if not self.enough(some):
            return list(range(len(columns)))
        return [chosen[place] for place in self.smallest(some, [costs[place] for place in chosen])]

    def _minorities(self, code: np.ndarray, label: np.ndarray) -> int:
        charge(2 * COMPARED * len(code))
        both = np.sort(code * self.labels + label)
        starts = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
        counts, groups = np.diff(np.append(starts, len(both))), both[starts] // self.labels
        first = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
        return len(both) - int(np.maximum.reduceat(counts, first).sum())

    def near(self, columns: Sequence[np.ndarray], *, quick: bool = False) -> float:
        """How far the output of rows differs from that of the nearest row, or of a plane through near ones,
        against any two rows; of the first ones if the columns are of these, of few if it is `quick`."""
        from scipy.spatial import KDTree

        inside = [column != BEFORE for column in columns]
        rows = np.flatnonzero(np.all(inside, axis=0)) if columns else np.zeros(0, int)
        neighbours = AROUND * (len(columns) + 1) if self.real else 1
        if len(rows) <= max(FEWEST, neighbours):
            return 1.0
        charge(NEARBY * len(rows) * len(columns))
        table = np.column_stack([_scaled(column[rows]) for column in columns])
        asked = np.arange(0, len(rows), max(1, len(rows) // (FEW_NEAREST if quick else NEAREST)))
        around = np.asarray(KDTree(table).query(table[asked], k=1 + neighbours)[1])
        some, others = rows[asked], self._rng.permutation(rows[asked])
        if self.real:
            scale = max(float(self.target.std()), 1e-300)
            level = _levels(table[around[:, 1:]] - table[asked][:, None], self.target[rows[around[:, 1:]]])
            apart = np.minimum(np.abs(self.target[some] - level) / scale, 1.0)
            usual = np.minimum(np.abs(self.target[some] - self.target[others]) / scale, 1.0)
        else:
            apart = self.label[some] != self.label[rows[around[:, 1]]]
            usual = self.label[some] != self.label[others]
        return float(apart.mean()) / max(float(usual.mean()), 1e-9)


def _levels(apart: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What planes through the values (rows, k) of neighbours have where these lie apart (rows, k, columns) by
    nothing."""
    table = np.concatenate([apart, np.ones((*values.shape, 1))], 2)
    squares = np.einsum("nki,nkj->nij", table, table)
    size = np.trace(squares, axis1=1, axis2=2)[:, None, None]
    squares = squares + SMOOTH * size * np.eye(table.shape[2])
    return np.linalg.solve(squares, np.einsum("nki,nk->ni", table, values)[..., None])[:, -1, 0]


def _scaled(column: np.ndarray) -> np.ndarray:
    """In ranks for what is skewed, so that near means the same everywhere; few values stay well apart."""
    values, code = np.unique(column, return_inverse=True)
    if len(values) <= 24:
        return code.reshape(-1) * 3.0
    spread = float(column.std())
    return column / max(spread, 1e-300)
