"""Recurrences: the one form of every reference machine and every extracted program.

A recurrence computes, at each position t, a list of named steps in order. A step may read the inputs at
t, earlier steps at t, and anything (inputs, outputs, locals) at t-1, t-2, ...; what lies before the start
has a start value, zero unless said. It therefore runs at any length, and two recurrences can be proved
equal by induction over t.

Three kinds of steps are not formulas, since they go over everything so far: `Retrieval`, the value at the
last earlier position whose key equals the query (paper, appendix "Attention Patterns"), `Count`, how many
keys so far compare with the query in some way, which makes ranks, and `Selection`, the value at the position
that scores highest, which is what a head that seeks by content does. Networks have selections, programs none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from weights2code import json_values
from weights2code.effort import charge
from weights2code.heads import Relation
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import MOST_LAG, MOST_NODES, MOST_STEPS
from weights2code.language.evaluation import compile_numpy
from weights2code.language.expression import Expr, Var
from weights2code.language.json_form import from_dict, to_dict
from weights2code.language.scores import Scores

#: Seconds of a usual machine: a run, a step at a position, a node of it, a node for a sequence, and what goes
#: over everything so far.
RUN, STEP, NODE, CELL, OVER = 2e-5, 1e-6, 4e-7, 1e-9, 8e-6

#: A number, or "first": the value at the first position is repeated before the start (inputs only).
Start = float | Literal["first"]
Name = Annotated[str, json_values.name]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The `value` at the last s <= t - `gap` where `key` equals the present `query`, else `default`."""

    key: Name
    value: Name
    query: Expr
    gap: Annotated[int, partial(json_values.whole, most=MOST_LAG)] = 1
    default: float = 0.0


#: How relations are written in Python.
SIGNS: dict[Relation, str] = {"lt": "<", "le": "<=", "eq": "==", "ge": ">=", "gt": ">"}
RELATIONS: tuple[Relation, ...] = get_args(Relation)


def _relation(data: Any, what: str) -> Relation:
    if data not in RELATIONS:
        raise ValueError(f"a count compares by one of {', '.join(RELATIONS)}, not {json_values.shown(data)}")
    return data


@dataclass(frozen=True, slots=True)
class Count:
    """How many s <= t there are where `key` stands in some relation to the present `query`."""

    key: Name
    query: Expr
    relation: Annotated[Relation, _relation]

    def holds(self, key: Any, query: Any) -> Any:
        """Whether a key counts."""
        return getattr(operator, self.relation)(key, query)

    @property
    def sign(self) -> str:
        """The relation as it is written."""
        return SIGNS[self.relation]


@dataclass(frozen=True, slots=True)
class Selection:
    """The `value` at the s <= t where `key` scores highest for the present `query`, the oldest of several; 0
    if none reaches the score of nothing."""

    key: Name
    value: Name
    query: Expr
    scores: Scores
    gap: ClassVar[int] = 0
    default: ClassVar[float] = 0.0


#: Steps that go over everything so far.
OverAll = Retrieval | Count | Selection
#: What they are called in files, and what of them has that name.
_IN_FILES = {"retrieve": (Retrieval, "value"), "count": (Count, "key"), "select": (Selection, "value")}
Definition = Expr | OverAll


