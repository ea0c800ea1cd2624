"""`report.html`: one page that carries everything it needs and asks the network for nothing.

Its content security policy says so too: scripts run only if their digest is on the list, so that even a text
that slipped through unescaped could not act.
"""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from weights2code.explain.explanation import ExplainedGraph
from weights2code.program import Program
from weights2code.report import mathml
from weights2code.report.contents import Contents
from weights2code.report.graph_drawing import graph_drawing
from weights2code.report.head import COLOURS, head
from weights2code.report.javascript import literal, machine
from weights2code.report.sections import DETAILS, Figures, made_sections
from weights2code.report.svg import asset, light_colours
from weights2code.report.templating import rendered, style
from weights2code.verify import Certificate


def page(contents: Contents) -> str:
    """The whole document."""
    scripts = [asset("page.js"), *_box_script(contents)]
    return rendered(
        "page.html",
        title=contents.source,
        kicker=_kicker(contents),
        head=head(contents),
        details=DETAILS,
        sections=made_sections(contents, Figures()),
        notes=contents.notes,
        config=contents.config,
        certificate=contents.certificate,
        policy=_policy(scripts),
        style=Markup(style()),
        scripts=list(map(Markup, scripts)),
    )


def fragment(program: Program, certificate: Certificate, explained: ExplainedGraph | None = None) -> str:
    """HTML for a notebook cell: formula, verdict, graph and source; no scripts, its own light colours."""
    drawing = None if explained is None else graph_drawing(explained)
    claim, _, basis = certificate.explain().partition(": ")
    return rendered(
        "fragment.html",
        colours=light_colours(),
        colour=COLOURS[certificate.verdict],
        typeset=Markup(mathml.rule(program.recurrence, program.categories)),
        claim=claim,
        basis=basis,
        networks=certificate.networks(),
        drawing=drawing,
        image=drawing and base64.b64encode(drawing.document().encode()).decode(),
        source=program.source(),
    )


def _kicker(contents: Contents) -> str:
    """What the page is about."""
    if contents.program is None or contents.certificate is None:
        return "No program"
    return "Extracted program" if contents.certificate.verified else "No rule that holds; the best attempt"


def _box_script(contents: Contents) -> list[str]:
    if contents.program is None:
        return []
    program = contents.program.reading()
    given = contents.program.recurrence.inputs
    read = [given.index(name) for name in program.recurrence.inputs]
    examples = [[[float(f"{v:.4g}") for v in example[:, i]] for i in read] for example in contents.examples]
    if not examples:
        examples = [[[max(domain.low, 0.0)] * 8 for domain in program.domains]]
    return [
        f"startBox({machine(program.recurrence, program.domains, program.categories)}, {literal(examples)});"
    ]


def _policy(scripts: list[str]) -> str:
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    rest = "base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {digests}; {rest}"
