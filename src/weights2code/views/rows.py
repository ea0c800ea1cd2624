"""Views that the rows themselves show to be enough, family by family, the cheapest first.

A few contexts (nothing, the present inputs, the last outputs, what left the fewest contradictions so far) are
each asked which one feature more resolves theirs. What leaves none is checked on many rows, and loses what it
does not need. What leaves few is a context of the next round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import tee
from math import inf, log2

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import charge, time_is_up
from weights2code.progress import at
from weights2code.views import families
from weights2code.views.evidence import COMPARED, EXPECTED, REAL, TELLING, Context, Evidence
from weights2code.views.families import Batch, Given, Source
from weights2code.views.features import BEFORE, Feature, priced
from weights2code.views.states import states

#: Positions that features are screened on, and those that a view is checked on.
SCREENED, CHECKED = 6000, 60_000
#: How far back inputs and outputs are looked at.
REACH, BACK = 12, 4
#: Contexts of a round, views of a stage that are checked, features that are kept for the next family.
CONTEXTS, MOST_CHECKED, KEPT = 8, 24, 120
#: Features of later families that a view has, beyond the first.
TOGETHER = 4
#: Different values of a column from which on near rows are asked too; columns of a window; what a view may
#: leave of what any two rows differ in, and one of whole numbers; features of a batch that the first near
#: rows are asked about, those that all are, and how many in all; features that are put together.
MANY, MOST_READ, CONTENT, ALIKE = 48, 14, 0.5, 0.1
MOST_NEAR, MOST_GROWN, MOST_FOUND, POOL = 48, 6, 400, 24
#: Features that are looked at on the first rows before all are asked, what one may leave there, and how many
#: are left for each context.
LARGE, PROMISING, KEPT_FIRST = 64, 0.9, 24
#: Features that are put together two by two, and pairs of them that are looked at further.
MOST_TOLD, MOST_PAIRS = 2000, 60
#: Views that are remembered for the contradictions that they leave.
PARTIAL = 40
#: What a view costs more where near rows differ twice as much, and differences that are none.
LEFT, NOTHING = 1.5, 1e-5
#: Rows that chance makes contradict each other in a view that is well known, of all that can.
ENOUGH = 0.25
#: How far back outputs are in a window.
PAST = 3
#: How far back values are tried one by one; what one more must leave of what near rows differ in.
NEARBY, LESS = 4, 0.9
#: Visible values that a view grows to; how many values an output has that may be a sum modulo them.
WIDEST = 7
PRIMES = (2, 3, 5, 7, 11, 13)

#: Where the families are opened: at what their features cost at least, and later where that takes long; and
#: what is said of them while they are looked through.
FAMILIES = {
    "running": (3.0, "running totals and extremes"),
    "mean": (4.0, "averages"),
    "lookup": (4.0, "lookups"),
    "window": (4.4, "the last few values"),
    "register": (7.0, "what is carried along"),
    "machine": (9.0, "states"),
    "long register": (11.0, "what is carried along for long"),
}

Features = tuple[Feature, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Features and the share of contradictions that they leave (0: none were found)."""

    features: Features
    left: float

    @property
    def cost(self) -> float:
        return priced(self.features)


