"""The sections of the page. Each takes the contents and gives HTML, or nothing if there is nothing to show.

Every text that comes from outside (names of columns above all) passes through `escape`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from typing import Any

import numpy as np

from weights2code.explain.routing import RouterMatch
from weights2code.graph import RouterNode
from weights2code.language import Recurrence, formula
from weights2code.language.domain import quoted
from weights2code.network.trial import one_step, outputs_of
from weights2code.program import Origin, Program
from weights2code.report import mathml
from weights2code.report.attention import attention_drawing, pattern
from weights2code.report.contents import Contents
from weights2code.report.decisions import decisions
from weights2code.report.graph_drawing import graph_drawing
from weights2code.report.head import percent
from weights2code.report.listing import listing
from weights2code.report.node_names import indexed, readable, short_name
from weights2code.report.operator_plots import operator_drawing
from weights2code.report.prediction_plots import OUTPUTS, prediction_drawings
from weights2code.report.states import DRAWN, machine_drawing, machine_of
from weights2code.report.svg import Drawing, number, plural
from weights2code.report.training_curves import training_drawing
from weights2code.run_folder import MODEL, TAUGHT
from weights2code.verify.links import MADE, NetworkCertificate

#: What each verdict means, in a sentence.
MEANINGS = {
    "proved": "they agree on every sequence of every length whose inputs lie in the stated domain.",
    "bounded": "on every sequence of every length in the stated domain they differ by no more than the "
    "stated error, and somewhere they do.",
    "exhaustive": "every possible sequence up to a stated length was run, and all agree.",
    "tested": "a stated number of sequences was run, and all agree; other sequences were not looked at.",
    "failed": "a sequence is known on which they differ.",
}

#: How a program came about, in words for readers who did not follow the method.
ORIGINS: dict[str, str] = {
    Origin.LEAVES: "The trained network showed which values the output depends on; the "
    "formula was then found by symbolic regression on just those values.",
    Origin.CUTS: "Steps of the program are parts of the trained network: what each computes was read off it "
    "as a short formula, and the output follows from them.",
    Origin.ROWS: "The rows themselves showed which values the output depends on; the formula was then found "
    "by symbolic regression on just those values. A network was made for the rule, and compared with it.",
    Origin.NODES: "Every part of the trained network was explained by a formula of its own; "
    "the program puts them together.",
}

#: What stands in place of a formula that was not found.
FALLBACKS = {
    "piecewise": "the network itself was written out, piece by piece, which is exact on the data",
    "table": "its values were listed one by one",
}

#: Listings with more characters than this are not printed.
LONG_LISTING = 5000
#: Formulas of a sub-MLP with more nodes than this are not typeset: nobody could read them.
TYPESET_NODE = 80


class Figures:
    """Numbers the figures in the order in which they appear, and keeps their drawings."""

    def __init__(self) -> None:
        self.drawings: list[Drawing] = []

    def __call__(self, drawing: Drawing, caption: str, *, wide: bool = False) -> str:
        """A drawing with its caption (HTML); a wide one may leave the column of text and is scrolled."""
        self.drawings.append(drawing)
        picture = drawing.inline(least=0.8 * drawing.width if wide else min(drawing.width, 520.0))
        label = escape(drawing.title, quote=True)
        box = f'<div class="scroll" role="region" tabindex="0" aria-label="{label}">{picture}</div>'
        kind = ' class="wide"' if wide and drawing.width > 860 else ""
        caption = f"<figcaption><b>Figure {len(self.drawings)}.</b> {caption}</figcaption>"
        room = "" if wide else f' style="max-width:{max(drawing.width, 480):.0f}px"'
        return f"<figure{room}><div{kind}>{box}</div>{caption}</figure>"


def program_section(contents: Contents, _: Figures) -> str:
    if contents.program is None:
        return ""
    text = (
        "<p>The file <code>program.py</code> stands alone: NumPy is all it needs, and it runs on sequences "
        f"of any length. {escape(_origin(contents))}</p>{_code(contents.program.source(), 'source')}"
    )
    if contents.listing:
        # paper has room for a listing that can be read, not for pages of digits
        kind = ' class="no-print"' if len(contents.listing) > LONG_LISTING else ""
        text += (
            f"<details{kind}><summary>The network itself, node by node, as the paper lists it "
            f"(program_raw.py)</summary>{_code(contents.listing, 'raw')}</details>"
        )
    return text


def state_section(contents: Contents, figure: Figures) -> str:
    """What the program remembers, if that is one of a few states."""
    machine = contents.program and machine_of(contents.program)
    if not machine:
        return ""
    caption = (
        f"What the program remembers ({escape(machine.holds)}) is one of "
        f"{plural(len(machine.states), 'state')}: an arrow says what is read, and behind a stroke what comes "
        "out then."
    )
    if len(machine.states) <= DRAWN:
        return figure(machine_drawing(machine), caption, wide=True)
    rows = "".join(
        f'<tr><th scope="row">{escape(machine.states[a])}</th><td>{escape(machine.states[b])}</td>'
        f"<td>{escape(', '.join(words))}</td></tr>"
        for (a, b), words in machine.moves.items()
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("from", "to", "what is read / what comes out"))
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Transitions"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def decision_section(contents: Contents, _: Figures) -> str:
    """Long rules as tables: the first row that fits counts."""
    tables = decisions(contents.program) if contents.program else []
    return "".join(f"<p>The first row that fits counts.</p>{table.html()}" for table in tables)


def _origin(contents: Contents) -> str:
    program, rule = contents.program, contents.certificate and contents.certificate.rule
    assert program is not None
    if program.origin not in ORIGINS:
        return f"How it was found: {program.how}." if program.origin else ""
    noise = " Constants have as many digits as the noise in the data allows." if program.under_noise else ""
    nodes = f" {rule.explain()}" if rule and rule.nodes else ""
    return ORIGINS[program.origin] + nodes + noise


def _code(source: str, name: str) -> str:
    return (
        f'<div class="code"><button type="button" data-copy="{name}" hidden>Copy</button>'
        f'<pre id="{name}" tabindex="0" aria-label="Python source">{listing(source)}</pre></div>'
    )


def verdict_section(contents: Contents, _: Figures) -> str:
    certificate = contents.certificate
    if certificate is None or contents.program is None:
        return ""
    against = "its specification" if certificate.domain else "held-out targets"
    rows = [(f"program against {against}", certificate.target)]
    if len(certificate.by_length) > 1:
        rows += [(f"length {length}", numbers) for length, numbers in sorted(certificate.by_length.items())]
    if certificate.model is not None:
        rows.append(("program against the discrete model", certificate.model))
    body = "".join(
        f'<tr><th scope="row">{what}</th><td>{a.sequences}</td><td>{number(a.max_abs_error, 3)}</td>'
        f"<td>{number(a.rmse, 3)}</td>{'' if a.accuracy is None else f'<td>{percent(a.accuracy)}</td>'}</tr>"
        for what, a in rows
    )
    names = ("sequences", "largest error", "RMSE", "accuracy")[: 3 + (certificate.accuracy is not None)]
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    text = (
        f"<p>The program was compared with {against}. There are five verdicts, strongest first: proved, "
        f"bounded, exhaustive, tested, failed. <b>{certificate.verdict.capitalize()}</b> means: "
        f"{MEANINGS[certificate.verdict]}</p>"
    )
    text += (
        '<div class="scroll" role="region" tabindex="0" aria-label="Agreement"><table><thead><tr>'
        f'<th scope="col">agreement</th>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    if certificate.notes:
        text += "<h3>Notes</h3>" + _list(certificate.notes)
    if certificate.invariant:
        claims = tuple(claim[1:-1] for claim in certificate.invariant)
        text += (
            '<details class="no-print"><summary>What the induction rests on '
            f"({plural(len(claims), 'claim')}; r: the reference machine, p: the program)</summary>"
            f"{_list(claims)}</details>"
        )
    if certificate.counterexample is not None:
        heading = "<h3>A sequence on which the program is wrong</h3>"
        text += heading + _counterexample(contents.program, certificate.counterexample)
    for name, network in certificate.networks():
        drawn = network is (certificate.taught or certificate.network)
        text += _network(contents, contents.program.recurrence, name, network, drawn=drawn)
    if certificate.listing is not None:
        known = _inside(certificate.listing.explain())
        text += f"<h3>The listing and the network</h3><p><code>program_raw.py</code> is {known}</p>"
    return text


def threshold_section(contents: Contents, _: Figures) -> str:
    """How exactly the data say where the thresholds lie."""
    if not contents.gaps:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(formula(gap.test, indexed)[1:-1])}</th><td>{_shown(gap.below)}</td>'
        f"<td>{_shown(gap.above)}</td><td>{escape(formula(gap.roundest(), indexed)[1:-1])}</td></tr>"
        for gap in contents.gaps
    )
    heads = ("test", "largest value below", "smallest above", "roundest")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        "<p>Between the two values the data have none, so that every threshold there fits them as well.</p>"
        '<div class="scroll" role="region" tabindex="0" aria-label="Thresholds"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def wrong_section(contents: Contents, _: Figures) -> str:
    """The first rows that the program misses."""
    program, missed = contents.program, contents.missed
    if program is None or missed is None or not missed.count:
        return ""
    outputs = program.recurrence.outputs
    names = (
        *missed.inputs,
        *(f"{name} in the table" for name in outputs),
        *(f"{name} by the rule" for name in outputs),
    )
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = "".join(f"<tr>{''.join(f'<td>{_shown(v)}</td>' for v in row)}</tr>" for row in missed.rows)
    return (
        f"<p>{plural(missed.count, 'row')} of {missed.of} that could be judged; these are the first. "
        "<code>w2c predict DIR FILE --wrong FILE</code> writes all of them.</p>"
        '<div class="scroll" role="region" tabindex="0" aria-label="Rows that the rule misses"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _inside(sentence: str) -> str:
    """A sentence that goes on where another began."""
    return escape(sentence[:1].lower() + sentence[1:])


def _network(
    contents: Contents, recurrence: Recurrence, name: str, network: NetworkCertificate, *, drawn: bool
) -> str:
    """The link from the weights to the program, with the sequence that shows a difference; what the network
    answers to it is known of the one whose graph is drawn."""
    verb = "" if network.verdict == "differs" else "is "
    file = TAUGHT if name.startswith("Taught") else MODEL
    text = (
        f"<h3>The {name.lower()} and the program</h3><p>The network in <code>{file}</code>, which runs on "
        f"its own past outputs as the program does, {verb}{_inside(network.explain())}</p>"
    )
    rows = network.counterexample
    if not rows or any(len(row) != len(recurrence.inputs) for row in rows):
        return text
    assert contents.program is not None
    x = contents.program.encode(rows)[None]
    right = outputs_of(recurrence, x)
    told = contents.program.decode(right)
    answers = [(f"{name}, program", told[0, :, i]) for i, name in enumerate(recurrence.outputs)]
    if drawn and contents.explained is not None:
        text += "<p>Both agree up to the last position, where the network rounds to another number.</p>"
        given = np.round(one_step(contents.explained.graph, x, right, whole=True), 3)
        answers += [
            (f"{name}, network before rounding", given[0, :, i]) for i, name in enumerate(recurrence.outputs)
        ]
    return text + _counterexample(contents.program, rows, tuple(answers))


def _counterexample(
    program: Program,
    rows: tuple[tuple[float, ...], ...],
    answers: tuple[tuple[str, np.ndarray], ...] = (),
) -> str:
    """A sequence as a table: inputs, and what is made of them."""
    recurrence, read = program.recurrence, program.reading().recurrence.inputs
    columns = [list(column) for column in zip(*rows, strict=True)]  # numbers, or texts
    named = [*zip(recurrence.inputs, columns, strict=True), *answers]
    loaded = escape(json.dumps([columns[recurrence.inputs.index(name)] for name in read]), quote=True)
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{_shown(v)}</td>" for v in column)}</tr>'
        for name, column in named
    )
    return (
        '<div class="scroll" role="region" tabindex="0" aria-label="Counterexample">'
        f"<table><tbody>{lines}</tbody></table></div>"
        f'<p><button type="button" data-sequence="{loaded}" hidden>Run it in the box</button></p>'
    )


def _shown(value: Any) -> str:
    return escape(quoted(value)) if value is None or isinstance(value, str) else number(value, 6)


def try_section(contents: Contents, _: Figures) -> str:
    """The box; its content is made by the script."""
    if contents.program is None:
        return ""
    program = contents.program.reading()
    columns = zip(program.recurrence.inputs, program.domains, strict=True)
    fields = "".join(
        f'<div class="field"><label for="column{i}">{escape(name)} <span class="hint">{escape(str(domain))}'
        f'</span></label><input id="column{i}" type="text" inputmode="text" autocomplete="off" '
        f'autocapitalize="off" spellcheck="false" aria-describedby="message"></div>'
        for i, (name, domain) in enumerate(columns)
    )
    one = len(program.recurrence.inputs) == 1
    lines = "a sequence" if one else "a sequence, one line a column,"
    between = "commas between the texts" if program.categories else "spaces or commas between the numbers"
    return (
        f"<p>Type {lines} with {between}. The page itself computes every "
        "variable, as <code>program.py</code> does. Choose a position to see how its values come about.</p>"
        "<noscript><p>The box needs JavaScript.</p></noscript>"
        f'<div id="fields">{fields}</div>'
        '<p id="message" role="status"></p>'
        '<div class="scroll" role="region" tabindex="0" aria-label="Every variable at every position; '
        'the arrow keys choose a position"><table id="steps"></table></div>'
        '<div class="controls"><button type="button" id="back" aria-label="Previous position">← Back</button>'
        '<span id="where" class="hint" aria-live="polite"></span>'
        '<button type="button" id="forward" aria-label="Next position">Next →</button>'
        '<button type="button" id="another" hidden>Another example</button></div>'
        '<ol id="working" aria-live="polite" aria-label="The values at this position"></ol>'
    )


def graph_section(contents: Contents, figure: Figures) -> str:
    if contents.explained is None:
        return ""
    graph = contents.explained.graph
    live = len(graph.live())
    taught = contents.certificate and contents.certificate.taught
    what = "taught network" if taught else "trained model, every choice settled"
    what += f", which {MADE[taught.made]}" if taught and taught.made else ""
    caption = (
        f"The {what}. Values flow from left to right; each node reads what "
        f"its edges bring. {live} of {plural(len(graph.nodes), 'node')} matter to the output; what does "
        "not is greyed. Names such as <i>V</i>5 are those of the listing; constants are rounded."
    )
    return figure(graph_drawing(contents.explained), caption, wide=True)


def attention_section(contents: Contents, figure: Figures) -> str:
    explained, values, valid = contents.explained, contents.values, contents.valid
    if explained is None or values is None or valid is None:
        return ""
    parts = []
    for index, found in explained.routers.items():
        node = explained.graph.nodes[index]
        assert isinstance(node, RouterNode)
        drawing = attention_drawing(node, pattern(node, values, valid), found.words)
        picture = figure(drawing, f"{escape(node.name)}: {escape(found.words[0].lower() + found.words[1:])}.")
        reads = ", ".join(f"{role} {short_name(explained, i)}" for role, i in node.reads.items())
        pairs = [*_evidence(found), ("kind of head", node.kind), ("reads", reads)]
        parts.append(f'<div class="head"><h3>{escape(node.name)}</h3>{picture}{_pairs(pairs)}</div>')
    if not parts:
        return "<p>The output needs no attention: no head is live.</p>"
    return (
        "<p>Each head that matters: how strongly it reads each earlier position s at position t, as the mean "
        f'over {plural(len(values), "sequence")}, and the rule that it follows.</p><div class="heads">'
        f"{''.join(parts)}</div>"
    )


def _evidence(found: RouterMatch) -> list[tuple[str, str]]:
    pairs = [("hypothesis", found.hypothesis.describe() if found.hypothesis else "none matches")]
    if found.evidence is not None:
        seen = found.evidence
        pairs.append(("agreement", f"{100 * seen.agreement:.4g} % of {seen.positions} positions"))
        if min(seen.agreement, seen.at_start, seen.worst) < 1:
            pairs.append(("before the full window", f"{100 * seen.at_start:.4g} %"))
            pairs.append(("worst position", f"{100 * seen.worst:.4g} %"))
    return [*pairs, ("runner-up", found.runner_up_words)] if found.runner_up else pairs


def _pairs(pairs: list[tuple[str, str]]) -> str:
    body = "".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in pairs)
    return f'<dl class="pairs">{body}</dl>'


def operator_section(contents: Contents, figure: Figures) -> str:
    explained, values = contents.explained, contents.values
    if explained is None or values is None:
        return ""
    parts = []
    for index, fit in explained.operators.items():
        expr = readable(explained, fit, 4)
        if expr.size() <= TYPESET_NODE:
            name_of = f'role="region" tabindex="0" aria-label="{escape(str(expr), quote=True)}"'
            shown = f'<div class="equation" {name_of}>{mathml.equation(f"V{index}", expr)}</div>'
        else:
            shown = f"<p>A formula with {expr.operations()} operators, too long to be shown.</p>"
        if fit.kind in FALLBACKS:
            shown += f"<p>No short formula fits; {FALLBACKS[fit.kind]}.</p>"
        shown += (
            f"<p>Largest difference from the sub-MLP on the data {number(fit.max_error, 3)}, "
            f"allowed {number(fit.tolerance, 3)}.</p>"
        )
        drawing = operator_drawing(explained, index, values)
        parts.append(f"<h3>{escape(explained.graph.nodes[index].name)}</h3>{shown}")
        if drawing is not None:
            parts.append(figure(drawing, escape(drawing.description)))
    if not parts:
        return "<p>The output needs no sub-MLP: it is linear in what the heads deliver.</p>"
    return (
        "<p>Each sub-MLP that matters, as a formula as near as the output asks for. The listing has it "
        f"exactly, its scale taken off where that is free.</p>{''.join(parts)}"
    )


def training_section(contents: Contents, figure: Figures) -> str:
    if not contents.epochs:
        return ""
    if len(contents.epochs) == len({epoch["stage"] for epoch in contents.epochs}):
        return "<p>Solved in closed form: there are no epochs of training to draw.</p>"
    members = len(contents.epochs[-1]["hard_loss"])
    caption = (
        "Loss of the soft model in training and of the hard (argmax) model on validation sequences; "
        "temperature of the samplers; share of choices that are already the final ones; what the hard "
        "model loses against the soft one. Dotted lines divide the rungs; the last has "
        f"{plural(members, 'member')}."
    )
    return figure(training_drawing(contents.epochs), caption)


def prediction_section(contents: Contents, figure: Figures) -> str:
    if contents.program is None or contents.certificate is None or contents.fresh is None:
        return ""
    one_step = contents.certificate.one_step
    drawings = prediction_drawings(contents.program, contents.fresh, one_step=one_step)
    left = len(contents.program.recurrence.outputs) - OUTPUTS
    more = f"<p>{plural(left, 'further output')} not shown.</p>" if left > 0 else ""
    return "".join(figure(d, f"{escape(d.title)}. {escape(d.description)}") for d in drawings) + more


def attempts_section(contents: Contents, _: Figures) -> str:
    return _list(tuple(map(str, contents.attempts))) if contents.attempts else ""


def _list(items: tuple[str, ...]) -> str:
    return f'<ul class="plain">{"".join(f"<li>{escape(item)}</li>" for item in items)}</ul>'


#: In the order of the page: anchor, heading, function.
SECTIONS: tuple[tuple[str, str, Callable[[Contents, Figures], str]], ...] = (
    ("try", "Try it", try_section),
    ("program", "Program", program_section),
    ("rule", "The rule as a table", decision_section),
    ("thresholds", "Thresholds", threshold_section),
    ("states", "What it remembers", state_section),
    ("wrong", "What the rule misses", wrong_section),
    ("verdict", "What the verdict rests on", verdict_section),
    ("predictions", "Predictions and targets", prediction_section),
    ("graph", "How the model computes it", graph_section),
    ("attention", "Attention", attention_section),
    ("operators", "Sub-MLPs", operator_section),
    ("training", "Training", training_section),
    ("attempts", "What was tried", attempts_section),
)


def made_sections(contents: Contents, figure: Figures) -> list[tuple[str, str, str]]:
    """Anchor, heading and HTML of every section that has something to show."""
    made = [(anchor, heading, make(contents, figure)) for anchor, heading, make in SECTIONS]
    return [section for section in made if section[2]]
