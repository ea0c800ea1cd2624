"""What an attention head may do (paper, section 4.1 and appendix "Attention Patterns"): one class each.

A hypothesis knows everything about itself: when it is worth testing, what it predicts, what steps of a
recurrence it becomes and how people call it. Most are a function of the values at a few
fixed offsets; they give `offsets` and `combine`, and the rest follows. A new one is one class, named in
`HYPOTHESES`.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from weights2code.explain.steps import HeadSteps
from weights2code.graph import RouterNode, shifted
from weights2code.heads import HEADS, HeadFacts, HeadKind
from weights2code.language import Const, Count, Expr, Retrieval, Var, evaluate, op
from weights2code.language.recurrence import SIGNS

#: Of the offsets that a pointer head often selects, so many are tried in pairs.
MOST_PAIRED = 5

#: Something that a head's output depends on: the role that it is read in, and how far back.
Operand = tuple[str, int]


class Hypothesis(ABC):
    """One way a head may route."""

    __slots__ = ()

    @property
    def adds_up(self) -> bool:
        """Whether the head adds up what it sees, so that counts of each value say as much."""
        return False

    @classmethod
    @abstractmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        """Those worth testing on a head, simplest first; `often` are the offsets that it selects often."""

    @abstractmethod
    def describe(self) -> str:
        """A few words, as in the paper's listings."""

    def offsets(self) -> tuple[int, ...] | None:
        """The offsets whose values decide the output; None if that is all so far, or not fixed."""
        return None

    def combine(self, values: Sequence[Expr], unit: float) -> Expr:
        """The output as an expression of the values at the offsets, in the user's units."""
        raise NotImplementedError

    def operands(self) -> tuple[Operand, ...] | None:
        """All that decides the output: the values at the offsets, unless queries or keys do too."""
        offsets = self.offsets()
        return None if offsets is None else tuple(("value", offset) for offset in offsets)

    def combined(self, values: Sequence[Expr], units: Mapping[str, float]) -> Expr:
        """The output as an expression of the operands; `units` by role."""
        return self.combine(values, units["value"])

    def before(self, unit: float) -> float:
        """What stands for values before the start."""
        return 0.0

    def lag(self) -> int | None:
        """How far back the value lies, if the head does nothing but copy it."""
        return None

    def reach(self) -> int:
        """Positions before this one lack the full window."""
        return max(self.offsets() or (0,))

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        """The head's output (n, T) if the hypothesis holds, given the stream (n, T, nodes)."""
        read = {
            Var(f"{role} {back}"): shifted(values[..., node.reads[role]], back, self.before(1.0))
            for role, back in self.operands() or ()
        }
        given = evaluate(self.combined(list(read), dict.fromkeys(node.reads, 1.0)), read)
        return np.array(np.broadcast_to(given, values.shape[:2]), float)

    def to_expr(self, head: HeadSteps) -> Expr:
        """What the head gives, at time t, in the user's units."""
        start = self.before(head.units["value"])
        values = [head.delayed(role, back, start) for role, back in self.operands() or ()]
        return self.combined(values, head.units)

    def caption(self, reads: Mapping[str, str]) -> str:
        """What stands on the node in the drawing of the graph."""
        return f"{self.describe()} of {reads['value']}"

    def pattern(self, node: RouterNode, values: np.ndarray) -> np.ndarray | None:
        """The mean weights (T, T) of a head that does exactly this, if they are certain.

        Which of several equal values an extremum reads is not said.
        """
        back = self.lag()
        return None if back is None else np.eye(values.shape[1], k=-back)


