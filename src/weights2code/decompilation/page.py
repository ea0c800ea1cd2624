"""`report.html` of a decompilation, from its `certificate.json`: the program, how far the model agrees, and
where it departs, played step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from weights2code.decompilation.model import in_words
from weights2code.program import Program
from weights2code.report.head import rule_of
from weights2code.report.sections import Figure
from weights2code.report.svg import Drawing, Frame, legend, number
from weights2code.report.templating import rendered, style
from weights2code.verify import Certificate

#: Departures that are played, and their positions at most.
PLAYED, POSITIONS = 3, 60
COLOURS = {"departs": "bad", "agrees": "fair"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(program: Program, certificate: Certificate, data: dict[str, Any], title: str) -> str:
    """The whole document, of what `certificate.json` holds."""
    model = data["model"]
    against = f"The program against {data['against']}: {certificate.explain()}" if "against" in data else ""
    sections = [
        ("agreement", "How far the model agrees", _agreement(model)),
        ("departures", "Where it departs", _departures(program, model)),
        ("thin", "Thin places", _thin(program, model)),
        ("asked", "How it was asked", {"model": model, "others": model["other_rules"]}),
        ("program", "Program", {"source": program.source()}),
    ]
    return rendered(
        "page.html",
        bodies_of="decompiled.html",
        title=title,
        kicker="Decompiled model",
        head={
            "rule": rule_of(program),
            "colour": COLOURS.get(model["verdict"], "good"),
            "verdict": model["verdict"],
            "meaning": model["explanation"],
            "against": against,
        },
        sections=[{"anchor": a, "heading": heading, "data": of} for a, heading, of in sections if of],
        notes=(),
        config=[("seed", model["seed"]), ("queries", model["queries"])],
        certificate=certificate,
        policy=POLICY,
        style=Markup(style()),
        scripts=(),
    )


def _agreement(model: dict[str, Any]) -> dict[str, Any]:
    """Shares by length, longer lengths closer together."""
    shares = {
        int(n): (float(one), float(model["agreement_of_positions"][n]))
        for n, one in model["agreement"].items()
    }
    lengths, sequences = list(shares), [one for one, _ in shares.values()]
    frame = Frame.at((56, 44, 420, 180), (0.0, max(lengths[-1], lengths[0] + 1)), (-0.02, 1.05))
    body = legend(56, 14, [("line", "sequences"), ("line second", "positions")])
    body += frame.axes("", "length", [float(length) for length in lengths])
    body += frame.line(lengths, sequences) + frame.dots(lengths, sequences)
    body += frame.line(lengths, [positions for _, positions in shares.values()], "line second")
    told = ", ".join(f"{share:.3f} at {length}" for length, share in zip(lengths, sequences, strict=True))
    drawing = Drawing("agreement", 500, 270, body, "Agreement by length", f"Of random sequences: {told}.")
    rows = [(length, f"{one:.4f}", f"{two:.4f}") for length, (one, two) in shares.items()]
    return {"drawn": Figure(1, drawing, False), "rows": rows, "exhaustive": model["exhaustive_to"]}


def _departures(program: Program, model: dict[str, Any]) -> dict[str, Any]:
    played = [_played(program, one) for one in model["departures"][:PLAYED]]
    proven = played and model["shortest"]["proven_shortest"]
    return {"proven": proven, "regions": model["regions"], "played": played} if played else {}


def _played(program: Program, one: dict[str, Any]) -> dict[str, Any]:
    """A departure, a position a row, with what the program computes on the way."""
    machine, x = program.recurrence, np.array(one["inputs"], float)
    with np.errstate(all="ignore"):
        trace = machine.trace(x[None])
    inner = [step.name for step in machine.steps if step.name not in machine.outputs]
    names = [*machine.inputs, *inner, *machine.outputs]
    rows = []
    for t in range(max(0, len(x) - POSITIONS), len(x)):
        cells = [*(trace[name][0, t] for name in names), *one["outputs"][t]]
        margin = one["margins"][t]
        rows.append([t, *map(number, cells), "" if margin is None else number(margin, 3)])
    return {
        "count": len(x),
        "rows": rows,
        "heads": ["t", *names, *(f"model {o}" for o in machine.outputs), "margin"],
    }


def _thin(program: Program, model: dict[str, Any]) -> dict[str, Any]:
    rows = [
        (number(one["margin"], 3), in_words(np.array(one["inputs"][-POSITIONS:]))) for one in model["thin"]
    ]
    return {"heads": ("margin", ", ".join(program.recurrence.inputs)), "rows": rows} if rows else {}
