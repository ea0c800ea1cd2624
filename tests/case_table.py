"""One table of cases that every back end is asked about: formulas, programs, graphs, drawn at random too.

A back end is whatever says a rule otherwise (text, JSON, LaTeX, SymPy, a machine, a language, a network) or
judges it. A new operator needs a row in `FORMULAS`; a new kind of rule one in `PROGRAMS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from weights2code.data import Layout
from weights2code.graph import ChannelNode, DiscreteGraph, Node, OperatorNode, RouterNode
from weights2code.heads import BUILT_IN, HEADS
from weights2code.language import (
    BITS,
    OPERATORS,
    Const,
    Count,
    Definition,
    Domain,
    Expr,
    Op,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    integers,
    maximum,
    minimum,
    op,
    reals,
    texts,
    where,
)
from weights2code.language.domain import TRUTHS
from weights2code.language.formula_reading import read_recurrence
from weights2code.language.operators import order_name
from weights2code.language.recurrence import RELATIONS
from weights2code.program import Program, check_source

x, x1, x2, y1, y2 = Var("x"), Var("x", 1), Var("x", 2), Var("y", 1), Var("y", 2)
A, B = Var("a"), Var("b")
#: Of `a` and `b`, in all formulas and in programs that are drawn at random.
DOMAINS = (integers(-3, 4), integers(0, 2))


def rule(
    start: dict[str, Start] | None = None, inputs: str = "x", outputs: str = "y", **steps: Any
) -> Recurrence:
    """A recurrence of expressions, or of formulas as text; names of inputs and outputs stand in one text."""
    return read_recurrence(inputs.split(), steps, outputs.split(), start)


def machine(y: Definition, start: dict[str, Start] | None = None, **before: Any) -> Recurrence:
    """A rule of `x` for `y`, its last step."""
    return rule(start, **before, y=y)


def in_text(lines: str, start: dict[str, Start] | None = None, inputs: str = "x") -> Recurrence:
    """A recurrence of formulas as programs print them, `;` between the steps; the last one is the output."""
    made = read_recurrence(inputs.split(), lines.replace(";", "\n"), None, start)
    return replace(made, outputs=made.outputs[-1:])


def rows(domains: Sequence[Domain], *shape: int, seed: int = 0) -> np.ndarray:
    """Values of the domains, (*shape, columns)."""
    rng = np.random.default_rng(seed)
    drawn = [
        rng.integers(int(d.low), int(d.high) + 1, shape) if d.discrete else rng.uniform(d.low, d.high, shape)
        for d in domains
    ]
    return np.stack(drawn, -1).astype(float)


def loaded(text: str) -> Callable[..., Any]:
    """The function of a program's text, in this process: a sandbox is what takes long."""
    assert check_source(text) == []
    space: dict[str, Any] = {}
    exec(compile(text, "program.py", "exec"), space)
    return space[space["__all__"][0]]


def positions(machine: Any, sequence: np.ndarray) -> list[tuple]:
    """What a machine of the kernel answers, position by position."""
    state, found = machine.start(sequence[0]), []
    for row in sequence.tolist():
        answers, state = machine.step(state, row)
        found.append(answers)
    return found


# -- formulas ------------------------------------------------------------------------------------------------

#: Every operator at least once, over whole numbers.
FORMULAS: list[Expr] = [
    *(op(name, A, B) for name, entry in OPERATORS.items() if entry.boolean and entry.arity == 2),
    A + B, A - B, A * B, A / 3, A / (B + 1), A % 3, A % -2, A**3, 1 / (B + 1) ** 2, A // 3, op("floor", A),
    -A, abs(A), abs(A - Var("a", 1)), op("relu", A), op("clip", A, -1, 2), op("clip", A + B, 0, 2),
    op("not", A > 1), op("and", A > 0, B), op("and", A > B, op("not", Var("a", 1) <= 1)), op("max", A, B),
    op("min", A, inf), op("max", Const(-inf), A), maximum(A, minimum(B, Var("a", 1))) - 0.5,
    where(B.equals(1), A, 2), where(A > 0, where(B, 1, 2), 0.25), where(A - B, A, B), A - (B - 1),
    A + B - 2 * A * B, (A + B) % 3, (A >= B) + A.equals(Var("a", 1)), Const(0.1) * A,
    Const(Fraction(1, 3)) * A - 0.098, op("sqrt", B), op("exp", A), op("log", B + 1), op("sin", A),
    op("cos", A) * op("sin", B) + op("exp", -B), op(order_name(2, 3), A, B, Var("a", 1)),
    op(order_name(2, 4), A, B, Var("a", 1), 0.5),
]  # fmt: skip

