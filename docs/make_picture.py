"""Draw the two pictures of the README, each for light pages and for dark ones, from a real run.

    w2c run parity_last2 --out runs/picture && python docs/make_picture.py runs/picture

The way: sequences on the left; the discrete graph of the trained model in the middle, with what the output
does not need greyed; the program and its verdict on the right. The chain: weights, listing, program and
specification, and what is known of each link. All of it is read from the run folder. `pipeline.json` beside
the pictures says at which commit they were drawn.
"""

from __future__ import annotations

import argparse
import json
import textwrap
from html import escape
from pathlib import Path
from typing import Any

from weights2code import tasks
from weights2code.experiments.records import write_record
from weights2code.graph import ChannelNode, DiscreteGraph, OperatorNode, RouterNode, from_dict

PICTURES = Path(__file__).parent / "pictures"
PALETTES = {
    "light": {"card": "#ffffff", "rule": "#d3d9de", "ink": "#1c2127", "muted": "#57606a", "faint": "#8d97a1",
              "accent": "#1f4e79", "tint": "#e8f0f8", "good": "#1b6440", "badge": "#e3f3ea",
              "fair": "#7a5200", "fair_badge": "#f6eeda"},
    "dark": {"card": "#161b22", "rule": "#3a424c", "ink": "#e4e7ea", "muted": "#a3adb8", "faint": "#77818d",
             "accent": "#8fbce8", "tint": "#1b2b3d", "good": "#7ccba0", "badge": "#163526",
             "fair": "#e0b96a", "fair_badge": "#3a2f16"},
}  # fmt: skip
WIDTH, HEIGHT, TOP = 980, 318, 52
SANS = "system-ui, -apple-system, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"
NODE = (104, 36)
#: Height of the chain, width of the room for a link, and lines of text in a box of it.
CHAIN, LINK, LINES = 180, 94, 5


class Drawing:
    """Shapes of one palette, in the order in which they are drawn."""

    def __init__(self, palette: dict[str, str]) -> None:
        self.palette = palette
        self.parts: list[str] = []

    def text(
        self, x: float, y: float, text: str, colour: str = "ink", size: float = 13, **other: str
    ) -> None:
        style = {"fill": self.palette[colour], "font-size": f"{size:g}", "xml:space": "preserve", **other}
        fields = " ".join(f'{name.replace("_", "-")}="{value}"' for name, value in style.items())
        self.parts.append(f'<text x="{x:g}" y="{y:g}" {fields}>{escape(text)}</text>')

    def code(
        self, x: float, y: float, text: str, colour: str = "ink", size: float = 13, **other: str
    ) -> None:
        self.text(x, y, text, colour, size, font_family=MONO, **other)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, line: str, dash: str = ""
    ) -> None:
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" '
            f'fill="{self.palette[fill]}" stroke="{self.palette[line]}"{dashes}/>'
        )

    def curve(self, start: tuple[float, float], end: tuple[float, float], live: bool) -> None:
        (x0, y0), (x1, y1) = start, end
        middle = (x0 + x1) / 2
        colour = self.palette["accent" if live else "faint"]
        dashes = "" if live else ' stroke-dasharray="3 3"'
        self.parts.append(
            f'<path d="M{x0:g} {y0:g}C{middle:g} {y0:g} {middle:g} {y1:g} {x1:g} {y1:g}" fill="none" '
            f'stroke="{colour}" stroke-width="{1.8 if live else 1:g}"{dashes}/>'
        )

    def arrow(self, x: float, y: float) -> None:
        points = f"M{x:g} {y - 6:g}l7 6l-7 6"
        style = f'fill="none" stroke="{self.palette["muted"]}" stroke-width="2" stroke-linecap="round"'
        self.parts.append(f'<path d="{points}" {style}/>')

    def line(self, x0: float, x1: float, y: float) -> None:
        self.parts.append(
            f'<path d="M{x0:g} {y:g}H{x1:g}" stroke="{self.palette["faint"]}" stroke-width="1.5"/>'
        )

    def verdict(self, middle: float, y: float, word: str) -> None:
        """A badge, green for what is known and amber for what was tried."""
        known = word in ("proved", "exhaustive")
        width = 20 + 7.6 * len(word)
        self.box(middle - width / 2, y, width, 24, *(("badge", "good") if known else ("fair_badge", "fair")))
        colour = "good" if known else "fair"
        self.text(middle, y + 16.5, word, colour, 13, text_anchor="middle", font_weight="600")

    def svg(self, title: str, height: float = HEIGHT) -> str:
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        head += f'width="{WIDTH}" height="{height:g}" font-family="{SANS}" role="img">'
        return "\n".join((head, f"<title>{escape(title)}</title>", *self.parts, "</svg>")) + "\n"


