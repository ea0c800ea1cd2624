"""Statements of random step functions: what people write when a program must remember something.

A `Writer` adds statements one after another. A statement updates a register by its role (a counter, a level,
a remembered value, a flag, a timer, a mode in words, the row before, a window of rows), computes a value of
the row, or has registers change together; its conditions and amounts are drawn from whatever can be read at
that place. The output is drawn last, of what was written. Nothing here is chosen by what could be recovered
from sequences: `step_functions` refuses what is degenerate, and no more.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from step_expressions import Reader, Value

Lines = list[str]

#: What a program may be asked to have.
IDIOMS = (
    "register", "timer", "mode", "string mode", "table", "arithmetic", "past", "window", "nested",
)  # fmt: skip
#: Depth to which statements stand within statements.
DEEPEST = 2


def indented(head: str, body: Lines) -> Lines:
    return [head, *(f"    {line}" for line in body)]


def weight(lines: Sequence[str]) -> int:
    """Assignments and conditions (if, elif and conditional expressions): what a size is counted by."""
    counted = (ast.Assign, ast.AugAssign, ast.If, ast.IfExp)
    return sum(isinstance(node, counted) for node in ast.walk(ast.parse("\n".join(lines))))


class Writer(Reader):
    """A program while it is written."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.ending: Lines = []  # what is remembered for the next row

    # Moves: what a branch does to a register

    def moves(self, value: Value) -> tuple[Lines, Lines]:
        """Moves of a register for the case that something happens, and for the other one."""
        n, top = value.text, int(value.high)
        if value.role == "count":
            return (
                [f"{n} += 1", f"{n} += 1", f"{n} = min({n} + 1, {top})", f"{n} = ({n} + 1) % {top + 1}"],
                [f"{n} = 0", f"{n} = 0", f"{n} = max({n} - 1, 0)", f"{n} = max({n} - 2, 0)"],
            )
        if value.role == "level":
            by, down = self.amount(without=n).text, self.amount(0, without=n).text
            grow = [f"{n} += {by}", f"{n} = min({n} + {by}, {top})", f"{n} = ({n} + {by}) % {top}"]
            shrink = [f"{n} = max({n} - {self.between(1, 3)}, 0)", f"{n} -= {down}", f"{n} = 0"]
            return [*grow, f"{n} = (2 * {n} + {by}) % {top}"], [*shrink, f"{n} = {down}", f"{n} //= 2"]
        if value.role == "memory":
            x = self.amount(1, self.column(2)).text
            keep = [f"{n} = {x}", f"{n} = {x}", f"{n} = max({n}, {x})", f"{n} = min({n}, {x})"]
            return keep, [f"{n} = 0", f"{n} = {self.column(2).text}", f"{n} = {self.constant(value)}"]
        if value.role == "flag":
            return [f"{n} = True", f"{n} = not {n}"], [f"{n} = False", f"{n} = {self.condition(0)}"]
        if value.role == "timer":
            return [f"{n} = {top}"], [f"{n} = max({n} - 1, 0)", f"{n} = 0"]
        word, other = self.rng.permutation(value.words)[:2]
        return [f"{n} = {str(word)!r}"], [f"{n} = {str(other)!r}"]

    def move(self, value: Value, happens: bool = True) -> str:
        return self.among(self.moves(value)[0 if happens else 1])

    def changeable(self) -> list[Value]:
        return [value for value in self.registers if value.role not in ("past", "output", "window")]

    # Statements

    def decide(self, value: Value, depth: int = 0) -> Lines:
        """`if` with moves of one register, or of another too, in its branches."""
        body = [self.move(value)]
        others = [other for other in self.changeable() if other.text != value.text]
        if others and self.of(0.35):
            body.append(self.move(self.among(others), self.of(0.5)))
        if depth < DEEPEST and self.of(0.2):
            body = self.decide(value, depth + 1)
        lines = indented(f"if {self.condition()}:", body)
        if self.of(0.3):
            lines += indented(f"elif {self.condition()}:", [self.move(value, self.of(0.4))])
        if self.of(0.6):
            rest = [self.move(value, False)]
            if depth < DEEPEST and self.of(0.15):
                rest = self.decide(value, depth + 1)
            lines += indented("else:", rest)
        return lines

    def count(self) -> Lines:
        value = self.new("count", 0, self.between(2, 6))
        n, top = value.text, int(value.high)
        wrap = [f"{n} += 1", *indented(f"if {n} >= {top} or {self.condition(0)}:", [f"{n} = 0"])]
        cycle = [f"{n} = ({n} + {self.amount(0, self.column()).text}) % {top + 1}"]
        return self.pick(self.decide(value), self.decide(value), wrap, cycle)

    def level(self) -> Lines:
        value = self.new("level", 0, self.between(4, 12))
        n, top, x = value.text, int(value.high), self.column(2)
        by = self.amount(1, x, n).text
        clamped = [f"{n} = max({self.pick(0, -top)}, min({n} + {by}, {top}))"]
        summed = [f"{n} = ({n} + {by}) % {top}"]
        smooth = [f"{n} = {n} + 0.5 * ({x.text} - {n})"] if x.real else summed
        limited = [f"{n} += {by}", *indented(f"if {n} > {top}:", [self.pick(f"{n} -= {top}", f"{n} = 0")])]
        return self.pick(self.decide(value), self.decide(value), clamped, smooth, limited)

    def memory(self) -> Lines:
        x = self.column(2)
        value = self.new("memory", x.low, x.high, 0.0 if x.real else 0)
        n, about = value.text, self.pick("max", "max", "min")
        since = [*indented(f"if {self.condition()}:", [f"{n} = {self.pick(x.text, '0')}"])]
        record = indented("else:", [f"{n} = {about}({n}, {x.text})"])
        held = indented(f"if {self.condition()}:", [f"{n} = {self.amount(1, x).text}"])
        return self.pick(self.decide(value), since + record, held)

    def flag(self) -> Lines:
        value = self.new("flag")
        n, x = value.text, self.column(4)
        if x.high - x.low >= 4 or x.real:
            low, high = sorted((self.constant(x), self.constant(x)), key=float)
            both = self.pick((f"> {high}", f"< {low}"), (f"< {low}", f"> {high}"))
            hysteresis = indented(f"if {x.text} {both[0]}:", [f"{n} = True"])
            hysteresis += indented(f"elif {x.text} {both[1]}:", [f"{n} = False"])
        else:
            hysteresis = indented(f"if {self.condition()}:", [f"{n} = not {n}"])
        return self.pick(self.decide(value), hysteresis)

    def timer(self) -> Lines:
        value = self.new("timer", 0, self.between(2, 4))
        n, top = value.text, int(value.high)
        starts = indented(f"if {self.condition()}:", [f"{n} = {top}"])
        again = starts + indented(f"elif {n} > 0:", [f"{n} -= 1"])
        cooling = indented(f"if {n} > 0:", [f"{n} -= 1"])
        cooling += indented(f"elif {self.condition()}:", [f"{n} = {top}"])
        done = [self.move(other) for other in self.changeable() if other.text != n][-1:]
        fires = starts + indented(f"elif {n} > 0:", [f"{n} -= 1", *indented(f"if {n} == 0:", done)])
        short = [f"{n} = {top} if {self.condition()} else max({n} - 1, 0)"]
        return self.pick(again, cooling, fires if done else again, short)

    def mode(self) -> Lines:
        value = self.new("mode")
        n, words = value.text, value.words
        follows = [*pairwise(words), (words[-1], words[0])]
        if self.of(0.2):  # a cycle that goes on under a condition, such as traffic lights
            cycle = self.table(repr(dict(follows)), ("NEXT", "AFTER"))
            return indented(f"if {self.condition()}:", [f"{n} = {cycle}[{n}]"])
        nested, lines = self.of(0.4), []
        others = [other for other in self.changeable() if other.role != "mode"]
        about = [other for other in self.readable() if other.text != n]
        for i, (word, following) in enumerate(follows):
            goes = [f"{n} = {following!r}"]
            if others and self.of(0.25):
                goes.append(self.move(self.among(others), self.of(0.5)))
            head = "elif" if i else "if"
            if nested:
                goes = indented(f"if {self.condition(1, self.among(about))}:", goes)
                if len(words) > 2 and self.of(0.3):
                    back = self.among([other for other in words if other not in (word, following)])
                    goes += indented(f"elif {self.condition(0, self.among(about))}:", [f"{n} = {back!r}"])
                lines += indented(f"{head} {n} == {word!r}:", goes)
            else:
                test = self.condition(0, self.among(about))
                lines += indented(f"{head} {n} == {word!r} and ({test}):", goes)
        return lines

    def past(self) -> Lines:
        """The row before: it is remembered at the end, so what is written meanwhile reads the old one."""
        x = self.column(2)
        value = self.new("past", x.low, x.high, 0.0 if x.real else 0)
        n, a = value.text, x.text
        known = [line.split(" = ")[0] for line in self.ending if line.endswith(f" = {a}")]
        self.ending.insert(0, f"{n} = {known[0] if known else a}")  # of a row known already, the one before
        if self.of(0.3):
            local = self.new("local", x.low - x.high, x.high - x.low)
            made = self.pick(f"{a} - {n}", f"abs({a} - {n})", f"{a} + {n}", f"max({a}, {n})")
            return [f"{local.text} = {made}"]
        far = max(1.0, (x.high - x.low) // 3) if x.real else max(2, (x.high - x.low) // 3)
        return self.change(self.pick(f"{a} > {n}", f"{a} < {n}", f"{a} != {n}", f"abs({a} - {n}) >= {far}"))

    def answered(self) -> Lines:
        """The output before, remembered at the end."""
        value = self.new("output", 0, 5)
        self.ending.append(f"{value.text} = out")
        return self.change(self.comparison(value)) if self.of(0.5) else []

    def change(self, happens: str | None = None) -> Lines:
        """What is done when something holds: to a register that there is, or to a new one."""
        role, x, known = self.pick("count", "flag", "memory", "level"), self.column(2), self.changeable()
        low, high = {"count": (0, 4), "flag": (0, 1), "level": (0, 8), "memory": (x.low, x.high)}[role]
        value = self.among(known) if known and self.of(0.6) else self.new(role, low, high)
        lines = indented(f"if {happens or self.condition()}:", [self.move(value)])
        return lines + (indented("else:", [self.move(value, False)]) if self.of(0.5) else [])

    def window(self) -> Lines:
        x = self.column(2)
        value = self.new("window", x.low, x.high, [])
        lines = [f"{value.text} = ({value.text} + [{x.text}])[-{self.between(2, 4)}:]"]
        if self.of(0.5):
            made = self.summary(value)
            lines.append(f"{self.new('local', made.low, made.high).text} = {made.text}")
        return lines

    def repeated(self) -> Lines:
        """Something counts once a value has come several times in a row, such as that value itself."""
        x, known = self.column(), self.changeable()
        seen = self.new("memory", x.low, x.high, 0.0 if x.real else 0)
        count = self.new("count", 0, self.between(1, 3))
        near = f"abs({x.text} - {seen.text}) < {self.constant(x)}" if x.real else f"{x.text} == {seen.text}"
        lines = indented(f"if {near}:", [f"{count.text} += 1"])
        lines += indented("else:", [f"{seen.text} = {x.text}", f"{count.text} = 0"])
        if known and self.of(0.5):
            then = self.move(self.among(known))
        else:
            then = f"{self.new('memory', x.low, x.high, seen.start).text} = {seen.text}"
        return lines + indented(f"if {count.text} >= {count.high}:", [then])

    def compute(self) -> Lines:
        """A value of this row, such as a price, by arithmetic or by tiers; it may be put right after that."""
        if self.of(0.5):
            made = self.amount(1, self.column(2))
            made = self.among(self.operations(made, self.pick(self.column(), self.among(self.numbers()))))
            value = self.new("local", made.low, made.high)
            lines = [f"{value.text} = {made.text}"]
        else:
            x, name = self.among([v for v in self.numbers() if not v.bit] or self.columns), "local"
            tiers = sorted({self.constant(x) for _ in range(self.between(1, 3))}, key=float)
            rates = [self.pick(str(self.between(0, 9)), self.amount(0).text) for _ in range(len(tiers) + 1)]
            value = self.new(name, 0, 9)
            lines = []
            for i, tier in enumerate(tiers):
                head = "elif" if i else "if"
                lines += indented(f"{head} {x.text} < {tier}:", [f"{value.text} = {rates[i]}"])
            lines += indented("else:", [f"{value.text} = {rates[-1]}"])
        if self.of(0.35):
            n, k = value.text, self.between(1, 4)
            after = (f"{n} += {k}", f"{n} -= {k}", f"{n} *= 2", f"{n} = max({n}, {k})", f"{n} = 0")
            lines += indented(f"if {self.condition()}:", [self.among(after)])
        return lines

    def looked_up(self) -> Lines:
        """A value of this row by a table of a column, or of a counter that goes round."""
        few = [v for v in self.numbers() if not v.real and v.role != "local" and 2 <= v.high - v.low <= 6]
        if not few:
            return self.compute()
        value = self.among(few)
        keys = range(int(value.low), int(value.high) + 1)
        entries = [self.between(0, 9) for _ in keys]
        column = value.role == "column"
        made = repr(dict(zip(keys, entries, strict=True)) if value.low and column else entries)
        index = value.text if column else f"{value.text} % {len(entries)}"
        local = self.new("local", 0, 9)
        return [f"{local.text} = {self.table(made)}[{index}]"]

    def nested(self) -> Lines:
        """One decision within another."""
        known = self.changeable()
        value = self.among(known) if known and self.of(0.6) else self.new("count", 0, self.between(2, 6))
        lines = indented(f"if {self.condition()}:", self.decide(value, DEEPEST))
        other = self.pick([], [self.move(value, False)], self.decide(value, DEEPEST))
        return lines + (indented("else:", other) if other else [])

    def together(self) -> Lines:
        """Several registers change under one condition."""
        known = self.changeable()
        if len(known) < 2:
            return self.change()
        body = [self.move(value, self.of(0.5)) for value in known[-2:]]
        return indented(f"if {self.condition(1, self.among(known))}:", body)

    # The output

    def output(self) -> tuple[Lines, str]:
        """What is returned: lines before it, and an expression."""
        written = [*self.registers, *self.locals]
        fresh = self.among(written[-2:]) if written else self.column()
        forms = (self._plain, self._plain, self._yes, self._sum, self._either, self._cases)
        return self._coded(fresh) if fresh.role == "mode" and self.of(0.7) else self.among(forms)(fresh)

    def _shown(self, value: Value) -> Value:
        """A number that shows a value."""
        if value.role == "mode":
            codes = dict(zip(value.words, map(int, self.rng.permutation(6)), strict=False))
            return Value(f"{self.table(repr(codes))}[{value.text}]", "expression", 0, 5)
        return self.summary(value) if value.role == "window" else value

    def _plain(self, value: Value) -> tuple[Lines, str]:
        shown = self._shown(value)
        return [], f"int({shown.text})" if shown.role == "flag" else shown.text

    def _yes(self, value: Value) -> tuple[Lines, str]:
        return [], f"int({self.condition(1, value)})"

    def _sum(self, value: Value) -> tuple[Lines, str]:
        shown = self._shown(value)
        return [], self.among(self.operations(shown, self.among(self.numbers()))).text

    def _either(self, value: Value) -> tuple[Lines, str]:
        one, other = self.amount(1).text, self.pick(self.amount(0).text, str(self.between(0, 3)))
        return [], f"({one}) if ({self.condition(1, value)}) else ({other})"

    def _coded(self, value: Value) -> tuple[Lines, str]:
        """A mode shown by a table, alone or with something else of the row."""
        shown = self._shown(value)
        some = (
            shown.text,
            shown.text,
            f"{shown.text} + ({self.amount(0).text})",
            f"{shown.text} * ({self.column().text})",
        )
        return [], self.among(some)

    def _cases(self, value: Value) -> tuple[Lines, str]:
        """Different answers in different cases."""
        lines = indented(f"if {self.condition(1, value)}:", [f"out = {self.amount(0).text}"])
        if self.of(0.5):
            lines += indented(f"elif {self.condition()}:", [f"out = {self.between(0, 9)}"])
        return lines + indented("else:", [f"out = {self.amount(1).text}"]), "out"

    # Whole programs

    def body(self, idiom: str, least: int) -> tuple[Lines, str]:
        """Statements of at least this weight, and the output; the first statement is of an idiom."""
        often = (self.past, self.compute, self.change)
        usual = (self.count, self.level, self.memory, self.flag, self.timer, self.mode, self.nested)
        usual += (self.together, self.looked_up)
        rare = (self.window, self.window, self.answered, self.answered, self.repeated)
        kinds = 6 * often + 4 * usual + rare
        first = {
            "timer": (self.timer,),
            "mode": (self.flag, self.mode),
            "string mode": (self.mode,),
            "table": (self.looked_up, self.looked_up, self.mode),
            "arithmetic": (self.compute,),
            "past": (self.past, self.past, self.answered),
            "window": (self.window,),
            "nested": (self.nested, self.mode),
        }
        lines = self.among(first.get(idiom, kinds))()
        while not lines or weight(lines + self.ending) < least:
            known = self.changeable()
            again = known and self.of(0.15)
            lines += self.decide(self.among(known)) if again else self.among(kinds)()
        before, out = self.output()
        lines += before
        if "out" in " ".join(self.ending).split() and out != "out":
            lines, out = [*lines, f"out = {out}"], "out"
        return lines + self.ending, out
