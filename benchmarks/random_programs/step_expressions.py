"""What statements of random step functions read: columns, registers, amounts and conditions.

A `Reader` chooses columns under names that people give them, knows which registers there are by now, and
draws numerical expressions and conditions of whatever can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chance import Chance

#: Kinds of columns: ranges, and what people call such a column. Bits are two kinds, for they are common.
COLUMNS = (
    (((0, 1),), "button door motion fault enable reset ready tick rain brake"),
    (((0, 1),), "coin ping key heads shot sensor spike"),
    (((0, 2), (0, 3), (0, 4)), "gear zone command lane kind channel size"),
    (((0, 9), (0, 7), (0, 5)), "demand speed supply load distance height queue"),
    (((-5, 5), (-3, 3), (-2, 2)), "temp error drift slope delta torque"),
    (((1, 6), (1, 4)), "roll qty stars weight price damage"),
    (((0.0, 1.0), (-1.0, 1.0), (0.0, 10.0)), "volts pressure flow tilt humidity"),
)
#: The last kind, of reals, is chosen for this share of programs only.
REAL = 0.12
#: What registers of each role are called.
REGISTERS = {
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
    ("idle", "heat", "alarm"),
    ("off", "low", "high"),
    ("green", "yellow", "red"),
    ("calm", "angry", "flee"),
    ("patrol", "chase"),
    ("day", "night"),
    ("open", "closed"),
    ("walk", "run", "rest"),
    ("idle", "fill", "wash", "drain"),
)
#: What tables are called that are constants of the module.
TABLES = ("TABLE", "COSTS", "BONUS", "LIMITS", "GAINS")


@dataclass(frozen=True)
class Value:
    """What can be read: a column, a register or an expression, with a guess of its range."""

    text: str
    role: str
    low: float = 0
    high: float = 1
    start: object = 0
    words: tuple[str, ...] = ()

    @property
    def real(self) -> bool:
        return isinstance(self.low, float) or isinstance(self.high, float)

    @property
    def bit(self) -> bool:
        return self.role == "flag" or (not self.real and (self.low, self.high) == (0, 1))

    @property
    def number(self) -> bool:
        return self.role not in ("mode", "window")


class Reader(Chance):
    """What can be read of a program while it is written."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.columns = self._columns()
        self.registers: list[Value] = []
        self.locals: list[Value] = []
        self.tables: dict[str, str] = {}

    def _columns(self) -> list[Value]:
        real = self.of(REAL)
        columns: list[Value] = []
        for i in range(self.pick(1, 2, 2, 2, 3, 3)):
            ranges, names = COLUMNS[-1] if real and i == 0 else self.among(COLUMNS[:-1])
            taken = {column.text for column in columns}
            name = self.among([name for name in names.split() if name not in taken])
            columns.append(Value(name, "column", *self.among(ranges)))
        return columns

    # What can be read

    def new(self, role: str, low: float = 0, high: float = 1, start: object = 0) -> Value:
        taken = {value.text for value in (*self.columns, *self.registers, *self.locals)}
        names = [name for name in REGISTERS[role].split() if name not in taken]
        name = self.among(names) if names else f"{REGISTERS[role].split()[0]}{len(taken)}"
        words = self.among(WORDS) if role == "mode" else ()
        start = words[0] if words else False if role == "flag" else start
        value = Value(name, role, low, high, start, words)
        (self.locals if role == "local" else self.registers).append(value)
        return value

    def readable(self) -> list[Value]:
        """Columns, registers and locals; the newest comes twice, so that statements build on each other."""
        written = [*self.registers, *self.locals]
        return [*self.columns, *written, *written[-1:]]

    def numbers(self) -> list[Value]:
        return [value for value in self.readable() if value.number]

    def column(self, least: float = 0) -> Value:
        """A column, one of at least so wide a range if there is any."""
        wide = [column for column in self.columns if column.real or column.high - column.low >= least]
        return self.among(wide or self.columns)

    def constant(self, value: Value, inner: bool = True) -> str:
        """A number within the range of a value; inside of it, some values lie on either side."""
        if value.real:
            share = 0.2 + 0.6 * self.rng.random() if inner else self.rng.random()
            return f"{round(value.low + share * (value.high - value.low), 1)}"
        low, high = int(value.low), int(value.high)
        return str(self.between(low + 1, high) if inner and high > low else self.between(low, high))

    def amount(self, depth: int = 1, of: Value | None = None, without: str = "") -> Value:
        """A numerical expression, of something or without it."""
        numbers = [value for value in self.numbers() if value.text != without]
        a = of or self.among(numbers)
        if depth == 0 or self.of(0.4):
            return a
        b = self.among([v for v in numbers if v.text != a.text] or [Value("1", "constant", 1, 1)])
        return self.among(self.operations(a, b))

    def operations(self, a: Value, b: Value) -> list[Value]:
        """Arithmetic of two values, with the ranges that come out."""
        k = self.between(2, 4)
        low, high = a.low - b.high, a.high - b.low
        found = [
            (f"({a.text}) + ({b.text})", a.low + b.low, a.high + b.high),
            (f"({a.text}) - ({b.text})", low, high),
            (f"abs(({a.text}) - ({b.text}))", 0 * low, max(high, -low)),
            (f"max({a.text}, {b.text})", max(a.low, b.low), max(a.high, b.high)),
            (f"min({a.text}, {b.text})", min(a.low, b.low), min(a.high, b.high)),
            (f"{k} * ({a.text})", k * a.low, k * a.high),
            (f"{k} * ({a.text}) - ({b.text})", k * a.low - b.high, k * a.high - b.low),
            (f"({a.text}) + {k}", a.low + k, a.high + k),
        ]
        if not a.real and a.high - a.low >= 3:
            found += [(f"({a.text}) % {k}", 0, k - 1), (f"({a.text}) // {k}", a.low // k, a.high // k)]
        if a.low >= 0 and b.low >= 0 and a.high * b.high <= 60:
            found.append((f"({a.text}) * ({b.text})", a.low * b.low, a.high * b.high))
        if not a.real and a.low >= 0 and 2 <= a.high <= 6:
            table = [self.between(0, 9) for _ in range(int(a.high) + 1)]
            index = a.text if a.role == "column" else f"({a.text}) % {len(table)}"
            found += 2 * [(f"{self.table(str(table))}[{index}]", 0, 9)]
        return [Value(text, "expression", low, high) for text, low, high in found]

    def table(self, text: str, names: Sequence[str] = TABLES) -> str:
        """A table written in place, or a constant of the module."""
        if self.of(0.5):
            return text
        name = self.among([name for name in names if name not in self.tables] or [f"TABLE{len(self.tables)}"])
        self.tables[name] = text
        return name

    # Conditions

    def condition(self, depth: int = 1, about: Value | None = None) -> str:
        test = self.test(about or self.among(self.readable()))
        if depth and self.of(0.25):
            return f"({test}) {self.pick('and', 'and', 'or')} ({self.condition(0)})"
        return test

    def test(self, value: Value) -> str:
        """A yes or no about one value."""
        name = value.text
        if value.role == "mode":
            word, other = (self.among(value.words) for _ in range(2))
            some = [f"{name} in ({word!r}, {other!r})"] if len(value.words) > 2 and word != other else []
            return self.among([f"{name} == {word!r}", f"{name} == {word!r}", f"{name} != {word!r}", *some])
        if value.role == "window":
            return self.test(self.summary(value))
        if value.role == "timer":
            return self.pick(f"{name} > 0", f"{name} == 0", f"{name} == 1")
        if value.bit:
            return self.pick(name, name, f"not {name}")
        if value.role in ("past", "output") or self.of(0.25):
            return self.comparison(value)
        k, sign = self.constant(value), self.pick(">=", ">=", "<", "<")
        tests = 3 * [f"{name} {sign} {k}"]
        if not value.real:
            tests += [f"{name} == {self.constant(value, False)}", f"{name} % {self.between(2, 3)} == 0"]
            few = {self.constant(value, False) for _ in range(2)}
            tests += [f"{name} in ({', '.join(sorted(few))})"] if len(few) > 1 else []
        if value.high - value.low >= 4:
            step = (value.high - value.low) / 4
            low, high = (round(value.low + n * step, 1 if value.real else None) for n in (1, 3))
            tests.append(f"{low} <= {name} <= {high}")
        return self.among(tests)

    def comparison(self, a: Value) -> str:
        """Two values that may be compared: a remembered one with its column."""
        others = [v for v in self.numbers() if v.text != a.text and v.low < a.high and v.high > a.low]
        if not others:
            return f"{a.text} {self.pick('>=', '<')} {self.constant(a)}"
        b = self.among(others)
        equal = () if a.real or b.real else ("==", "!=")
        plain = f"{a.text} {self.pick(*equal, '>', '<', '>', '<=')} {b.text}"
        ops = self.operations(a, b)
        combined = self.among(ops[:3])
        return self.among((plain, plain, f"{combined.text} {self.pick('>', '<=')} {self.constant(combined)}"))

    def summary(self, window: Value) -> Value:
        """A number that sums a window up."""
        name, low, high = window.text, window.low, window.high
        return self.among(
            (
                Value(f"sum({name})", "expression", low, 2 * high),
                Value(f"max({name})", "expression", low, high),
                Value(f"min({name})", "expression", low, high),
                Value(f"(max({name}) - min({name}))", "expression", 0 * low, high - low),
                Value(f"(max({name}) - min({name}))", "expression", 0 * low, high - low),
                Value(f"{name}[0]", "expression", low, high),
            )
        )
