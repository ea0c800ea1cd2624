"""What every format asks about a program: its names, how far it looks back, what lies before the start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from textwrap import wrap

from weights2code.errors import InputError
from weights2code.language import (
    OPERATORS,
    Const,
    Expr,
    Op,
    OverAll,
    Recurrence,
    Retrieval,
    Step,
    Var,
    expression_of,
    searched_by,
)
from weights2code.language.categories import Label
from weights2code.language.domain import Category, quoted
from weights2code.language.kinds import Kinds, kinds_of, lags_of
from weights2code.language.operators import QUOTIENT
from weights2code.language.python_source import readable_names
from weights2code.language.recurrence import with_formula
from weights2code.program import Program


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


def rule_of(
    program: Program,
    taken: Callable[[str], bool] = lambda name: False,
    alike: Callable[[str], str] = str,
) -> Rule:
    """The program's rule; no name is `taken`, and no two are `alike`, as capitals and others are to SQL."""
    recurrence = program.recurrence.live()
    kinds = kinds_of(program.recurrence, program.domains)
    steps = (
        Step(step.name, with_formula(step.definition, lambda expr: _as_written(expr, kinds)))
        for step in recurrence.steps
    )
    names, known = {"": program.name}, set[str]()
    for name, readable in (names | readable_names(recurrence, program.name)).items():
        free = readable
        while taken(free) or free.endswith(_KEPT) or alike(free) in known:
            free += "_"
        names[name] = free
        known.add(alike(free))
    lags = {name: lag for name, lag in lags_of(recurrence).items() if lag}
    for step in recurrence.steps:
        if isinstance(step.definition, Retrieval) and step.definition.gap > 1:  # it enters its table late
            for name in (step.definition.key, step.definition.value):
                lags[name] = max(lags.get(name, 0), step.definition.gap - 1)
    return Rule(replace(recurrence, steps=tuple(steps)), names, lags, names.pop(""), program.truths)


#: How texts call what they keep of a name: no name may end so.
_KEPT = ("_past", "_table", "_key")


def _as_written(expr: Expr, kinds: Kinds) -> Expr:
    """The formula with `a // b` where `program.py` has it: at times it is another number than floor(a/b)."""
    if not isinstance(expr, Op):
        return expr
    inner = expr.args[0]
    if (expr.name, getattr(inner, "name", "")) == ("floor", "div") and isinstance(inner, Op):
        whole = all(kinds.is_integer(argument) for argument in inner.args)
        expr = Op(QUOTIENT.name, inner.args) if whole else expr
    return Op(expr.name, tuple(_as_written(argument, kinds) for argument in expr.args))


def template(expr: Op, language: str) -> str:
    """How the table of operators writes one: some are shorter if the last argument is a positive number."""
    found = getattr(OPERATORS[expr.name], language)
    last = expr.args[-1]
    positive = isinstance(last, Const) and 0 < float(last.value) < math.inf
    return found if isinstance(found, str) else found[positive]


def written(
    expr: Expr,
    language: str,
    read: Callable[[Var], str],
    number: Callable[[float], str],
    label: Callable[[Category | None], str] | None = None,
) -> str:
    """An expression in a language of the table of operators; `label` writes texts, which else are numbers."""
    if isinstance(expr, Label) and label:
        return label(expr.text)
    if isinstance(expr, Const):
        return number(float(expr.value))
    if isinstance(expr, Var):
        return read(expr)
    assert isinstance(expr, Op)
    parts = [written(argument, language, read, number, label) for argument in expr.args]
    return template(expr, language).format(*parts)


def number_text(value: float, infinity: str, nan: str, *, decimals: bool = True) -> str:
    """A number with the sign in parentheses, as signs may follow each other nowhere; whole numbers may do
    without `decimals`."""
    text = repr(value) if decimals else repr(value).removesuffix(".0")
    if not math.isfinite(value):
        text = nan if math.isnan(value) else infinity if value > 0 else f"-{infinity}"
    return f"({text})" if text.startswith("-") else text


#: Characters of a line of a comment, and lines of a formula in it.
WIDE, LONGEST_FORMULA = 100, 8


def comment_lines(program: Program, *, numbered: bool = False, bits: bool = False) -> list[str]:
    """What stands at the top of a text: the rule, its domain, and how far it is trusted.

    Where texts are `numbered`, or truth values are `bits`, the text has no place for them, and says which
    number stands for which.
    """
    domains = zip(program.recurrence.inputs, program.domains, strict=True)
    rule = [part for line in program.formula().splitlines() for part in wrap(line, WIDE)]
    if len(rule) > LONGEST_FORMULA:
        rule = [*rule[: LONGEST_FORMULA - 1], "... (program.py has the whole rule)"]
    lines = [*rule, "", *(f"{name}: {domain}" for name, domain in domains)]
    for name, texts in program.categories.items() if numbered else ():
        listed = ", ".join(f"{code} is {quoted(text)}" for code, text in enumerate(texts, start=1))
        lines.append(f"Texts are numbers here: of {name}, {listed}.")
    if bits and program.truths:
        lines.append(f"True is 1 and False is 0 here: of {', '.join(sorted(program.truths))}.")
    lines += [*program.verdict.splitlines(), "Made by weights2code; it computes what program.py computes."]
    return [printable(part) for line in lines for part in wrap(line, WIDE) or [""]]


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
                "spreadsheet."
            )
