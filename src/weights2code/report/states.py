"""What a program remembers, as a diagram: its states, what it reads, and what it says then.

The states are those that the program itself can come to, from the start on, whatever it reads; all of them,
or the diagram is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from weights2code.kernel.closing import Stopped, Unsuited, Written
from weights2code.language import Recurrence, Var
from weights2code.language.categories import decoded, with_locals
from weights2code.language.machine_text import machine_text
from weights2code.language.sums import Unwritten
from weights2code.language.walking import Walked, walked
from weights2code.program import Program
from weights2code.report.svg import Drawing, n, number, text

#: States that are listed at most, and that are drawn; inputs, and words of an arrow.
MOST_STATES, DRAWN, MOST_SYMBOLS, MOST_WORDS = 32, 12, 24, 3
#: Radius of a state, and of the circle on which they stand, for each of them.
STATE, ROOM = 34.0, 44.0


@dataclass(frozen=True, slots=True)
class Machine:
    """States by what they are called, the first of them the start, and what leads from one to another."""

    holds: str
    states: tuple[str, ...]
    moves: dict[tuple[int, int], list[str]]


def machine_of(program: Program) -> Machine | None:
    """The states of a program, if it has few and they are more than its last inputs."""
    program = program.reading()
    rule, domains = program.recurrence, program.domains
    kept = [v for v in rule.state() if v.name not in rule.inputs]
    if not kept or rule.retrieves() or not all(domain.discrete for domain in domains):
        return None
    if math.prod(domain.size for domain in domains) > MOST_SYMBOLS:
        return None
    symbols = list(product(*(domain.values().tolist() for domain in domains)))
    found = _walked(rule, symbols)
    if found is None:
        return None
    texts = with_locals(rule, program.categories)

    def shown(name: str, value: float) -> str:
        if name in texts:
            return _word(decoded(np.array([value]), texts[name])[0])
        return _word(bool(value)) if name in program.truths else number(value, 3)

    outputs = [name for name in rule.outputs if Var(name, 1) not in kept or len(kept) > 1]
    arrows: dict[tuple[int, int], list[str]] = {}
    for before, (moves, said) in enumerate(zip(found.moves, found.answers, strict=True)):
        for symbol, after, answers in zip(symbols, moves, said, strict=True):
            read = ", ".join(shown(name, v) for name, v in zip(rule.inputs, symbol, strict=True))
            told = ", ".join(shown(name, answers[rule.outputs.index(name)]) for name in outputs)
            arrows.setdefault((before, after), []).append(f"{read} / {told}" if told else read)
    state = rule.state()
    names = [
        ", ".join(shown(v.name, value) for v, value in zip(state, values, strict=True))
        for values in found.states
    ]
    return Machine(", ".join(str(v) if v.lag > 1 else v.name for v in state), tuple(names), arrows)


def _walked(rule: Recurrence, symbols: list[tuple[float, ...]]) -> Walked | None:
    """All states, from the start on, whatever is read; None if they are too many, or nobody can tell."""
    if any(rule.start_of(v.name) == "first" for v in rule.state()):
        return None

    def step(state: tuple, row: tuple) -> tuple[tuple, tuple]:
        answers, after = alone.step(state, row)
        return after, answers

    try:
        alone = Written(machine_text(rule, floats=True))
        start = alone.start(symbols[0])
        found = walked(start, step, symbols, MOST_STATES)
    except (Unwritten, Stopped, Unsuited):
        return None
    return found if found and np.isfinite(np.array(found.states, float)).all() else None


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


def machine_drawing(machine: Machine) -> Drawing:
    """The states on a circle, from the top on clockwise, and arrows with what is read (and said)."""
    count = len(machine.states)
    radius = max(105.0, ROOM * count / 2)
    middle = radius + 110.0
    places = [
        (
            middle + radius * math.sin(2 * math.pi * i / count),
            middle - radius * math.cos(2 * math.pi * i / count),
        )
        for i in range(count)
    ]
    body = "".join(
        _arrow(places, before, after, words, middle) for (before, after), words in machine.moves.items()
    )
    for i, ((x, y), name) in enumerate(zip(places, machine.states, strict=True)):
        kind = "node out" if i == 0 else "node"
        short = name if len(name) <= 11 else f"{name[:10]}…"
        body += f'<circle class="{kind}" cx="{n(x)}" cy="{n(y)}" r="{n(STATE)}"/>'
        body += text(x, y + 4, short, "middle")
        body += text(x, y + 18, "start", "tick middle") if i == 0 else ""
    told = "; ".join(
        f"from {machine.states[a]} to {machine.states[b]} by {', '.join(words[:MOST_WORDS])}"
        for (a, b), words in machine.moves.items()
    )
    return Drawing("states", 2 * middle, 2 * middle, body, f"States of {machine.holds}", told[:1500])


def _arrow(
    places: list[tuple[float, float]], before: int, after: int, words: list[str], middle: float
) -> str:
    """An arrow that is bent, so that one back has room beside it; a loop stands outside the circle."""
    (x1, y1), (x2, y2) = places[before], places[after]
    more = f", … ({len(words)})" if len(words) > MOST_WORDS else ""
    label = ", ".join(words[:MOST_WORDS]) + more
    if before == after:
        away = math.hypot(x1 - middle, y1 - middle) or 1.0
        ux, uy = ((x1 - middle) / away, (y1 - middle) / away) if len(places) > 1 else (0.0, -1.0)
        tip, base = (x1 + STATE * ux, y1 + STATE * uy), 20.0
        left = (tip[0] + 42 * ux - base * uy, tip[1] + 42 * uy + base * ux)
        right = (tip[0] + 42 * ux + base * uy, tip[1] + 42 * uy - base * ux)
        path = f"M{_point(*tip)}C{_point(*left)} {_point(*right)} {_point(*tip)}"
        at, heading = (
            (x1 + (STATE + 44 + 3 * len(label) * abs(ux)) * ux, y1 + (STATE + 48) * uy),
            math.atan2(-uy, -ux),
        )
        end = tip
    else:
        length = math.hypot(x2 - x1, y2 - y1)
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        bend = ((x1 + x2) / 2 - 36 * uy, (y1 + y2) / 2 + 36 * ux)
        heading = math.atan2(y2 - bend[1], x2 - bend[0])
        end = (x2 - STATE * math.cos(heading), y2 - STATE * math.sin(heading))
        path = f"M{_point(x1, y1)}Q{_point(*bend)} {_point(*end)}"
        aside = 10 + 3 * len(label) * abs(uy)  # beside the line, not on it
        at = ((x1 + x2) / 4 + bend[0] / 2 - aside * uy, (y1 + y2) / 4 + bend[1] / 2 + aside * ux + 4)
    wings = ""
    for side in (0.4, -0.4):
        wing = end[0] - 9 * math.cos(heading + side), end[1] - 9 * math.sin(heading + side)
        wings += f"L{_point(*wing)}M{_point(*end)}"
    return f'<path class="edge" d="{path}{wings}"/>{text(at[0], at[1], label, "tick middle")}'


def _point(x: float, y: float) -> str:
    return f"{n(x)} {n(y)}"