@dataclass(slots=True, eq=False)
class Rows:
    """One output of a problem, and what is known of features on its rows."""

    problem: Problem
    row: int
    source: Source
    many: Sequences
    few: Evidence = field(init=False)
    full: Evidence = field(init=False)
    #: Views that leave a few contradictions, which may be mistakes in the data.
    partial: list[Scored] = field(default_factory=list)
    _chance: dict[frozenset[Feature], float] = field(default_factory=dict)
    _left: dict[frozenset[Feature], float] = field(default_factory=dict)
    _least: float = 1.0
    _few: dict[Feature, np.ndarray] = field(default_factory=dict)
    _many: dict[Feature, np.ndarray] = field(default_factory=dict)

    @staticmethod
    def of(problem: Problem) -> list[Rows]:
        """Of each output; what is not cut shows everything so far."""
        few, many = (some_of(problem.training, most) for most in (SCREENED, CHECKED))
        source = Source(problem, few)
        return [Rows(problem, row, source, many) for row in range(len(problem.outputs))]

    def learn(self, more: Sequences) -> None:
        """Views must not be contradicted by these either."""
        self.many = self.many.beside(more)
        self._many.clear()
        self.full = Evidence(self.many.y[..., self.row][self.many.scored])

    def __post_init__(self) -> None:
        self.few = Evidence(self.source.sequences.y[..., self.row][self.source.sequences.scored])
        self.full = Evidence(self.many.y[..., self.row][self.many.scored])

    def shown(self, features: Iterable[Feature]) -> list[np.ndarray]:
        """Values on the rows of the screen."""
        return [self._column(f, self._few, self.source.sequences) for f in features]

    def checked(self, features: Iterable[Feature]) -> list[np.ndarray]:
        """Values on many rows."""
        return [self._column(f, self._many, self.many) for f in features]

    def _column(self, feature: Feature, known: dict[Feature, np.ndarray], sequences: Sequences) -> np.ndarray:
        if feature not in known:
            known[feature] = feature.values(sequences, self.source.names)[sequences.scored]
        return known[feature]

    def enough(self, features: Features) -> bool:
        """Whether no rows that agree in them contradict each other, where many would by chance."""
        found, chance = self.full.contradicted(self.checked(features))
        self._chance[frozenset(features)] = chance
        return found == 0 and chance >= EXPECTED

    def thin(self, features: Features) -> float:
        """How little is known of a view, in bits: where rows hardly agree in it, few could contradict it."""
        chance, left = (known.get(frozenset(features)) for known in (self._chance, self._left))
        thin = 0.0 if chance is None else max(0.0, log2(ENOUGH * self.full.most / max(chance, 1.0)))
        return thin if left is None else thin + LEFT * log2(max(left, NOTHING) / max(self._least, NOTHING))

    @property
    def least(self) -> float:
        """What rows differ in that are near in the best of the visible views so far."""
        known = self._left.items()
        return min((left for view, left in known if not any(f.steps for f in view)), default=0.0)

    def place(self, features: Features) -> float:
        """Where a view waits: at what it costs, and later for what speaks against it."""
        return priced(features) + self.thin(features)

    def smallest(self, features: Features) -> Features:
        """Without what is not needed."""
        kept = self.full.smallest(self.checked(features), [f.cost for f in features])
        return tuple(features[place] for place in kept)

    def near(self, features: Features, values: Sequence[np.ndarray] | None = None) -> Scored:
        """What near rows differ in, of features whose values may be known."""
        left = self.few.near(self.shown(features) if values is None else values)
        self._left[frozenset(features)] = left
        self._least = min(self._least, left)
        return Scored(features, left)

    def real(self, features: Iterable[Feature]) -> bool:
        """Whether rows hardly ever agree in one of them."""
        return any(len(np.unique(column)) > REAL * len(column) for column in self.shown(features))

    # -- growing ---------------------------------------------------------------------------------------------

    def grown(self, contexts: Sequence[Features], batches: Iterable[Batch]) -> list[Scored]:
        """Each context with one feature more, those that leave the fewest contradictions, for their cost."""
        asked = [(some, *self._contexts(some)) for some in contexts]
        asked = [(some, first, context) for some, first, context in asked if context.found]
        found: dict[frozenset[Feature], Scored] = {}
        for batch in batches:
            if time_is_up():
                break
            batch = self._promising(batch, [first for _, first, _ in asked])
            values = batch.values()[:, self.source.sequences.scored]
            usable = np.isfinite(values).all(1) & (np.ptp(values, axis=1) > 0)
            costs = batch.costs
            for some, _, context in asked:
                unresolved, kept = context.left(values)
                ratio = np.where(kept > 0, unresolved / np.maximum(kept, 1e-9), 1.0)
                ratio[~usable | ((unresolved == 0) & (kept * context.found < EXPECTED))] = 1.0
                rank = np.argsort(ratio + 0.01 * costs, kind="stable")[: KEPT // 4]
                for place in rank[ratio[rank] < TELLING]:
                    features = (*some, batch.feature(int(place)))
                    if len(set(features)) == len(features):
                        found.setdefault(frozenset(features), Scored(features, float(ratio[place])))
        ranked = sorted(found.values(), key=lambda s: (s.left > 0, s.left + 0.01 * s.cost))
        some = [*self.partial, *(s for s in ranked if s.left > 0)]
        self.partial = sorted(some, key=lambda s: s.left + 0.01 * s.cost)[:PARTIAL]
        return ranked

    def paired(self, contexts: Sequence[Features], batches: Iterable[Batch]) -> list[Scored]:
        """Each context with two features more that leave no contradiction, the cheapest: what neither of two
        says alone, as two counters do that must both be 0."""
        asked = [(some, self._contexts(some)[0], dict[bytes, _Told]()) for some in contexts]
        asked = [one for one in asked if one[1].found and len(one[1].agreed[0])]
        shown = self.source.sequences.scored[: self.source.first]
        for batch in batches:
            if time_is_up():
                break
            values = batch.values(self.source.first)[:, shown]
            usable = np.flatnonzero(np.isfinite(values).all(1) & (np.ptp(values, axis=1) > 0))
            costs = batch.costs
            for _, context, told in asked:
                apart, alike = context.resolved(values[usable])
                few = alike.mean(1) * context.found < EXPECTED
                packed = np.packbits(apart, axis=1), np.packbits(alike, axis=1)
                for row in np.flatnonzero(~few & apart.any(1)).tolist():
                    place, one, other = int(usable[row]), packed[0][row], packed[1][row]
                    key = one.tobytes() + other.tobytes()
                    if key not in told or costs[place] < told[key].cost:
                        told[key] = _Told(float(costs[place]), one, other, batch, place)
        found = dict[frozenset[Feature], Scored]()
        for some, context, told in asked:
            for one, other in _together(sorted(told.values(), key=lambda t: t.cost)[:MOST_TOLD], context):
                features = (*some, one.feature, other.feature)
                if (
                    len(set(features)) == len(features)
                    and self.few.contradicted(self.shown(features))[0] == 0
                ):
                    found.setdefault(frozenset(features), Scored(features, 0.0))
        return list(found.values())

    def _contexts(self, some: Features) -> tuple[Context, Context]:
        """Of the first rows, and of all on the screen."""
        shown = self.shown(some)
        first = Evidence(self.few.target[: self._first])
        return first.context([column[: self._first] for column in shown]), self.few.context(shown)

    @property
    def _first(self) -> int:
        """How many rows are looked at first."""
        return int(self.source.sequences.scored[: self.source.first].sum())

    def _promising(self, batch: Batch, contexts: Sequence[Context]) -> Batch:
        """What is left of a large batch after a look at the first rows."""
        if len(batch.costs) < LARGE or not all(context.found for context in contexts):
            return batch
        values = batch.values(self.source.first)[:, self.source.sequences.scored[: self.source.first]]
        good = set[int]()
        for context in contexts:
            unresolved, kept = context.left(values)
            ratio = np.where(kept > 0, unresolved / np.maximum(kept, 1e-9), 1.0)
            best = np.argsort(ratio + 0.01 * batch.costs, kind="stable")[:KEPT_FIRST]
            good.update(best[ratio[best] <= PROMISING].tolist())
        return batch.some(np.array(sorted(good), int))

    def confirmed(self, found: Iterable[Scored]) -> list[Features]:
        """Those that are enough on many rows, without what they do not need, the cheapest first."""
        views: dict[frozenset[Feature], Features] = {}
        for one in sorted((s for s in found if s.left == 0), key=lambda s: s.cost)[:MOST_CHECKED]:
            if self.enough(one.features):
                small = self.smallest(one.features)
                self.enough(small)  # how well it is known decides where it waits
                views.setdefault(frozenset(small), small)
        return sorted(views.values(), key=self.place)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What one feature of a batch resolves: contradictions, and agreeing pairs that it leaves together, in
    bits."""

    cost: float
    apart: np.ndarray
    alike: np.ndarray
    batch: Batch
    place: int

    @property
    def feature(self) -> Feature:
        return self.batch.feature(self.place)


def _together(told: list[_Told], context: Context) -> Iterator[tuple[_Told, _Told]]:
    """Pairs that resolve all contradictions, where many could be left; the cheapest first."""
    if not told:
        return
    apart, alike = np.stack([one.apart for one in told]), np.stack([one.alike for one in told])
    costs = np.array([one.cost for one in told])
    whole = np.packbits(np.ones(len(context.conflicts[0]), bool))
    charge(COMPARED * apart.size * len(told) / 8)
    pairs = [
        (place, place + 1 + np.flatnonzero(((apart[place] | apart[place + 1 :]) == whole).all(1)))
        for place in range(len(told))
    ]
    some = np.array([(i, j) for i, others in pairs for j in others.tolist()], int).reshape(-1, 2)
    both = np.bitwise_and(alike[some[:, 0]], alike[some[:, 1]])
    left = np.unpackbits(both, axis=1).sum(1) / len(context.agreed[0])
    some = some[left * context.found >= EXPECTED]
    for i, j in some[np.argsort(costs[some].sum(1), kind="stable")[:MOST_PAIRS]].tolist():
        yield told[i], told[j]


def some_of(sequences: Sequences, most: int) -> Sequences:
    """As many sequences as hold so many positions, or the beginning of one."""
    length = sequences.x.shape[1]
    if length > most:
        sequences = Sequences(
            sequences.x[:, :most],
            sequences.y[:, :most],
            np.minimum(sequences.lengths, most),
            None if sequences.context is None else np.minimum(sequences.context, most - 1),
        )
    return sequences.take(slice(0, max(1, most // sequences.x.shape[1])))


def stages(rows: Rows) -> Iterator[tuple[str, float, list[Features]]]:
    """Family by family what is enough for an output, and the least that what comes next costs."""
    outputs = rows.problem.outputs
    reach = min(REACH, rows.source.sequences.x.shape[1] // 2)
    fresh = families.visible(rows.problem, reach, min(BACK, max(reach, 1)))
    fresh += families.seasonal(rows.problem)
    present = tuple(f for f in fresh if f.read.lag == 0)
    yield "linear", 0.0, linear_views(rows, fresh) or modular_views(rows, reach)
    real = rows.few.real or rows.real(present)
    if not real:
        yield "visible", 0.0, visible_views(rows, fresh, reach)
    many = any(len(np.unique(column)) > MANY for column in rows.shown(present))
    if real or many:
        yield "near", FAMILIES["running"][0], near_views(rows, fresh, reach)
    last = tuple(f for f in fresh if f.read.lag == (f.read.name in outputs))
    contexts = list(dict.fromkeys([(), present, last, *((f,) for f in present[:4])]))
    kept: list[Scored] = []
    near = [f for f in fresh if f.read.lag <= 1]
    coming = list(later_families(rows.source))
    for place, (name, batches) in enumerate(coming):
        least, said = FAMILIES[name]
        at("", f"{rows.problem.outputs[rows.row]} by {said}")
        following = FAMILIES[coming[place + 1][0]][0] if place + 1 < len(coming) else inf
        if real:
            yield name, following, near_grown(rows, contexts[:3], batches)
            continue
        batches, again, more = tee(batches, 3)  # what they hold is computed once
        found = rows.grown(contexts, batches)
        if name == "running":
            found += [Scored(view, 0.0) for view in families.histograms(rows.source)]
        yield name, min(following, 2 * least), rows.confirmed(found)
        # sums of what has many values hardly repeat
        yield f"{name} near", following, near_grown(rows, contexts[:3], again, ALIKE, wide=not many)
        partial = [s for s in found if s.left > 0][:KEPT]
        kept = sorted([*kept, *partial], key=lambda s: s.left + 0.01 * s.cost)[:KEPT]
        pool = list(dict.fromkeys([*(s.features[-1] for s in kept), *near]))
        both = rows.paired(contexts[:3], more)
        level, joined, traced = kept, both, list(Given.traced(pool, rows.source))
        for _ in range(TOGETHER):
            level = rows.grown([s.features for s in level[:CONTEXTS]], traced)
            joined += [s for s in level if s.left == 0]
            level = [s for s in level if s.left > 0]
            if joined or not level:
                break
        yield f"{name} together", following, rows.confirmed(joined)
        contexts = contexts[:6] + [s.features for s in sorted([*kept, *level], key=lambda s: s.left)[:2]]


def later_families(source: Source) -> Iterator[tuple[str, Iterable[Batch]]]:
    """What is not simply visible, in the order in which it is looked for."""
    if not source.sequences.given.any():
        yield "running", families.updated(source, running=True)
        yield "mean", families.means(source)
        yield "lookup", families.lookups(source)
    yield "window", families.windows(source)
    if not source.sequences.given.any():
        yield "register", families.updated(source, running=False)
        yield "machine", machines(source)
        yield "long register", families.updated(source, running=False, simple=False)


def machines(source: Source) -> Iterator[Batch]:
    """States of the machine that the rows fold into, which takes its time: once."""
    if source.machines is None:
        source.machines = list(states(source.problem))
    yield from Given.traced(source.machines, source)


def visible_views(rows: Rows, fresh: list[Feature], reach: int) -> list[Features]:
    """Columns near the present that are enough: all up to some steps back, or a few from anywhere."""
    found: list[Scored] = []
    outputs = rows.problem.outputs
    for back in range(reach + 1):
        for past in (True, False):
            near = tuple(
                f for f in fresh if f.read.lag <= back + (past and back == 0) * (f.read.name in outputs)
            )
            near = near if past else tuple(f for f in near if f.read.name not in outputs)
            if near and rows.enough(near):
                found.append(Scored(near, 0.0))
        if found:
            break
    level: list[Scored] = [Scored((), 1.0)]
    batch = list(Given.traced(fresh, rows.source))
    for depth in range(WIDEST):
        level = rows.grown([s.features for s in level[: CONTEXTS * (2 if depth else 1)]], batch)
        found += [s for s in level if s.left == 0]
        level = [s for s in level if s.left > 0]
        if not level or (depth > 1 and any(s.left == 0 for s in found)):
            break
    return rows.confirmed(found)


def linear_views(rows: Rows, fresh: list[Feature]) -> list[Features]:
    """What a sum of multiples of columns reads that is the output, if one is."""
    if rows.problem.output_domains[rows.row].categories:
        return []
    texts = {n for n, d in zip(rows.problem.inputs, rows.problem.domains, strict=True) if d.categories}
    fresh = [
        f for f in fresh if f.read.name not in texts and f.read.name not in rows.problem.output_categories
    ]
    target = rows.few.target
    for back in range(max(f.read.lag for f in fresh) + 1 if fresh else 0):
        some = [f for f in fresh if f.read.lag <= max(back, f.read.name in rows.problem.outputs)]
        columns = np.column_stack(rows.shown(some))
        inside = (columns != BEFORE).all(1)
        if inside.sum() < 4 * len(some):
            break
        table = np.column_stack([columns[inside], np.ones(inside.sum())])
        spread = np.maximum(np.abs(table).max(0), 1e-300)
        weights = np.linalg.lstsq(table / spread, target[inside], rcond=1e-12)[0] / spread
        if np.abs(table @ weights - target[inside]).max() <= 1e-8 * max(1.0, np.abs(target).max()):
            kept = np.abs(weights[:-1]) * np.ptp(columns[inside], axis=0) > 1e-7 * max(np.ptp(target), 1e-300)
            view = tuple(f for f, keep in zip(some, kept, strict=True) if keep)
            return [view] if view else []
    return []


def modular_views(rows: Rows, reach: int) -> list[Features]:
    """What a sum of multiples of columns reads that is the output modulo how many values that has, as shift
    registers and check digits are."""
    target = rows.few.target
    modulus = target.max() + 1
    if rows.problem.output_domains[rows.row].categories or modulus not in PRIMES or target.min() < 0:
        return []
    fresh = sorted(families.visible(rows.problem, reach, reach), key=lambda f: f.read.lag)
    columns = np.column_stack(rows.shown(fresh))
    inside = (columns != BEFORE).all(1)
    table = np.column_stack([np.ones(inside.sum()), columns[inside], target[inside]])
    if len(table) < 4 * len(fresh) or (table != np.floor(table)).any():
        return []
    found = solved(table % modulus, int(modulus))
    if found is None:
        return []
    view = tuple(f for f, weight in zip(fresh, found[1:], strict=True) if weight)
    return [view] if len(view) > 1 else []


def solved(table: np.ndarray, modulus: int) -> np.ndarray | None:
    """Weights of the columns that sum up to the last modulo a prime in every row, of the first columns if
    several would do; None if there are none."""
    left = table.astype(np.int64)
    pivots: list[int] = []
    for column in range(left.shape[1]):
        rest = np.flatnonzero(left[len(pivots) :, column])
        if not len(rest):
            continue
        if column == left.shape[1] - 1:
            return None
        here, there = len(pivots), len(pivots) + rest[0]
        left[[here, there]] = left[[there, here]]
        left[here] = left[here] * pow(int(left[here, column]), -1, modulus) % modulus
        others = left[:, column].copy()
        others[here] = 0
        left = (left - others[:, None] * left[here]) % modulus
        pivots.append(column)
    weights = np.zeros(left.shape[1] - 1, np.int64)
    weights[pivots] = left[: len(pivots), -1]
    return weights


def windows_of(rows: Rows, fresh: Sequence[Feature], widest: int) -> list[Features]:
    """Inputs up to some steps back with outputs up to some, the narrowest first."""
    found = []
    for back in range(widest + 1):
        for past in range(min(back + 2, PAST) + 1):
            near = tuple(
                f for f in fresh if f.read.lag <= (past if f.read.name in rows.problem.outputs else back)
            )
            if near and len(near) <= MOST_READ:
                found.append(near)
    return list(dict.fromkeys(found))


def near_views(rows: Rows, fresh: list[Feature], reach: int) -> list[Features]:
    """Where rows hardly agree: the windows that the nearest rows are most content with, and what they are one
    value after the other."""
    scored = [rows.near(near) for near in windows_of(rows, fresh, min(reach, 6))]
    chosen: Features = ()
    for _ in range(WIDEST):
        more = [(*chosen, f) for f in fresh if f not in chosen and f.read.lag <= NEARBY]
        level = [rows.near(view) for view in more]
        best = min(level, key=lambda s: s.left + 0.02 * s.cost, default=None)
        if best is None or (chosen and best.left > LESS * scored[-1].left):
            break
        chosen = best.features
        scored.append(best)
    views = dict.fromkeys(tuple(f for f in fresh if f in s.features) for s in scored)
    return sorted(views, key=rows.place)


def near_grown(
    rows: Rows,
    contexts: Sequence[Features],
    batches: Iterable[Batch],
    content: float = CONTENT,
    *,
    wide: bool = False,
) -> list[Features]:
    """The same with one feature more, of those of many values if it is to be `wide`, and with two."""
    found: list[Scored] = []
    source, scored = rows.source, rows.source.sequences.scored
    shown = [(some, rows.shown(some)) for some in contexts]
    for batch in batches:
        if time_is_up() or len(found) > MOST_FOUND:
            break
        values = batch.values(source.first)[:, scored[: source.first]]
        varied = np.isfinite(values).all(1) & (np.ptp(values, axis=1) > 0)
        if wide:
            varied &= (np.diff(np.sort(values, axis=1), axis=1) > 0).sum(1) > MANY
        asked = np.argsort(np.where(varied, batch.costs, inf), kind="stable")[: min(MOST_NEAR, varied.sum())]
        count = values.shape[1]
        first = [
            min(
                rows.few.near([*(c[:count] for c in columns), values[place]], quick=True)
                for _, columns in shown
            )
            for place in asked
        ]
        some = batch.some(asked[np.argsort(first, kind="stable")[:MOST_GROWN]])
        for place, column in enumerate(some.values()[:, scored]):
            feature = some.feature(place)
            found += [rows.near((*chosen, feature), [*columns, column]) for chosen, columns in shown]
    if not found:
        return []
    found.sort(key=lambda s: rows.place(s.features))
    pool = list(dict.fromkeys(s.features[-1] for s in found[:POOL]))
    pairs = [(*s.features, f) for s in found[:3] for f in pool if f not in s.features]
    together = [rows.near(view) for view in pairs if found[0].left >= ALIKE]
    best = sorted([*found[:POOL], *together], key=lambda s: rows.place(s.features))
    return [s.features for s in best[:3] if s.left < content]
