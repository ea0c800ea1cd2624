"""The sections of the page: each finds the data of its template in `templates/sections.html`, or nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from weights2code.explain.routing import RouterMatch
from weights2code.graph import RouterNode
from weights2code.language.domain import quoted
from weights2code.network.trial import one_step, outputs_of
from weights2code.program import Program
from weights2code.report import mathml
from weights2code.report.attention import attention_drawing, pattern
from weights2code.report.contents import Contents
from weights2code.report.decisions import decisions
from weights2code.report.graph_drawing import graph_drawing
from weights2code.report.head import percent
from weights2code.report.listing import listing
from weights2code.report.node_names import readable, short_name
from weights2code.report.prediction_plots import OUTPUTS, prediction_drawings
from weights2code.report.states import DRAWN, machine_drawing, machine_of
from weights2code.report.svg import Drawing, number
from weights2code.report.training_curves import training_drawing
from weights2code.run_folder import MODEL, TAUGHT
from weights2code.verify.links import NetworkCertificate

#: Listings with more characters than this are not printed.
LONG_LISTING = 5000
#: Formulas of a sub-MLP with more nodes than this are not typeset: nobody could read them.
TYPESET_NODE = 80
#: Cases of a rule that are shown.
MOST_CASES = 40


class Figure(NamedTuple):
    """A numbered drawing; a wide one may leave the column of text and is scrolled."""

    number: int
    drawing: Drawing
    wide: bool


class Figures:
    """Numbers the figures in the order in which they appear, and keeps their drawings."""

    def __init__(self) -> None:
        self.drawings: list[Drawing] = []

    def __call__(self, drawing: Drawing, *, wide: bool = False) -> Figure:
        self.drawings.append(drawing)
        return Figure(len(self.drawings), drawing, wide)


#: What a template is filled with; nothing leaves the section out.
Data = dict[str, Any] | None


def try_section(program: Program, *_: Any) -> Data:
    """The box; its content is made by the script."""
    program = program.reading()
    columns = list(zip(program.recurrence.inputs, program.domains, strict=True))
    return {"columns": columns, "texts": bool(program.categories)}


def program_section(program: Program, contents: Contents, _: Figures) -> Data:
    raw, rule = contents.listing, contents.certificate and contents.certificate.rule
    return {
        "source": Markup(listing(program.source())),
        "raw": raw and Markup(listing(raw)),
        "long": len(raw) > LONG_LISTING,
        "how": program.how,
        "nodes": rule.explain() if rule and rule.nodes else "",
    }


def rule_section(program: Program, *_: Any) -> Data:
    """Long rules as tables: the first row that fits counts."""
    tables = [
        {
            "heads": (*found.tested, f"then {found.name} is"),
            "rows": [
                (*((tests or {found.tested[0]: "otherwise"}).get(what, "") for what in found.tested), gives)
                for tests, gives in found.cases[:MOST_CASES]
            ],
            "further": len(found.cases) - MOST_CASES,
        }
        for found in decisions(program)
    ]
    return {"tables": tables} if tables else None


def threshold_section(_: Program, contents: Contents, figure: Figures) -> Data:
    """How exactly the data say where the thresholds lie."""
    rows = [
        (str(gap.test)[1:-1], _shown(gap.below), _shown(gap.above), str(gap.roundest())[1:-1])
        for gap in contents.gaps
    ]
    return {"rows": rows} if rows else None


def alternatives_section(_: Program, contents: Contents, figure: Figures) -> Data:
    """Other rules, shorter or longer, with the chosen one among them."""
    rows = [
        (one.equation, str(one.complexity), f"{one.loss:.3g}", "chosen" if one.chosen else "")
        for one in contents.alternatives
    ]
    return {"rows": rows} if rows else None


def state_section(program: Program, _: Contents, figure: Figures) -> Data:
    """What the program remembers, if that is one of a few states."""
    machine = machine_of(program)
    if not machine:
        return None
    drawn = figure(machine_drawing(machine), wide=True) if len(machine.states) <= DRAWN else None
    states = machine.states
    rows = [(states[a], states[b], ", ".join(words)) for (a, b), words in machine.moves.items()]
    return {"machine": machine, "drawn": drawn, "rows": rows}


def wrong_section(program: Program, contents: Contents, _: Figures) -> Data:
    """The first rows that the program misses."""
    missed = contents.missed
    if missed is None or not missed.count:
        return None
    outputs = program.recurrence.outputs
    both = [f"{name} {where}" for where in ("in the table", "by the rule") for name in outputs]
    rows = [tuple(map(_shown, row)) for row in missed.rows]
    return {"missed": missed, "heads": (*missed.inputs, *both), "rows": rows}


def verdict_section(program: Program, contents: Contents, _: Figures) -> Data:
    certificate = contents.certificate
    assert certificate is not None
    against = "its specification" if certificate.domain else "sequences kept back"
    rows = [(f"the program against {against}", certificate.target)]
    if len(certificate.by_length) > 1:
        rows += [(f"length {length}", numbers) for length, numbers in sorted(certificate.by_length.items())]
    if certificate.model is not None:
        rows.append(("the program against the trained network", certificate.model))
    heads = ("what was compared", "sequences", "largest error", "root mean square", "right")
    wrong, checked = certificate.counterexample, certificate.listing
    return {
        "certificate": certificate,
        "heads": heads[: 4 + (certificate.accuracy is not None)],
        "rows": [
            (what, a.sequences, number(a.max_abs_error, 3), number(a.rmse, 3),
             *(() if a.accuracy is None else (percent(a.accuracy),)))
            for what, a in rows
        ],
        "claims": [claim[1:-1] for claim in certificate.invariant],
        "wrong": None if wrong is None else _counterexample(program, wrong),
        "networks": [
            _network(contents, program, name, network, network is (certificate.taught or certificate.network))
            for name, network in certificate.networks()
        ],
        "listing": checked and _inside(checked.explain()),
    }  # fmt: skip


def _inside(sentence: str) -> str:
    """A sentence that goes on where another began."""
    return sentence[:1].lower() + sentence[1:]


def _network(
    contents: Contents, program: Program, name: str, network: NetworkCertificate, meant: bool
) -> dict[str, Any]:
    """The link from the weights to the program, with the sequence that shows a difference; what the network
    answers to it is known of the one whose graph is drawn (`meant`)."""
    verb, outputs = "" if network.verdict == "differs" else "is ", program.recurrence.outputs
    file = MODEL if name == "Network" else TAUGHT
    told = {"name": name, "file": file, "said": verb + _inside(network.explain()), "wrong": None}
    rows = network.counterexample
    if not rows or any(len(row) != len(program.recurrence.inputs) for row in rows):
        return told
    x = program.encode(rows)[None]
    right = outputs_of(program.recurrence, x)
    answers = [(f"{name}, program", program.decode(right)[0, :, i]) for i, name in enumerate(outputs)]
    drawn = meant and contents.explained is not None
    if drawn and contents.explained is not None:
        given = np.round(one_step(contents.explained.graph, x, right, whole=True), 3)
        answers += [(f"{name}, network before rounding", given[0, :, i]) for i, name in enumerate(outputs)]
    return told | {"wrong": _counterexample(program, rows, answers), "drawn": drawn}


def _counterexample(
    program: Program,
    rows: tuple[tuple[float, ...], ...],
    answers: Sequence[tuple[str, np.ndarray]] = (),
) -> dict[str, Any]:
    """A sequence as a table: inputs, and what is made of them; and what the box is to run."""
    inputs, read = program.recurrence.inputs, program.reading().recurrence.inputs
    columns = [list(column) for column in zip(*rows, strict=True)]  # numbers, or texts
    named = [*zip(inputs, columns, strict=True), *answers]
    loaded = json.dumps([columns[inputs.index(name)] for name in read])
    return {"rows": [(name, *map(_shown, column)) for name, column in named], "loaded": loaded}


def _shown(value: Any) -> str:
    return quoted(value) if value is None or isinstance(value, str) else number(value, 6)


def prediction_section(program: Program, contents: Contents, figure: Figures) -> Data:
    certificate, fresh = contents.certificate, contents.fresh
    if certificate is None or fresh is None:
        return None
    drawn = list(map(figure, prediction_drawings(program, fresh, one_step=certificate.one_step)))
    return {"drawn": drawn, "left": len(program.recurrence.outputs) - OUTPUTS} if drawn else None


def graph_section(_: Program, contents: Contents, figure: Figures) -> Data:
    if contents.explained is None:
        return None
    graph, taught = contents.explained.graph, contents.certificate and contents.certificate.taught
    drawn = figure(graph_drawing(contents.explained), wide=True)
    return {"drawn": drawn, "live": len(graph.live()), "nodes": len(graph.nodes), "taught": taught}


def attention_section(_: Program, contents: Contents, figure: Figures) -> Data:
    explained, values, valid = contents.explained, contents.values, contents.valid
    if explained is None or values is None or valid is None:
        return None
    heads = []
    for index, found in explained.routers.items():
        node = explained.graph.nodes[index]
        assert isinstance(node, RouterNode)
        reads = ", ".join(f"{role} {short_name(explained, i)}" for role, i in node.reads.items())
        heads.append(
            {
                "name": node.name,
                "words": _inside(found.words),
                "drawn": figure(attention_drawing(node, pattern(node, values, valid), found.words)),
                "told": f"{node.kind}; reads {reads}; {_evidence(found)}",
            }
        )
    return {"heads": heads, "sequences": len(values)}


def _evidence(found: RouterMatch) -> str:
    if found.hypothesis is None or found.evidence is None:
        return "no hypothesis matches" if found.hypothesis is None else "not compared with data"
    seen = found.evidence
    told = f"{found.hypothesis.describe()} at {percent(seen.agreement)} of {seen.positions} positions"
    return told + f"; next best: {found.runner_up_words}" * bool(found.runner_up)


def operator_section(program: Program, contents: Contents, _: Figures) -> Data:
    explained = contents.explained
    if explained is None or contents.values is None:
        return None
    submlps = []
    for index, fit in explained.operators.items():
        expr = readable(explained, fit, 4)
        typeset = Markup(mathml.equation(f"V{index}", expr)) if expr.size() <= TYPESET_NODE else ""
        name = explained.graph.nodes[index].name
        submlps.append({"name": name, "formula": expr, "fit": fit, "typeset": typeset})
    return {"submlps": submlps}


def training_section(_: Program | None, contents: Contents, figure: Figures) -> Data:
    epochs = contents.epochs
    if not epochs:
        return None
    solved = len(epochs) == len({epoch.stage for epoch in epochs})  # in closed form: nothing to draw
    drawn = None if solved else figure(training_drawing(epochs))
    return {"drawn": drawn, "members": len(epochs[-1].hard_loss)}


def attempts_section(_: Program | None, contents: Contents, figure: Figures) -> Data:
    counts = Counter(map(str, contents.attempts))
    said = [text if count == 1 else f"{text} ({count} times)" for text, count in counts.items()]
    return {"attempts": said} if said else None


#: In the order of the page: anchor, heading, function. From `DETAILS` on it is for those who want to know
#: how the rule was found and checked; what is of the run alone needs no program.
SECTIONS: tuple[tuple[str, str, Callable[[Any, Contents, Figures], Data]], ...] = (
    ("try", "Try it", try_section),
    ("rule", "The rule as a table", rule_section),
    ("states", "What it remembers", state_section),
    ("wrong", "What the rule misses", wrong_section),
    ("thresholds", "Thresholds", threshold_section),
    ("alternatives", "Other rules", alternatives_section),
    ("predictions", "Predictions and targets", prediction_section),
    ("program", "Program", program_section),
    ("verdict", "What the verdict rests on", verdict_section),
    ("graph", "How the network computes it", graph_section),
    ("attention", "Attention", attention_section),
    ("operators", "Sub-MLPs", operator_section),
    ("training", "Training", training_section),
    ("attempts", "What was tried", attempts_section),
)
DETAILS, OF_THE_RUN = "verdict", ("training", "attempts")


class Section(NamedTuple):
    """A section that has something to show."""

    anchor: str
    heading: str
    data: dict[str, Any]


def made_sections(contents: Contents, figure: Figures) -> list[Section]:
    """Every section that has something to show."""
    program = contents.program
    made = [
        (anchor, heading, find(program, contents, figure))
        for anchor, heading, find in SECTIONS
        if program is not None or anchor in OF_THE_RUN
    ]
    return [Section(anchor, heading, data) for anchor, heading, data in made if data]
