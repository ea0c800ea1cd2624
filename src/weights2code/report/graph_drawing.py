"""The computation graph as a picture: columns are the stages of the stream, formulas stand on the nodes.

What the output does not need is greyed. It is drawn all the same: the reader sees how little of the trained
model is left.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import numpy as np

from weights2code.explain.explanation import ExplainedGraph
from weights2code.explain.operators import node_variable
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode
from weights2code.language import Var, formula
from weights2code.program.listing import hypothesis_of
from weights2code.report.graph_layout import Box, Layout, Placed, place
from weights2code.report.node_names import readable, short_name
from weights2code.report.svg import Drawing, n, number, text

#: Widths in pixels and, for what is written inside, in letters.
LIVE_WIDTH, DEAD_WIDTH, LETTERS, LINES = 190.0, 96.0, 26, 4
LINE_HEIGHT, PADDING = 15.0, 9.0


@dataclass(frozen=True, slots=True)
class Card:
    """What is written on a node: a small heading, and a text, of which as much is shown as has room."""

    heading: str
    full: str
    kind: str = "node"

    @property
    def live(self) -> bool:
        return self.kind != "node dead"

    @property
    def lines(self) -> list[str]:
        if not self.live:
            return []
        lines = textwrap.wrap(self.full, LETTERS, break_long_words=True) or [""]
        cut = lines[LINES - 1 :]
        return lines if len(cut) < 2 else [*lines[: LINES - 1], f"{cut[0][: LETTERS - 2].rstrip()} …"]

    def box(self, key: str, column: int, reads: Iterable[int]) -> Box:
        height = PADDING * 2 + 9 + LINE_HEIGHT * len(self.lines) if self.live else 24.0
        sources = tuple(str(node) for node in dict.fromkeys(reads))
        return Box(key, column, LIVE_WIDTH if self.live else DEAD_WIDTH, height, sources, not self.live)


def graph_drawing(explained: ExplainedGraph) -> Drawing:
    """All nodes and the outputs, what reads what, and which of it matters."""
    graph = explained.graph
    live = set(graph.live())
    column_of, headings = _columns(graph)
    written, boxes = dict[str, Card](), list[Box]()
    for index, node in enumerate(graph.nodes):
        card = written[str(index)] = _card(explained, index, index in live)
        reads = node.used() if card.live else node.sources()
        boxes.append(card.box(str(index), column_of[index], reads))
    for row in range(len(graph.outputs)):
        card = written[f"out{row}"] = _output_card(explained, row)
        reads = np.flatnonzero(graph.head[row, :-1]).tolist()
        boxes.append(card.box(f"out{row}", len(headings) - 1, reads))
    layout = place(boxes, top=34.0)
    body = _edges(boxes, layout)
    body += "".join(_box(layout.of(box), written[box.key]) for box in boxes)
    for (left, _), heading in zip(layout.columns, headings, strict=True):
        body += text(left, 16, heading, "panel-title")
    told = f"{len(live)} nodes that matter and {len(graph.nodes) - len(live)} that do not. "
    told += " ".join(f"{card.heading}: {card.full[:200]}." for card in written.values() if card.live)
    return Drawing("graph", round(layout.width), round(layout.height), body, "Computation graph", told)


def _columns(graph: DiscreteGraph) -> tuple[list[int], list[str]]:
    """The column of each node (inputs, then heads and sub-MLPs of each layer), and the headings."""
    places: list[tuple[int, int]] = []
    for node in graph.nodes:
        found = re.search(r"_L(\d+)", node.name)
        layer = int(found[1]) if found else 0
        kind = 0 if isinstance(node, ChannelNode) else 1 if isinstance(node, RouterNode) else 2
        places.append((0, 0) if kind == 0 else (layer, kind))
    used = sorted(set(places))
    names = {0: "Inputs", 1: "heads", 2: "sub-MLPs"}
    headings = [names[kind] if kind == 0 else f"Layer {layer} {names[kind]}" for layer, kind in used]
    return [used.index(item) for item in places], [*headings, "Output head"]


def _card(explained: ExplainedGraph, index: int, live: bool) -> Card:
    node = explained.graph.nodes[index]
    heading = f"V{index}" + (f" · {node.name.split('_')[-1]}" if "_L" in node.name else "")
    if not live:
        return Card(heading, "unused", "node dead")
    if isinstance(node, ChannelNode):
        full = short_name(explained, index)
        full = node.label if full == f"V{index}" else full
    elif isinstance(node, OperatorNode):
        full = operator_words(explained, index)
    else:
        full = _router_words(explained, index, node)
    return Card(heading, full)


def operator_words(explained: ExplainedGraph, index: int) -> str:
    """The formula of an operator in the names of what it reads."""
    graph, fit = explained.graph, explained.operators.get(index)
    if fit is None:
        return f"f({', '.join(short_name(explained, o) for o in graph.nodes[index].used())})"
    if fit.kind != "formula":
        return f"{fit.kind} in " + ", ".join(short_name(explained, o) for o in fit.operands)
    own = {node_variable(i) for i in range(len(graph.nodes))} - {Var(name) for name in graph.inputs}

    def write(variable: Var) -> str:
        return variable.name if variable in own else str(variable)

    return formula(readable(explained, fit, 3), write).replace(" - ", " − ")


def _router_words(explained: ExplainedGraph, index: int, node: RouterNode) -> str:
    name, hypothesis = short_name(explained, index), hypothesis_of(explained, index)
    reads = {role: short_name(explained, source) for role, source in node.reads.items()}
    if hypothesis is None:
        return f"{node.kind} head, no hypothesis fits of {reads['value']}"
    return hypothesis.caption(reads) if name == f"V{index}" else f"{name}: offset {hypothesis.lag()}"


def _output_card(explained: ExplainedGraph, row: int) -> Card:
    """The linear head in the user's units, three digits a weight."""
    graph = explained.graph
    weights, bias = graph.output_weights()[row]
    terms = [(weight, short_name(explained, i)) for i, weight in weights.items()]
    words = ""
    for weight, name in [*terms, *([(bias, "")] if abs(bias) > 1e-9 else [])]:
        size = number(abs(weight), 3)
        part = f"{size} {name}".strip() if size != "1" or not name else name
        sign = "−" if weight < 0 else "+"
        words += f" {sign} {part}" if words else f"{'−' if weight < 0 else ''}{part}"
    return Card(f"{graph.outputs[row]}[t]", words or "0", "node out")


