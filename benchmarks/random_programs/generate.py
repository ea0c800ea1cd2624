"""Random small programs, to see whether extraction works beyond the tasks that it was developed on.

A program is one to three operations deep unless other sizes are asked for: a chief operation of some family,
with light ones before or after it. Candidates are drawn until one counts (`checks.py`) and computes something
that none before it does. The same seed and sizes give the same programs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from itertools import count as count_from
from itertools import islice

import numpy as np
from checks import SMALL, Drawn, Memory, faults, reach, signature
from checks import memory as memory_of
from stages import FAMILIES, LIGHT, STATEFUL, Bench, Made, Signal

from weights2code.language import (
    BITS,
    Const,
    Definition,
    Domain,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Step,
    Var,
    definition_variables,
    formula,
    integers,
    reals,
    uniform,
)

#: Numbers of operations, in equal shares, unless others are asked for.
SIZES = (1, 2, 3)
#: Candidates tried for one program before giving up: far more than are ever needed.
TRIES = 10_000
#: A chief operation with state comes last this often; else its state is hidden behind what follows.
LAST = 0.75
#: How often a stage may read more than one signal, where there are more.
SEVERAL = 0.8
#: How often the columns are all of one kind.
ALIKE = 0.7
#: Training lengths: rules that gather from the whole prefix are shown more of it, and so are deep ones that
#: reach back over more than half of the shorter length.
SHORT, LONG = 12, 20


@dataclass(frozen=True, slots=True)
class Random(Drawn):
    """One program: its family is that of its chief operation, its size the number of operations.

    `memory` says what it must keep: a window of the inputs, its own outputs, a sum or extremum of the prefix,
    or a state that no output shows.
    """

    name: str
    recurrence: Recurrence
    domains: tuple[Domain, ...]
    family: str
    size: int
    memory: Memory
    length: int

    @property
    def machine(self) -> Recurrence:
        """The specification."""
        return self.recurrence

    def run(self, x: np.ndarray) -> np.ndarray:
        return self.recurrence.run(x)

    def text(self) -> str:
        """The rule on one line."""
        parts = []
        for step in self.recurrence.steps:
            rule = step.definition
            if isinstance(rule, Retrieval):
                shown = f"{rule.value} at the last {rule.key} == {formula(rule.query)}"
            else:
                assert isinstance(rule, Expr), "no rule of these counts"
                shown = formula(rule)
            parts.append(f"{step.name}[t] = {shown}")
        starts = [f"{name}[-1] = {value:g}" for name, value in self.recurrence.start.items()]
        return "; ".join(parts + starts)


def programs(
    count: int, seed: int, sizes: tuple[int, ...] = SIZES, memory: Memory | None = None
) -> list[Random]:
    """`count` programs, no two alike in rule or in what they compute; families and sizes in equal shares.

    With `memory` they are the first of the seed that keep just that, under the names that they always have.
    """
    wanted = (found for found in endless(seed, sizes) if memory in (None, found.memory))
    return list(islice(wanted, count))


def endless(seed: int, sizes: tuple[int, ...]) -> Iterator[Random]:
    """The programs of a seed, one after another."""
    seen: set[Hashable] = set()  # what was computed, and by which rule
    for index in count_from():
        family = list(FAMILIES)[index % len(FAMILIES)]
        size = sizes[index // len(FAMILIES) % len(sizes)]
        rng = np.random.default_rng([seed, index])
        for _ in range(TRIES):
            drafted = draft(rng, family, size)
            if drafted is None or faults(*drafted, size):
                continue
            marks = {signature(*drafted), drafted[0]}
            if not marks & seen:
                seen |= marks
                break
        else:
            raise RuntimeError(f"no program of family {family} and size {size} in {TRIES} tries")
        recurrence, domains = drafted
        kept = memory_of(recurrence)
        far = size > SMALL and reach(recurrence) > SHORT // 2
        length = LONG if far or family == "aggregate" or kept in ("prefix", "hidden") else SHORT
        yield Random(f"p{index:03d}", recurrence, domains, family, size, kept, length)


def draft(rng: np.random.Generator, family: str, size: int) -> tuple[Recurrence, tuple[Domain, ...]] | None:
    """One candidate, or None where a stage found nothing that it could do."""
    domains = _domains(rng)
    inputs = ("x",) if len(domains) == 1 else ("a", "b", "c")[: len(domains)]
    sample = uniform(rng, domains, 32, 20)
    signals = [Signal(name, sample[:, :, i]) for i, name in enumerate(inputs)]
    unread = list(signals)
    steps: list[Step] = []
    start: dict[str, float] = {}
    chief = _chief(rng, family, size)
    newest: Signal | None = None
    for place in range(size):
        last = place == size - 1
        name = "y" if last else f"s{place + 1}"
        first = newest or _one_of(rng, signals)
        unread = [signal for signal in unread if signal is not first]
        second = _one_of(rng, unread or [s for s in signals if s is not first])
        third = _one_of(rng, [s for s in signals if s not in (first, second)])
        if first is None:
            return None
        remembers = last or (place == chief and rng.random() > LAST)
        bench = Bench(name, rng, first, second if rng.random() < SEVERAL else None, third, remembers)
        if bench.b is None:
            bench = Bench(name, rng, first, None, None, remembers)
        variants = FAMILIES[family if place == chief else LIGHT[rng.integers(len(LIGHT))]](bench)
        if not variants:
            return None
        chosen = variants[int(rng.integers(len(variants)))]
        made = chosen if isinstance(chosen, Made) else Made(chosen)
        steps += [Step(helper, _folded(rule)) for helper, rule in made.before.items()]
        steps.append(Step(name, _folded(made.definition)))
        start |= made.start
        read = {v.name for step in steps for v in definition_variables(step.definition)}
        unread = [signal for signal in unread if signal.name not in read]
        partial = Recurrence(inputs, tuple(steps), (name,), start)
        with np.errstate(all="ignore"):
            newest = Signal(name, partial.trace(sample)[name])
        if not np.isfinite(newest.values).all() or np.ptp(newest.values) == 0:
            return None
        signals.append(newest)
    return _without_unread(Recurrence(inputs, tuple(steps), ("y",), start), domains)


def _domains(rng: np.random.Generator) -> tuple[Domain, ...]:
    kinds: tuple[Callable[[], Domain], ...] = (
        lambda: BITS,
        lambda: integers(0, int(rng.integers(2, 10))),
        lambda: integers(-(k := int(rng.integers(1, 10))), k),
        lambda: (reals(0, 1), reals(-1, 1), reals(-5, 5), reals(0, 10))[rng.integers(4)],
    )
    count = int(rng.choice([1, 2, 3], p=[0.3, 0.35, 0.35]))
    first = kinds[rng.integers(len(kinds))]()
    alike = rng.random() < ALIKE
    return (first, *(first if alike else kinds[rng.integers(len(kinds))]() for _ in range(count - 1)))


def _chief(rng: np.random.Generator, family: str, size: int) -> int:
    """The place of the chief operation."""
    if size == 1 or (family in STATEFUL and rng.random() < LAST):
        return size - 1
    return int(rng.integers(size))


def _one_of(rng: np.random.Generator, signals: list[Signal]) -> Signal | None:
    return signals[int(rng.integers(len(signals)))] if signals else None


def _folded(rule: Definition) -> Definition:
    """The rule without sums with zero and products with one, which random constants leave behind."""
    if isinstance(rule, Retrieval):
        return rule

    def fold(node: Expr) -> Expr:
        if isinstance(node, Op) and node.name in ("add", "sub") and node.args[1] == Const(0):
            return node.args[0]
        if isinstance(node, Op) and node.name == "mul" and node.args[0] == Const(1):
            return node.args[1]
        return node

    assert isinstance(rule, Expr), "no rule of these counts"
    return rule.transform(fold)


def _without_unread(
    recurrence: Recurrence, domains: tuple[Domain, ...]
) -> tuple[Recurrence, tuple[Domain, ...]] | None:
    """Columns that nothing reads are left out, and steps that the output does not need are a fault."""
    needed, waiting = set(recurrence.outputs), list(recurrence.outputs)
    rules = {step.name: step.definition for step in recurrence.steps}
    while waiting:
        rule = rules.get(waiting.pop())
        for variable in definition_variables(rule) if rule is not None else ():
            if variable.name not in needed:
                needed.add(variable.name)
                waiting.append(variable.name)
    kept = [i for i, name in enumerate(recurrence.inputs) if name in needed]
    if not kept or not set(rules) <= needed:
        return None
    names = ("x",) if len(kept) == 1 else ("a", "b", "c")[: len(kept)]
    new: dict[str, str] = dict(zip((recurrence.inputs[i] for i in kept), names, strict=True))
    steps = tuple(Step(step.name, _renamed(step.definition, new)) for step in recurrence.steps)
    return Recurrence(names, steps, recurrence.outputs, recurrence.start), tuple(domains[i] for i in kept)


def _renamed(rule: Definition, new: dict[str, str]) -> Definition:
    if isinstance(rule, Retrieval):
        query = _renamed(rule.query, new)
        assert isinstance(query, Expr)
        return Retrieval(new.get(rule.key, rule.key), new.get(rule.value, rule.value), query, rule.gap)
    assert isinstance(rule, Expr), "no rule of these counts"
    return rule.substitute({v: Var(new.get(v.name, v.name), v.lag) for v in rule.variables()})