@dataclass(frozen=True, slots=True)
class Step:
    """`name[t] = definition`."""

    name: str
    definition: Definition


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Named inputs, ordered steps, the steps that are outputs, and start values."""

    inputs: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[str, ...]
    start: Mapping[str, Start] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = set(self.inputs)
        everything = known | {step.name for step in self.steps}
        if len(everything) != len(self.inputs) + len(self.steps):
            raise ValueError("the names of inputs and steps must differ from each other")
        for step in self.steps:
            for variable in definition_variables(step.definition):
                if variable.name not in everything:
                    raise ValueError(f"{step.name} reads {variable.name}, which nothing defines")
                if variable.lag < 0 or (variable.lag == 0 and variable.name not in known):
                    raise ValueError(f"{step.name} reads {variable.name} before it is computed")
            known.add(step.name)
        for name in self.outputs:
            if name not in everything:
                raise ValueError(f"the output {name} is not defined")
        for name, value in self.start.items():
            if name not in everything:
                raise ValueError(f"a start value is given for {name}, which nothing defines")
            if value == "first" and name not in self.inputs:
                raise ValueError(f'only inputs can start with "first", not {name}')

    def __hash__(self) -> int:
        return hash((self.inputs, self.steps, self.outputs, tuple(sorted(self.start.items(), key=str))))

    def depths(self) -> dict[str, int]:
        """How far back each name is read (names that are only read at t are left out)."""
        depth: dict[str, int] = {}
        for step in self.steps:
            for variable in definition_variables(step.definition):
                if variable.lag:
                    depth[variable.name] = max(depth.get(variable.name, 0), variable.lag)
        return depth

    def state(self) -> tuple[Var, ...]:
        """The variables that carry the past: after position t, `Var(n, k)` holds n at t + 1 - k."""
        return tuple(
            Var(name, lag) for name, depth in sorted(self.depths().items()) for lag in range(1, depth + 1)
        )

    def start_of(self, name: str) -> Start:
        return self.start.get(name, 0.0)

    def live(self) -> Recurrence:
        """Without the steps that no output depends on, and without start values that nobody reads."""
        needed, waiting = set(self.outputs), list(self.outputs)
        definitions = {step.name: step.definition for step in self.steps}
        while waiting:
            definition = definitions.get(waiting.pop())
            read = {v.name for v in definition_variables(definition)} if definition is not None else set()
            waiting += read - needed
            needed |= read
        steps = tuple(step for step in self.steps if step.name in needed)
        rest = Recurrence(self.inputs, steps, self.outputs)
        return replace(rest, start={n: value for n, value in self.start.items() if n in rest.depths()})

    def retrieves(self) -> bool:
        """Whether a step is no formula, but looks up, counts or selects."""
        return any(isinstance(step.definition, OverAll) for step in self.steps)

    def run(self, x: Any, known: Any = None, until: Any = 0) -> np.ndarray:
        """All outputs, shape (n, T, outputs), for inputs of shape (n, T, inputs).

        `known` outputs, of that shape too, are what later steps read back at positions before `until` (one
        number, or one a sequence): the past of a sequence that was cut out, or everything but the present.
        """
        trace = self.trace(x, known, until)
        return np.stack([trace[name] for name in self.outputs], axis=-1)

    def trace(self, x: Any, known: Any = None, until: Any = 0) -> dict[str, np.ndarray]:
        """Every variable as computed, each of shape (n, T); the arguments are those of `run`."""
        x = np.asarray(x, dtype=float)
        if x.ndim != 3 or x.shape[2] != len(self.inputs):
            raise ValueError(f"inputs must have shape (n, T, {len(self.inputs)}), got {x.shape}")
        count, length, _ = x.shape
        # in this order a position of all sequences lies together in memory
        values = {name: np.asfortranarray(x[:, :, i]) for i, name in enumerate(self.inputs)}
        values |= {step.name: np.zeros((count, length), order="F") for step in self.steps}
        past = dict(values)
        given: dict[str, np.ndarray] = {}
        if known is not None:
            given = {name: np.asarray(known, float)[:, :, i] for i, name in enumerate(self.outputs)}
            past |= {name: np.zeros((count, length)) for name in given}
        compiled = [
            (step, variables, compile_numpy(expr, variables))
            for step in self.steps
            for expr in [expression_of(step.definition)]
            for variables in [expr.variables()]
        ]
        for t in range(length):
            for step, variables, function in compiled:
                arrays = [self.read(past if v.lag else values, v, t) for v in variables]
                result = function(*arrays)
                if isinstance(step.definition, Retrieval):
                    table = past if step.definition.gap else values
                    result = _retrieve(step.definition, table, np.broadcast_to(result, count), t)
                elif isinstance(step.definition, Count):
                    keys = values[step.definition.key][:, : t + 1]
                    result = step.definition.holds(keys, np.broadcast_to(result, count)[:, None]).sum(axis=1)
                elif isinstance(step.definition, Selection):
                    result = _select(step.definition, values, np.broadcast_to(result, count), t)
                values[step.name][:, t] = result
            for name, right in given.items():
                past[name][:, t] = np.where(t < np.asarray(until), right[:, t], values[name][:, t])
        charge(RUN + length * sum(self._cost(count, length, step.definition) for step in self.steps))
        return values

    @staticmethod
    def _cost(count: int, length: int, definition: Definition) -> float:
        """What a step costs at a position, in seconds of a usual machine."""
        nodes, over = expression_of(definition).size(), isinstance(definition, OverAll)
        own = STEP + NODE * nodes + CELL * count * (2 + nodes / 2)
        return own + over * (OVER + 2 * CELL * count * length)

    def read(self, values: Mapping[str, np.ndarray], variable: Var, t: int) -> Any:
        """What a step at position t reads, of arrays (n, T)."""
        if t >= variable.lag:
            return values[variable.name][:, t - variable.lag]
        start = self.start_of(variable.name)
        return values[variable.name][:, 0] if start == "first" else start

    def to_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "inputs": list(self.inputs),
            "steps": [
                {"name": step.name, "definition": _definition_to_dict(step.definition)} for step in self.steps
            ],
            "outputs": list(self.outputs),
            "start": {name: value if value == "first" else repr(value) for name, value in self.start.items()},
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Recurrence:
        """Inverse of `to_dict`; what is no recurrence, or larger than any that was found, is a ValueError."""
        data = json_values.mapping(data, "a recurrence")
        steps = tuple(
            Step(json_values.name(item["name"], "a step"), _definition_from_dict(item["definition"]))
            for item in json_values.items(data["steps"], "the steps", MOST_STEPS)
        )
        if sum(expression_of(step.definition).size() for step in steps) > MOST_NODES:
            raise ValueError(f"the formulas have more than {MOST_NODES} parts")
        found = Recurrence(
            json_values.names(data["inputs"], "the inputs"),
            steps,
            json_values.names(data["outputs"], "the outputs"),
            {
                read: _start(value)
                for read, value in json_values.mapping(data["start"], "the start values").items()
            },
        )
        if not found.inputs or not found.outputs:
            raise ValueError("a program has inputs and outputs")
        if not set(found.outputs) <= {step.name for step in steps}:
            raise ValueError("the outputs must be steps")
        return found


def definition_variables(definition: Definition) -> tuple[Var, ...]:
    """What a step reads; a retrieval reads its key and value sequences from `gap` steps back, a count its
    keys and a selection its keys and values from the present on."""
    gap = definition.gap if isinstance(definition, Retrieval) else 0
    return (*expression_of(definition).variables(), *(Var(name, gap) for name in searched_by(definition)))


def searched_by(definition: Definition) -> tuple[str, ...]:
    """The names that a retrieval, a count or a selection goes over."""
    if isinstance(definition, Expr):
        return ()
    return (definition.key,) if isinstance(definition, Count) else (definition.key, definition.value)


def expression_of(definition: Definition) -> Expr:
    """The formula of a step: its own, or the query of what goes over everything."""
    return definition.query if isinstance(definition, OverAll) else definition


def with_formula(definition: Definition, change: Callable[[Expr], Expr]) -> Definition:
    """The same definition with its formula, or the query of what goes over everything, changed."""
    if isinstance(definition, OverAll):
        return replace(definition, query=change(definition.query))
    return change(definition)


def renamed(definition: Definition, names: Mapping[str, str]) -> Definition:
    """The same definition of variables with other names, where `names` has one."""
    table = {v: Var(names.get(v.name, v.name), v.lag) for v in expression_of(definition).variables()}
    if isinstance(definition, OverAll):
        searched = (names.get(name, name) for name in searched_by(definition))
        definition = replace(definition, **dict(zip(("key", "value"), searched, strict=False)))
    return with_formula(definition, lambda expr: expr.substitute(table))


def _retrieve(
    definition: Retrieval, values: Mapping[str, np.ndarray], query: np.ndarray, t: int
) -> np.ndarray:
    last = t - definition.gap + 1
    found = np.full(query.shape, definition.default)
    if last <= 0:
        return found
    matches = values[definition.key][:, :last] == query[:, None]
    newest = last - 1 - np.argmax(matches[:, ::-1], axis=1)
    hit = matches.any(axis=1)
    found[hit] = values[definition.value][hit, newest[hit]]
    return found


def _select(definition: Selection, values: Mapping[str, np.ndarray], query: np.ndarray, t: int) -> np.ndarray:
    place = definition.scores.best(query, values[definition.key][:, : t + 1])
    return np.where(place >= 0, values[definition.value][np.arange(len(query)), np.maximum(place, 0)], 0.0)


def _definition_to_dict(definition: Definition) -> Any:
    if isinstance(definition, Expr):
        return to_dict(definition)
    word, (_, named) = next(item for item in _IN_FILES.items() if isinstance(definition, item[1][0]))
    data = to_fields(definition, query=to_dict(definition.query))
    return {word: data.pop(named), **data}


def _start(data: Any) -> Start:
    """Any number but one that is none: a smallest value so far starts at infinity."""
    value = "first" if data == "first" else json_values.any_number(data, "a start value")
    if value != value:
        raise ValueError("a start value is not a number")
    return value


def _definition_from_dict(data: Any) -> Definition:
    for word, (kind, named) in _IN_FILES.items():
        if isinstance(data, dict) and word in data:
            return from_fields(kind, data | {named: data[word]}, "a step", query=from_dict(data["query"]))
    return from_dict(data)
