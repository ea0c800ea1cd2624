"""Python text as HTML, lightly coloured; whatever the text is, it is escaped."""

from __future__ import annotations

import io
import keyword
import token
import tokenize
from html import escape
from itertools import accumulate

#: Longer texts are cut: nobody reads them on a page, and no run writes them.
LONGEST = 200_000
#: Squares of the lengths of all lines: since Python 3.12 every token comes with a copy of its line.
MOST_COPIED = 10**8


def listing(source: str) -> str:
    """The text with keywords, strings, comments and numbers marked."""
    if len(source) > LONGEST:
        return f"{escape(source[:LONGEST])}\n... ({len(source) - LONGEST} more characters)"
    lines = source.splitlines(keepends=True)
    if sum(len(line) ** 2 for line in lines) > MOST_COPIED:
        return escape(source)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError, SystemError):  # the last for zero bytes, in Python 3.12
        return escape(source)
    starts = list(accumulate(map(len, lines), initial=0))
    parts, at = [], 0
    for item in tokens:
        kind = _kind(item)
        if kind is None:
            continue
        begin, end = (starts[row - 1] + column for row, column in (item.start, item.end))
        parts.append(escape(source[at:begin]))
        parts.append(f'<span class="{kind}">{escape(source[begin:end])}</span>')
        at = end
    return "".join([*parts, escape(source[at:])])


def _kind(item: tokenize.TokenInfo) -> str | None:
    if item.type == token.NAME and keyword.iskeyword(item.string):
        return "kw"
    kinds = {token.STRING: "str", token.NUMBER: "num", tokenize.COMMENT: "com"}
    return kinds.get(item.type)