@dataclass(frozen=True, slots=True)
class Nothing(Hypothesis):
    """The null slot everywhere: the head gives its start value."""

    start: float = 0.0

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        if node.facts.seeks or (node.kind == "location" and node.offset is None):
            yield cls(node.start)

    def describe(self) -> str:
        return "Nothing (null slot)"

    def offsets(self) -> tuple[int, ...]:
        return ()

    def combine(self, values: Sequence[Expr], unit: float) -> Expr:
        return Const(self.start * unit)

    def caption(self, reads: Mapping[str, str]) -> str:
        return self.describe()

    def pattern(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        return np.zeros((values.shape[1], values.shape[1]))


@dataclass(frozen=True, slots=True)
class FixedOffset(Hypothesis):
    """The value `offset` steps back; `start` before the start."""

    offset: int
    start: float = 0.0

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        if node.facts.seeks:
            yield from (cls(offset) for offset in range(length))
        elif node.offset is not None:
            yield cls(node.offset, node.start)

    def describe(self) -> str:
        return f"Fixed offset {self.offset}"

    def offsets(self) -> tuple[int, ...]:
        return (self.offset,)

    def combine(self, values: Sequence[Expr], unit: float) -> Expr:
        return values[0]

    def before(self, unit: float) -> float:
        return self.start * unit

    def lag(self) -> int:
        return self.offset

    def caption(self, reads: Mapping[str, str]) -> str:
        return f"{reads['value']}, {self.offset} back"


def _best_of(values: Sequence[Expr], largest: bool) -> Expr:
    return reduce(lambda one, other: op("max" if largest else "min", one, other), dict.fromkeys(values))


class _Extremum(Hypothesis):
    """The largest (or smallest) of the values at some offsets; what lies before the start does not count."""

    __slots__ = ()
    largest: bool

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        value, offsets = values[..., node.reads["value"]], self.offsets()
        pick = np.maximum if self.largest else np.minimum
        if offsets is None:
            return pick.accumulate(value, axis=1)
        return reduce(pick, [shifted(value, offset, self.before(1.0)) for offset in offsets])

    def combine(self, values: Sequence[Expr], unit: float) -> Expr:
        return _best_of(values, self.largest)

    def before(self, unit: float) -> float:
        return -math.inf if self.largest else math.inf


@dataclass(frozen=True, slots=True)
class WindowedExtremum(_Extremum):
    """The largest (or smallest) of the last `window` values; None is all so far.

    The window is shorter at the start; with `zero_before` there are zeros before the start, as where the
    null slot takes part.
    """

    window: int | None
    largest: bool
    zero_before: bool = False

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        if node.kind in ("max", "min"):
            yield cls(None, node.kind == "max")
        elif node.facts.seeks:
            for window in range(2, length):
                for zero_before in (False, True):
                    yield from (cls(window, largest, zero_before) for largest in (True, False))
            yield from (cls(None, largest) for largest in (True, False))

    def describe(self) -> str:
        name = "maximum" if self.largest else "minimum"
        before = ", 0 before the start" if self.zero_before else ""
        return f"Prefix {name}" if self.window is None else f"Windowed {name} {self.window}{before}"

    def offsets(self) -> tuple[int, ...] | None:
        return None if self.window is None else tuple(range(self.window))

    def before(self, unit: float) -> float:
        return 0.0 if self.zero_before else _Extremum.before(self, unit)

    def to_expr(self, head: HeadSteps) -> Expr:
        if self.window is not None:
            return _Extremum.to_expr(self, head)
        value = head.read("value")
        if isinstance(value, Const):
            return value
        return head.running("m", lambda last: _best_of((last, value), self.largest), self.before(1.0))


@dataclass(frozen=True, slots=True)
class OffsetExtremum(_Extremum):
    """The larger (or smaller) of the values at two offsets.

    Where inputs and outputs are one sequence, x[t] and y[t-1] are neighbours only in time: the larger of
    the two less the smaller is how such models compute a parity.
    """

    compared: tuple[int, ...]
    largest: bool

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        """The present and what a content-seeking head often selects, two at a time."""
        if node.kind == "pointer":
            for pair in combinations(sorted({0, *often[:MOST_PAIRED]}), 2):
                if pair != (0, 1):  # that is a window
                    yield from (cls(pair, largest) for largest in (True, False))

    def describe(self) -> str:
        name = "Maximum" if self.largest else "Minimum"
        return f"{name} of offsets {' and '.join(map(str, self.compared))}"

    def offsets(self) -> tuple[int, ...]:
        return self.compared


@dataclass(frozen=True, slots=True)
class EqualityRetrieval(Hypothesis):
    """The value at the last position, `gap` or more steps back, whose key equals the query; else 0."""

    gap: int

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        if node.facts.seeks:
            yield from (cls(gap) for gap in (0, 1))

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        query, key, value = (values[..., node.reads[role]] for role in ("query", "key", "value"))
        out = np.zeros(value.shape)
        # Scale-free equality: the stream holds exact multiples, or values of one formula. Keys that lie
        # closer than usual are told apart as the head itself does.
        near = min(1e-6 * max(float(np.ptp(key)), 1e-12), node.sharpness**-0.5)
        for t in range(value.shape[1]):
            for s in range(t - self.gap + 1):
                same = np.abs(key[:, s] - query[:, t]) < near
                out[:, t] = np.where(same, value[:, s], out[:, t])
        return out

    def describe(self) -> str:
        return "Equality retrieval" + (f" at least {self.gap} back" if self.gap else "")

    def to_expr(self, head: HeadSteps) -> Expr:
        stored = head.sequence("key"), head.sequence("value")
        return head.step("v", Retrieval(*stored, head.in_units_of_keys("query"), self.gap))

    def caption(self, reads: Mapping[str, str]) -> str:
        return f"{self.describe()} of {reads['value']}, where {reads['key']} = {reads['query']}"

    def pattern(self, node: RouterNode, values: np.ndarray) -> np.ndarray | None:
        """Read off itself: with the position s in place of every value, what it predicts at t is the
        position that it reads."""
        value, (count, length, _) = node.reads["value"], values.shape
        if value in (node.reads["query"], node.reads["key"]):
            return None
        marked = values.copy()
        marked[..., value] = np.arange(1, length + 1)  # 0 is the null slot
        places = self.predict(node, marked).astype(int)
        return np.stack([np.bincount(row, minlength=length + 1)[1:] / count for row in places.T])


@dataclass(frozen=True, slots=True)
class PrefixAggregate(Hypothesis):
    """What a kind of head makes of everything so far, which is certain: a mean, a sum, a count of keys that
    compare so with the present value, or something of the user's own."""

    kind: HeadKind

    @property
    def facts(self) -> HeadFacts:
        return HEADS[self.kind]

    @property
    def adds_up(self) -> bool:
        return self.kind in ("mean", "sum")

    @classmethod
    def candidates(cls, node: RouterNode, length: int, often: tuple[int, ...]) -> Iterator[Hypothesis]:
        if node.facts.words:
            yield cls(node.kind)
        elif node.facts.seeks:
            yield from (cls(kind) for kind in ("mean", "sum"))

    def predict(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        if self.facts.aggregate is None:
            return node.compute(values)
        return self.facts.aggregate(values[..., node.reads["value"]])

    def describe(self) -> str:
        return self.facts.words

    def to_expr(self, head: HeadSteps) -> Expr:
        if self.facts.relation:
            asked = head.in_units_of_keys("value")
            return head.step("c", Count(head.sequence("key"), asked, self.facts.relation))
        value, unit = head.read("value"), head.units["value"]
        step = in_units(self.facts.step or operator.add, unit)
        letter, start = "h" if self.facts.own else "s", self.facts.start * unit
        total = head.running(letter, lambda last: step(last, value), start)
        return total / head.count() if self.kind == "mean" else total

    def caption(self, reads: Mapping[str, str]) -> str:
        if not self.facts.relation:
            return Hypothesis.caption(self, reads)
        return f"how many {reads['key']} so far are {SIGNS[self.facts.relation]} {reads['value']}"

    def pattern(self, node: RouterNode, values: np.ndarray) -> np.ndarray:
        """Everything so far takes part; of the user's own it is not said how much."""
        if not self.facts.relation:
            length = values.shape[1]
            rows = np.tril(np.ones((length, length)))
            return rows if self.kind == "sum" else rows / rows.sum(1, keepdims=True)
        key, value = (values[..., node.reads[role]] for role in ("key", "value"))
        holds = getattr(operator, self.facts.relation)(key[:, None, :], value[:, :, None])
        return np.tril(holds.mean(axis=0))


_Update = Callable[[Expr, Expr], Expr]


def in_units(step: _Update, unit: float) -> _Update:
    """A step where one unit of the values means so much in the user's units.

    Where larger values just give a larger result it is the step itself; if that only seems so, the
    certificate of the program shows.
    """

    def scaled(last: Expr, value: Expr) -> Expr:
        return step(last / unit, value / unit) * unit

    names = Var("last"), Var("value")
    drawn = dict(zip(names, np.random.default_rng(0).normal(size=(2, 64)), strict=True))
    with np.errstate(all="ignore"):
        one, other = (evaluate(made(*names), drawn) for made in (step, scaled))
    return step if np.allclose(one, other) else scaled


#: All of them, simplest first: among those that fit equally well the first is taken.
HYPOTHESES: list[type[Hypothesis]] = [
    Nothing,
    FixedOffset,
    WindowedExtremum,
    EqualityRetrieval,
    PrefixAggregate,
    OffsetExtremum,
]
