"""`report.html`: one page that carries everything it needs and asks the network for nothing.

Its content security policy says so too: scripts run only if their digest is on the list, so that even a text
that slipped through unescaped could not act.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape

from weights2code import __version__
from weights2code.report.contents import Contents
from weights2code.report.head import head
from weights2code.report.javascript import literal, machine
from weights2code.report.sections import Figures, made_sections
from weights2code.report.svg import asset, number


def page(contents: Contents) -> str:
    """The whole document."""
    sections = made_sections(contents, Figures())
    links = "".join(f'<li><a href="#{anchor}">{escape(heading)}</a></li>' for anchor, heading, _ in sections)
    main = "".join(
        f'<section id="{anchor}" aria-labelledby="{anchor}-heading"><h2 id="{anchor}-heading">'
        f"{escape(heading)}</h2>{body}</section>"
        for anchor, heading, body in sections
    )
    scripts = [asset("page.js"), *_box_script(contents)]
    notes = "".join(f'<p class="fair">{escape(note)}</p>' for note in contents.notes)
    title = escape(contents.source)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title} · weights2code</title>\n"
        f"<style>\n{asset('page.css')}{asset('drawing.css')}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        '<header><div class="top"><p class="kicker">'
        f"{_kicker(contents)}, weights2code {escape(__version__)}</p>"
        '<button type="button" id="theme" hidden></button></div>'
        f"<h1>{title}</h1>{head(contents)}"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
        f'<main id="content" tabindex="-1">{notes}{main}</main>\n'
        f"<footer><div>{_footer(contents)}</div></footer>\n"
        + "".join(f"<script>{script}</script>\n" for script in scripts)
        + "</body>\n</html>\n"
    )


def _kicker(contents: Contents) -> str:
    """What the page is about."""
    if contents.program is None or contents.certificate is None:
        return "No program"
    return "Extracted program" if contents.certificate.verified else "No rule that holds; the best attempt"


def _footer(contents: Contents) -> str:
    lines = ["Settings: " + ", ".join(f"{name} {value}" for name, value in contents.config) + "."]
    if certificate := contents.certificate:
        versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
        lines.append(f"Certified with {versions}; random sequences from seed {certificate.seed}.")
    remade = "<p>This page is remade from its run folder by <code>w2c report DIR</code>.</p>"
    return "".join(f"<p>{escape(line)}</p>" for line in lines) + remade


def _box_script(contents: Contents) -> list[str]:
    if contents.program is None:
        return []
    program = contents.program.reading()
    given = contents.program.recurrence.inputs
    read = [given.index(name) for name in program.recurrence.inputs]
    examples = [[_plain(example[:, i]) for i in read] for example in contents.examples]
    if not examples:
        examples = [[[max(domain.low, 0.0)] * 8 for domain in program.domains]]
    return [
        f"startBox({machine(program.recurrence, program.domains, program.categories)}, {literal(examples)});"
    ]


def _plain(column: object) -> list[float]:
    """Numbers to start from, short enough to read."""
    return [float(number(float(v), 4).replace("−", "-")) for v in column]  # type: ignore[attr-defined]


def _policy(scripts: list[str]) -> str:
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    rest = "base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src {digests}; {rest}"
