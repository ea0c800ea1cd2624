"""`program_raw.py`: the network's recurrence printed in the paper's style, one variable a node.

What is printed is a `Recurrence`, and nothing else is known here of networks. Where no step reads what comes
after it, every step is an array operation, as in the paper's figures; where outputs are fed back, the steps
stand in a loop over positions. Operations stand in the order in which the recurrence makes them, and numbers
with all their digits, so that text and recurrence are the same to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from weights2code.data import Problem
from weights2code.errors import NotExtracted
from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.hypotheses import Hypothesis
from weights2code.explain.routing import hypotheses
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.graph.machine import Machine, machine_of, over
from weights2code.heads import RECENCY
from weights2code.language import (
    OPERATORS,
    Const,
    Count,
    Expr,
    Number,
    Op,
    Recurrence,
    Selection,
    Step,
    Var,
    definition_variables,
    number_text,
)
from weights2code.language.operators import Binding, Written
from weights2code.language.python_source import identifier
from weights2code.program.readable_nodes import readable

#: A sum that is longer is written one term a line.
WIDTH = 100
#: The functions that a text may call.
_HELPERS = {
    "relu": """\
def relu(x):
    return np.maximum(x, 0)
""",
    "between": """\
def between(x, table, low, high):
    # the mix of the two rows of the table between which a value lies
    place = np.clip((x - low) / (high - low), 0.0, 1.0) * (len(table) - 1)
    left = np.minimum(np.floor(place), len(table) - 2).astype(int)
    share = (place - left)[..., None]
    return (1 - share) * table[left] + share * table[left + 1]
""",
}
#: Names that the text has for itself.
_OWN = re.compile("np|t|relu|between|input_seq|input_arr|seq_len|back|scores|best|one|many")


def listing_machine(explained: ExplainedGraph, problem: Problem) -> Recurrence:
    """What the listing says: the network's recurrence, or an equivalent one that is easier to read.

    What was found of the graph's nodes serves for reading alone: without it the listing is as exact.

    Raises
    ------
    NotExtracted
        In `concat`, if a head goes over tokens of inputs and outputs alike, or nothing is known of it.
    """
    if explained.graph.layout.name == "concat":
        return _Tokens(explained).machine(whole=problem.integer_outputs)
    with np.errstate(all="ignore"):  # a model that diverged is listed like any other
        graph, formulas = readable(explained, problem)
    return machine_of(graph, whole=problem.integer_outputs, formulas=formulas)


def raw_outputs(machine: Recurrence, x: np.ndarray, past: np.ndarray | None = None) -> np.ndarray:
    """What the text gives on sequences (n, T, columns); if `past` outputs are given, those are fed back."""
    with np.errstate(all="ignore"):
        trace = machine.trace(x, past, x.shape[1])
    return np.stack([trace[f"{name}.raw"] for name in machine.outputs], axis=-1)


def listing_source(explained: ExplainedGraph, problem: Problem) -> str:
    """The text of `program_raw.py`; it gives what the output head adds up, and feeds back what it rounds."""
    return recurrence_source(listing_machine(explained, problem), problem.name, _words(explained))


def _words(explained: ExplainedGraph) -> dict[str, str]:
    """What is said of a node beside its name."""
    words: dict[str, str] = {}
    for index, node in enumerate(explained.graph.nodes):
        found = explained.routers.get(index)
        if isinstance(node, ChannelNode):
            words[node.name] = node.label
        elif isinstance(node, RouterNode) and node.kind != "location":
            words[node.name] = found.words if found else node.kind
    return words


def hypothesis_of(explained: ExplainedGraph, index: int) -> Hypothesis | None:
    """What a node does if it is a head; what does not seek can do but one thing."""
    node, found = explained.graph.nodes[index], explained.routers.get(index)
    if isinstance(node, RouterNode) and not node.facts.seeks:
        return next(hypotheses(node, 0))
    return found.hypothesis if found else None


class _Tokens(Machine):
    """The recurrence of one sequence of inputs and outputs, re-indexed, so that it runs free at any length.

    A channel holds y[t-1] at the place where y[t] is computed, and the inputs lie a whole length further
    back: what a token is depends on how far back it lies, so lags are followed down to the channels. That
    needs a hypothesis for every head.
    """

    def __init__(self, explained: ExplainedGraph) -> None:
        super().__init__(explained.graph)
        self.explained = explained
        self.placed: dict[tuple[int, int], str] = {}

    def machine(self, *, whole: bool) -> Recurrence:
        return self.recurrence(self.graph.inputs, self.value, whole)

    def value(self, index: int, offset: int = 0) -> str:
        """The name of a node's value so many tokens back; what it needs comes before."""
        if (index, offset) not in self.placed:
            node, name = self.graph.nodes[index], self.names[index]
            name = self.free(f"{name}.{offset}") if offset else name
            if isinstance(node, ChannelNode):
                definition = self._token(index, offset)
            elif isinstance(node, OperatorNode):
                definition = self.operator(node, name, lambda read: self.value(read, offset))
            else:
                hypothesis = hypothesis_of(self.explained, index)
                if hypothesis is None:
                    raise NotExtracted(f"the live head {node.name} matches no routing hypothesis.")
                operands = hypothesis.operands()
                if operands is None:
                    raise NotExtracted(f"{node.name} goes over tokens of inputs and outputs alike.")
                values = [Var(self.value(node.reads[role], offset + back)) for role, back in operands]
                definition = hypothesis.combined(values, dict.fromkeys(node.reads, 1.0))
            self.step(name, definition)
            self.placed[index, offset] = name
        return self.placed[index, offset]

    def _token(self, channel: int, offset: int) -> Expr:
        """The input or output that a token is; a token is as wide as the wider of both, the rest is zero."""
        graph: DiscreteGraph = self.graph
        lag, names, scales = offset + 1, graph.outputs, graph.layout.output_scales
        if offset >= graph.length - 1:
            lag, names, scales = offset + 1 - graph.length, graph.inputs, graph.layout.input_scales
        return over(Var(names[channel], lag), scales[channel]) if channel < len(names) else Const(0)


