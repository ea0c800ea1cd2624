"""Linear recurrent models, at every length: how far one is from its program at most, over all inputs.

An ONNX file with one loop is linear if every operation on what comes from its inputs is. The step is cut out
and asked for its matrices. Model and program are two linear systems then, and their difference is a third:
its worst inputs are known position by position, and beyond the last that was computed a power of its matrix,
whose norm is below 1, bounds the rest. Rounding of the model's 32-bit numbers is put on top.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.language import Domain, Expr, Recurrence, Var
from weights2code.symbolic.notation import affine_form

#: Numbers that a state may hold, and bytes of a file that is read.
MOST_STATE, LARGEST = 512, 64 << 20
#: Positions that are computed one by one, and powers of the matrix that are looked at.
POSITIONS, POWERS = 4096, 4096
#: Relative rounding of one operation on 32-bit numbers.
ROUNDING = 2.0**-24
#: Operations that are linear in their first input alone, in all, and in one if the others do not vary.
SHAPING = ("Identity", "Unsqueeze", "Squeeze", "Reshape", "Transpose", "Slice", "Gather", "Cast", "Neg")
ADDING = ("Add", "Sub", "Concat")
TIMES = ("MatMul", "Gemm", "Mul", "Div")
#: What ONNX calls 32-bit and 64-bit floats: no other type holds what is linear.
FLOATS = (1, 11)

#: States (n, numbers) and rows (n, columns) -> outputs (n,) and the states come to.
Step = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """`s' = A s + B x + a` from `start`, with the first number of the state come to as the output."""

    A: np.ndarray
    B: np.ndarray
    a: np.ndarray
    start: np.ndarray


def bound(path: str, program: Recurrence, domains: tuple[Domain, ...]) -> float | None:
    """By how much a linear model of a file differs from a linear program at most, before its outputs are
    read, at every length and for all inputs of the domains; None if either is not linear or never settles."""
    try:
        model, rule = _of_file(path, len(domains)), _of_program(program)
    except (ImportError, ValueError, KeyError, IndexError, RuntimeError, TypeError, ArithmeticError):
        return None
    return None if model is None or rule is None else _largest(model, rule, domains)


def _asked(step: Step, start: np.ndarray, columns: int) -> System:
    """A linear step as matrices, from what it gives for nothing and for one thing at a time; what it puts out
    is carried along as one more number, the first."""
    n = len(start)
    probes = np.vstack([np.zeros(n + columns), np.eye(n + columns)])
    output, after = step(probes[:, :n], probes[:, n:])
    both = np.column_stack([output, after])
    moved = (both[1:] - both[0]).T
    return System(
        np.column_stack([np.zeros(n + 1), moved[:, :n]]),
        moved[:, n:],
        both[0],
        np.concatenate([[0.0], start]),
    )


def _largest(model: System, rule: System, domains: tuple[Domain, ...]) -> float | None:
    """How far the outputs of two systems are apart at most over all inputs, with what rounding of the first
    may add."""
    n, m = len(model.A), len(rule.A)
    A = np.zeros((n + m, n + m))
    A[:n, :n], A[n:, n:] = model.A, rule.A
    B, a = np.vstack([model.B, rule.B]), np.concatenate([model.a, rule.a])
    C = np.zeros(n + m)
    C[0], C[n] = 1, -1
    low, high = (np.array([getattr(d, end) for d in domains], float) for end in ("low", "high"))
    middle, reach = (low + high) / 2, (high - low) / 2
    settled, alone = _settling(A), _settling(model.A)
    if settled is None or alone is None:
        return None
    state, kick = np.concatenate([model.start, rule.start]), B
    worst = spread = 0.0  # what inputs may do around their middle, so far
    for _ in range(POSITIONS):
        state = A @ state + B @ middle + a
        spread += float(np.abs(C @ kick) @ reach)
        kick = A @ kick
        worst = max(worst, abs(float(C @ state)) + spread)
    drift = np.abs(A @ state + B @ middle + a - state).max()
    rest = 2 * settled * ((np.abs(kick) @ reach).max() + drift)
    return worst + float(rest) + _rounding(model, alone, np.maximum(np.abs(low), np.abs(high)))


def _settling(A: np.ndarray) -> float | None:
    """A bound of the sum of the norms of all powers of a matrix; None if no power is seen to shrink."""
    power, total = np.eye(len(A)), 0.0
    for _ in range(POWERS):
        total += float(np.abs(power).sum(1).max())
        power = power @ A
        shrunk = float(np.abs(power).sum(1).max())
        if shrunk < 0.5:
            return total / (1 - shrunk)
        if not np.isfinite(shrunk):
            return None
    return None


def _rounding(model: System, settled: float, inputs: np.ndarray) -> float:
    """What 32-bit numbers may add, when the model runs and when it was asked for its matrices: a share of the
    largest state at each step, which settles as all does."""
    driven = float((np.abs(model.B) @ inputs + np.abs(model.a)).max())
    largest = settled * driven + settled * float(np.abs(model.start).max(initial=0.0)) + driven
    terms = len(model.A) + len(inputs) + 4
    step = ROUNDING * terms * (np.abs(model.A).sum(1).max() * largest + driven + largest)
    return float(2 * (settled * step + ROUNDING * terms * largest))


def _of_program(program: Recurrence) -> System | None:
    """A program of sums as a linear system; its state is what lies before a position."""
    forms = {s.name: affine_form(s.definition) for s in program.steps if isinstance(s.definition, Expr)}
    if len(program.outputs) != 1 or len(forms) < len(program.steps) or None in forms.values():
        return None
    if any(program.start_of(name) == "first" for name in program.depths()):
        return None
    state = program.state()

    def step(before: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = dict(zip(state, before.T, strict=True))
        values |= {Var(name): column for name, column in zip(program.inputs, x.T, strict=True)}
        for name, form in forms.items():
            weights, constant = form or ({}, 0)
            sums = (float(weight) * values[read] for read, weight in weights.items())
            values[Var(name)] = sum(sums, np.full(len(x), float(constant)))
        after = [values[Var(v.name, v.lag - 1)] for v in state]
        return values[Var(program.outputs[0])], np.array(after).T.reshape(len(x), len(state))

    return _asked(step, np.array([float(program.start_of(v.name)) for v in state]), len(program.inputs))


def _of_file(path: str, columns: int) -> System | None:
    """The linear system in an ONNX file; None if there is none."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    if os.path.getsize(path) > LARGEST:
        return None
    file = onnx.load(path, load_external_data=False)
    graph = file.graph
    loops = [node for node in graph.node if node.op_type == "Loop"]
    if len(loops) != 1 or len(graph.input) != 1 or len(graph.output) != 1:
        return None
    body, loop = loops[0].attribute[0].g, loops[0]
    counter, source = body.input[0].name, graph.input[0].name
    carried, after = [item.name for item in body.input[2:]], [item.name for item in body.output[1:]]
    inserts = [node for node in body.node if node.op_type == "SequenceInsert" and len(node.input) == 2]
    last = {name: node for node in graph.node for name in node.output}[graph.output[0].name]
    if len(inserts) != 1 or len(carried) != 2 or last.op_type != "ConcatFromSequence":
        return None
    place = carried.index(inserts[0].input[0])  # of the outputs so far; the other is the state
    if after[place] != inserts[0].output[0] or last.input[0] != loop.output[place]:
        return None
    going_on = {name for node in _needed(list(body.node), [body.output[0].name]) for name in node.input}
    counted = [node for node in _needed(list(graph.node), [loop.input[0]]) if node.op_type != "Shape"]
    if going_on & {source, counter, *carried} or any(source in node.input for node in counted):
        return None  # it may end before its inputs do
    state, begin, ends = carried[1 - place], loop.input[3 - place], [inserts[0].input[1], after[1 - place]]
    nodes = [*(node for node in graph.node if node is not loop), *body.node]
    if not _linear(_needed(nodes, ends), {source, state}, source, counter, ends):
        return None
    if not _linear(_needed(nodes, [begin]), {source}, source, counter, [begin], constant=True):
        return None

    def run(wanted: list[str], given: dict[str, np.ndarray]) -> Any:
        names = [onnx.helper.make_tensor_value_info(name, 0, None) for name in given]
        out = [onnx.helper.make_tensor_value_info(name, 0, None) for name in wanted]
        part = onnx.helper.make_graph(_needed(nodes, wanted), "part", names, out, list(graph.initializer))
        model = onnx.helper.make_model(part, opset_imports=list(file.opset_import))
        return ReferenceEvaluator(model).run(None, given)

    def step(s: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = {source: x[:, None].astype(np.float32), state: s.astype(np.float32), counter: np.array(0)}
        output, moved = run(ends, rows)
        return output.reshape(len(x)).astype(float), moved.reshape(s.shape).astype(float)

    start = run([begin], {source: np.zeros((1, 1, columns), np.float32)})[0].reshape(-1)
    return _asked(step, start.astype(float), columns) if len(start) <= MOST_STATE else None


def _needed(nodes: list[Any], wanted: list[str]) -> list[Any]:
    """Those that these values are made by, in their order."""
    made = {out: node for node in nodes for out in node.output}
    needed, waiting = set[int](), list(wanted)
    while waiting:
        node = made.get(waiting.pop())
        if node is not None and id(node) not in needed:
            needed.add(id(node))
            waiting += node.input
    return [node for node in nodes if id(node) in needed]


def _linear(
    nodes: list[Any],
    varying: set[str],
    source: str,
    counter: str,
    wanted: list[str],
    *,
    constant: bool = False,
) -> bool:
    """Whether values are linear in what varies, or constant, while position and length but choose a row."""
    counting, whole = {counter}, {source}
    for node in nodes:
        kind, inputs = node.op_type, [name for name in node.input if name]
        varies, counts = [name in varying for name in inputs], [name in counting for name in inputs]
        if any(a.type == a.GRAPH for a in node.attribute):
            return False
        if kind == "Shape":
            counting |= set(node.output)
        elif any(counts) and not (kind == "Gather" and inputs[0] in whole and counts == [False, True]):
            if any(varies):
                return False
            counting |= set(node.output) if kind != "ConstantOfShape" else set()
        elif any(varies):
            first = varies[0] and not any(varies[1:])
            if kind == "Cast" and next(a.i for a in node.attribute if a.name == "to") not in FLOATS:
                return False
            once = sum(varies) == 1 and (kind != "Div" or first)
            if not ((kind in SHAPING and first) or kind in ADDING or (kind in TIMES and once)):
                return False
            varying = varying | set(node.output)
            whole |= set(node.output) if kind in ("Slice", "Identity") and inputs[0] in whole else set()
    return not set(wanted) & (counting | varying if constant else counting)
