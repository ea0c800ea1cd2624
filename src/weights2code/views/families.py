"""The families of features, as a table: what is visible, runs along, is looked up or remembered.

Thousands of features differ only in the quantity, the tests and the number that one template has, so the
values of hundreds are computed at once, one position after the other. A family of one's own is one more
function that yields batches (`rows.later_families`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import inf, isfinite
from typing import Protocol

import numpy as np

from weights2code.data import Problem, Sequences
from weights2code.effort import charge
from weights2code.heads import Relation
from weights2code.language import Const, Count, Expr, Retrieval, Start, Step, Var, compile_numpy, evaluate, op
from weights2code.language.operators import order_name
from weights2code.views.features import BEFORE, Feature

#: Seconds of a usual machine: a step of all features at a position, a node of one at a row.
STEP, CELL = 2e-5, 2.5e-9
#: Features whose values are computed at a time.
TOGETHER = 256
#: Positions that are looked at first.
FIRST = 800
#: Features of an update that are simple, and those that are looked at at all.
SIMPLE, MOST = 512, 2560
#: Of more different values a column is no code, and of more it is no small number.
FEW, SMALL = 12, 40
#: How far back windows go.
WIDEST = 9
#: Running totals that there are extrema of, and tests that are taken from each other.
MOST_TOTALS, SIGNED = 16, 8
#: Formulas that are keys; how keys compare with what is asked for.
MOST_KEYS = 40
ORDERED: tuple[Relation, ...] = ("eq", "lt", "gt", "le", "ge")
#: What a larger number costs more: of two remainders that tell as much the smaller one is meant.
NUMBER = 0.02
#: What it costs to read a register one step earlier.
EARLIER = 0.3
#: Rows around a season ago that are looked at.
AROUND = 2


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, or a test, of what is visible at a position; its values on the rows (n, T)."""

    expr: Expr
    cost: float
    values: np.ndarray
    test: bool = False
    #: What makes it, if it is not visible.
    steps: tuple[Step, ...] = ()
    start: tuple[tuple[str, Start], ...] = ()