# -- the text ------------------------------------------------------------------------------------------------


def recurrence_source(machine: Recurrence, name: str, words: Mapping[str, str]) -> str:
    """A recurrence whose outputs y are made of steps `y.raw` as the paper prints networks; `words` are for
    comments. The text gives the raw outputs."""
    text, function = _Text(machine, words), identifier(name)
    lines = [
        f"# {_line(', '.join(machine.inputs))}",
        f"input_arr = np.array(input_seq, dtype=float).reshape(-1, {len(machine.inputs)})",
        "seq_len = input_arr.shape[0]",
        *text.numbers(),
        *text.body(),
    ]
    code = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    helpers = [f"\n\n{helper[:-1]}" for word, helper in _HELPERS.items() if f"{word}(" in code]
    head = ["import numpy as np", "", f'__all__ = ["{function}"]', *helpers, "", ""]
    return "\n".join([*head, f"def {function}(input_seq):", *(f"    {line}" for line in lines), ""])


class _Text:
    """Writes the lines of one recurrence."""

    def __init__(self, machine: Recurrence, words: Mapping[str, str]) -> None:
        self.words, self.fed_back = words, machine.outputs
        self.outputs = tuple(f"{name}.raw" for name in machine.outputs)
        self.machine = replace(machine, outputs=self.outputs).live()
        self.labels = self._labels()
        place = {step.name: number for number, step in enumerate(self.machine.steps)}
        self.feeds_back = any(
            v.lag and place.get(v.name, -1) >= number and v.name != step.name
            for number, step in enumerate(self.machine.steps)
            for v in definition_variables(step.definition)
        )

    def _labels(self) -> dict[str, str]:
        """`V3` for `V3_MLP_L0M0`, `V3_sum` for `V3_Attn_L0H1.sum`; outputs are called so."""
        labels: dict[str, str] = {}
        for step in self.machine.steps:
            found = re.fullmatch(r"(V\d+)(?:_[^.]*)?(?:\.(.*))?", step.name)
            label = "_".join(filter(None, found.groups())) if found else identifier(step.name)
            if step.name in self.outputs:
                label = "output" if len(self.outputs) == 1 else f"output_{self.outputs.index(step.name) + 1}"
            label = identifier(label)
            while _OWN.fullmatch(label) or label in labels.values():
                label += "_"
            labels[step.name] = label
        return labels

    def numbers(self) -> list[str]:
        """What scores are made of, before anything is computed."""
        lines: list[str] = []
        for step in self.machine.steps:
            if not isinstance(step.definition, Selection):
                continue
            label, scores = self.labels[step.name], step.definition.scores
            for name, table in (("queries", scores.query_table), ("keys", scores.key_table)):
                if table:
                    rows = [f"    {_list(row)}," for row in table]
                    lines += [f"{name}_{label} = np.array([", *rows, "])"]
            lines.append(f"# score for {label} by how far back a position lies")
            lines.append(f"bias_{label} = np.array({_list(scores.bias)})")
        return lines

    def body(self) -> list[str]:
        """Arrays, or a loop over positions where outputs are fed back; input columns are arrays anyway."""
        lines: list[str] = []
        inside: list[str] = []
        for step in self.machine.steps:
            comment = f"# {_line(f'{step.name} {self.words.get(step.name, str())}')}"
            if step.name in self.outputs:
                comment = "# Output Head"
            column = isinstance(step.definition, Expr) and all(
                v.name in self.machine.inputs and not v.lag for v in step.definition.variables()
            )
            if not self.feeds_back or (column and step.name not in self.outputs):
                lines += [comment, *self._vector(step)]
            else:
                lines.append(f"{self.labels[step.name]} = np.zeros(seq_len)")
                inside += [comment, *self._position(step)]
        if inside:
            lines += ["for t in range(seq_len):", *(f"    {line}" for line in inside)]
        outputs = [self.labels[name] for name in self.outputs]
        given = outputs[0] if len(outputs) == 1 else f"np.stack([{', '.join(outputs)}], axis=1)"
        return [*lines, f"return {given}"]

    def _vector(self, step: Step) -> list[str]:
        made, label = step.definition, self.labels[step.name]
        if isinstance(made, Expr) and not any(v.lag for v in made.variables()):
            if not made.variables():
                return [f"{label} = np.full(seq_len, {self._written(made, None).text}, dtype=float)"]
            return self._assigned(label, made, None)
        start = _number(float(self.machine.start_of(made.name))) if isinstance(made, Var) else "0.0"
        lines = [f"{label} = {'np.zeros(seq_len)' if start == '0.0' else f'np.full(seq_len, {start})'}"]
        if isinstance(made, Var):
            source = self._slice(made.name, f":-{made.lag}")
            return [*lines, f"# Fixed offset {made.lag}", f"{label}[{made.lag}:] = {source}"]
        return [*lines, "for t in range(seq_len):", *(f"    {line}" for line in self._position(step))]

    def _position(self, step: Step) -> list[str]:
        made, target = step.definition, f"{self.labels[step.name]}[t]"
        if isinstance(made, Selection):
            return self._selection(target, self.labels[step.name], made)
        if isinstance(made, Count):
            keys, asked = self._slice(made.key, ":t + 1"), self._written(made.query, "t")
            return [f"{target} = np.sum({keys} {made.sign} {asked:sum})"]
        assert isinstance(made, Expr), made
        if isinstance(made, Var):
            return [
                *([f"# Fixed offset {made.lag}"] if made.lag and made.name not in self.fed_back else []),
                f"{target} = {self._read(made, 't', bare=True)}",
            ]
        return self._assigned(target, made, "t")

    def _selection(self, target: str, label: str, made: Selection) -> list[str]:
        """The scores of all positions so far, and the value at the best."""
        scores, asked = made.scores, self._written(made.query, "t")
        key, value, null = self.labels[made.key], self.labels[made.value], _number(scores.null)
        lines = [
            f"# The {value} whose {key} and place score highest for {asked}, if that is {null} or more",
            "back = np.arange(t, -1, -1)",
        ]
        if scores.query_table:
            low, high = map(_number, scores.value_range)
            width = len(scores.query_table[0])
            lines += [
                f"one = between({asked}, queries_{label}, {low}, {high})",
                f"many = between({key}[:t + 1], keys_{label}, {low}, {high})",
                "scores = one[0] * many[:, 0]",
                *(f"scores = scores + one[{i}] * many[:, {i}]" for i in range(1, width)),
            ]
            content = f"scores / np.sqrt({width})"
        else:
            content = f"{_number(-scores.sharpness)} * ({asked:sum} - {key}[:t + 1]) ** 2 - {RECENCY} * back"
        return [
            *lines,
            f"scores = {content} + bias_{label}[np.minimum(back, {len(scores.bias) - 1})]",
            "best = np.argmax(scores)",
            f"{target} = {value}[best] if scores[best] >= {null} else 0.0",
        ]

    def _assigned(self, target: str, expr: Expr, at: str | None) -> list[str]:
        """One line, or one term a line."""
        text, terms = f"{target} = {self._written(expr, at).text}", self._terms(expr, at)
        if len(text) <= WIDTH or len(terms) == 1:
            return [text]
        return [f"{target} = (", *(f"    {term}" for term in terms), ")"]

    def _terms(self, expr: Expr, at: str | None) -> list[str]:
        """The terms of a sum, from the left, with signs."""
        if not (isinstance(expr, Op) and expr.name in ("add", "sub")):
            return [self._written(expr, at).text]
        (left, term), sign = _signed(expr).args, "+" if _signed(expr).name == "add" else "-"
        return [*self._terms(left, at), f"{sign} {self._written(term, at):product}"]

    def _written(self, expr: Expr, at: str | None) -> Written:
        """An expression of arrays, or of their elements at a position; sums and products from the left."""
        if isinstance(expr, Const):
            text = _number(expr.value)
            text = f"({text})" if "/" in text else text
            return Written(text, Binding.UNARY if text.startswith("-") else Binding.ATOM)
        if isinstance(expr, Var):
            return Written(self._read(expr, at))
        assert isinstance(expr, Op), expr
        expr = _signed(expr)
        template, binding = OPERATORS[expr.name].listing
        return Written(template.format(*(self._written(part, at) for part in expr.args)), binding)

    def _slice(self, name: str, rows: str) -> str:
        if name in self.machine.inputs:
            return f"input_arr[{rows}, {self.machine.inputs.index(name)}]"
        return f"{self.labels[name]}[{rows}]"

    def _read(self, variable: Var, at: str | None, *, bare: bool = False) -> str:
        name, lag = variable.name, variable.lag
        if at is None:
            return self._slice(name, ":") if name in self.machine.inputs else self.labels[name]
        if not lag:
            return self._slice(name, at)
        text = f"{self._slice(name, f'{at} - {lag}')} if {at} >= {lag} else "
        text += _number(float(self.machine.start_of(name)))
        return text if bare else f"({text})"


def _signed(expr: Op) -> Op:
    """Adding -2 * x is subtracting 2 * x, to the last bit."""
    left, term = expr.args if expr.name == "add" else (None, None)
    if left is not None and isinstance(term, Const) and term.value < 0:
        return Op("sub", (left, Const(-term.value)))
    if left is not None and isinstance(term, Op) and term.name == "mul" and isinstance(term.args[0], Const):
        factor, rest = term.args[0].value, term.args[1]
        if factor < 0:
            return Op("sub", (left, rest if factor == -1 else Const(-factor) * rest))
    return expr


def _line(text: str) -> str:
    """A comment's text, on one line whatever it holds."""
    return " ".join(text.split())


def _list(numbers: Sequence[float]) -> str:
    return f"[{', '.join(_number(float(number)) for number in numbers)}]"


def _number(value: Number) -> str:
    return re.sub(r"(inf|nan)", r"np.\1", number_text(value))
