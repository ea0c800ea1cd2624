"""Making the report: the page, and single plots as files."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Literal

from weights2code.data import Problem
from weights2code.errors import InputError, Weights2CodeError
from weights2code.report.contents import Contents, gather
from weights2code.report.page import page
from weights2code.report.sections import Figures, made_sections
from weights2code.report.svg import Drawing
from weights2code.results import Outcome
from weights2code.run_folder import REPORT, RunFolder, write_atomically

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
        name = re.sub(r"[^\w-]", "_", drawing.name)
        files.append(folder.file("plots") / f"{name}.{form}")
        write_atomically(files[-1], content)
    return files


def png(drawing: Drawing) -> bytes:
    """A drawing as PNG; needs the extra `plots`."""
    try:
        import resvg_py
    except ImportError:
        raise InputError('PNG plots need one more package: pip install "weights2code[plots]".') from None
    return bytes(resvg_py.svg_to_bytes(svg_string=drawing.document(), zoom=ZOOM))
