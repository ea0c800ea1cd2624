"""A program as an ONNX graph: one `Scan` over the rows, which carries what the rule remembers.

In: `rows`, float64, shape (T, columns); out: `answers`, float64, shape (T, outputs); any T but 0, which ONNX
Runtime has no scan for. A scan carries a fixed number of values, so lookups among all earlier rows are
refused. Values of the program are called as in its formula, `x[t-1]`, which nothing else in the graph is.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.export.rules import Rule, comment_lines, refuse_lookups, rule_of
from weights2code.language import OPERATORS, Const, Expr, Op, Var
from weights2code.program import Program

#: Versions of the operators and of the file: not newer than they need be.
OPSET, FORMAT = 17, 8
_TESTS = {"eq": "Equal", "ge": "GreaterOrEqual", "gt": "Greater", "le": "LessOrEqual", "lt": "Less"}


def write(program: Program, source: FileSource | None = None) -> bytes:
    """The content of `program.onnx`."""
    try:
        package: Any = import_module("onnx")
    except ImportError:
        raise InputError(
            "writing ONNX needs the package onnx; install it with `pip install weights2code[onnx]`."
        ) from None
    rule = rule_of(program)
    refuse_lookups(rule, "onnx")
    kept = [Var(name, lag) for name, depth in rule.lags.items() for lag in range(1, depth + 1)]
    outer = _Graph(rule, package, "start")
    starts = []
    for variable in kept:
        if rule.first(variable.name):
            place = outer.constant(np.array(rule.recurrence.inputs.index(variable.name)))
            row = outer.add("Gather", "rows", outer.constant(np.array(0)), axis=0)
            starts.append(outer.add("Gather", row, place, axis=0))
        else:
            starts.append(outer.number(rule.start(variable.name)))
    ends = [f"end {outer.label(variable)}" for variable in kept]
    body = _row(rule, kept, package)
    outer.put("Scan", [*starts, "rows"], [*ends, "answers"], body=body, num_scan_inputs=1)
    columns, outputs = len(rule.recurrence.inputs), len(rule.recurrence.outputs)
    comment = "\n".join(comment_lines(program, numbered=True, bits=True))
    graph = outer.made(rule.function, {"rows": ["T", columns]}, {"answers": ["T", outputs]}, comment)
    model = package.helper.make_model(
        graph, opset_imports=[package.helper.make_opsetid("", OPSET)], producer_name="weights2code"
    )
    model.ir_version = FORMAT
    package.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def _row(rule: Rule, kept: list[Var], package: Any) -> Any:
    """The graph of one row: what is kept and the row go in, what is kept from then on and the answer out."""
    graph, recurrence = _Graph(rule, package, "value"), rule.recurrence
    graph.known |= {variable: graph.label(variable) for variable in kept}
    for place, name in enumerate(recurrence.inputs):
        index = graph.constant(np.array(place))
        graph.known[Var(name)] = graph.add("Gather", "row", index, axis=0)
    for step in recurrence.steps:
        assert isinstance(step.definition, Expr)
        graph.known[Var(step.name)] = graph.value(step.definition)
    after = {graph.add("Identity", graph.known[Var(item.name, item.lag - 1)]): [] for item in kept}
    shape = graph.constant(np.array([1]))
    answers = [graph.add("Reshape", graph.known[Var(name)], shape) for name in recurrence.outputs]
    graph.put("Concat", answers, ["answer"], axis=0)
    given = {graph.label(variable): [] for variable in kept} | {"row": [len(recurrence.inputs)]}
    return graph.made("one_row", given, after | {"answer": [len(recurrence.outputs)]})


class _Graph:
    """Makes a graph; the table of operators calls it for those that ONNX has not under one name."""

    def __init__(self, rule: Rule, package: Any, word: str) -> None:
        self.rule, self.package, self.word = rule, package, word
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.known: dict[Expr, str] = {}

    def made(self, name: str, given: dict[str, list], gives: dict[str, list], comment: str = "") -> Any:
        info, double = self.package.helper.make_tensor_value_info, self.package.TensorProto.DOUBLE
        ends = [[info(label, double, shape) for label, shape in some.items()] for some in (given, gives)]
        return self.package.helper.make_graph(self.nodes, name, *ends, [*self.constants.values()], comment)

    def label(self, variable: Var) -> str:
        return f"{self.rule.names[variable.name]}[t-{variable.lag}]"

    def put(self, kind: str, inputs: list[str], outputs: list[str], **attributes: Any) -> None:
        self.nodes.append(self.package.helper.make_node(kind, inputs, outputs, **attributes))

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        label = f"{self.word} {len(self.nodes)}"
        self.put(kind, [*inputs], [label], **attributes)
        return label

    def constant(self, value: np.ndarray) -> str:
        label = f"constant {value.dtype} {value.tolist()}"
        self.constants.setdefault(label, self.package.numpy_helper.from_array(value, label))
        return label

    def number(self, value: float) -> str:
        return self.constant(np.array(float(value)))

    def value(self, expr: Expr) -> str:
        """The name of a value; what is written twice is computed once."""
        if expr not in self.known:
            if isinstance(expr, Const):
                return self.number(float(expr.value))
            assert isinstance(expr, Op), expr
            entry, parts = OPERATORS[expr.name].onnx, [self.value(argument) for argument in expr.args]
            self.known[expr] = self.add(entry, *parts) if isinstance(entry, str) else entry(self, *parts)
        return self.known[expr]

    def test(self, name: str, a: str, b: str) -> str:
        """A comparison, as a truth."""
        return self.add("Not", self.add("Equal", a, b)) if name == "ne" else self.add(_TESTS[name], a, b)

    def truth(self, value: str) -> str:
        return self.test("ne", value, self.number(0))

    def bit(self, truth: str) -> str:
        return self.add("Where", truth, self.number(1), self.number(0))

    def extremum(self, better: str, a: str, b: str) -> str:
        """The second only where it is better, as Python has it."""
        return self.add("Where", self.add(better, b, a), b, a)

    def parted(self, a: str, b: str) -> tuple[str, str]:
        """C's remainder, and whether it is to get the other sign."""
        rest, zero = self.add("Mod", a, b, fmod=1), self.number(0)
        signs = [self.add("Less", part, zero) for part in (rest, b)]
        return rest, self.add("And", self.truth(rest), self.add("Xor", *signs))

    def remainder(self, a: str, b: str) -> str:
        rest, other = self.parted(a, b)
        sign = self.add("Where", self.add("Less", b, self.number(0)), self.number(-1), self.number(1))
        signed = self.add("Mul", self.add("Abs", rest), sign)  # a zero has the sign of the divisor, too
        return self.add("Where", other, self.add("Add", rest, b), signed)

    def quotient(self, a: str, b: str) -> str:
        """`a // b`, as Python rounds it."""
        rest, other = self.parted(a, b)
        whole = self.add("Div", self.add("Sub", a, rest), b)
        whole = self.add("Sub", whole, self.bit(other))
        low = self.add("Floor", whole)
        up = self.bit(self.add("Greater", self.add("Sub", whole, low), self.number(0.5)))
        by_zero = self.add("Equal", b, self.number(0))
        return self.add("Where", by_zero, self.add("Div", a, b), self.add("Add", low, up))