WHOLE = (0, 1, 2, 3, -1, -2)
#: Operators of whole numbers that give whole numbers, whatever these are.
CLOSED = sorted(
    set(OPERATORS) - {"div", "pow", "mod", "floor", "clip", "sqrt", "exp", "log", "sin", "cos", "where"}
)


def formulas(
    variables: Sequence[Var], *, whole: bool = False, most: int = 6, numbers: Sequence[Any] = ()
) -> st.SearchStrategy[Expr]:
    """Random formulas; `whole` ones have whole values wherever their variables have."""
    constants = numbers or (WHOLE if whole else (*WHOLE, 0.5, 0.1, -0.25, 7.25))

    def larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        plain = st.builds(
            lambda name, args: Op(name, args[: OPERATORS[name].arity]),
            st.sampled_from(CLOSED), st.tuples(inner, inner),
        )  # fmt: skip
        made = [
            plain,
            plain,
            st.builds(op, st.just("where"), inner, inner, inner),
            st.builds(lambda e, k: e % k, inner, st.sampled_from([2, 3] if whole else [2, 3, -3])),
            st.builds(lambda e, k: e // k, inner, st.sampled_from([2, 3])),
            st.builds(lambda e, k: e**k, inner, st.integers(0, 3)),
            st.builds(lambda e, low, wide: op("clip", e, low, low + wide), inner, st.integers(-9, 9),
                      st.integers(1, 7)),
            st.builds(lambda *args: op(order_name(2, 3), *args), inner, inner, inner),
        ]  # fmt: skip
        return st.one_of(made if whole else [*made, st.builds(lambda e, k: e / k, inner, st.integers(2, 3))])

    leaves = st.one_of(st.sampled_from(variables), st.sampled_from(constants).map(Const))
    return st.recursive(leaves, larger, max_leaves=most)


_OPPOSITES = [("add", "sub"), ("max", "min"), ("ge", "gt"), ("le", "lt"), ("eq", "ne"), ("and", "or")]
_SWAPS = {
    **{one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])},
    **dict.fromkeys(("abs", "floor"), "neg"),
    **dict.fromkeys(("mul", "mod"), "sub"),
    "div": "mul",
}


def mutants(program: Recurrence) -> Iterator[Recurrence]:
    """The program with one number, lag, operator, default or start value changed, in every way that runs."""
    for i, step in enumerate(program.steps):
        for changed in _changed(step.definition):
            steps = (*program.steps[:i], Step(step.name, changed), *program.steps[i + 1 :])
            try:
                yield replace(program, steps=steps)
            except ValueError:  # it reads what is not computed yet
                continue
    for name in program.depths():
        yield replace(program, start={**program.start, name: 5.0})


def _changed(definition: Definition) -> Iterator[Any]:
    if isinstance(definition, Const):
        yield Const(definition.value + 1)
    elif isinstance(definition, Var):
        yield Var(definition.name, definition.lag + 1)
        if definition.lag:
            yield Var(definition.name, definition.lag - 1)
    elif isinstance(definition, Op):
        if definition.name in _SWAPS:
            yield Op(_SWAPS[definition.name], definition.args)
        for i, part in enumerate(definition.args):
            for new in _changed(part):
                yield Op(definition.name, (*definition.args[:i], new, *definition.args[i + 1 :]))
    elif isinstance(definition, Retrieval):
        yield replace(definition, default=7.0)
        yield replace(definition, gap=definition.gap + 1)
        yield replace(definition, key=definition.value, value=definition.key)


# -- programs ------------------------------------------------------------------------------------------------

px1, px2, py1, py2 = Var("px", 1), Var("px", 2), Var("py", 1), Var("py", 2)
_KEYS = (integers(0, 3), integers(0, 9), integers(0, 3))
_EVENT, _STATE = Var("event"), Var("state", 1)
_DOOR = where(
    op("and", _EVENT.equals(2), _STATE.equals(1)),
    2,
    where(op("or", _EVENT.equals(1), _EVENT.equals(3)), 1, _STATE),
)


def _table(states: int) -> Expr:
    """A choice that is longer than a line."""
    chosen: Expr = Const(0)
    for state in range(2, states):
        chosen = where(y1.equals(state), where(x > 2, (state + 1) % states, where(x.equals(1), 1, x)), chosen)
    return where(x.equals(0), 2, chosen)


def _made(*domains: Domain, recurrence: Recurrence, **own: Any) -> Program:
    return Program("program", recurrence, domains, **own)


