"""`program_raw.py`: the paper's listing style, one variable a node (figures sum_last2, parity_last2, ...).

Tagging graphs are written as in the paper, one array operation a node. Graphs that read their own outputs
cannot be: they are written as a loop over positions, with the same comments, so that the listing runs free
as well. Numbers appear with all their digits: the listing is the network, to rounding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from weights2code.graph.raw_nodes import RawNode, RawProgram, Rows
from weights2code.heads import RECENCY
from weights2code.language import OPERATORS, Const, Expr, Number, Op, Var, number_text
from weights2code.language.operators import Binding, Written
from weights2code.language.recurrence import SIGNS
from weights2code.program.python_source import identifier


def raw_source(program: RawProgram) -> str:
    """The listing of a raw program."""
    writer = _Listing(program)
    function = identifier(program.name)
    body = writer.loop() if program.feeds_back else writer.arrays()
    helper = [line for text in writer.helpers() for line in ("", "", *text.splitlines())]
    return "\n".join(
        [
            "import numpy as np",
            "",
            f'__all__ = ["{function}"]',
            *helper,
            "",
            "",
            f"def {function}(input_seq):",
            *(f"    {line}" for line in (*writer.inputs(), *writer.numbers(), *body)),
            "",
        ]
    )


#: Tables are written in lines of about this width.
WIDTH = 100
_RELU = """\
def relu(x):
    return np.maximum(0, x)
"""
_BETWEEN = """\
def between(x, table, low, high):
    # the mix of the two rows of the table between which a value lies
    place = np.clip((x - low) / (high - low), 0.0, 1.0) * (len(table) - 1)
    left = np.minimum(np.floor(place), len(table) - 2).astype(int)
    share = (place - left)[..., None]
    return (1 - share) * table[left] + share * table[left + 1]
