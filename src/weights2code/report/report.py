"""Making the report: the page, single plots as files, and the fragment that notebooks show."""

from __future__ import annotations

import base64
import logging
from html import escape
from pathlib import Path
from typing import Literal

from weights2code.data import Problem
from weights2code.errors import InputError, Weights2CodeError
from weights2code.explain.explanation import ExplainedGraph
from weights2code.program import Program
from weights2code.report.contents import Contents, gather
from weights2code.report.graph_drawing import graph_drawing
from weights2code.report.head import VERDICTS
from weights2code.report.mathml import rule
from weights2code.report.page import page
from weights2code.report.sections import Figures, made_sections
from weights2code.report.svg import Drawing, light_colours
from weights2code.results import Outcome
from weights2code.run_folder import REPORT, RunFolder, write_atomically
from weights2code.verify import Certificate

PlotFormat = Literal["svg", "png"]

#: Pixels a unit of the drawing in PNG files: sharp in print.
ZOOM = 3


def write_report(
    folder: RunFolder,
    problem: Problem | None = None,
    outcome: Outcome | None = None,
    contents: Contents | None = None,
) -> Path:
    """Write `report.html` into a run folder, from what the folder holds.

    Parameters
    ----------
    problem : the run's problem, if it is at hand; else it is made again from the source.
    outcome : of the run that just ended: without a program, the page says why, and what was tried.
    contents : what the page says, if it was gathered already.
    """
    return folder.write(REPORT, page(contents or gather(folder, problem, outcome)))


def leave_report(folder: RunFolder, problem: Problem | None = None, outcome: Outcome | None = None) -> None:
    """Write `report.html`; whatever goes wrong with it, the run is complete without it."""
    try:
        write_report(folder, problem, outcome)
    except Exception as error:
        reason = str(error).rstrip(".")
        if not isinstance(error, Weights2CodeError):
            reason = f"{type(error).__name__}: {reason}"
        message = "report.html could not be made (%s); the other files are complete"
        logging.getLogger(__name__).warning(message, reason)


def write_plots(folder: RunFolder, form: PlotFormat) -> list[Path]:
    """Write every drawing of the report as a file of its own into the subfolder `plots`."""
    figures, files = Figures(), []
    made_sections(gather(folder), figures)
    for drawing in figures.drawings:
        content = drawing.document() if form == "svg" else png(drawing)
        files.append(folder.file("plots") / f"{_file_name(drawing.name)}.{form}")
        write_atomically(files[-1], content)
    return files


def fragment(program: Program, certificate: Certificate, explained: ExplainedGraph | None = None) -> str:
    """HTML for a notebook cell: formula, verdict, graph and source; no scripts, its own light colours."""
    colour, _ = VERDICTS[certificate.verdict]
    colours = light_colours()
    picture = ""
    if explained is not None:
        drawing = graph_drawing(explained)
        data = base64.b64encode(drawing.document().encode()).decode()
        words = escape(f"{drawing.title}. {drawing.description}", quote=True)
        # an image keeps the drawing's style apart from the notebook's
        source = f"data:image/svg+xml;base64,{data}"
        picture = f'<img alt="{words}" style="max-width:100%;margin-top:8px" src="{source}">'
    frame = (
        f"background:{colours['paper']};color:{colours['ink']};border:1px solid {colours['rule']};"
        "padding:12px 16px;border-radius:4px;max-width:100%;overflow-x:auto"
    )
    claim, _, basis = certificate.explain().partition(": ")
    verdict = f'<strong style="color:{colours[colour]}">{escape(claim)}</strong>: {escape(basis)}'
    for name, network in certificate.networks():
        verdict += f"<br>{name}: {escape(network.explain())}"
    source = f'<pre style="background:none;color:inherit;margin:6px 0 0">{escape(program.source())}</pre>'
    typeset = rule(program.recurrence, program.categories)
    return (
        f'<div style="{frame}"><div style="font-size:1.35em">{typeset}</div>'
        f'<p style="margin:10px 0 0">{verdict}</p>{picture}<details style="margin-top:8px">'
        f'<summary style="cursor:pointer">Program</summary>{source}</details></div>'
    )


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)


def png(drawing: Drawing) -> bytes:
    """A drawing as PNG; needs the extra `plots`."""
    try:
        import resvg_py
    except ImportError:
        raise InputError('PNG plots need one more package: pip install "weights2code[plots]".') from None
    return bytes(resvg_py.svg_to_bytes(svg_string=drawing.document(), zoom=ZOOM))