#: The first ten have a text under `language/golden` that was reviewed.
PROGRAMS: dict[str, Program] = {name: replace(made, name=name) for name, made in {
    "sum_last2": _made(integers(0, 99), recurrence=rule(y=x + x1)),
    "parity": _made(BITS, recurrence=rule(y=x + y1 - 2 * x * y1)),
    "freebody": _made(integers(-10, 10), recurrence=rule(y=2 * y1 - y2 + x)),
    "minimum_prev2": _made(integers(0, 99), recurrence=rule({"x": "first"}, y=minimum(x, x1))),
    "Min_Seen": _made(integers(0, 9), recurrence=rule({"y": inf}, y=minimum(x, y1))),
    "bit_addition": _made(BITS, BITS, recurrence=rule(
        inputs="a b", carry=Var("a", 1) + Var("b", 1) > y1, y=(A + B + Var("carry")) % 2)),
    "magnetic": _made(integers(-10, 10), integers(-10, 10), recurrence=rule(
        inputs="fx fy", outputs="px py",
        px=Var("fx") + 2 * px1 - px2 - py1 + py2, py=Var("fy") + 2 * py1 - py2 + px1 - px2)),
    "majority": _made(BITS, recurrence=rule(
        lead=Var("lead", 1) + (x.equals(1) - x.equals(0)), y=Var("lead") > 0)),
    "retrieve": _made(*_KEYS, recurrence=rule(
        inputs="key value query", y=Retrieval("key", "value", Var("query")))),
    "moving_average": _made(reals(0, 1), recurrence=rule(y=0.3 * x + 0.7 * y1)),
    **{f"lookup{gap}": _made(integers(0, 9), recurrence=rule(
        k=x % 3, y=Retrieval("k", "x", (x + 1) % 3, gap, default=-1.0))) for gap in (0, 1, 2, 4)},
    **{f"count_{relation}": _made(integers(0, 9), recurrence=rule(
        z=x % 4, y=Count("z", x, relation))) for relation in RELATIONS},
    "starts": _made(integers(0, 9), reals(-1, 1), recurrence=rule(
        {"x": "first", "z": 2.0, "y": 1e-05, "c": -1e16}, "x z", "y c",
        y=maximum(Var("x", 3) + Var("z", 1), y2), c=Var("c", 1) + 1)),
    "long_sum": _made(reals(0, 1), recurrence=rule(
        y=sum((3 * Var("x", lag) * Var("x", lag + 1) for lag in range(9)), start=Const(0)))),
    "long_choice": _made(integers(0, 4), recurrence=rule(y=_table(12))),
    "median": _made(integers(0, 9), recurrence=rule(
        y=op(order_name(3, 5), *(Var("x", lag) for lag in range(5))) - Const(0.5) * y1)),
    "door": _made(
        texts(("close", 'open "wide"', "push {hard}")), integers(0, 9), integer_outputs=True,
        recurrence=rule({"state": 1.0}, "event größe", "state total", state=_DOOR,
                        total=Var("total", 1) + Var("größe") * Var("event", 1).equals(2)),
        output_categories={"state": ("closed", "open")}),
    "tariff": _made(texts((7, 12, 300)), recurrence=rule(
        inputs="zone", y=where(Var("zone").equals(2), 40, 3))),
    "truths": _made(TRUTHS, integers(0, 3), integer_outputs=True, output_truths=("y",), recurrence=rule(
        inputs="a x", y=A + y1 - 2 * A * y1)),
    "both": _made(TRUTHS, integer_outputs=True, output_truths=("y",), recurrence=rule(
        inputs="a", outputs="y n", y=1 - A, n=Var("n", 1) + A)),
}.items()}  # fmt: skip
#: Those of numbers alone.
OF_NUMBERS = {
    name: made
    for name, made in PROGRAMS.items()
    if not made.categories and not made.output_categories and not made.truths
}


def given_to(program: Program, length: int, seed: int = 0) -> np.ndarray:
    """One sequence of inputs as a user has it: texts and truth values where the program takes them."""
    drawn = rows(program.domains, length, seed=seed)
    if all(domain.categories is None and not domain.truths for domain in program.domains):
        return drawn
    columns = [
        [domain.categories[int(v) - 1] for v in column]
        if domain.categories
        else [bool(v) for v in column]
        if domain.truths
        else column.tolist()
        for domain, column in zip(program.domains, drawn.T, strict=True)
    ]
    return np.array([*zip(*columns, strict=True)], dtype=object).reshape(length, len(columns))


_READ = (A, B, Var("a", 1), Var("a", 3), Var("b", 2), Var("u", 1), y1, y2)
_SEEN = st.one_of(
    st.builds(lambda g, d: Retrieval("b", "a", B, g, d), st.integers(0, 3), st.sampled_from([0.0, 2.0])),
    st.builds(lambda relation: Count("a", B, relation), st.sampled_from(RELATIONS)),
)
_STARTS = st.fixed_dictionaries(
    {},
    optional={
        "a": st.sampled_from([1.0, -2.5, "first"]),
        "b": st.just("first"),
        "u": st.sampled_from([1.0, inf, -inf]),
        "y": st.just(2.0),
    },
)


