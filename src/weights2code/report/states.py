"""What a program remembers, as a diagram: its states, what it reads, and what it says then.

The states are those that the program itself can come to, from the start on, whatever it reads; all of them,
or the diagram is left out.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from weights2code.kernel.closing import Stopped, Unsuited, Written
from weights2code.language import Recurrence
from weights2code.language.categories import decoded, with_locals
from weights2code.language.machine_text import machine_text
from weights2code.language.sums import Unwritten
from weights2code.language.walking import Walked, walked
from weights2code.program import Program
from weights2code.report.svg import Drawing, n, number, text

#: States that are listed at most, and that are drawn; inputs, and words of an arrow.
MOST_STATES, DRAWN, MOST_SYMBOLS, MOST_WORDS = 32, 12, 24, 3
#: Radius of a state, room on the circle for each of them, and room for words beside and above it.
STATE, ROOM, ASIDE, ABOVE = 38.0, 52.0, 190.0, 125.0


@dataclass(frozen=True, slots=True)
class Machine:
    """States by what they are called, the first of them the start, and what leads from one to another."""

    holds: str
    states: tuple[str, ...]
    moves: dict[tuple[int, int], list[str]]


def machine_of(program: Program) -> Machine | None:
    """The states of a program, if it has few and they are more than its last inputs; those that no sequence
    tells apart are one."""
    program = program.reading()
    rule, domains = program.recurrence, program.domains
    state = rule.state()
    if all(v.name in rule.inputs for v in state) or rule.retrieves():
        return None
    if not all(domain.discrete for domain in domains):
        return None
    if math.prod(domain.size for domain in domains) > MOST_SYMBOLS:
        return None
    symbols = list(product(*(domain.values().tolist() for domain in domains)))
    found = _walked(rule, symbols)
    if found is None:
        return None
    texts = with_locals(rule, program.categories)

    def shown(names: Iterable[str], values: Iterable[float]) -> str:
        return ", ".join(map(word, names, values))

    def word(name: str, value: float) -> str:
        if name in texts:
            return decoded(np.array([value]), texts[name])[0] or "nothing"
        return str(bool(value)) if name in program.truths else number(value, 3)

    group = _told_apart(found)
    names = [shown((v.name for v in state), values) for values in found.states]
    members: dict[int, list[str]] = {}
    for one, name in zip(group, names, strict=True):
        members.setdefault(one, []).append(name)
    arrows: dict[tuple[int, int], list[str]] = {}
    for one in members:
        before = group.index(one)
        for symbol, after, answers in zip(symbols, found.moves[before], found.answers[before], strict=True):
            told = f"{shown(rule.inputs, symbol)} / {shown(rule.outputs, answers)}"
            arrows.setdefault((one, group[after]), []).append(told)
    return Machine(
        ", ".join(str(v) if v.lag > 1 else v.name for v in state),
        tuple(map(" or ".join, members.values())),
        arrows,
    )


def _told_apart(found: Walked) -> list[int]:
    """Which states some sequence tells apart: of each the number of its group, the start in the first."""
    group, count = [0] * len(found.states), 0
    while True:
        kinds = [
            (own, str(said), tuple(group[after] for after in moves))
            for own, said, moves in zip(group, found.answers, found.moves, strict=True)
        ]
        numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
        group = [numbers[kind] for kind in kinds]
        if len(numbers) == count:
            return group
        count = len(numbers)


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


def machine_drawing(machine: Machine) -> Drawing:
    """The states on a circle, from the left on clockwise, and arrows with what is read and said."""
    count = len(machine.states)
    radius = max(110.0, ROOM * count / 2) if count > 1 else 0.0
    turns = [cmath.exp(1j * math.pi * (1 + 2 * i / count)) for i in range(count)]
    tallest = radius * max(abs(turn.imag) for turn in turns)
    centre = complex(radius + ASIDE, tallest + ABOVE)
    places = [centre + radius * turn for turn in turns]
    body = "".join(
        _arrow(places[a], places[b], (places[a] - centre) / radius if radius else -1j, words)
        for (a, b), words in machine.moves.items()
    )
    for i, (at, name) in enumerate(zip(places, machine.states, strict=True)):
        body += f'<circle class="node{" out" * (not i)}" cx="{n(at.real)}" cy="{n(at.imag)}" r="{n(STATE)}"/>'
        several = name.split(" or ")
        lines = [line if len(line) <= 11 else f"{line[:10]}…" for line in several[:2]]
        lines += ["…"] * (len(several) > 2)
        body += _lines(at - 1j * (6 * len(lines) - 10), lines, "middle")
        body += text(at.real, at.imag + STATE - 4, "start", "tick middle") if i == 0 else ""
    told = "; ".join(
        f"from {machine.states[a]} to {machine.states[b]} by {', '.join(_first(words))}"
        for (a, b), words in machine.moves.items()
    )
    size = 2 * centre.real, 2 * centre.imag
    return Drawing("states", *size, body, f"States of {machine.holds}", told[:1500])


def _first(words: list[str]) -> list[str]:
    more = len(words) - MOST_WORDS
    return [*words[:MOST_WORDS], *([f"… ({more} more)"] if more > 0 else [])]


def _lines(at: complex, lines: list[str], kind: str) -> str:
    """Lines below each other, the first at that place."""
    return "".join(text(at.real, at.imag + 13 * i, line, kind) for i, line in enumerate(lines))


def _arrow(start: complex, end: complex, outwards: complex, words: list[str]) -> str:
    """An arrow that is bent, so that one back has room beside it; a loop stands outside the circle. Points
    are complex numbers, so that times 1j is a quarter of a turn."""
    if start == end:
        away = outwards
        tip = start + STATE * away
        left, right = (tip + 42 * away + side * 20j * away for side in (1, -1))
        path, heading, at = (
            f"M{_point(tip)}C{_point(left)} {_point(right)} {_point(tip)}",
            -away,
            tip + 40 * away,
        )
    else:
        along = (end - start) / abs(end - start)
        away = -1j * along
        bend = (start + end) / 2 + 40 * away
        heading = (end - bend) / abs(end - bend)
        tip = end - STATE * heading
        path, at = f"M{_point(start)}Q{_point(bend)} {_point(tip)}", (start + 2 * bend + end) / 4 + 8 * away
    for side in (0.4, -0.4):
        path += f"L{_point(tip - 9 * heading * cmath.exp(1j * side))}M{_point(tip)}"
    lines = _first(words)
    sideways = abs(away.real) > 0.5
    kind = ("tick" if away.real > 0 else "tick end") if sideways else "tick middle"
    up = (len(lines) - 1) / 2 if sideways else len(lines) - 1 if away.imag < 0 else -0.6
    return f'<path class="edge" d="{path}"/>{_lines(at - 13j * up + 4j, lines, kind)}'


def _point(at: complex) -> str:
    return f"{n(at.real)} {n(at.imag)}"