def panel(drawing: Drawing, x: float, width: float, title: str, hint: str) -> None:
    drawing.box(x, 1, width, HEIGHT - 2, "card", "rule")
    drawing.text(x + 16, 27, title, size=15, font_weight="600")
    if hint:
        drawing.text(x + 16, HEIGHT - 16, hint, "muted", 12)


def sequences(drawing: Drawing, x: float, name: str, count: int = 4, length: int = 8) -> None:
    """Some sequences of the task: inputs above outputs."""
    inputs, outputs = tasks.get(name).sample(count, length=length, seed=3)
    for row in range(count):
        y = TOP + 18 + 54 * row
        for label, values, colour, down in (("x", inputs, "ink", 0), ("y", outputs, "accent", 18)):
            drawing.code(x + 16, y + down, label, "muted")
            for column, value in enumerate(values[row, :, 0]):
                drawing.code(x + 42 + 18 * column, y + down, f"{value:g}", colour)


def label(node: Any, graph: DiscreteGraph) -> tuple[str, str]:
    """What a node is, in two lines."""
    if isinstance(node, ChannelNode):
        return node.label, "input"
    if isinstance(node, RouterNode):
        source = graph.nodes[node.reads["value"]]
        read = source.label if isinstance(source, ChannelNode) else source.name
        return f"{read}[t-{node.offset}]" if node.offset else read, "attention"
    return node.name.split("_", 1)[1], "sub-MLP"


#: Rows of each column: places that keep edges clear of nodes, for live nodes first.
ROWS = {ChannelNode: (60, 150), RouterNode: (0, 176), OperatorNode: (106, 196)}


def network(drawing: Drawing, left: float, graph: DiscreteGraph) -> None:
    """The graph in columns: channels, heads, sub-MLPs, output."""
    live = set(graph.live())
    places: dict[int, tuple[float, float]] = {}
    for column, (kind, rows) in enumerate(ROWS.items()):
        members = [index for index, node in enumerate(graph.nodes) if isinstance(node, kind)]
        members.sort(key=lambda index: index not in live)
        for index, row in zip(members, rows, strict=True):
            places[index] = left + 16 + 128 * column, TOP + row
    out = left + 16 + 128 * 3, TOP + 62
    used = {int(index) for row in graph.head[:, :-1] for index in row.nonzero()[0]}
    edges = [(source, index) for index, node in enumerate(graph.nodes) for source in node.sources()]
    for source, index in sorted(set(edges), key=lambda edge: edge[1] in live):
        drawing.curve(_right(places[source]), _left(places[index]), index in live)
    for index in sorted(used):
        drawing.curve(_right(places[index]), (out[0], out[1] + NODE[1] / 2), True)
    for index, (x, y) in places.items():
        _node(drawing, x, y, NODE[0], label(graph.nodes[index], graph), index in live)
    _node(drawing, *out, 62, ("y", "output"), True)


def _node(drawing: Drawing, x: float, y: float, width: float, lines: tuple[str, str], live: bool) -> None:
    drawing.box(x, y, width, NODE[1], *(("tint", "accent") if live else ("card", "faint", "3 3")))
    middle = {"text_anchor": "middle"}
    drawing.code(x + width / 2, y + 16, lines[0], "ink" if live else "faint", 11.5, **middle)
    drawing.text(x + width / 2, y + 29, lines[1], "muted" if live else "faint", 10.5, **middle)


def _right(place: tuple[float, float]) -> tuple[float, float]:
    return place[0] + NODE[0], place[1] + NODE[1] / 2


def _left(place: tuple[float, float]) -> tuple[float, float]:
    return place[0], place[1] + NODE[1] / 2


def program(drawing: Drawing, x: float, certificate: dict[str, Any], source: str) -> None:
    """The formula, the loop of the program, and what is known about it."""
    drawing.code(x + 16, TOP + 14, certificate["formula"].splitlines()[-1], "accent", 14, font_weight="600")
    lines = source.rstrip().splitlines()
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith("for t in range"))
    for row, line in enumerate(lines[first:]):
        drawing.code(x + 16, TOP + 44 + 19 * row, line[4:], size=12)
    y = TOP + 106
    drawing.verdict(x + 49, y, certificate["verdict"])
    for row, line in enumerate(textwrap.wrap(certificate["explanation"].split(" It was also")[0], 38)[:7]):
        drawing.text(x + 16, y + 44 + 16.5 * row, line, "muted", 12)


