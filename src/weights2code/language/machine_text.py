"""Recurrences as texts of their own, for closing: `start(row)` and `step(state, row)` in plain Python.

A specification is written on exact numbers: integers and fractions, 0.1 being a tenth; what has no exact
value (roots, sines) is refused. A network is written on float64, operation by operation in the order of its
trees, which is the order that `load_network` computes in. Branches that are not taken are not computed, as in
a program. What lookups and counts go over is kept as a table.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import isinf

from weights2code.heads import RECENCY
from weights2code.language import (
    Const,
    Count,
    Expr,
    Number,
    Op,
    OverAll,
    Recurrence,
    Retrieval,
    Selection,
    Var,
    exact_number,
    expression_of,
)
from weights2code.language import machine_calls as calls
from weights2code.language.kinds import lags_of
from weights2code.language.operators import order_of
from weights2code.language.recurrence import SIGNS
from weights2code.language.sums import Unwritten

#: How operators are written where no infinity can come up; of sums see `_Writer.text`.
_FORMS = {
    **{name: f"(1 if {{0}} {sign} {{1}} else 0)" for name, sign in {**SIGNS, "ne": "!="}.items()},
    "and": "(1 if {0} and {1} else 0)",
    "or": "(1 if {0} or {1} else 0)",
    "not": "(0 if {0} else 1)",
    "where": "({1} if {0} else {2})",
    "neg": "(-{0})",
    "abs": "abs({0})",
    "relu": "max({0}, 0)",
    "max": "max({0}, {1})",
    "min": "min({0}, {1})",
    "clip": "min(max({0}, {1}), {2})",
    "mod": "({0} % {1})",
    "floor": "floor({0})",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "({0} * {1})",
    "div": "(Fraction({0}) / Fraction({1}))",
    "pow": "power({0}, {1})",
}
_INFINITE = {
    **_FORMS,
    **{
        name: f"number({{0}} {sign} {{1}})"
        for name, sign in {"add": "+", "sub": "-", "mul": "*", "mod": "%"}.items()
    },
    "div": "quotient({0}, {1})",
}
_FLOATS = _FORMS | {"div": "({0} / {1})", "relu": "relu({0})", "floor": "({0} // 1.0)"}


#: How far back what a head selects can lie, and the keys that it can meet, by the name of its step.
Windows = Mapping[str, tuple[int, tuple[float, ...]]]


def machine_text(
    machine: Recurrence,
    *,
    floats: bool = False,
    windows: Windows | None = None,
    weight: Callable[[float], str | None] = lambda value: None,
) -> str:
    """The text of a machine, on exact numbers or on float64.

    What a head selects among is kept as far back as `windows` say, which is checked at every position, or for
    ever. `weight` writes a constant that is a weight of a network, or gives None.

    Raises
    ------
    Unwritten
        If it has no such text: an operator without an exact value.
    """
    return _Writer(machine, floats, windows or {}, weight).text()


class _Writer:
    def __init__(
        self, machine: Recurrence, floats: bool, windows: Windows, weight: Callable[[float], str | None]
    ) -> None:
        self.machine, self.floats, self.windows, self.weight = machine, floats, windows, weight
        self.lags = {name: lag for name, lag in sorted(lags_of(machine).items()) if lag}
        names = [*machine.inputs, *(step.name for step in machine.steps)]
        self.names = {name: f"v{i}_{re.sub(r'[^A-Za-z0-9]+', '_', name)}" for i, name in enumerate(names)}
        numbers = [node.value for step in machine.steps for node in expression_of(step.definition).walk()
                   if isinstance(node, Const)]  # fmt: skip
        numbers += [start for start in machine.start.values() if not isinstance(start, str)]
        infinite = any(isinstance(value, float) and isinf(value) for value in numbers)
        self.forms = _FLOATS if floats else _INFINITE if infinite else _FORMS

    def text(self) -> str:
        machine, names = self.machine, self.names
        self.made: list[str] = []
        steps = enumerate(machine.steps)
        tables = {step.name: f"table_{i}" for i, step in steps if isinstance(step.definition, OverAll)}
        past = [(name, k) for name, lag in self.lags.items() for k in range(1, lag + 1)]
        kept = [*(f"{names[n]}_{k}" for n, k in past), *tables.values()]
        after = [*(f"{names[n]}_{k - 1}" if k > 1 else names[n] for n, k in past), *tables.values()]
        given = "float" if self.floats else "given"
        lines = [f"{_tuple(kept)} = state"] if kept else []
        lines += [f"{names[name]} = {given}(row[{i}])" for i, name in enumerate(machine.inputs)]
        later = []
        for step in machine.steps:
            name, found = names[step.name], step.definition
            if isinstance(found, Expr):
                lines.append(f"{name} = {self.expression(found)}")
                continue
            table, query = tables[step.name], self.expression(found.query)
            if isinstance(found, Count):
                holds = self.forms[found.relation].format("key", "asked")
                lines += [
                    f"{table} = counted({table}, {names[found.key]})",
                    f"asked = {query}",
                    f"{name} = sum(many * {holds} for key, many in {table}.content.items())",
                ]
            elif isinstance(found, Retrieval):
                enters = f"{table} = entered({table}, {found.gap}, {names[found.key]}, {names[found.value]})"
                (later if found.gap else lines).append(enters)
                lines.append(f"{name} = {table}.content.get({query}, {self.number(found.default)})")
            else:
                lines += self.selection(step.name, found, table, query)
        answers = [names[name] for name in machine.outputs]
        lines += [*later, f"return {_tuple(answers)}, {_tuple(after)}"]
        begins = _tuple([*(self.start(name) for name, _ in past), *["Table({})"] * len(tables)])
        lines = [f"    {line}" for line in lines]
        lines = ["def start(row):", f"    return {begins}", "", "", "def step(state, row):", *lines]
        body = "\n\n\n".join([*self.made, "\n".join(lines)])
        called: list[str] = []
        for name in [*reversed(calls.__all__), *reversed(calls.__all__)]:  # they call each other once
            source = inspect.getsource(getattr(calls, name))
            if source not in called and re.search(rf"\b{name}\(", "\n".join([body, *called])):
                called.append(source)
        return "\n\n".join([*called, body]) + "\n"

    def selection(self, step: str, found: Selection, table: str, query: str) -> list[str]:
        """A head that seeks by content: what it selects among waits in its table."""
        if not self.floats:
            raise Unwritten(f"{step} selects by scores, which have no exact value")
        scores, (window, keys) = found.scores, self.windows.get(step, (None, ()))
        content, recency = f"-{scores.sharpness!r} * ((q - k) * (q - k))", RECENCY
        if scores.query_table:
            low, high = scores.value_range
            mixed = [
                f"mixed({x}, {_tuple(map(self.numbers, rows))}, {low!r}, {high!r})"
                for x, rows in (("q", scores.query_table), ("k", scores.key_table))
            ]
            width, recency = math.sqrt(len(scores.query_table[0])), 0
            content = f"summed(a * b for a, b in zip({', '.join(mixed)})) / {width!r}"
        head = f"(content_{table}, {recency}, {self.numbers(scores.bias)}, {self.number(scores.null)})"
        self.made += [
            f"def content_{table}(q, k):\n    return {content}",
            f"known_{table}, head_{table} = {{}}, {head}",
        ]
        pair = f"({self.names[found.key]}, {self.names[found.value]})"
        cut, far = ("", "") if window is None else (f"[-{window + 1}:]", f", {window}, {keys}")
        return [
            f"{table} = Table({{}}, (*{table}.waiting, {pair}){cut})",
            f"{self.names[step]} = select({query}, {table}.waiting, known_{table}, head_{table}{far})",
        ]

    def numbers(self, values: Iterable[Number]) -> str:
        return _tuple(map(self.number, values))

    def start(self, name: str) -> str:
        start = self.machine.start_of(name)
        if isinstance(start, str):
            return f"{'float' if self.floats else 'given'}(row[{self.machine.inputs.index(name)}])"
        return self.number(start)

    def number(self, value: Number) -> str:
        if self.floats:
            return self.weight(float(value)) or f"({float(value)!r})"
        exact = exact_number(value)
        if isinstance(exact, Fraction):
            return f"Fraction({exact.numerator}, {exact.denominator})"
        return f"({exact!r})" if exact < 0 else repr(exact)

    def expression(self, expr: Expr) -> str:
        if isinstance(expr, Const):
            return self.number(expr.value)
        if isinstance(expr, Var):
            return f"{self.names[expr.name]}_{expr.lag}" if expr.lag else self.names[expr.name]
        assert isinstance(expr, Op)
        parts = []
        for place, part in enumerate(expr.args):
            text, sums = self.expression(part), isinstance(part, Op) and part.name in ("add", "sub")
            # a sum on the left of a sum is computed first anyhow: brackets there would nest without end
            first = place == 0 and expr.name in ("add", "sub")
            parts.append(f"({text})" if sums and not first and self.forms is not _INFINITE else text)
        order = order_of(expr.name)
        if order is not None:
            return f"sorted([{', '.join(parts)}])[{order[0] - 1}]"
        if expr.name not in self.forms:
            raise Unwritten(f"{expr.name} has no exact value")
        return self.forms[expr.name].format(*parts)


def _tuple(items: Iterable[str]) -> str:
    return f"({''.join(f'{item}, ' for item in items)})"
