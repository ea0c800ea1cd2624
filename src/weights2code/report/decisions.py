"""Long rules as decision tables: a row a case, of which the first that fits counts, a column a quantity."""

from __future__ import annotations

from dataclasses import dataclass

from weights2code.language import Const, Expr, Op, Var
from weights2code.language.categories import spoken
from weights2code.program import Program

#: Cases from which on a table is easier to read than a formula.
FEWEST = 3
_SIGNS = {"ne": "≠", "lt": "<", "le": "≤", "gt": ">", "ge": "≥"}
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_OPPOSITE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


@dataclass(frozen=True, slots=True)
class Decisions:
    """The cases of a name: what is tested, and of each case the tests and what comes of it."""

    name: str
    tested: tuple[str, ...]
    cases: tuple[tuple[dict[str, str], str], ...]


def decisions(program: Program) -> list[Decisions]:
    """The steps that are chains of cases."""
    found = []
    for step in spoken(program.recurrence.live(), program.categories)[0].steps:
        cases: list[tuple[dict[str, str], str]] = []
        rest = step.definition
        while isinstance(rest, Op) and rest.name == "where":
            condition, gives, rest = rest.args
            cases.append((_tests(condition), str(gives)))
        if isinstance(rest, Expr) and len(cases) + 1 >= FEWEST:
            cases.append(({}, str(rest)))
            tested = dict.fromkeys(what for tests, _ in cases for what in tests)
            found.append(Decisions(step.name, tuple(tested), tuple(cases)))
    return found


def _tests(condition: Expr) -> dict[str, str]:
    """What is tested, and what it must be; a test of another kind is one quantity that must be true."""
    told: dict[str, str] = {}
    for test in _all_of(condition):
        what, must = _test(test, holds=True)
        told[what] = f"{told[what]} and {must}" if what in told else must
    return told


def _all_of(condition: Expr) -> list[Expr]:
    if isinstance(condition, Op) and condition.name == "and":
        return [test for argument in condition.args for test in _all_of(argument)]
    return [condition]


def _test(test: Expr, *, holds: bool) -> tuple[str, str]:
    if isinstance(test, Op) and test.name == "not":
        return _test(test.args[0], holds=not holds)
    if isinstance(test, Op) and test.name in _OPPOSITE:
        left, right, sign = *test.args, test.name
        if isinstance(left, Const):
            left, right = right, left
            sign = _TURNED.get(sign, sign)
        if isinstance(left, Var) and isinstance(right, (Const, Var)):
            sign = sign if holds else _OPPOSITE[sign]
            what = str(right)
            return called(left), what if sign == "eq" else f"{_SIGNS[sign]} {what}"
    return str(test), "holds" if holds else "does not hold"


def called(variable: Var) -> str:
    """A quantity as the head of a column."""
    before = f", {variable.lag} row{'s' * (variable.lag > 1)} before"
    return variable.name + before * bool(variable.lag)
