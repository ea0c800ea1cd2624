"""Linear recurrent models, at every length: how far one is from its program at most, over all inputs.

An ONNX file with one loop is linear if every operation on what comes from its inputs is. The step is cut out
and asked for its matrices. Model and program are two linear systems then, and their difference is a third:
its worst inputs are known position by position, and beyond the last that was computed a power of its matrix,
whose norm is below 1, bounds the rest. Rounding of the model's 32-bit numbers is put on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from weights2code.language import Domain, Expr, Op, Recurrence, Var
from weights2code.language.evaluation import compile_numpy

#: Numbers that a state may hold, and bytes of a file that is read.
MOST_STATE, LARGEST = 512, 64 << 20
#: Positions that are computed one by one, and powers of the matrix that are looked at.
POSITIONS, POWERS = 4096, 4096
#: Relative rounding of one operation on 32-bit numbers.
ROUNDING = 2.0**-24
#: Operations that are linear in any input, in the first alone, and in one if the others do not vary.
_SHAPING = ("Identity", "Unsqueeze", "Squeeze", "Reshape", "Transpose", "Slice", "Gather", "Cast", "Neg")
_ADDING = ("Add", "Sub", "Concat")
_TIMES = ("MatMul", "Gemm", "Mul", "Div")


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """`s' = A s + B x + a` from `start`, with the output `C s' + D x + d` of the state come to."""

    A: np.ndarray
    B: np.ndarray
    a: np.ndarray
    C: np.ndarray
    D: np.ndarray
    d: np.ndarray
    start: np.ndarray


def bound(path: str, program: Recurrence, domains: tuple[Domain, ...]) -> float | None:
    """By how much a linear model of a file differs from a linear program at most, before its outputs are
    read, at every length and for all inputs of the domains; None if either is not linear or never settles."""
    try:
        model = _of_file(path, len(domains))
        rule = _of_program(program)
    except (ImportError, ValueError, KeyError, IndexError, RuntimeError):
        return None
    if model is None or rule is None or model.C.shape != (1, len(model.A)):
        return None
    return _largest(_difference(model, rule), model, domains)


def _difference(one: System, two: System) -> System:
    """Both side by side; the output is that of the first less that of the second."""
    n, m = len(one.A), len(two.A)
    both = np.zeros((n + m, n + m))
    both[:n, :n], both[n:, n:] = one.A, two.A
    return System(
        both,
        np.vstack([one.B, two.B]),
        np.concatenate([one.a, two.a]),
        np.hstack([one.C, -two.C]),
        one.D - two.D,
        one.d - two.d,
        np.concatenate([one.start, two.start]),
    )


def _largest(gap: System, model: System, domains: tuple[Domain, ...]) -> float | None:
    """The largest output of a system over all inputs, with what rounding may add."""
    low, high = (np.array([getattr(d, end) for d in domains], float) for end in ("low", "high"))
    middle, reach = (low + high) / 2, (high - low) / 2
    settled = _settling(gap.A)
    alone = _settling(model.A)
    if settled is None or alone is None:
        return None
    state, kick = gap.start, gap.B
    worst, spread = 0.0, np.abs(gap.D) @ reach  # what inputs may do around their middle, so far
    for _ in range(POSITIONS):
        state = gap.A @ state + gap.B @ middle + gap.a
        spread = spread + np.abs(gap.C @ kick) @ reach
        kick = gap.A @ kick
        worst = max(worst, float(np.abs(gap.C @ state + gap.D @ middle + gap.d).max() + spread.max()))
    size = np.abs(gap.C).sum(1).max()
    drift = np.abs(gap.A @ state + gap.B @ middle + gap.a - state).max()
    rest = size * settled * (np.abs(kick) @ reach).max() + size * settled * drift
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
    out = np.abs(model.C).sum(1).max()
    last = out * largest + float((np.abs(model.D) @ inputs + np.abs(model.d)).max())
    return float(2 * (out * settled * step + ROUNDING * terms * last))


# -- the program ---------------------------------------------------------------------------------------------


def _of_program(program: Recurrence) -> System | None:
    """A program of sums as a linear system; its state is what lies before a position."""
    if len(program.outputs) != 1 or any(not _adds_up(step.definition) for step in program.steps):
        return None
    if any(program.start_of(name) == "first" for name in program.depths()):
        return None
    state = program.state()
    names = [*(v for v in state), *(Var(name, 0) for name in program.inputs)]
    probes = np.vstack([np.zeros(len(names)), np.eye(len(names))])
    values = {v: probes[:, i] for i, v in enumerate(names)}
    for step in program.steps:
        assert isinstance(step.definition, Expr)
        reads = step.definition.variables()
        result = compile_numpy(step.definition, reads)(*(values[v] for v in reads))
        values[Var(step.name, 0)] = np.broadcast_to(np.asarray(result, float), len(probes))
    after = (
        np.stack([values[Var(v.name, v.lag - 1)] for v in state], 1) if state else np.zeros((len(probes), 0))
    )
    output = values[Var(program.outputs[0], 0)]
    moved, given = after[1:] - after[0], output[1:] - output[0]
    n = len(state)
    start = np.array([float(program.start_of(v.name)) for v in state])
    # the output is of the state before, so that state is carried along as one more step
    return System(
        np.block([[np.zeros((1, 1)), given[:n][None]], [np.zeros((n, 1)), moved[:n].T]]),
        np.vstack([given[n:][None], moved[n:].T]),
        np.concatenate([output[:1], after[0]]),
        np.concatenate([[1.0], np.zeros(n)])[None],
        np.zeros((1, len(program.inputs))),
        np.zeros(1),
        np.concatenate([[0.0], start]),
    )


def _adds_up(definition: Any) -> bool:
    """Whether a formula is a sum of values times numbers."""
    if not isinstance(definition, Expr):
        return False
    if not isinstance(definition, Op):
        return True
    varying = sum(bool(part.variables()) for part in definition.args)
    if definition.name in ("add", "sub", "neg"):
        return all(map(_adds_up, definition.args))
    divided = definition.name == "div" and not definition.args[1].variables()
    return ((definition.name == "mul" and varying <= 1) or divided) and all(map(_adds_up, definition.args))


# -- the file ------------------------------------------------------------------------------------------------


def _of_file(path: str, columns: int) -> System | None:
    """The linear system in an ONNX file; None if there is none."""
    import os

    import onnx

    if os.path.getsize(path) > LARGEST:
        return None
    graph = onnx.load(path, load_external_data=False).graph
    loops = [node for node in graph.node if node.op_type == "Loop"]
    if len(loops) != 1 or len(graph.input) != 1 or len(graph.output) != 1:
        return None
    body, loop = loops[0].attribute[0].g, loops[0]
    source, carried = graph.input[0].name, [item.name for item in body.input[2:]]
    inserts = [node for node in body.node if node.op_type == "SequenceInsert" and len(node.input) == 2]
    last = {name: node for node in graph.node for name in node.output}[graph.output[0].name]
    if len(inserts) != 1 or len(carried) != 2 or last.op_type != "ConcatFromSequence":
        return None
    place = carried.index(inserts[0].input[0])
    state, after = carried[1 - place], body.output[1 + (1 - place)].name
    begin = loop.input[2 + (1 - place)]
    sequence = loop.output[place]
    if body.output[1 + place].name != inserts[0].output[0] or last.input[0] != sequence:
        return None
    outputs = [inserts[0].input[1], after]
    if not _linear(body, source, state, body.input[0].name, outputs) or _varies(graph, source, begin):
        return None
    return _asked(graph, body, source, state, begin, outputs, columns)


def _linear(body: Any, source: str, state: str, counter: str, outputs: list[str]) -> bool:
    """Whether the outputs are linear in input and state, and the counter but chooses a position of inputs."""
    varying, counting, whole = {source, state}, {counter}, {source}
    for node in body.node:
        inputs = [name for name in node.input if name]
        varies, counts = [name in varying for name in inputs], [name in counting for name in inputs]
        if node.op_type == "SequenceInsert" or any(a.type == a.GRAPH for a in node.attribute):
            if node.op_type != "SequenceInsert":
                return False
            continue
        if any(counts) and not (node.op_type == "Gather" and inputs[0] in whole and counts == [False, True]):
            if any(varies):
                return False
            counting |= set(node.output)
            continue
        if not any(varies):
            continue
        first = varies[0] and not any(varies[1:])
        kind = node.op_type
        fine = (kind in _SHAPING and first) or kind in _ADDING
        fine = fine or (kind in _TIMES and sum(varies) == 1 and (kind != "Div" or varies[0]))
        if not fine:
            return False
        varying |= set(node.output)
        whole |= set(node.output) if kind in ("Slice", "Identity") and inputs[0] in whole else set()
    return not set(outputs) & counting


def _varies(graph: Any, source: str, name: str) -> bool:
    """Whether the state before the start depends on inputs, beyond how many there are."""
    made = {out: node for node in graph.node for out in node.output}
    waiting = [name]
    while waiting:
        read = waiting.pop()
        if read == source:
            return True
        node = made.get(read)
        if node is not None and node.op_type != "Shape":
            waiting += [item for item in node.input if item]
    return False


def _asked(
    graph: Any, body: Any, source: str, state: str, begin: str, outputs: list[str], columns: int
) -> System | None:
    """The matrices of the step, from what it gives for nothing and for one thing at a time."""
    zero = np.zeros((1, 1, columns), np.float32)
    start = _session(graph, [], source, [], [begin]).run(None, {source: zero})[0].reshape(-1)
    size = len(start)
    if size > MOST_STATE:
        return None
    counter = body.input[0].name
    session = _session(graph, list(body.node), source, [state], outputs, counter)

    def step(x: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        feed = {source: x.reshape(1, 1, columns), state: s.reshape(1, size), counter: np.array(0, np.int64)}
        known = {item.name for item in session.get_inputs()}
        out = session.run(None, {name: value for name, value in feed.items() if name in known})
        return tuple(np.asarray(value, float).reshape(-1) for value in out)  # type: ignore[return-value]

    nothing, rest = np.zeros(columns, np.float32), np.zeros(size, np.float32)
    d, a = step(nothing, rest)
    by_input = [step(row, rest) for row in np.eye(columns, dtype=np.float32)]
    by_state = [step(nothing, row) for row in np.eye(size, dtype=np.float32)]
    A, B = np.stack([s - a for _, s in by_state], 1), np.stack([s - a for _, s in by_input], 1)
    G, D = np.stack([y - d for y, _ in by_state], 1), np.stack([y - d for y, _ in by_input], 1)
    # the output is of the state before: it is carried along as one more number
    n = size
    return System(
        np.block([[np.zeros((1, 1)), G], [np.zeros((n, 1)), A]]),
        np.vstack([D, B]),
        np.concatenate([d, a]),
        np.concatenate([[1.0], np.zeros(n)])[None],
        np.zeros((1, columns)),
        np.zeros(1),
        np.concatenate([[0.0], start.astype(float)]),
    )


def _session(
    graph: Any, nodes: list[Any], source: str, states: list[str], outputs: list[str], counter: str = ""
) -> Any:
    """What runs the part of a graph that these outputs need."""
    import onnx
    import onnxruntime

    everything = [*(node for node in graph.node if node.op_type != "Loop"), *nodes]
    made = {out: node for node in everything for out in node.output}
    needed, waiting, given = set[str](), list(outputs), {source, *states, counter}
    while waiting:
        name = waiting.pop()
        if name in made and name not in needed and name not in given:
            needed.add(name)
            waiting += [item for item in made[name].input if item]
    kept = [node for node in everything if set(node.output) & needed]
    kind = onnx.TensorProto
    inputs = [onnx.helper.make_tensor_value_info(source, kind.FLOAT, [1, 1, None])]
    inputs += [onnx.helper.make_tensor_value_info(name, kind.FLOAT, [1, None]) for name in states]
    read = {item for node in kept for item in node.input}
    if counter and counter in read:
        inputs.append(onnx.helper.make_tensor_value_info(counter, kind.INT64, []))
    out = [onnx.helper.make_empty_tensor_value_info(name) for name in outputs]
    part = onnx.helper.make_graph(kept, "part", inputs, out, list(graph.initializer))
    model = onnx.helper.make_model(part, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
