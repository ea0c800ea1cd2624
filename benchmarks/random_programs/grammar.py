"""A grammar of step functions, as people write them: statements with holes that are filled by chance.

A statement is about a register of some role (a counter, a level, a remembered value, a flag, a timer, a mode
in words, the row before, a window of rows) or computes a value of the row. Holes stand for conditions,
amounts, columns and for what a branch does to the register; whatever is written already can be read in them.
Nothing here is chosen by what could be recovered from sequences: `programs` refuses what is degenerate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import indent

from chance import Chance

#: Ranges of columns with their names; the last, of reals, is for a share of programs only.
COLUMNS = (
    (((0, 1),), "button door motion fault enable reset ready tick rain brake"),
    (((0, 1),), "coin ping key heads shot sensor spike"),
    (((0, 2), (0, 3), (0, 4)), "gear zone command lane kind channel size"),
    (((0, 9), (0, 7), (0, 5)), "demand speed supply load distance height queue"),
    (((-5, 5), (-3, 3), (-2, 2)), "temp error drift slope delta torque"),
    (((1, 6), (1, 4)), "roll qty stars weight price damage"),
    (((0.0, 1.0), (-1.0, 1.0), (0.0, 10.0)), "volts pressure flow tilt humidity"),
)
REAL = 0.12
#: What registers of each role are called.
NAMES = {
    "count": "count streak hits laps tries misses",
    "level": "total balance stock tank score energy debt",
    "memory": "last held saved best mark peak",
    "flag": "on armed locked busy latched alarm",
    "timer": "timer wait cooldown hold delay",
    "mode": "mode status phase",
    "past": "prev before",
    "output": "shown answer",
    "window": "recent history",
    "local": "cost gap power fee rate gain amount",
}
WORDS = (
    "idle heat alarm", "off low high", "green yellow red", "calm angry flee", "patrol chase", "day night",
    "open closed", "walk run rest", "idle fill wash drain",
)  # fmt: skip
#: What a branch does to a register in case something happens, and in the other one.
MOVES = {
    "count": (
        ("<n> += 1", "<n> += 1", "<n> = min(<n> + 1, <top>)", "<n> = (<n> + 1) % <over>"),
        ("<n> = 0", "<n> = 0", "<n> = max(<n> - 1, 0)", "<n> = max(<n> - 2, 0)"),
    ),
    "level": (
        ("<n> += <amount>", "<n> = min(<n> + <amount>, <top>)", "<n> = (<n> + <amount>) % <top>",
         "<n> = (2 * <n> + <amount>) % <top>"),
        ("<n> = max(<n> - <k>, 0)", "<n> -= <other>", "<n> = 0", "<n> = <other>", "<n> //= 2"),
    ),
    "memory": (
        ("<n> = <amount>", "<n> = <x>", "<n> = max(<n>, <x>)", "<n> = min(<n>, <x>)"),
        ("<n> = 0", "<n> = <other>", "<n> = <k>"),
    ),
    "flag": (("<n> = True", "<n> = not <n>"), ("<n> = False", "<n> = <test>")),
    "timer": (("<n> = <top>",), ("<n> = max(<n> - 1, 0)", "<n> = 0")),
    "mode": (("<n> = <word>",), ("<n> = <word>",)),
}  # fmt: skip
#: Statements about a register that has such moves.
DECISIONS = (
    "if <test>:\n    <yes>",
    "if <test>:\n    <yes>\nelse:\n    <no>",
    "if <test>:\n    <yes>\nelse:\n    <no>",
    "if <test>:\n    <yes>\n    <else>\nelse:\n    <no>",
    "if <test>:\n    <yes>\nelif <test>:\n    <no>",
    "if <test>:\n    if <test>:\n        <yes>\n    else:\n        <no>",
    "if <test>:\n    if <test>:\n        <yes>\n    else:\n        <else>\nelse:\n    <no>",
)
#: Statements of one role beside those.
STATEMENTS = {
    "count": ("<n> += 1\nif <n> >= <top> or <test>:\n    <n> = 0", "<n> = (<n> + <x>) % <over>"),
    "level": (
        "<n> = max(0, min(<n> + <amount>, <top>))",
        "<n> = (<n> + <amount>) % <top>",
        "<n> += <amount>\nif <n> > <top>:\n    <n> -= <top>",
    ),
    "memory": ("if <test>:\n    <n> = <x>\nelse:\n    <n> = max(<n>, <x>)",),
    "flag": ("if <x> > <high>:\n    <n> = True\nelif <x> < <low>:\n    <n> = False",),
    "timer": (
        "if <test>:\n    <n> = <top>\nelif <n> > 0:\n    <n> -= 1",
        "if <n> > 0:\n    <n> -= 1\nelif <test>:\n    <n> = <top>",
        "if <test>:\n    <n> = <top>\nelif <n> > 0:\n    <n> -= 1\n    if <n> == 0:\n        <else>",
        "<n> = <top> if <test> else max(<n> - 1, 0)",
    ),
    "mode": ("if <test>:\n    <n> = <follows>[<n>]",),
    "past": (
        "<local> = <x> - <n>",
        "<local> = abs(<x> - <n>)",
        "if <x> > <n>:\n    <else>",
        "if <x> != <n>:\n    <else>",
        "if <x> < <n>:\n    <else>\nelse:\n    <else>",
    ),
    "output": ("if <n> >= <k>:\n    <else>", "if <n> == <k>:\n    <else>"),
    "window": ("<n> = (<n> + [<x>])[-<k>:]", "<n> = (<n> + [<x>])[-<k>:]\n<local> = <sum>"),
    "local": (
        "<local> = <amount>",
        "if <x> < <low>:\n    <local> = <k>\nelse:\n    <local> = <other>",
        "<local> = <amount>\nif <test>:\n    <local> += <k>",
        "<local> = <lookup>",
    ),
    "repeat": ("if <x> == <held>:\n    <n> += 1\nelse:\n    <held> = <x>\n    <n> = 0",),
}
#: What a program may be asked to have; the others come besides.
IDIOMS = ("count", "level", "memory", "flag", "timer", "mode", "past", "window", "local")
ROLES = (*IDIOMS, "past", "local", "output", "repeat")
AMOUNTS = (
    "<read> + <read>", "<read> - <read>", "abs(<read> - <read>)", "max(<read>, <read>)",
    "min(<read>, <read>)", "<k> * <read>", "<k> * <read> - <read>", "<read> + <k>", "<read> % <k>",
    "<lookup>",
)  # fmt: skip
SUMS = ("sum(<n>)", "max(<n>)", "min(<n>)", "max(<n>) - min(<n>)", "<n>[0]")
#: What is returned.
OUTPUTS = (
    "<new>", "<new>", "int(<about>)", "<new> + <read>", "abs(<new> - <read>)", "<k> * <new> - <read>",
    "<amount> if <about> else <read>", "<k> if <about> else <amount>",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """What can be read: a column, a register or a value of the row, with a guess of its range."""

    name: str
    role: str
    low: float = 0
    high: float = 1
    words: tuple[str, ...] = ()

    @property
    def real(self) -> bool:
        return isinstance(self.low, float)

    @property
    def start(self) -> object:
        if self.role in ("mode", "window", "flag"):
            return {"mode": "".join(self.words[:1]), "window": [], "flag": False}[self.role]
        return 0.0 if self.real else 0


class Writer(Chance):
    """A program while it is written."""

    def begin(self) -> Writer:
        self.columns: list[Value] = []
        self.registers: list[Value] = []
        self.locals: list[Value] = []
        self.pending: list[Value] = []
        self.ending: list[str] = []  # what is remembered for the next row
        real = self.of(REAL)
        for i in range(self.pick(1, 2, 2, 2, 3, 3)):
            ranges, names = COLUMNS[-1] if real and i == 0 else self.among(COLUMNS[:-1])
            self.columns.append(Value(self._free(names), "column", *self.among(ranges)))
        return self

    def _free(self, names: str) -> str:
        taken = [value.name for value in (*self.columns, *self.registers, *self.locals, *self.pending)]
        return self.among([n for n in names.split() if n not in taken] or [f"{names.split()[0]}{len(taken)}"])

    def new(self, role: str, x: Value) -> Value:
        """A register of a role, or a value of the row; `x` is the column that it has to do with."""
        top = {"count": (2, 6), "level": (4, 12), "timer": (2, 4), "output": (5, 5)}.get(role)
        low, high = (0, self.between(*top)) if top else (0, 1) if role == "flag" else (x.low, x.high)
        words = tuple(self.among(WORDS).split()) if role == "mode" else ()
        value = Value(self._free(NAMES[role]), role, low, high, words)
        (self.pending if role == "local" else self.registers).append(value)
        return value

    def written(self) -> None:
        """Values of the row can be read once their statement is complete."""
        self.locals, self.pending = [*self.locals, *self.pending], []

    # -- statements

    def statement(self, role: str) -> str:
        """Lines about something new of a role, or about a register that there is."""
        self.written()
        x = self.among(sorted(self.columns, key=lambda v: v.high - v.low)[-2:])
        holes = {"x": x.name, "low": self.constant(x, 0.25), "high": self.constant(x, 0.75)}
        if role == "local":
            return self.filled(self.among(STATEMENTS[role]), None, holes)
        if role == "repeat":
            holes["held"] = self.new("memory", x).name
            return self.filled(self.among(STATEMENTS[role]), self.new("count", x), holes)
        known = [value for value in self.registers if value.role == role and role in MOVES]
        value = self.among(known) if known and self.of(0.3) else self.new(role, x)
        if role == "past":
            self.ending.append(f"{value.name} = {x.name}")
        if role == "output":
            self.ending.append(f"{value.name} = out")
        forms = STATEMENTS.get(role, ())
        return self.filled(self.among([*forms, *(DECISIONS if role in MOVES else ())]), value, holes)

    def filled(self, form: str, value: Value | None, holes: dict[str, str]) -> str:
        """A form with its holes filled; what fills a line of its own keeps its place."""
        lines = []
        for line in form.split("\n"):
            text = line.lstrip()
            while "<" in text and (found := re.search(r"<(\w+)>", text)):
                inside = self.hole(found[1], value, holes)
                text = text[: found.start()] + inside + text[found.end() :]
            lines.append(indent(text, line[: len(line) - len(line.lstrip())]))
        return "\n".join(lines)

    def hole(self, name: str, value: Value | None, holes: dict[str, str]) -> str:
        """What stands in a hole: of the statement, of its register, or drawn."""
        if name == "local" and name not in holes:
            holes[name] = self.new("local", self.among(self.columns)).name
        if name in holes:
            return holes[name]
        if name == "else":
            others = [one for one in self.registers if one.role in MOVES and one != value]
            other = self.among(others) if others else self.new(self.pick("count", "flag"), self.columns[0])
            return self.filled(self.among(self.among(MOVES[other.role])), other, {"x": self.columns[0].name})
        if value is not None:
            if name in ("yes", "no"):
                return self.filled(self.among(MOVES[value.role][name == "no"]), value, holes)
            if name == "word":
                return repr(self.among(value.words))
            if name == "follows":
                return repr(dict(zip(value.words, value.words[1:] + value.words[:1], strict=True)))
            if name in ("n", "top", "over"):
                return value.name if name == "n" else str(int(value.high) + (name == "over"))
            if name == "sum":
                return self.filled(self.among(SUMS), value, {})
        return {
            "test": self.test,
            "about": lambda: self.test(self.newest()),
            "amount": lambda: self.amount(0.6),
            "other": lambda: self.amount(0.1),
            "read": self.read,
            "new": lambda: self.number(self.newest()),
            "lookup": self.lookup,
            "k": lambda: str(self.between(1, 4)),
            "x": lambda: self.among(self.columns).name,
        }[name]()

    # -- what is read

    def newest(self) -> Value:
        written = [*self.registers, *self.locals]
        return self.among(written[-2:]) if written else self.among(self.columns)

    def read(self) -> str:
        """Any number that is there; the newest comes twice, so that statements build on each other."""
        return self.number(self.among([*self.columns, *self.registers, *self.locals, self.newest()]))

    def number(self, value: Value) -> str:
        """A value as a number: a mode by a table, a window by what sums it up."""
        if value.words:
            codes = [int(code) for code in self.rng.permutation(6)[: len(value.words)]]
            return f"{dict(zip(value.words, codes, strict=True))}[{value.name}]"
        if value.role == "window":
            return f"({self.filled(self.among(SUMS), value, {})} if {value.name} else 0)"
        return f"int({value.name})" if value.role == "flag" else value.name

    def amount(self, deep: float) -> str:
        return f"({self.filled(self.among(AMOUNTS), None, {})})" if self.of(deep) else self.read()

    def lookup(self) -> str:
        """A table by a column of whole numbers, which goes round where the column does not fit."""
        keys = self.between(2, 5)
        whole = [column for column in self.columns if not column.real]
        index = f"{self.among(whole).name} % {keys}" if whole else "0"
        return f"{[self.between(0, 9) for _ in range(keys)]}[{index}]"

    def constant(self, value: Value, share: float | None = None) -> str:
        """A number within the range of a value."""
        share = self.rng.random() if share is None else share
        found = value.low + share * (value.high - value.low)
        return str(round(found, 1)) if value.real else str(round(found))

    def test(self, value: Value | None = None) -> str:
        """A yes or no about a value, or about two."""
        value = value or self.among([*self.columns, *self.registers, *self.locals, self.newest()])
        n, k = value.name, self.constant(value) if not value.words else ""
        if value.words:
            word = repr(self.among(value.words))
            forms = [f"{n} == {word}", f"{n} == {word}", f"{n} != {word}"]
        elif value.role == "flag" or (not value.real and value.high - value.low == 1):
            forms = [n, n, f"not {n}"]
        elif value.role == "window":
            forms = [f"{self.number(value)} >= {k}"]
        elif value.role == "timer":
            forms = [f"{n} > 0", f"{n} == 0", f"{n} == 1"]
        else:
            forms = [f"{n} >= {k}", f"{n} < {k}", f"{n} > <read>", f"{n} <= <read>"]
            if not value.real:
                forms += [
                    f"{n} == {k}",
                    f"{n} % {self.between(2, 3)} == 0",
                    f"{n} in ({k}, {self.constant(value)})",
                ]
                forms += [f"{n} != <read>"]
            forms.append(f"{self.constant(value, 0.25)} <= {n} <= {self.constant(value, 0.75)}")
        found = self.filled(self.among(forms), None, {})
        if self.of(0.15):
            return f"({found}) {self.pick('and', 'or')} ({self.test()})"
        return found

    def output(self) -> str:
        self.written()
        return self.filled(self.among(OUTPUTS), None, {})
