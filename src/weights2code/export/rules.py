"""What every format asks about a program: its names, how far it looks back, what lies before the start."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from weights2code.errors import InputError
from weights2code.language import (
    OPERATORS,
    Const,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Retrieval,
    Var,
    expression_of,
    searched_by,
)
from weights2code.language.domain import quoted
from weights2code.language.kinds import lags_of
from weights2code.program import Program
from weights2code.program.python_source import readable_names


@dataclass(frozen=True, slots=True)
class Rule:
    """A recurrence without steps that nobody needs, its names as a language can write them.

    `lags` says how far back each name is read; names that are read at no earlier time are left out. Inputs
    and outputs that are `truths` are computed with as 1 and 0, and go in and out as the language has them.
    """

    recurrence: Recurrence
    names: Mapping[str, str]
    lags: Mapping[str, int]
    function: str
    truths: frozenset[str] = frozenset()

    def first(self, name: str) -> bool:
        """Whether the first value stands before the start."""
        return self.recurrence.start_of(name) == "first"

    def start(self, name: str) -> float:
        start = self.recurrence.start_of(name)
        return 0.0 if isinstance(start, str) else float(start)

    def used(self) -> set[str]:
        """Names that are read at the present, or kept for later."""
        found = set(self.lags)
        for step in self.recurrence.steps:
            read = expression_of(step.definition).variables()
            found |= {*searched_by(step.definition), *(v.name for v in read if not v.lag)}
        return found

    def read(self, variable: Var) -> str:
        """A value now, or out of the array that keeps the last ones."""
        name = self.names[variable.name]
        return f"{name}_past[{variable.lag - 1}]" if variable.lag else name


def rule_of(program: Program, taken: Collection[str]) -> Rule:
    """The program's rule; no name is one of those that are `taken`."""
    recurrence = program.recurrence.live()
    function = _free(program.name, taken)
    names: dict[str, str] = {}
    for name, readable in readable_names(recurrence, function).items():
        free = _free(readable, {*taken, function, *names.values()})
        names[name] = free
    lags = {name: lag for name, lag in lags_of(recurrence).items() if lag}
    for step in recurrence.steps:
        if isinstance(step.definition, Retrieval) and step.definition.gap > 1:  # it enters its table late
            for name in (step.definition.key, step.definition.value):
                lags[name] = max(lags.get(name, 0), step.definition.gap - 1)
    return Rule(recurrence, names, lags, function, program.truths)


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


#: How texts call what they keep of a name: no name may end so.
_KEPT = ("_past", "_table", "_key")


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken or name.endswith(_KEPT):
        name += "_"
    return name


def written(expr: Expr, language: str, read: Callable[[Var], str], number: Callable[[float], str]) -> str:
    """An expression in a language of the table of operators."""
    if isinstance(expr, Const):
        return number(float(expr.value))
    if isinstance(expr, Var):
        return read(expr)
    assert isinstance(expr, Op)
    parts = [written(argument, language, read, number) for argument in expr.args]
    return getattr(OPERATORS[expr.name], language).format(*parts)


def comment_lines(program: Program, *, numbered: bool = False, bits: bool = False) -> list[str]:
    """What stands at the top of a text: the rule, its domain, and how far it is trusted.

    Where texts are `numbered`, or truth values are `bits`, the text has no place for them, and says which
    number stands for which.
    """
    domains = zip(program.recurrence.inputs, program.domains, strict=True)
    lines = [*program.formula().splitlines(), "", *(f"{name}: {domain}" for name, domain in domains)]
    for name, texts in program.categories.items() if numbered else ():
        listed = ", ".join(f"{code} is {quoted(text)}" for code, text in enumerate(texts, start=1))
        lines.append(f"Texts are numbers here: of {name}, {listed}.")
    if bits and program.truths:
        lines.append(f"True is 1 and False is 0 here: of {', '.join(sorted(program.truths))}.")
    lines += [*program.verdict.splitlines(), "Made by weights2code; it computes what program.py computes."]
    return [printable(line) for line in lines]


def printable(line: str) -> str:
    """No name or word may end a comment."""
    plain = "".join(character if character.isprintable() else " " for character in line)
    return plain.replace("*/", "* /").replace("/*", "/ *").rstrip("\\")


def refuse_lookups(rule: Rule, language: str) -> None:
    """Say why a language cannot hold a rule that looks up what was seen long ago."""
    for step in rule.recurrence.steps:
        if isinstance(step.definition, OverAll):
            looked_up = isinstance(step.definition, Retrieval)
            raise InputError(
                f"{language} cannot hold this program: {step.name} is "
                f"{'looked up' if looked_up else 'counted'} among all earlier rows, and {language} carries "
                "from row to row only so many values as are counted beforehand; choose c, javascript or "
                "excel."
            )