"""


class _Listing:
    """Writes the lines of one raw program."""

    def __init__(self, program: RawProgram) -> None:
        self.program = program
        self.labels = _labels(program)

    def helpers(self) -> list[str]:
        """The functions that the listing calls."""
        nodes = self.program.nodes
        formulas = [node.formula for node in nodes if node.formula is not None]
        relu = any(isinstance(part, Op) and part.name == "relu" for f in formulas for part in f.walk())
        relu = relu or any(node.units for node in nodes)
        encoded = any(node.scores is not None and node.scores.corners for node in nodes)
        return [*([_RELU] if relu else []), *([_BETWEEN] if encoded else [])]

    def numbers(self) -> list[str]:
        """Tables and biases, before anything is computed."""
        lines: list[str] = []
        for node in self.program.nodes:
            label, scores = self.labels[node.name], node.scores
            if node.kind == "table":
                names = ", ".join(self.labels[name] for name in node.reads)
                lines += [f"# {label} for {names}", *_dictionary(self._table(node), node.rows)]
            elif node.kind == "retrieval":
                lines.append(f"{self._table(node)} = {{}}")
            elif scores is not None:
                key, _, query = (self.labels[name] for name in node.reads)
                if scores.pairs:
                    lines.append(f"# score of {key} where {query} asks")
                    lines += _dictionary(self._table(node), scores.pairs)
                if scores.corners:
                    down, across = (f"from {_number(low)} to {_number(high)}" for low, high in scores.spans)
                    lines.append(f"# score of {key} ({across}, across) where {query} asks ({down}, down)")
                    rows = [f"    {_list(row)}," for row in scores.corners]
                    lines += [f"{self._table(node)} = np.array([", *rows, "])"]
                lines.append(f"# score for {label} by how far back a position lies")
                lines.append(f"bias_{label} = np.array({_list(scores.bias)})")
        return lines

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
            f"output = np.zeros((seq_len, {count}))",
            "for t in range(seq_len):",
            *(f"    {line}" for line in inner),
            "return output[:, 0]" if count == 1 else "return output",
        ]

    def _vector(self, node: RawNode) -> list[str]:
        label = self.labels[node.name]
        if node.formula is not None and node.kind != "running":
            text = self._expression(node.formula, "")
            return [f"{label} = {text if node.formula.variables() else f'np.full(seq_len, {text})'}"]
        if node.kind == "offset":
            source, shift = self.labels[node.reads[0]], node.offset
            start = _number(node.start)
            empty = f"np.full(seq_len, {start})" if node.start else "np.zeros(seq_len)"
            moved = f"{label}[{shift}:] = {source}[:-{shift}]" if shift else f"{label}[:] = {source}"
            return [f"{label} = {empty}", f"# Fixed offset {shift}", moved]
        if node.kind == "table":
            names = [self.labels[name] for name in node.reads]
            keys = names[0] if len(names) == 1 else f"zip({', '.join(names)})"
            return [f"{label} = np.array([{self._table(node)}[key] for key in {keys}], dtype=float)"]
        if node.kind == "piecewise" and not any(node.slope) and not node.units:
            return [f"{label} = np.full(seq_len, {_number(node.start)})"]
        if node.kind == "piecewise":
            return self._hinges(label, node, "")
        before = [f"{label} = np.zeros(seq_len)"]
        comment, *assignment = self._position(node)
        return [*before, comment, "for t in range(seq_len):", *(f"    {line}" for line in assignment)]

    def _position(self, node: RawNode) -> list[str]:
        """The comment that names the routing, then the value at t."""
        target, start = f"{self.labels[node.name]}[t]", _number(node.start)
        if node.kind == "running" and node.formula is not None:
            last = f"last = {self.labels[node.name]}[t - 1] if t >= 1 else {start}"
            return [f"# {node.comment}", last, f"{target} = {self._expression(node.formula, '[t]')}"]
        if node.formula is not None:
            return [f"{target} = {self._expression(node.formula, '[t]')}"]
        if node.kind == "input":
            last = f"output[t - 1, {node.output}]"
            last = f"np.round({last})" if self.program.round_feedback else last
            return ["# Own output, one step back", f"{target} = {last} if t >= 1 else {start}"]
        if node.kind == "table":
            keys = ", ".join(f"{self.labels[name]}[t]" for name in node.reads)
            return [f"{target} = {self._table(node)}[{keys}]"]
        if node.kind == "piecewise":
            return self._hinges(target, node, "[t]")
        if node.kind == "seek":
            return self._seek(node, target)
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
        if node.kind == "count":
            compared = self.labels[node.reads[1]]
            sign = SIGNS[node.relation]
            words = f"# How many {source} so far are {sign} {compared} now"
            return [words, f"{target} = np.sum({source}[:t + 1] {sign} {compared}[t])"]
        return [f"# Prefix {node.kind}", f"{target} = np.{node.kind}({source}[:t + 1])"]

    def _retrieval(self, node: RawNode, target: str, default: str) -> list[str]:
        key, value, query = (self.labels[name] for name in node.reads)
        table, lag = self._table(node), max(node.offset - 1, 0)
        index, words = f"t - {lag}" if lag else "t", f"the last {value} whose {key} equals {query}"
        store, lookup = f"{value}[{index}]", f"{table}.get({query}[t], {default})"
        if node.window is not None:
            store, words = index, f"{words}, {node.window} back at most"
            near = f"t - {table}.get({query}[t], -np.inf) <= {node.window}"
            lookup = f"{value}[{table}[{query}[t]]] if {near} else {default}"
        steps = [f"{table}[{key}[{index}]] = {store}"]
        if lag:
            steps = [f"if t >= {lag}:", f"    {steps[0]}"]
        steps = [*steps, f"{target} = {lookup}"] if node.offset == 0 else [f"{target} = {lookup}", *steps]
        return [f"# Retrieval: {words}", *steps]

    def _seek(self, node: RawNode, target: str) -> list[str]:
        """The scores of all positions so far, and the value at the best."""
        scores, label = node.scores, self.labels[node.name]
        assert scores is not None
        key, value, query = (self.labels[name] for name in node.reads)
        read = zip((f"{query}[t]", f"{key}[:t + 1]"), scores.units, strict=True)
        one, many = (text if unit == 1 else f"{text} / {_number(unit)}" for text, unit in read)
        before: list[str] = []
        if scores.pairs:
            content = f"np.array([{self._table(node)}[{query}[t], held] for held in {key}[:t + 1]])"
        elif scores.sharpness:
            content = f"-{_number(scores.sharpness)} * ({one} - {many}) ** 2 - {RECENCY} * back"
        else:
            down, across = (f"{_number(low)}, {_number(high)}" for low, high in scores.spans)
            before = [f"row = between({query}[t], {self._table(node)}, {down})"]
            content = f"between({key}[:t + 1], row[:, None], {across})[:, 0]"
        return [
            f"# The {value} whose {key} and place score highest, if that is {_number(scores.null)} or more",
            "back = np.arange(t, -1, -1)",
            *before,
            f"scores = {content} + bias_{label}[np.minimum(back, {len(scores.bias) - 1})]",
            "best = np.argmax(scores)",
            f"{target} = {value}[best] if scores[best] >= {_number(scores.null)} else 0.0",
        ]

    def _hinges(self, target: str, node: RawNode, index: str) -> list[str]:
        """An affine function and the hinges of the units, one a line."""
        names = [f"{self.labels[name]}{index}" for name in node.reads]
        parts = [_sum(node.slope, names, node.start)] if any(node.slope) or node.start else []
        for factor, weights, bias in node.units:
            parts.append(_term(factor, f"relu({_sum(weights, names, bias)})"))
        if len(parts) <= 1:
            return [f"{target} = {parts[0] if parts else '0.0'}"]
        lines = [part if part.startswith("- ") else f"+ {part}" for part in parts]
        lines[0] = f"-{parts[0][2:]}" if parts[0].startswith("- ") else parts[0]
        return [f"{target} = (", *(f"    {line}" for line in lines), ")"]

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
        if isinstance(expr, Var) and expr.lag:
            return Written("last")  # what a running node was one step back
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


def _term(weight: float, text: str) -> str:
    """`0.5 * V0`, `- 0.5 * V0`, `V0`"""
    size = abs(weight)
    return f"{'- ' if weight < 0 else ''}{text if size == 1 else f'{_number(size)} * {text}'}"


def _sum(weights: Sequence[float], names: Sequence[str], constant: float) -> str:
    """A weighted sum, what is zero left out."""
    terms = [_term(weight, name) for weight, name in zip(weights, names, strict=True) if weight]
    if constant or not terms:
        terms.append(f"{'- ' if constant < 0 else ''}{_number(abs(constant))}")
    text = " ".join(term if term.startswith("- ") else f"+ {term}" for term in terms)
    return f"-{text[2:]}" if text.startswith("- ") else text[2:]


def _list(numbers: Sequence[float]) -> str:
    return f"[{', '.join(_number(float(number)) for number in numbers)}]"


def _dictionary(name: str, rows: Rows) -> list[str]:
    """Rows of keys and then a value, as many a line as fit; where there are two keys, each first one anew."""
    lines: list[str] = []
    before: tuple[float, ...] = ()
    for *keys, value in rows:
        texts = [number_text(Const(key).value) for key in keys]
        key = texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
        item = f"{key}: {_number(value)},"
        anew = len(keys) == 2 and keys[:1] != [*before[:1]]
        if lines and not anew and len(lines[-1]) + len(item) < WIDTH:
            lines[-1] += f" {item}"
        else:
            lines.append(f"    {item}")
        before = tuple(keys)
    return [f"{name} = {{", *lines, "}"]


def _number(value: Number) -> str:
    return re.sub(r"(inf|nan)", r"np.\1", number_text(value))
