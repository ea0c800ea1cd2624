"""`report.html` of a decompilation: the program, how far the model agrees, and where it departs, played step
by step. Like every page of ours it carries all that it needs; it has no scripts."""

from __future__ import annotations

from html import escape

import numpy as np

from weights2code import __version__
from weights2code.decompilation.driver import Decompiled
from weights2code.decompilation.verdict import ModelCertificate
from weights2code.program import Program
from weights2code.report.head import formula_block
from weights2code.report.svg import Drawing, Frame, asset, legend, number, plural
from weights2code.verify.hunt import Departure

#: Departures that are played, and their positions at most.
PLAYED, POSITIONS = 3, 60
COLOURS = {"departs": "bad", "agrees": "fair"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(found: Decompiled, source: str) -> str:
    """The whole document."""
    assert found.program is not None
    assert found.model is not None
    sections = [
        ("agreement", "How far the model agrees", _agreement(found.model)),
        ("departures", "Where it departs", _departures(found.program, found.model)),
        ("thin", "Thin places", _thin(found.program, found.model)),
        ("asked", "How it was asked", _asked(found)),
        ("program", "Program", f"<pre><code>{escape(found.program.source())}</code></pre>"),
    ]
    body = "".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-heading"><h2 id="{anchor}-heading">{heading}</h2>'
        f"{content}</section>"
        for anchor, heading, content in sections
        if content
    )
    links = "".join(f'<li><a href="#{a}">{heading}</a></li>' for a, heading, content in sections if content)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(source)} · weights2code</title>\n"
        f"<style>\n{asset('page.css')}{asset('drawing.css')}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f'<header><p class="kicker">Decompiled model, weights2code {escape(__version__)}</p>'
        f"<h1>{escape(source)}</h1>{formula_block(found.program)}{_verdict(found)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
        f'<main id="content" tabindex="-1">{body}</main>\n'
        f"<footer><div><p>Random sequences from seed {found.model.seed}.</p></div></footer>\n"
        "</body>\n</html>\n"
    )


def _verdict(found: Decompiled) -> str:
    model = found.model
    assert model is not None
    badge = (
        f'<strong class="badge {COLOURS.get(model.verdict, "good")}">{model.verdict.capitalize()}</strong>'
    )
    text = f'<p class="verdict-line">{badge} <span>{escape(model.explain())}</span></p>'
    if found.against is not None:
        said = f"The program against {found.task}: {found.against.explain()}"
        text += f'<p class="basis">{escape(said)}</p>'
    return text


def _agreement(model: ModelCertificate) -> str:
    lengths = list(model.agreement)
    shares = [model.agreement[length] for length in lengths]
    drawing = agreement_drawing(lengths, [s.sequences for s in shares], [s.positions for s in shares])
    rows = "".join(
        f'<tr><th scope="row">{length}</th><td>{share.sequences:.4f}</td><td>{share.positions:.4f}</td></tr>'
        for length, share in model.agreement.items()
    )
    head = '<th scope="col">length</th><th scope="col">sequences</th><th scope="col">positions</th>'
    return (
        "<p>Uniform random sequences of each length: the share that agrees everywhere, and the share of "
        f"positions that do. Every sequence up to length {model.exhaustive} was asked, and agrees.</p>"
        f"<figure>{drawing.inline(least=320)}</figure><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def agreement_drawing(lengths: list[int], sequences: list[float], positions: list[float]) -> Drawing:
    """Shares by length, longer lengths closer together."""
    width = max(lengths[-1], lengths[0] + 1)
    frame = Frame.at((56, 44, 420, 180), (0.0, width), (-0.02, 1.05))
    body = legend(56, 14, [("line", "sequences"), ("line second", "positions")])
    body += frame.axes("", "length", [float(length) for length in lengths])
    body += frame.line(lengths, sequences) + frame.dots(lengths, sequences)
    body += frame.line(lengths, positions, "line second")
    told = ", ".join(f"{share:.3f} at {length}" for length, share in zip(lengths, sequences, strict=True))
    return Drawing("agreement", 500, 270, body, "Agreement by length", f"Of random sequences: {told}.")


def _departures(program: Program, model: ModelCertificate) -> str:
    if not model.departures:
        return ""
    proof = "No shorter one departs" if model.proven_shortest else "It is the shortest that was found"
    regions = "".join(f"<li><code>{escape(region.words())}</code></li>" for region in model.regions)
    where = f"<p>Where it first departs, in long sequences:</p><ul>{regions}</ul>" if regions else ""
    played = "".join(_played(program, one) for one in model.departures[:PLAYED])
    return f"<p>{proof}.</p>{where}{played}"


def _played(program: Program, one: Departure) -> str:
    """A departure, a position a row, with what the program computes on the way."""
    machine = program.recurrence
    with np.errstate(all="ignore"):
        trace = machine.trace(one.inputs[None])
    inner = [step.name for step in machine.steps if step.name not in machine.outputs]
    names = [*machine.inputs, *inner, *machine.outputs]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("t", *names))
    head += "".join(f'<th scope="col">model {escape(name)}</th>' for name in machine.outputs)
    rows = ""
    for t in range(max(0, len(one.inputs) - POSITIONS), len(one.inputs)):
        cells = [trace[name][0, t] for name in names] + one.right[t].tolist()
        margin = "" if np.isinf(one.margins[t]) else number(float(one.margins[t]), 3)
        values = "".join(f"<td>{number(float(value))}</td>" for value in cells)
        mark = ' class="bad"' if t == len(one.inputs) - 1 else ""
        rows += f'<tr{mark}><th scope="row">{t}</th>{values}<td>{margin}</td></tr>'
    return (
        f"<p>After {plural(len(one.inputs), 'input')}:</p>"
        '<div class="scroll" role="region" tabindex="0" aria-label="A departure">'
        f'<table><thead><tr>{head}<th scope="col">margin</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _thin(program: Program, model: ModelCertificate) -> str:
    if not model.thin:
        return ""
    rows = "".join(
        f"<tr><td>{number(margin, 3)}</td><td>{escape(_row(x))}</td></tr>" for margin, x in model.thin
    )
    names = ", ".join(program.recurrence.inputs)
    return (
        "<p>Where both agree and the model is least sure of it.</p><div class='scroll' role='region' "
        f'tabindex="0" aria-label="Thin places"><table><thead><tr><th scope="col">margin</th>'
        f'<th scope="col">{escape(names)}</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(x: np.ndarray) -> str:
    shown = [number(row[0]) if len(row) == 1 else f"({', '.join(map(number, row))})" for row in x.tolist()]
    return " ".join(shown[-POSITIONS:])


def _asked(found: Decompiled) -> str:
    model = found.model
    assert model is not None
    items = [f"outputs: {model.reading}", *model.how, f"{model.queries} sequences were asked"]
    items += [f"another rule is nearly as short: {rule}" for rule in model.other_rules]
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