def programs(*, looks_up: bool = True, bounded: float = inf) -> st.SearchStrategy[Recurrence]:
    """Random programs of `a` and `b` that read three steps back, and their own outputs."""
    inner = formulas(_READ)
    if bounded < inf:
        inner = inner.map(lambda e: op("clip", e, -bounded, bounded))
    return st.builds(
        lambda u, seen, y, outputs, start: rule(start, "a b", outputs, u=u, seen=seen, y=y + Var("seen")),
        inner,
        _SEEN if looks_up else inner,
        inner,
        st.sampled_from(["y", "y u", "y a"]),
        _STARTS,
    )


# -- graphs --------------------------------------------------------------------------------------------------


def random_head(rng: np.random.Generator, kind: str, index: int, read: int | None = None) -> RouterNode:
    """A head that reads any nodes before it; those that seek are certain, near a tie, or find nothing."""
    reads = {role: int(rng.integers(index)) for role in HEADS[kind].reads}
    own: dict[str, Any] = {}
    if kind == "location":
        reads = {"value": reads["value"] if read is None else read}
        own["offset"] = int(rng.integers(0, 4)) if rng.random() < 0.9 else None
    if not HEADS[kind].seeks:
        own["start"] = float(rng.choice([0.0, 0.0, 1.0, rng.normal()])) if kind == "location" else 0.0
        return RouterNode(f"V{index}_Attn", kind, reads, **own)
    own["relative_bias"] = rng.choice([0.0, -1e6, 3.0, rng.normal()], rng.integers(1, 6))
    if kind == "pointer":
        size = float(rng.choice([0.0, 1.0, 30.0]))
        own |= {part: size * rng.normal(size=(3, 2)) for part in ("query_table", "key_table")}
    return RouterNode(f"V{index}_Attn", kind, reads, null_score=float(rng.normal() - 1), **own)


def random_operator(rng: np.random.Generator, index: int) -> OperatorNode:
    """One to three operands, some of which it does not use; half of them have whole weights."""
    arity, hidden = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    operands = tuple(int(operand) for operand in rng.integers(index, size=arity))
    weight, bias = rng.normal(size=(hidden, arity)), rng.normal(size=hidden)
    if rng.random() < 0.5:
        weight, bias = np.round(2 * weight), np.round(bias)
    if rng.random() < 0.3:
        weight[:, rng.integers(arity)] = 0.0
    return OperatorNode(f"V{index}_MLP", operands, weight, bias, rng.normal(size=hidden), float(rng.normal()))


def random_graph(
    seed: int,
    kinds: Sequence[str] | None = None,
    *,
    inputs: int | None = None,
    outputs: int | None = None,
    past: bool | None = None,
) -> DiscreteGraph:
    """Any graph: up to six nodes of any kind, or two layers with a head of each of these kinds in each."""
    rng = np.random.default_rng(seed)
    inputs, outputs = inputs or int(rng.integers(1, 3)), outputs or int(rng.integers(1, 3))
    past = rng.random() < 0.6 if past is None else past
    layout = Layout("autoregressive" if past else "tagging", (2.0,) * inputs, (4.0, 1.0)[:outputs])
    names = tuple(f"x{i}" for i in range(inputs)), tuple(f"y{i}" for i in range(outputs))
    nodes: list[Node] = [
        ChannelNode(f"V{i}_input", label, float(rng.choice([0.0, 0.5, rng.normal()])) if i >= inputs else 0.0)
        for i, label in enumerate(layout.channel_names(*names))
    ]
    if kinds is None:
        for _ in range(int(rng.integers(1, 7))):
            kind = str(rng.choice(BUILT_IN))
            make = rng.random() < 0.5
            nodes.append(random_operator(rng, len(nodes)) if make else random_head(rng, kind, len(nodes)))
    for _ in range(2 if kinds is not None else 0):
        before = len(nodes) - 1
        nodes += [random_head(rng, "location", len(nodes) + i, before) for i in range(2)]
        nodes += [random_head(rng, kind, len(nodes) + i) for i, kind in enumerate(kinds or ())]
        nodes += [random_operator(rng, len(nodes) + i) for i in range(2)]
    head = np.zeros((outputs, len(nodes) + 1))
    for row in head:
        chosen = rng.choice(len(nodes), min(3, len(nodes)), replace=False)
        row[chosen] = rng.normal(size=len(chosen))
        if rng.random() < 0.5:  # only a graph whose outputs do not feed on themselves keeps still
            row[inputs : layout.channels] = 0.0
        row[-1] = rng.normal()
    return DiscreteGraph(tuple(nodes), head, layout, *names, 12)
