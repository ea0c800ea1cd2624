"""Pages out of templates: every text that comes from outside (names of columns above all) is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from weights2code import __version__
from weights2code.report.svg import asset, number, plural
from weights2code.verify.links import MADE


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {"number": number, "plural": plural}
    made.globals |= {"made_words": MADE, "version": __version__}
    return made


def rendered(template: str, **data: Any) -> str:
    """A template of this room with its places filled."""
    return _environment().get_template(template).render(data)


def style() -> str:
    """The style of pages and of the drawings in them."""
    return asset("page.css") + asset("drawing.css")