def _edges(boxes: list[Box], layout: Layout) -> str:
    """Dead edges first, so that they lie below."""
    named = {box.key: box for box in boxes}
    quiet, loud = [], []
    for box in boxes:
        end, sources = layout.of(box), [named[key] for key in box.reads]
        sources.sort(key=lambda source: layout.height_at(source, box.column - 1))
        for slot, source in enumerate(sources):
            arrival = end.top + end.height * (slot + 1) / (len(sources) + 1)
            path = layout.edge(source, box, arrival)
            if box.quiet:
                quiet.append(f'<path class="edge dead" d="{path}"/>')
            else:
                loud.append(f'<path class="edge" d="{path}"/>')
                loud.append(f'<circle class="port" cx="{n(end.left)}" cy="{n(arrival)}" r="2.4"/>')
    return "".join(quiet) + "".join(loud)


def _box(at: Placed, card: Card) -> str:
    parts = [
        f"<g><title>{escape(f'{card.heading}: {card.full}')}</title>"
        f'<rect class="{card.kind}" x="{n(at.left)}" y="{n(at.top)}" width="{n(at.width)}" '
        f'height="{n(at.height)}" rx="3"/>'
    ]
    heading = "node-name" if card.live else "node-name faint"
    parts.append(text(at.left + 9, at.top + (16.5 if card.live else 16), card.heading, heading))
    parts += [
        text(at.left + 9, at.top + 18 + LINE_HEIGHT * (line + 1), words, "node-text")
        for line, words in enumerate(card.lines)
    ]
    return "".join(parts) + "</g>"
