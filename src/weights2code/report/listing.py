"""Python text as HTML, lightly coloured; whatever the text is, it is escaped."""

from __future__ import annotations

import keyword
import re
from html import escape

#: Longer texts are cut and stay plain: nobody reads them on a page, and no run writes them.
LONGEST = 200_000
#: What has a colour, by its class in the style sheet; what no pattern knows stays as it is.
COLOURED = re.compile(
    r'(?P<str>"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|(?P<com>#[^\n]*)"
    rf"|(?P<kw>\b(?:{'|'.join(keyword.kwlist)})\b)"
    r"|(?P<num>\b\d[\w.]*(?:(?<=e)[+-]\d+)?)"
)


def listing(source: str) -> str:
    """The text with keywords, strings, comments and numbers marked."""
    if len(source) > LONGEST:
        return f"{escape(source[:LONGEST])}\n... ({len(source) - LONGEST} more characters)"
    parts, at = [], 0
    for found in COLOURED.finditer(source):
        parts.append(escape(source[at : found.start()]))
        parts.append(f'<span class="{found.lastgroup}">{escape(found[0])}</span>')
        at = found.end()
    return "".join([*parts, escape(source[at:])])
