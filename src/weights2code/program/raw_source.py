"""`program_raw.py`: the paper's listing style, one variable a node (figures sum_last2, parity_last2, ...).

Tagging graphs are written as in the paper, one array operation a node. Graphs that read their own outputs
cannot be: they are written as a loop over positions, with the same comments, so that the listing runs free
as well. Weights appear as they are.
"""

from __future__ import annotations

import re

from weights2code.graph.raw_nodes import RawNode, RawProgram
from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, number_text
from weights2code.language.operators import Binding, Written
from weights2code.program.python_source import identifier


def raw_source(program: RawProgram) -> str:
    """The listing of a raw program."""
    writer = _Listing(program)
    function = identifier(program.name)
    body = writer.loop() if program.feeds_back else writer.arrays()
    helper = ["", "", "def relu(x):", "    return np.maximum(0, x)"] if writer.needs_relu() else []
    return "\n".join(
        [
            "import numpy as np",
            "",
            f'__all__ = ["{function}"]',
            *helper,
            "",
            "",
            f"def {function}(input_seq):",
            *(f"    {line}" for line in (*writer.inputs(), *body)),
            "",
        ]
    )


class _Listing:
    """Writes the lines of one raw program."""

    def __init__(self, program: RawProgram) -> None:
        self.program = program
        self.labels = _labels(program)

    def needs_relu(self) -> bool:
        formulas = [node.formula for node in self.program.nodes if node.formula is not None]
        return any(isinstance(part, Op) and part.name == "relu" for f in formulas for part in f.walk())

    def inputs(self) -> list[str]:
        own = [node for node in self.program.nodes if node.kind == "input" and node.output is None]
        return [
            f"# {', '.join(_words(node) for node in own)}",
            f"input_arr = np.array(input_seq, dtype=float).reshape(-1, {self.program.columns})",
            "seq_len = input_arr.shape[0]",
            *(f"{self.labels[node.name]} = input_arr[:, {node.column}]" for node in own),
        ]

    def arrays(self) -> list[str]:
        """The vectorised form of the paper."""
        lines: list[str] = []
        for node in self.program.nodes:
            if node.kind != "input":
                lines += [f"# {_words(node)}", *self._vector(node)]
        outputs = [self._head(j, "") for j in range(len(self.program.head))]
        text = outputs[0] if len(outputs) == 1 else f"np.stack([{', '.join(outputs)}], axis=1)"
        return [*lines, "# Output Head", f"output = {text}", "return output"]

    def loop(self) -> list[str]:
        """Position by position, for graphs that read their own outputs."""
        count = len(self.program.head)
        written = [n for n in self.program.nodes if n.kind != "input" or n.output is not None]
        inner: list[str] = []
        for node in written:
            inner += [f"# {_words(node)}", *self._position(node)]
        inner.append("# Output Head")
        inner += [f"output[t, {j}] = {self._head(j, '[t]')}" for j in range(count)]
        return [
            *(f"{self.labels[node.name]} = np.zeros(seq_len)" for node in written),
            *(f"{self._table(node)} = {{}}" for node in written if node.kind == "retrieval"),
            f"output = np.zeros((seq_len, {count}))",
            "for t in range(seq_len):",
            *(f"    {line}" for line in inner),
            "return output[:, 0]" if count == 1 else "return output",
        ]

    def _vector(self, node: RawNode) -> list[str]:
        label = self.labels[node.name]
        if node.formula is not None:
            text = self._expression(node.formula, "")
            return [f"{label} = {text if node.formula.variables() else f'np.full(seq_len, {text})'}"]
        if node.kind == "offset":
            source, shift = self.labels[node.reads[0]], node.offset
            start = _number(node.start)
            empty = f"np.full(seq_len, {start})" if node.start else "np.zeros(seq_len)"
            moved = f"{label}[{shift}:] = {source}[:-{shift}]" if shift else f"{label}[:] = {source}"
            return [f"{label} = {empty}", f"# Fixed offset {shift}", moved]
        before = [f"{label} = np.zeros(seq_len)"]
        if node.kind == "retrieval":
            before.append(f"{self._table(node)} = {{}}")
        comment, *assignment = self._position(node)
        return [*before, comment, "for t in range(seq_len):", *(f"    {line}" for line in assignment)]

    def _position(self, node: RawNode) -> list[str]:
        """The comment that names the routing, then the value at t."""
        target, start = f"{self.labels[node.name]}[t]", _number(node.start)
        if node.formula is not None:
            return [f"{target} = {self._expression(node.formula, '[t]')}"]
        if node.kind == "input":
            last = f"output[t - 1, {node.output}]"
            last = f"np.round({last})" if self.program.round_feedback else last
            return ["# Own output, one step back", f"{target} = {last} if t >= 1 else {start}"]
        source, shift = self.labels[node.reads[0]], node.offset
        if node.kind == "offset":
            text = f"{source}[t - {shift}] if t >= {shift} else {start}" if shift else f"{source}[t]"
            return [f"# Fixed offset {shift}", f"{target} = {text}"]
        if node.kind == "extremum":
            word = "max" if node.largest else "min"
            first = "" if node.window is None else f"max(0, t - {node.window - 1})"
            scope = "all so far" if node.window is None else f"last {node.window}"
            lines = [f"# Windowed {word}, {scope}", f"{target} = np.{word}({source}[{first}:t + 1])"]
            if node.padded and node.window is not None:
                lines[0] += ", 0 before the start"
                lines[1] += f" if t >= {node.window - 1} else np.{word}({source}[:t + 1], initial=0.0)"
            return lines
        if node.kind == "retrieval":
            return self._retrieval(node, target, start)
        return [f"# Prefix {node.kind}", f"{target} = np.{node.kind}({source}[:t + 1])"]

    def _retrieval(self, node: RawNode, target: str, default: str) -> list[str]:
        key, value, query = (self.labels[name] for name in node.reads)
        table, lag = self._table(node), max(node.offset - 1, 0)
        index = f"t - {lag}" if lag else "t"
        store = [f"{table}[{key}[{index}]] = {value}[{index}]"]
        if lag:
            store = [f"if t >= {lag}:", f"    {store[0]}"]
        lookup = f"{target} = {table}.get({query}[t], {default})"
        steps = [*store, lookup] if node.offset == 0 else [lookup, *store]
        return [f"# Retrieval: the last {value} whose {key} equals {query}", *steps]

    def _table(self, node: RawNode) -> str:
        return f"table_{self.labels[node.name]}"

    def _head(self, output: int, index: str) -> str:
        row, bias = self.program.head[output], self.program.bias_of(output)
        terms = [f"{_number(weight)} * {self.labels[name]}{index}" for name, weight in row.items()]
        if not terms:
            return _number(bias) if index else f"np.full(seq_len, {_number(bias)})"
        return " + ".join([*terms, *([_number(bias)] if bias else [])])

    def _expression(self, expr: Expr, index: str) -> str:
        """Array arithmetic, every inner operation in parentheses as the paper prints it."""
        return self._operand(expr, index).text

    def _operand(self, expr: Expr, index: str) -> Written:
        if isinstance(expr, Const):
            text = _number(expr.value)
            text = f"({text})" if "/" in text else text
            return Written(text, Binding.UNARY if text.startswith("-") else Binding.ATOM)
        if isinstance(expr, Var):
            return Written(f"{self.labels[expr.name]}{index}")
        assert isinstance(expr, Op)
        template, binding = OPERATORS[expr.name].listing
        return Written(template.format(*(self._operand(part, index) for part in expr.args)), binding)


def _labels(program: RawProgram) -> dict[str, str]:
    """`V3` for `V3_MLP_L0M0`; names without such a number get one of their own."""
    labels: dict[str, str] = {}
    for index, node in enumerate(program.nodes):
        head = re.match(r"V\d+(?=_|$)", node.name)
        label = head.group() if head else f"V{index}"
        while label in labels.values():
            label += "_"
        labels[node.name] = label
    return labels


def _words(node: RawNode) -> str:
    """The comment's text, on one line whatever it holds."""
    return " ".join(f"{node.name} {node.comment}".split())


def _number(value: Number) -> str:
    return re.sub(r"(inf|nan)", r"np.\1", number_text(value))