def draw(folder: Path, palette: dict[str, str]) -> str:
    """The picture of a run folder."""
    graph = from_dict(json.loads((folder / "graph.json").read_text(encoding="utf-8")))
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    name = certificate["program"]["name"]
    drawing = Drawing(palette)
    panel(drawing, 1, 194, "Sequences", f"the task {name}")
    panel(drawing, 215, 480, "Discrete Transformer", "grey: what the output does not need")
    panel(drawing, 715, 264, "Program, certified", "")
    sequences(drawing, 1, name)
    network(drawing, 215, graph)
    program(drawing, 715, certificate, (folder / "program.py").read_text(encoding="utf-8"))
    for x in (201, 701):
        drawing.arrow(x, HEIGHT / 2)
    return drawing.svg(f"{name}: sequences, the trained model as a discrete graph, the certified program")


def weights(graph: DiscreteGraph) -> list[str]:
    """Some numbers of the live sub-MLPs."""
    found = [graph.nodes[index] for index in graph.live()]
    rows = [row for node in found if isinstance(node, OperatorNode) for row in node.hidden_weight]
    return ["  ".join(f"{value:6.3f}" for value in row[:3]) for row in rows]


def listed(source: str) -> list[str]:
    """What the listing computes, one line a node."""
    lines = [line.strip() for line in source.splitlines()]
    computed = [line for line in lines if " = " in line and line.startswith(("V", "output"))]
    return [line for line in computed if "np." not in line]


def chain(folder: Path, palette: dict[str, str]) -> str:
    """The chain of a run folder: what is said to be the same, and what is known of that."""
    graph = from_dict(json.loads((folder / "graph.json").read_text(encoding="utf-8")))
    certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
    name, taught = certificate["program"]["name"], certificate.get("taught")
    network = taught or certificate["network"]
    machine = tasks.get(name).machine
    boxes = [("Weights", "taught.safetensors" if taught else "model.safetensors", weights(graph))]
    links = []
    if certificate.get("listing"):
        boxes.append(
            ("Listing", "program_raw.py", listed((folder / "program_raw.py").read_text(encoding="utf-8")))
        )
        links.append(("tested", ["equal", "to rounding"]))
    boxes.append(("Program", "program.py", certificate["formula"].splitlines()))
    links.append((network["verdict"], ["in every", "context"]))
    rule = [f"{step.name}[t] = {step.definition}" for step in machine.steps]
    boxes.append(("Specification", "reference machine", rule))
    links.append((certificate["verdict"], ["at every", "length"]))
    drawing, room = Drawing(palette), WIDTH - 2 - LINK * len(links)
    width = room / len(boxes)
    for place, (title, hint, lines) in enumerate(boxes):
        x = 1 + place * (width + LINK)
        drawing.box(x, 1, width, CHAIN - 2, "card", "rule")
        drawing.text(x + 14, 27, title, size=15, font_weight="600")
        drawing.text(x + 14, CHAIN - 16, hint, "muted", 12)
        most = int((width - 28) / 6.7)
        if title in ("Program", "Specification"):
            lines = [part for line in lines for part in textwrap.wrap(line, most, subsequent_indent="  ")]
        shown = [line if len(line) <= most else f"{line[: most - 1]}…" for line in lines[:LINES]]
        shown += ["…"] if len(lines) > LINES else []
        for row, line in enumerate(shown):
            drawing.code(x + 14, TOP + 6 + 17 * row, line, "accent" if title == "Program" else "ink", 11)
        if place < len(links):
            verdict, words = links[place]
            middle = x + width + LINK / 2
            drawing.line(x + width + 5, x + width + LINK - 5, CHAIN / 2)
            drawing.verdict(middle, CHAIN / 2 - 12, verdict)
            drawing.text(middle, CHAIN / 2 - 26, "=", size=18, text_anchor="middle", font_weight="600")
            for row, line in enumerate(words):
                drawing.text(middle, CHAIN / 2 + 30 + 14 * row, line, "muted", 11, text_anchor="middle")
    return drawing.svg(f"{name}: the chain from the weights to the specification", CHAIN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="run folder of a task with one input and one output")
    options = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    for name, palette in PALETTES.items():
        (PICTURES / f"pipeline-{name}.svg").write_text(draw(options.folder, palette), encoding="utf-8")
        (PICTURES / f"chain-{name}.svg").write_text(chain(options.folder, palette), encoding="utf-8")
    task = json.loads((options.folder / "certificate.json").read_text(encoding="utf-8"))["program"]["name"]
    command = f"w2c run {task} --out {options.folder} && python docs/make_picture.py {options.folder}"
    write_record(PICTURES / "pipeline.json", command, [])


if __name__ == "__main__":
    main()
