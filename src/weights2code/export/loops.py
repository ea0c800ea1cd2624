"""Languages with loops: one function goes over the rows, and keeps no more than the rule looks back.

The walk is one; a language is a table of the words that it has for each part. Every word that stands in such
a table, or in the language's column of the operators, is one that no name of a program may be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from weights2code.export.rules import Rule, number_text, rule_of, written
from weights2code.language import OPERATORS, Count, Expr, OverAll, Retrieval, Var
from weights2code.language.operators import QUOTIENT, order_name
from weights2code.program import Program


def helpers(file: str) -> dict[str, str]:
    """The functions of a file beside this one, each after the word that calls for it."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    _, *parts = re.split(r"^//: (\w+)\n", text, flags=re.MULTILINE)
    return {word: code.strip() for word, code in zip(parts[::2], parts[1::2], strict=True)}


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes the parts; places are a name and what belongs to it.

    Parameters
    ----------
    column : of the table of operators.
    keywords : words that no name may be beside those of the texts.
    helpers : functions by a word that calls for them.
    frame : what stands around the loop, for its words.
    value : a name gets a value.
    past, shift : an array of the last values (name, how many, start); the present value becomes the newest.
    table, keep, find : the last value of each key (name), one more (key, value), one of them (key, or else).
    seen, insort, bisect, size : a sorted list (name), one more, how many lie below (query, or equal: 1), all.
    """

    column: str
    keywords: str
    helpers: Mapping[str, str]
    frame: str
    infinity: str
    nan: str
    value: str
    past: str
    shift: str
    table: str
    keep: str
    find: str
    seen: str
    insort: str
    bisect: str
    size: str

    def words(self) -> frozenset[str]:
        """Every word that has a meaning in a function."""
        entries = [*OPERATORS.values(), QUOTIENT, OPERATORS[order_name(2, 3)]]
        texts = [getattr(entry, self.column) for entry in entries]
        texts += [text for item in fields(self) if isinstance(text := getattr(self, item.name), str)]
        return frozenset(re.findall(r"[^\W\d]\w*", " ".join(texts)))

    def rule(self, program: Program, *, macros: bool = False) -> Rule:
        """The rule with names that are free here; `macros` are words in capitals that headers define."""
        words = self.words()
        capitals = re.compile(r"[A-Z][A-Z0-9_]*[A-Z0-9]" if macros else r"(?!)")
        return rule_of(program, lambda name: name in words or capitals.fullmatch(name) is not None)

    def needed(self, lines: list[str]) -> list[str]:
        """The helpers that a text calls."""
        text = "\n".join(lines)
        return [code for word, code in self.helpers.items() if re.search(rf"\b{word}\b", text)]

    def number(self, value: float) -> str:
        return number_text(value, self.infinity, self.nan)

    def before(self, rule: Rule, first: Callable[[str], str]) -> list[str]:
        """What is there before the loop; `first` writes the first value of an input."""
        lines = []
        for name, lag in rule.lags.items():
            start = first(name) if rule.first(name) else self.number(rule.start(name))
            lines += self.past.format(rule.names[name], lag, start).splitlines()
        for step in rule.recurrence.steps:
            if isinstance(step.definition, OverAll):
                ordered = isinstance(step.definition, Count) and step.definition.relation != "eq"
                lines.append((self.seen if ordered else self.table).format(rule.names[step.name]))
        return lines

    def inside(self, rule: Rule, cell: Callable[[str], str]) -> list[str]:
        """What one row takes; `cell` writes an input."""
        recurrence, used, lines, late = rule.recurrence, rule.used(), [], []
        for name in recurrence.inputs:
            if name in used:
                lines.append(self.value.format(rule.names[name], cell(name)))
        for step in recurrence.steps:
            definition, name = step.definition, rule.names[step.name]
            if isinstance(definition, Retrieval):
                lag = max(definition.gap - 1, 0)
                key, value = (self.read(rule, Var(read, lag)) for read in (definition.key, definition.value))
                line = self.keep.format(name, key, value)
                (late if definition.gap else lines).append(f"if (t >= {lag}) {line}" if lag else line)
                query, default = self.text(definition.query, rule), self.number(definition.default)
                text = self.find.format(name, query, default)
            elif isinstance(definition, Count):
                added, text = self.counted(rule, name, definition)
                lines.append(added)
            else:
                assert isinstance(definition, Expr), definition
                text = self.text(definition, rule)
            lines.append(self.value.format(name, text))
        shifts = [self.shift.format(rule.names[name], lag) for name, lag in rule.lags.items()]
        return [*lines, *late, *(line for shift in shifts for line in shift.splitlines())]

    def counted(self, rule: Rule, name: str, definition: Count) -> tuple[str, str]:
        """The key goes in, then the number of those that stand so to the query, as `program.py` has it."""
        key, query = rule.names[definition.key], self.text(definition.query, rule)
        zero = self.number(0.0)
        if definition.relation == "eq":
            more = f"{self.find.format(name, key, zero)} + 1"
            return self.keep.format(name, key, more), self.find.format(name, query, zero)
        below = self.bisect.format(name, query, int(definition.relation in ("le", "gt")))
        rest = f"{self.size.format(name)} - {below}"
        return self.insort.format(name, key), below if definition.relation in ("lt", "le") else rest

    def read(self, rule: Rule, variable: Var) -> str:
        """A value now, or out of the array that keeps the last ones."""
        name = rule.names[variable.name]
        return f"{name}_past[{variable.lag - 1}]" if variable.lag else name

    def text(self, expr: Expr, rule: Rule) -> str:
        return written(expr, self.column, lambda variable: self.read(rule, variable), self.number)