@dataclass(eq=False)
class Source:
    """What features are made of: some sequences of a problem, and the quantities that they show."""

    problem: Problem
    sequences: Sequences
    quantities: list[Quantity] = field(default_factory=list)
    tests: list[Quantity] = field(default_factory=list)
    #: What levels rise and fall by besides: quantities less a number or negated, tests less others.
    changes: list[Quantity] = field(default_factory=list)
    #: States that the rows fold into, once they are looked for.
    machines: list[Feature] | None = None
    #: How many sequences are looked at first.
    first: int = field(init=False)
    names: tuple[str, ...] = field(init=False)
    valid: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        x = self.sequences.x
        self.names = (*self.problem.inputs, *self.problem.outputs)
        self.valid = self.sequences.valid
        self.first = max(1, FIRST // x.shape[1])
        seen: set[tuple[str, bytes]] = set()
        columns = [Var(name) for name in self.problem.inputs]
        domains = self.problem.domains
        values = {v: x[..., i] for i, v in enumerate(columns)}
        values |= {
            Var(v.name, 1): np.pad(x[..., i], ((0, 0), (1, 0)))[:, : x.shape[1]]
            for i, v in enumerate(columns)
        }
        said = [v for v, domain in zip(columns, domains, strict=True) if domain.categories]
        numbers = [v for v in columns if v not in said]

        def add(expr: Expr, cost: float, kind: str = "quantities") -> None:
            with np.errstate(all="ignore"):
                found = evaluate(expr, {v: values[v] for v in expr.variables()})
            found = np.broadcast_to(np.asarray(found, float), x.shape[:2])
            own = found[self.valid]
            if not np.isfinite(own).all() or np.ptp(own) == 0:
                return
            key = own.tobytes()
            if (kind, key) in seen or (kind == "quantities" and ("tests", key) in seen):
                return
            seen.add((kind, key))
            getattr(self, kind).append(Quantity(expr, cost, found, kind == "tests"))

        for v in numbers:
            add(v, 1.0)
        for v, domain in zip(columns, domains, strict=True):
            own = values[v][self.valid]
            distinct = np.unique(own)
            if len(distinct) == 2 and not domain.categories:
                high, low = float(distinct[1]), float(distinct[0])
                add(v.equals(_number(high)), 1.0, "tests")
                add(v.equals(_number(low)), 1.2, "tests")
                if (low, high) == (0, 1):
                    add(2 * v - 1, 2.0)
                    add(1 - 2 * v, 2.2)
            elif domain.discrete and len(distinct) <= (SMALL if domain.categories else FEW):
                for value in distinct.tolist():
                    add(v.equals(_number(value)), 1.5, "tests")
            if not domain.categories and len(distinct) > 2:
                small = set(_steps(1, 5)) if domain.discrete else set()
                for value in borders(own):
                    add(v > _number(value), 2.0, "tests")
                for value in sorted({*borders(own), *small} - {0.0}):
                    add(v - _number(value), 1.5, "changes")
                if domain.discrete:
                    add((v % 2).equals(1), 2.5, "tests")
                if domain.low < 0:
                    add(op("abs", v), 2.0)
            if domain.categories:
                add(v.equals(Var(v.name, 1)), 2.0, "tests")
                add(op("ne", v, Var(v.name, 1)), 2.0, "tests")
            else:
                for sign in ("gt", "lt", "eq", "ne"):
                    add(op(sign, v, Var(v.name, 1)), 2.0, "tests")
                if len(distinct) > 2:
                    add(v - Var(v.name, 1), 2.0)
        for a, b in combinations(numbers, 2):
            for sign in ("add", "sub", "mul", "max", "min"):
                add(op(sign, a, b), 2.0)
            for sign in ("gt", "lt", "eq", "ge"):
                add(op(sign, a, b), 2.0, "tests")
            add(op("abs", a - b), 3.0)
        for a, b in combinations(said, 2):
            if domains[columns.index(a)].categories == domains[columns.index(b)].categories:
                add(a.equals(b), 2.0, "tests")
        single = list(self.tests)
        for one, other in combinations(single[:12], 2):
            if {v.name for v in one.expr.variables()} != {v.name for v in other.expr.variables()}:
                add(op("and", one.expr, other.expr), one.cost + other.cost, "tests")
        for v in numbers:
            if np.ptp(values[v][self.valid]) > 1 or not domains[columns.index(v)].discrete:
                for one in single:
                    if Var(v.name) not in one.expr.variables():
                        add(op("where", one.expr, v, 0), 1.5 + one.cost)
        for one in self.quantities[: 2 * SIGNED]:
            add(-one.expr, one.cost + 0.5, "changes")
        for one in single[:SIGNED]:
            add(op("where", one.expr, 1, -1), one.cost, "changes")
            for other in single[:SIGNED]:
                if other is not one:
                    add(one.expr - other.expr, one.cost + other.cost, "changes")
        for some in (self.quantities, self.tests, self.changes):
            some.sort(key=lambda q: q.cost)

    @property
    def counting(self) -> list[Quantity]:
        """Changes by one, up and down."""
        return [q for q in self.changes if np.abs(q.values).max() <= 1]


def borders(values: np.ndarray) -> list[float]:
    """Numbers that a column may be compared with: each of a few whole ones, else round ones in between."""
    low, high = float(values.min()), float(values.max())
    if (values == np.floor(values)).all() and high - low <= FEW:
        return np.unique(values)[:-1].tolist()
    step = 10.0 ** np.floor(np.log10(max(high - low, 1e-9))) / 2
    step = step if (high - low) / step <= 11 else 2 * step
    return np.round(np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step, 9).tolist()


def _number(value: float) -> Const:
    return Const(int(value)) if float(value).is_integer() else Const(value)


class Batch(Protocol):
    """Features of one kind, whose values are computed together."""

    def values(self, count: int | None = None) -> np.ndarray:
        """Their values (features, n, T), of so many sequences if not of all."""
        ...

    def some(self, places: np.ndarray) -> Batch:
        """These of them, or a few more."""
        ...

    def feature(self, place: int) -> Feature: ...

    @property
    def costs(self) -> np.ndarray: ...


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Features whose values are known."""

    features: tuple[Feature, ...]
    known: np.ndarray

    def values(self, count: int | None = None) -> np.ndarray:
        return self.known[:, :count]

    def some(self, places: np.ndarray) -> Given:
        return Given(tuple(self.features[place] for place in places), self.known[places])

    def feature(self, place: int) -> Feature:
        return self.features[place]

    @property
    def costs(self) -> np.ndarray:
        return np.array([feature.cost for feature in self.features])

    @staticmethod
    def traced(features: Sequence[Feature], source: Source) -> Iterator[Given]:
        """Features by what their steps give, some at a time."""
        for first in range(0, len(features), TOGETHER):
            some = tuple(features[first : first + TOGETHER])
            yield Given(some, np.stack([f.values(source.sequences, source.names) for f in some]))


# -- what is visible -----------------------------------------------------------------------------------------


def visible(problem: Problem, reach: int, back: int) -> list[Feature]:
    """Inputs as far back as `reach`, outputs as far as `back`."""
    found = [
        Feature("visible", Var(name, lag), 1 + 0.3 * lag)
        for name in problem.inputs
        for lag in range(reach + 1)
    ]
    return found + [
        Feature("visible", Var(name, lag), 0.8 + 0.4 * lag)
        for name in problem.outputs
        for lag in range(1, back + 1)
    ]


def seasonal(problem: Problem) -> list[Feature]:
    """What stood about a season ago."""
    season = problem.season or (problem.seasonal and problem.seasonal.season)
    if not season:
        return []
    names = (*problem.inputs, *problem.outputs)
    lags = range(max(season - AROUND, 1), season + AROUND + 1)
    return [
        Feature("season", Var(name, lag), 2.0 + 0.3 * abs(lag - season)) for name in names for lag in lags
    ]


POSITION = Feature("visible", Var("position'"), 2.0, (Step("position'", Var("position'", 1) + 1),))


# -- updates -------------------------------------------------------------------------------------------------

_s, _q, _p, _r, _c = Var("s", 1), Var("q"), Var("p"), Var("r"), Var("c")


@dataclass(frozen=True, slots=True)
class Update:
    """A quantity that goes on from what it was: `s` of its last value, a quantity `q`, tests `p` and `r` and
    a number `c`. Tests may stand for quantities where `counts`, and what a level rises and falls by where it
    is a `level`."""

    name: str
    rule: Expr
    cost: float
    numbers: tuple[float, ...] = ()
    start: float = 0.0
    counts: bool = False
    level: bool = False
    running: bool = False
    #: Whether what it was a step ago follows from what it is.
    now: bool = False
    #: Whether it is looked for where no output is a real number, and of running totals.
    whole: bool = True
    deep: bool = False

    @property
    def reads(self) -> set[str]:
        return {v.name for v in self.rule.variables()}


def _steps(low: int, high: int) -> tuple[float, ...]:
    return tuple(float(c) for c in range(low, high + 1))


UPDATES: tuple[Update, ...] = (
    Update("total", _s + _q, 2.0, counts=True, running=True, now=True),
    Update("most", op("max", _s, _q), 2.0, start=-inf, running=True, deep=True),
    Update("least", op("min", _s, _q), 2.0, start=inf, running=True, deep=True),
    Update("clock", (_s + 1) % _c, 2.5, _steps(2, 8), running=True, now=True),
    Update("last", op("where", _p, _q, _s), 3.0),
    Update("since", op("where", _p, 0, _s + 1), 3.0),
    Update("run", op("where", _p, _s + 1, 0), 3.0),
    Update("sum", op("where", _p, 0, _s + _q), 3.5, counts=True),
    Update("level", op("max", _s + _q, 0), 3.0, level=True),
    Update(
        "level", op("clip", _s + _q, 0, _c), 3.5, (*_steps(1, 10), 12, 15, 16, 20), counts=True, level=True
    ),
    Update("level", op("clip", _s + _q, -_c, _c), 3.5, (*_steps(1, 6), 8, 10), level=True),
    Update("level", op("max", _s + _q - _c, 0), 3.5, _steps(1, 5)),
    Update("level", op("max", _s - _c, _q), 3.5, _steps(1, 4)),
    Update("level", op("min", _s + _c, _q), 3.5, _steps(1, 4)),
    Update("state", (_s + _q) % _c, 3.0, (*_steps(2, 10), 12, 16), counts=True),
    Update("state", (2 * _s + _q) % _c, 3.5, _steps(3, 16)),
    Update("state", (3 * _s + _q) % _c, 3.5, _steps(4, 11)),
    Update("carry", (_s + _q) // _c, 3.0, (*_steps(2, 10), 16)),
    Update("state", op("where", _p, 1, op("where", _r, 0, _s)), 3.5),
    Update("state", op("where", _p, op("sub", 1, _s), _s), 3.0),
    Update("state", op("where", _p, (_s + 1) % _c, op("where", _r, 0, _s)), 4.5, _steps(2, 6)),
    Update("level", _s + op("clip", _q - _s, -_c, _c), 3.5, _steps(1, 5)),
    Update("fading", _s / 2 + _q, 3.0, whole=False),
    Update("held", op("where", op("abs", _q - _s) > _c, _q, _s), 3.5, _steps(1, 5)),
)


@dataclass(frozen=True, slots=True, eq=False)
class Updated:
    """Features of one update, by its quantities, tests and numbers: as they are, and one step earlier."""

    update: Update
    chosen: list[tuple[Quantity | None, Quantity | None, Quantity | None, float]]
    length: int
    count: int

    def some(self, places: np.ndarray) -> Updated:
        chosen = [self.chosen[place] for place in np.unique(places % max(len(self.chosen), 1))]
        return replace(self, chosen=chosen)

    def values(self, count: int | None = None) -> np.ndarray:
        update, many = self.update, len(self.chosen)
        variables = update.rule.variables()
        function = compile_numpy(update.rule, variables)
        n = self.count if count is None else min(count, self.count)
        given: dict[str, np.ndarray] = {}
        for place, name in enumerate(("q", "p", "r")):
            if name in update.reads:
                told = [one[place] for one in self.chosen]
                shown = [quantity.values[:count].T for quantity in told if isinstance(quantity, Quantity)]
                given[name] = np.stack(shown, 1) if shown else np.zeros((self.length, 0, n))
        c = np.array([one[3] for one in self.chosen])[:, None]
        found = np.empty((self.length, many, n))
        state = np.full((many, n), update.start)
        with np.errstate(all="ignore"):
            for t in range(self.length):
                known = {"s": state, "c": c}
                arrays = [known[v.name] if v.name in known else given[v.name][t] for v in variables]
                state = np.broadcast_to(np.asarray(function(*arrays), float), (many, n))
                found[t] = state
        charge(STEP * self.length + CELL * found.size * update.rule.size())
        now = found.transpose(1, 2, 0)
        if update.now:
            return now
        before = np.full_like(now, update.start if isfinite(update.start) else BEFORE)
        before[..., 1:] = now[..., :-1]
        return np.concatenate([now, before])

    @property
    def costs(self) -> np.ndarray:
        found = np.array([cost_of(self.update, one) for one in self.chosen])
        return found if self.update.now else np.concatenate([found, found + EARLIER])

    def feature(self, place: int) -> Feature:
        lag, place = divmod(place, len(self.chosen))
        q, p, r, c = self.chosen[place]
        name = f"{self.update.name}'"
        told = {Var("s", 1): Var(name, 1), _c: _number(c)}
        for variable, quantity in ((_q, q), (_p, p), (_r, r)):
            if quantity is not None:
                told[variable] = quantity.expr
        steps = (*(q.steps if q else ()), Step(name, self.update.rule.substitute(told)))
        family = "running" if self.update.running else "register"
        start = ((name, self.update.start),) if self.update.start else ()
        like = f"{name}{q and type(q.expr)}" if self.update.running else ""
        found = Feature(family, Var(name), cost_of(self.update, self.chosen[place]), steps, start, like)
        return found.at(lag, EARLIER)


def cost_of(update: Update, chosen: tuple[Quantity | None, Quantity | None, Quantity | None, float]) -> float:
    return update.cost + sum(one.cost for one in chosen[:3] if one is not None) + NUMBER * chosen[3]


def updated(source: Source, *, running: bool, simple: bool = True) -> Iterator[Updated]:
    """The features of all updates that run along, or of the others, some at a time: the cheapest of each, or
    what is not so simple."""
    n, length = source.sequences.x.shape[:2]
    unit = Quantity(Const(1), 0.5, np.ones((n, length)))
    whole = all(domain.discrete for domain in source.problem.output_domains)
    for update in UPDATES:
        if update.running != running or (whole and not update.whole):
            continue
        reads = update.reads
        quantities = [*source.quantities, *(totals(source) if update.deep else ())]
        more = source.tests + source.counting if update.counts else []
        more = more + source.changes if update.level else more
        quantities = sorted([*quantities, *more], key=lambda q: q.cost)
        if update.name == "sum":
            quantities = [unit, *quantities]
        choices = product(
            quantities if "q" in reads else [None],
            source.tests if "p" in reads else [None],
            source.tests if "r" in reads else [None],
        )
        listed = [
            (q, p, r, float(c))
            for q, p, r in choices
            if p is None or (p is not r and p is not q)
            for c in update.numbers or (0.0,)
        ]
        listed.sort(key=lambda chosen: cost_of(update, chosen))
        listed = listed[:SIMPLE] if simple else listed[SIMPLE:MOST]
        for first in range(0, len(listed), TOGETHER):
            yield Updated(update, listed[first : first + TOGETHER], length, n)


def totals(source: Source) -> Iterator[Quantity]:
    """Running totals of what is cheapest, of which there are extrema."""
    for quantity in sorted([*source.quantities, *source.counting], key=lambda q: q.cost)[:MOST_TOTALS]:
        made = Step("total'", Var("total'", 1) + quantity.expr)
        yield Quantity(Var("total'"), 2.0 + quantity.cost, quantity.values.cumsum(1), steps=(made,))


def histograms(source: Source) -> Iterator[tuple[Feature, ...]]:
    """How often each value of a column has come, all together."""
    problem = source.problem
    for place, (name, domain) in enumerate(zip(problem.inputs, problem.domains, strict=True)):
        values = np.unique(source.sequences.x[..., place][source.valid]) if domain.discrete else np.zeros(0)
        if 2 < len(values) <= FEW:
            tests = (Var(name).equals(_number(value)) for value in values.tolist())
            steps = (Step("total'", Var("total'", 1) + test) for test in tests)
            yield tuple(Feature("running", Var("total'"), 3.5, (step,), like=name) for step in steps)


def means(source: Source) -> Iterator[Given]:
    """Averages of everything so far."""
    some = [*source.quantities[:40], *source.tests[:40]]
    if not some:
        return
    features, values = [], []
    length = source.sequences.x.shape[1]
    for quantity in some:
        total = Step("total'", Var("total'", 1) + quantity.expr)
        steps = (total, *POSITION.steps, Step("mean'", Var("total'") / Var("position'")))
        features.append(Feature("running", Var("mean'"), 3.0 + quantity.cost, steps))
        values.append(quantity.values.cumsum(1) / np.arange(1, length + 1))
    yield Given(tuple(features), np.stack(values))


# -- windows -------------------------------------------------------------------------------------------------


def windows(source: Source) -> Iterator[Given]:
    """Sums, extrema and order statistics of the last few values of a quantity, or how many tests held."""
    x = source.sequences.x
    length = x.shape[1]
    folds: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "add": lambda a: a.sum(0), "max": lambda a: a.max(0), "min": lambda a: a.min(0)
    }  # fmt: skip
    for quantity in (*source.quantities[: 2 * x.shape[2]], *source.tests[:24]):
        backs = [
            np.pad(quantity.values, ((0, 0), (lag, 0)))[:, :length] for lag in range(min(WIDEST, length - 1))
        ]
        features, values = [], []
        for wide in range(2, len(backs) + 1):
            some = np.stack(backs[:wide])
            reads = [quantity.expr.shift(lag) for lag in range(wide)]
            for name, fold in folds.items():
                if quantity.test and name != "add":
                    continue
                expr = reads[0]
                for read in reads[1:]:
                    expr = op(name, expr, read)
                called = {"add": "recent'", "max": "highest'", "min": "lowest'"}[name]
                features.append(
                    Feature("window", Var(called), 2 + quantity.cost + 0.2 * wide, (Step(called, expr),))
                )
                values.append(_begun(fold(some), wide))
            if quantity.test or len(np.unique(quantity.values[source.valid])) <= 2:
                continue
            ordered = np.sort(some, axis=0)
            for place in range(2, wide):
                expr = op(order_name(place, wide), *reads)
                features.append(
                    Feature(
                        "window", Var("middle'"), 3 + quantity.cost + 0.2 * wide, (Step("middle'", expr),)
                    )
                )
                values.append(_begun(ordered[place - 1], wide))
        if features:
            charge(10 * CELL * len(values) * x.size)
            yield Given(tuple(features), np.stack(values))


def _begun(values: np.ndarray, wide: int) -> np.ndarray:
    values = values.copy()
    values[:, : wide - 1] = BEFORE
    return values


# -- lookups -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Key:
    """What is looked up by: a column, or a step that makes something of columns; what may be asked for."""

    name: str
    queries: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    cost: float = 0.0


def keys_of(source: Source) -> Iterator[Key]:
    """Columns, columns a step ago, and what short formulas make of columns, which is asked for itself."""
    inputs = zip(source.problem.inputs, source.problem.domains, strict=True)
    discrete = {name: domain.categories for name, domain in inputs if domain.discrete}
    for name, texts in discrete.items():
        alike = tuple(other for other, own in discrete.items() if own == texts)
        yield Key(name, alike)
        yield Key("key'", ("key'", *alike), (Step("key'", Var(name, 1)),), 1.0)
    made = [q for q in (*source.quantities, *source.tests) if not isinstance(q.expr, Var)]
    made = [q for q in made if q.cost <= 3 and all(v.name in discrete for v in q.expr.variables())]
    for quantity in made[:MOST_KEYS]:
        yield Key("key'", ("key'",), (Step("key'", quantity.expr),), 2.0 + quantity.cost)


def lookups(source: Source) -> Iterator[Given]:
    """The value at the last place where a key was what is asked for, or some test held; how many keys compare
    with it."""
    problem = source.problem
    columns = (*problem.inputs, *problem.outputs, "position'")
    features: list[Feature] = []

    def add(name: str, cost: float, *steps: Step) -> None:
        features.append(Feature("lookup", Var(name), 3.0 + cost, steps))

    def told(value: str) -> tuple[Step, ...]:
        return POSITION.steps if value == "position'" else ()

    for key in keys_of(source):
        for query in key.queries:
            cost = key.cost + (query != key.name)
            for value, gap in product(columns, (1, 0)):
                if value != key.name and (gap or (value not in problem.outputs and query != key.name)):
                    found = Retrieval(key.name, value, Var(query), gap)
                    add("seen'", cost, *told(value), *key.steps, Step("seen'", found))
            ordered = not key.steps and query not in problem.categories
            for relation in ORDERED[:3] if ordered else ORDERED[:1]:
                add("count'", cost, *key.steps, Step("count'", Count(key.name, Var(query), relation)))
    reals = [n for n, d in zip(problem.inputs, problem.domains, strict=True) if not d.discrete]
    for key, query in product(reals, reals):
        for relation in ORDERED[1:3] if key == query else ORDERED[1:]:
            add("count'", float(query != key), Step("count'", Count(key, Var(query), relation)))
    for test, value in product(source.tests[:MOST_KEYS], columns[len(problem.inputs) :]):
        found = Retrieval("key'", value, Const(1), 1)
        add("seen'", 2.0 + test.cost, *told(value), Step("key'", test.expr), Step("seen'", found))
    features.sort(key=lambda f: f.cost)
    yield from Given.traced(features, source)
