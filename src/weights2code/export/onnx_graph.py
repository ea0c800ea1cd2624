"""A program as an ONNX graph: one `Scan` over the rows, which carries what the rule remembers.

In: `rows`, float64, shape (T, columns); out: `answers`, float64, shape (T, outputs); any T but 0, which ONNX
Runtime has no scan for. A scan carries a fixed number of values, so lookups among all earlier rows are
refused.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from weights2code.data import FileSource
from weights2code.errors import InputError
from weights2code.export.rules import Rule, comment_lines, refuse_lookups, rule_of
from weights2code.language import Const, Expr, Op, Var
from weights2code.language.operators import order_of, ordered
from weights2code.program import Program

#: Versions of the operators and of the file: not newer than they need be.
OPSET, FORMAT = 17, 8

#: Operators that ONNX has under another name, and tests, whose truth becomes a number again.
_PLAIN = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "neg": "Neg", "abs": "Abs",
    "max": "Max", "min": "Min", "floor": "Floor", "sqrt": "Sqrt", "exp": "Exp", "log": "Log", "sin": "Sin",
    "cos": "Cos",
}  # fmt: skip
_TESTS = {"eq": "Equal", "ge": "GreaterOrEqual", "gt": "Greater", "le": "LessOrEqual", "lt": "Less"}


def write(program: Program, source: FileSource | None = None) -> bytes:
    """The content of `program.onnx`."""
    try:
        package: Any = import_module("onnx")
        helper, numpy_helper = package.helper, package.numpy_helper
    except ImportError:
        raise InputError(
            "writing ONNX needs the package onnx; install it with `pip install weights2code[onnx]`."
        ) from None
    rule = rule_of(program, ())
    refuse_lookups(rule, "onnx")
    body = _Body(rule, helper, numpy_helper)
    double = package.TensorProto.DOUBLE
    recurrence = rule.recurrence
    kept = [(name, lag) for name, depth in rule.lags.items() for lag in range(1, depth + 1)]
    columns, outputs = len(recurrence.inputs), len(recurrence.outputs)
    inner = body.graph(kept, double)
    starts = []
    nodes = []
    first = [name for name, _ in kept if rule.first(name)]
    if first:
        zero, one = (numpy_helper.from_array(np.array([value]), f"at_{value}") for value in (0, 1))
        starts += [zero, one]
        nodes.append(helper.make_node("Slice", ["rows", "at_0", "at_1", "at_0"], ["first_row"]))
    initial = []
    for name, lag in kept:
        label = f"start_{rule.names[name]}_{lag}"
        initial.append(label)
        if rule.first(name):
            place = recurrence.inputs.index(name)
            starts.append(numpy_helper.from_array(np.array([place]), f"{label}_from"))
            starts.append(numpy_helper.from_array(np.array([place + 1]), f"{label}_to"))
            starts.append(numpy_helper.from_array(np.array([1]), f"{label}_axis"))
            cut = [f"{label}_row"]
            nodes.append(
                helper.make_node("Slice", ["first_row", f"{label}_from", f"{label}_to", f"{label}_axis"], cut)
            )
            nodes.append(helper.make_node("ReduceSum", cut, [label], keepdims=0))
        else:
            starts.append(numpy_helper.from_array(np.array(rule.start(name)), label))
    after = [f"end_{place}" for place in range(len(kept))]
    nodes.append(
        helper.make_node("Scan", [*initial, "rows"], [*after, "answers"], body=inner, num_scan_inputs=1)
    )
    graph = helper.make_graph(
        nodes,
        rule.function,
        [helper.make_tensor_value_info("rows", double, ["T", columns])],
        [helper.make_tensor_value_info("answers", double, ["T", outputs])],
        starts,
        "\n".join(comment_lines(program, numbered=True, bits=True)),
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="weights2code"
    )
    model.ir_version = FORMAT
    package.checker.check_model(model, full_check=True)
    return model.SerializeToString()


class _Body:
    """The graph of one row."""

    def __init__(self, rule: Rule, helper: Any, arrays: Any) -> None:
        self.rule, self.helper, self.arrays = rule, helper, arrays
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.known: dict[Expr, str] = {}

    def graph(self, kept: list[tuple[str, int]], double: int) -> Any:
        rule, recurrence, helper = self.rule, self.rule.recurrence, self.helper
        for name, lag in kept:
            self.known[Var(name, lag)] = f"{rule.names[name]}_{lag}"
        for place, name in enumerate(recurrence.inputs):
            index = self.constant(np.array(place, np.int64))
            self.add("Gather", ["row", index], f"{rule.names[name]}_now", axis=0)
            self.known[Var(name)] = f"{rule.names[name]}_now"
        for step in recurrence.steps:
            assert isinstance(step.definition, Expr)
            self.known[Var(step.name)] = self.value(step.definition)
        after = []
        for name, lag in kept:
            label = f"{rule.names[name]}_{lag}_next"
            self.add("Identity", [self.known[Var(name, lag - 1)]], label)
            after.append(label)
        shape = self.constant(np.array([1], np.int64))
        answers = []
        for place, name in enumerate(recurrence.outputs):
            self.add("Reshape", [self.known[Var(name)], shape], f"answer_{place}")
            answers.append(f"answer_{place}")
        self.add("Concat", answers, "answer", axis=0)
        info = helper.make_tensor_value_info
        return helper.make_graph(
            self.nodes,
            "one_row",
            [
                *(info(f"{rule.names[name]}_{lag}", double, []) for name, lag in kept),
                info("row", double, [len(recurrence.inputs)]),
            ],
            [
                *(info(label, double, []) for label in after),
                info("answer", double, [len(recurrence.outputs)]),
            ],
            list(self.constants.values()),
        )

    def add(self, kind: str, inputs: list[str], label: str | None = None, **attributes: Any) -> str:
        label = label or f"value_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [label], **attributes))
        return label

    def constant(self, value: np.ndarray) -> str:
        label = f"constant_{value.dtype}_{value.tolist()}"
        self.constants.setdefault(label, self.arrays.from_array(value, label))
        return label

    def number(self, value: float) -> str:
        return self.constant(np.array(float(value)))

    def value(self, expr: Expr) -> str:
        """The name of a value; what is written twice is computed once."""
        if expr not in self.known:
            self.known[expr] = self.made(expr)
        return self.known[expr]

    def made(self, expr: Expr) -> str:
        if isinstance(expr, Const):
            return self.number(float(expr.value))
        assert isinstance(expr, Op), expr
        parts = [self.value(argument) for argument in expr.args]
        match expr.name:
            case "mod":  # ONNX has C's remainder; ours has the sign of the divisor
                rest = self.add("Mod", parts, fmod=1)
                return self.add("Mod", [self.add("Add", [rest, parts[1]]), parts[1]], fmod=1)
            case "relu":
                return self.add("Max", [parts[0], self.number(0)])
            case "clip":
                return self.add("Min", [self.add("Max", parts[:2]), parts[2]])
            case "where":
                return self.add("Where", [self.truth(parts[0]), *parts[1:]])
            case "and" | "or":
                truths = [self.truth(part) for part in parts]
                return self.bit(self.add(expr.name.capitalize(), truths))
            case "not":
                return self.bit(self.add("Not", [self.truth(parts[0])]))
            case "ne":
                return self.bit(self.add("Not", [self.add("Equal", parts)]))
        if (order := order_of(expr.name)) is not None:
            return ordered(
                parts, order[0], lambda *two: self.add("Min", [*two]), lambda *two: self.add("Max", [*two])
            )
        if expr.name in _TESTS:
            return self.bit(self.add(_TESTS[expr.name], parts))
        if expr.name not in _PLAIN:
            raise InputError(
                f"onnx cannot hold this program: it has no operator {expr.name}; choose another."
            )
        return self.add(_PLAIN[expr.name], parts)

    def truth(self, value: str) -> str:
        return self.add("Not", [self.add("Equal", [value, self.number(0)])])

    def bit(self, truth: str) -> str:
        return self.add("Where", [truth, self.number(1), self.number(0)])
