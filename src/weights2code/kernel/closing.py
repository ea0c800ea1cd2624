"""Two machines, closed: every state that they reach together, under every row of the domains.

One may be the text of a `program.py`: its own statements are executed, a position at a time, on the numbers
that a user's run has, so that rounding, Python's integers, `max` of what is no number and statements that
stop are what they are. Others are texts of their own: a specification on exact numbers, a network on float64
in one order of operations, its weights out of their file. If from the start no new state turns up and outputs
agree in all of them, they agree at every length. The file needs the standard library alone (a program brings
NumPy along): weights2code trusts it, and puts it beside the claims of a run, for anybody to close them again:

    python check.py [FOLDER]      every claim of FOLDER/claims.json, one a line; exit code 0 if all hold
"""

from __future__ import annotations

import ast
import json
import math
import re
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

#: Exponents that an exact number may have, and digits that a power in a program may have.
MOST_POWER, MOST_BITS = 64, 1 << 20


class Unsuited(Exception):
    """A machine that cannot be closed here; the text is the reason."""


class Stopped(Exception):
    """A machine has no value at some position; the text is the reason."""


class _Special(float):
    """What compares wrongly as part of a state: no number, and the negative zero; equal to itself alone."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


_NAN, _NEGATIVE_ZERO = _Special("nan"), _Special(-0.0)


def kept(value: float) -> float:
    """A float by which two states may be told apart."""
    if value:
        return value if value == value else _NAN
    return _NEGATIVE_ZERO if math.copysign(1.0, value) < 0 else value


class Table:
    """A dictionary or a list as part of a state, and what waits to enter it; kinds of values count, too."""

    __slots__ = ("content", "key", "waiting")

    def __init__(self, content: Any, waiting: tuple = ()) -> None:
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        kinds = sorted((repr(key), type(value).__name__, repr(value)) for key, value in pairs)
        self.content, self.waiting, self.key = content, waiting, (repr(waiting), *kinds)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.key == other.key


class Text:
    """A `program.py`, executed statement by statement at one position after another.

    The function must be what programs are: arrays that are made for any length alike, one loop over the
    positions that reads them at t, t-1, ... and writes them at t, and a return of some of them. `inputs` and
    `outputs` have, for each column and output, the texts that its numbers 1, 2, ... stand for, or None.
    """

    def __init__(self, source: str, inputs: Sequence[Any] = (), outputs: Sequence[Any] = ()) -> None:
        tree = ast.parse(source)
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        texts = [ast.unparse(node) for node in tree.body if node not in functions]
        imports = [text for text in texts if re.fullmatch(_BEFORE["import"], text)]
        public = [f"__all__ = [{function.name!r}]" for function in functions]
        if len(functions) != 1 or [text for text in texts if text not in imports] != public:
            raise Unsuited("the text is not imports and one public function")
        function = functions[0]
        if function.decorator_list or function.args.defaults:
            raise Unsuited("the function is more than it says")
        own = {part.id for part in ast.walk(function) if isinstance(part, ast.Name)}
        if re.search("[,=*]", ast.unparse(function.args)) or any(name.startswith("__") for name in own):
            raise Unsuited("the function has more than one argument, or names that are not its own")
        body = function.body[1:] if ast.get_docstring(function, clean=False) else function.body
        loop = body[-2] if len(body) > 2 else None
        if not (isinstance(loop, ast.For) and isinstance(body[-1], ast.Return) and not loop.orelse) or (
            ast.unparse(loop.target), ast.unparse(loop.iter)) != ("t", "range(T)"):  # fmt: skip
            raise Unsuited("the text is not arrays, one loop over the positions, and a return")
        argument = function.args.args[0].arg
        self.body, (self.columns, self.tables) = loop.body, _prepared(body[:-2], argument)
        lags, self.ages = _reads(loop.body, self.tables)
        self.outputs = _returned(body[-1].value)
        self.lags = dict.fromkeys((name for name, _ in self.outputs), 0) | lags
        if set(self.columns) & {name for name, _ in self.outputs}:
            raise Unsuited("the text returns what it was given")
        self.inputs = list(inputs) if any(inputs) else None
        self.texts = [texts and {None: 0} | {t: i + 1 for i, t in enumerate(texts)} for texts in outputs]
        before = ast.unparse(ast.Module(body[:-2], [])).replace("\n", "\n    ")
        made = f"    return ({''.join(f'{name}, ' for name in [*self.lags, *self.tables])})"
        self.space: dict[str, Any] = {"__name__": "program", "__Table": Table, "__power": _power}
        prepare = f"def __prepare({argument}):\n    {before}\n{made}"
        exec("\n".join([*imports, prepare, self._position()]), self.space)
        np = self.space["np"]  # of it, functions of numbers, and numbers
        named = {n.attr for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Attribute)} - {"get"}
        if not all(isinstance(getattr(np, name, None), (np.ufunc, float)) for name in named):
            raise Unsuited("the loop uses more of NumPy than functions of numbers")

    def _position(self) -> str:
        """The text of a function that executes the loop's body once, what it reads put in its arrays. Names
        with two underscores are ours: no program has such a name."""
        last, shown = max(self.lags.values()), {name for name, _ in self.outputs}
        past = [f"__{name}_{k}" for name, lag in self.lags.items() for k in range(1, lag + 1)]
        lines = [f"{', '.join(['__age', *past, *(f'__{name}' for name in self.tables)])}, = __state"]
        for name, lag in self.lags.items():
            lines += [f"{name}[{last - k}] = __{name}_{k}" for k in range(1, lag + 1)]
            now = f"__row[{self.columns[name]}]" if name in self.columns else f"__empty_{name}"
            lines.append(f"{name}[{last}] = {now}")
        lines += [f"{name} = {kind}(__{name}.content)" for name, kind in self.tables.items()]
        aged = [_Aged().visit(node) for node in ast.parse(ast.unparse(ast.Module(self.body, []))).body]
        lines += [f"t = {last}", *ast.unparse(ast.Module(aged, [])).splitlines()]
        after = [f"__age + 1 if __age < {self.ages} else __age"]
        for name, lag in self.lags.items():
            if lag or name in shown:
                lines.append(f"__{name}_0 = __read_{name}({name}, {last})")
            after += [f"__{name}_{k}" for k in range(lag)]
        after += [f"__Table({name})" for name in self.tables]
        answers = [f"float(bool(__{name}_0))" if truth else f"__{name}_0" for name, truth in self.outputs]
        lines.append(f"return ({', '.join(answers)},), ({', '.join(after)},)")
        return "\n    ".join(["def __position(__state, __row):", *lines])

    def start(self, row: Sequence[Any]) -> tuple:
        """The state before the first position, whose row this is."""
        np, space, state = self.space["np"], self.space, [0]
        made = space["__prepare"](np.array([self._given(row)], dtype=object if self.inputs else float))
        for (name, lag), found in zip(self.lags.items(), made, strict=False):
            if found.ndim != 1 or len(found) < 1 + lag:
                raise Unsuited(f"{name} has no room for what lies before the start")
            if name not in space:
                space[name] = np.zeros(1 + max(self.lags.values()), found.dtype)
                read = _text if found.dtype == object else lambda array, place: kept(array.item(place))
                space[f"__read_{name}"] = read
                space[f"__empty_{name}"] = found[0]  # what an array holds before it is written
            state += [space[f"__read_{name}"](found, -k) for k in range(1, lag + 1)]
        return (*state, *(Table(table) for table in made[len(self.lags) :]))

    def _given(self, row: Sequence[Any]) -> Sequence[Any]:
        if self.inputs is None:
            return row
        return [v if texts is None else texts[int(v) - 1] for v, texts in zip(row, self.inputs, strict=True)]

    def step(self, state: tuple, row: Sequence[Any]) -> tuple[tuple, tuple]:
        """The outputs at one more position, and the state after it."""
        try:
            answers, after = self.space["__position"](state, self._given(row))
        except Exception as error:
            if isinstance(error, (Unsuited, UnboundLocalError)):
                raise Unsuited(str(error)) from None
            raise Stopped(f"the text stops with {type(error).__name__}: {error}") from None
        if any(self.texts):
            known = zip(answers, self.texts, strict=True)
            answers = tuple(answer if texts is None else texts.get(answer, -1) for answer, texts in known)
        return answers, after


def _power(base: Any, exponent: Any) -> Any:
    if not abs(exponent) * max(8, int(base).bit_length() if isinstance(base, int) else 0) <= MOST_BITS:
        raise Unsuited("the text takes a power of too many digits")
    return base**exponent


def _text(values: Any, place: int) -> Any:
    if values[place] is not None and type(values[place]) not in (str, int):
        raise Unsuited("an array of texts holds something else")
    return values[place]


#: What stands before the loop, all of it the same for every length; A is the argument, F what fills an array.
_N, _F = r"[^\W\d]\w*", r"(?:-?(?:np\.inf|[\d.e+-]+)|None|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_S = rf"(?:{_F}|\[{_F}(?:, {_F})*\](?: \* \d+)?|(?P<x>{_N})\[:1\]|np\.repeat\((?P<z>{_N})\[:1\], \d+\))"
_BEFORE = {
    "import": r"import numpy as np|from numpy\.typing import ArrayLike|from bisect import [a-z_, ]+",
    "given": r"A = np\.asarray\(A, dtype=(?:float|object)\)|T = len\(A\)",
    "column": rf"\(?(?P<names>{_N}(?:, {_N})*)\)? = (?:np\.append\((?P<y>{_N}), {_S}\)|(?P<w>{_N}))"
    r"(?:\.reshape\(-1, \d+\)\.T|\.ravel\(\)|\.astype\(float\))?",
    "array": rf"\(?{_N}(?:, {_N})*\)? = np\.(?:zeros|full)\((?:\(\d+, T(?: \+ \d+)?\)|T(?: \+ \d+)?)"
    rf"(?:, {_F})?(?:, dtype=object)?\)",
    "table": rf"(?P<name>{_N}) = (?P<kind>\{{\}}|\[\])",
    "texts": rf"{_N} = \({_F}(?:, {_F})*,?\)",
}


def _prepared(before: list[ast.stmt], argument: str) -> tuple[dict[str, int], dict[str, str]]:
    """The columns of the input by name, and the tables that begin empty; what comes before the loop must be
    what programs have there, and branches may only raise."""
    columns: dict[str, int] = {}
    tables: dict[str, str] = {}
    made: set[str] = set()
    for node in before:
        if isinstance(node, (ast.If, ast.For)):
            inner = [part for part in ast.walk(node) if isinstance(part, (ast.stmt, ast.NamedExpr, ast.Call))]
            if any(
                not isinstance(part, (ast.If, ast.Raise)) and "ValueError" not in ast.dump(part)
                for part in inner[1:]
            ):
                raise Unsuited("the text branches before its loop")
            continue
        text = ast.unparse(node)
        kinds = {
            kind: re.fullmatch(form.replace("A", re.escape(argument), 9), text)
            for kind, form in _BEFORE.items()
        }
        kind, found = next(((kind, found) for kind, found in kinds.items() if found), ("", None))
        if found is None or kind == "import":
            raise Unsuited(f"the text does more before its loop than make arrays: {text}")
        if kind == "table":
            tables[found["name"]] = "dict" if found["kind"] == "{}" else "list"
        elif kind == "column":
            names, read = found["names"].split(", "), {found[g] for g in "xyzw" if found[g]}
            if read - {argument, *columns} or len(read) != 1 or (set(names) & made) - read:
                raise Unsuited(f"the text makes columns of something else: {text}")
            columns |= (
                {} if read <= set(columns) and read != {argument} else {n: i for i, n in enumerate(names)}
            )
        names = set(text.partition(" = ")[0].strip("()").split(", "))
        taken = {argument, "T", *columns} | (made if kind != "texts" else set())
        if kind in ("array", "table", "texts") and names & taken:
            raise Unsuited(f"the text makes something twice: {text}")
        made |= names
    return columns, tables


#: What a loop may consist of, and call.
_PARTS = (ast.Assign, ast.If, ast.Expr, ast.IfExp, ast.Call, ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp)
_PARTS += (ast.BoolOp, ast.Compare, ast.Subscript, ast.Tuple, ast.List, ast.Attribute, ast.expr_context)
_PARTS += (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_CALLED = {"abs", "bool", "int", "len", "max", "min", "sorted", "bisect_left", "bisect_right", "insort"}


def _reads(body: list[ast.stmt], tables: dict[str, str]) -> tuple[dict[str, int], int]:
    """How far back the loop reads each array, and up to which number it asks for t itself."""
    lags: dict[str, int] = {}
    ages, inside = 0, set()
    parts = [part for statement in body for part in ast.walk(statement)]
    for node in parts:
        text = ast.unparse(node) if isinstance(node, ast.expr) else ""
        if not isinstance(node, _PARTS) or (isinstance(node, ast.Call) and node.keywords):
            raise Unsuited("the loop holds more than assignments and choices")
        known = text[:3] == "np." or text.removesuffix(".get") in tables
        if isinstance(node, ast.Attribute) and not known:
            raise Unsuited(f"the loop uses {text}")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in _CALLED:
            raise Unsuited(f"the loop calls {node.func.id}")
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id not in tables
        ):
            name, index = node.value.id, ast.unparse(node.slice).replace(" ", "")
            lag = re.fullmatch(r"t(?:-(\d+))?", index)  # x[0] is another place at every t
            if lag is None or (isinstance(node.ctx, ast.Store) and index != "t"):
                raise Unsuited(f"the loop asks for {name}[{index}]")
            lags[name] = max(lags.get(name, 0), int(lag[1] or 0))
            inside |= {id(node.value), *map(id, ast.walk(node.slice))}
        elif isinstance(node, ast.Compare) and text.startswith("t "):
            if not text[5:].isdigit() or text[:5] != "t >= ":
                raise Unsuited("the loop compares t otherwise than with a start")
            ages = max(ages, int(text[5:]))
            inside.add(id(node.left))
    for node in parts:
        if (
            isinstance(node, ast.Name)
            and id(node) not in inside
            and (
                node.id in {"t", "T", *lags}
                or (isinstance(node.ctx, ast.Store) and node.id in {*_CALLED, *tables, "np"})
            )
        ):
            raise Unsuited(f"the loop uses {node.id} as a whole")
    return lags, ages


class _Aged(ast.NodeTransformer):
    """Where the loop asks how many positions lie before, that is what the state knows; powers may not take
    for ever."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        power = isinstance(node.op, ast.Pow)
        return ast.Call(ast.Name("__power", ast.Load()), [node.left, node.right], []) if power else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if isinstance(node.left, ast.Name) and node.left.id == "t":
            node.left = ast.Name("__age", ast.Load())
        return self.generic_visit(node)


def _returned(value: ast.expr | None) -> list[tuple[str, bool]]:
    """The arrays that are returned, and whether as truth values."""
    stacked = isinstance(value, ast.Call) and ast.unparse(value.func) == "np.stack"
    found = []
    parts: list[Any] = value.args[0].elts if stacked else [value]  # type: ignore[union-attr]
    for part in parts:
        text = ast.unparse(part).replace("[:T]", "").replace(".astype(object)", "")
        name = text.removesuffix(".astype(bool)")
        if not name.isidentifier():
            raise Unsuited(f"the text returns {text}")
        found.append((name, name != text))
    return found


class Written:
    """A machine as a text of its own: `start(row)` and `step(state, row)`; `w` are its weights."""

    def __init__(self, source: str, weights: Sequence[float] = ()) -> None:
        space: dict[str, Any] = {"Fraction": Fraction, "Table": Table, "inf": math.inf, "w": list(weights)}
        space |= {"Stopped": Stopped, "Unsuited": Unsuited, "MOST_POWER": MOST_POWER}
        exec(compile(source, "machine.py", "exec"), space)
        self.start, self.position = space["start"], space["step"]

    def step(self, state: tuple, row: Sequence[Any]) -> tuple[tuple, tuple]:
        """The outputs at one more position, and the state after it."""
        try:
            return self.position(state, row)
        except ArithmeticError as error:
            raise Stopped(f"there is no value: {error}") from None


def weights_in(file: Path, places: Sequence[Sequence[Any]]) -> list[float]:
    """Single numbers of a file of weights (safetensors), by the names of tensors and places in them."""
    content, found = file.read_bytes(), []
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    for name, place in places:
        kind = "<" + {"F64": "d", "F32": "f"}[header[name]["dtype"]]
        begin = 8 + size + header[name]["data_offsets"][0] + struct.calcsize(kind) * place
        found += struct.unpack_from(kind, content, begin)
    return found


@dataclass(slots=True)
class Closed:
    """What closing found: `outcome` is "closed", "cut" (nothing differs up to `length`) or "different", after
    a shortest `sequence` and for a `reason`; `error` is the largest difference of two outputs, `newest` how
    many transitions had been taken when the last state turned up."""

    outcome: str
    states: list[Any]
    length: int = 0
    transitions: int = 0
    newest: int = 0
    error: Fraction = Fraction(0)
    sequence: list[tuple] | None = None
    reason: str = ""


def close(
    left: Any, right: Any, rows: Any, near: Any, most: int, given: Any = None, stop: Any = None
) -> Closed:
    """Close the states that two machines reach together; outputs may differ by `near` each. No more than
    `most` transitions are taken, or until `stop` says so. With `given`, no other states may turn up."""
    states: list[Any] = list(given or ())
    parents: list[tuple[int, int]] = [(-1, -1)] * len(states)
    seen, closed = set(states), Closed("closed", states)
    met: set[tuple[Any, Any]] = set()  # pairs of outputs that are near enough

    def position(parent: int, place: int, state: tuple) -> bool:
        """Take one transition; whether all is well."""
        try:
            one, other = left.step(state[0], rows[place]), right.step(state[1], rows[place])
            for a, b in zip(one[0], other[0], strict=True):
                if (a != b or abs(a) == math.inf) and (a, b) not in met:
                    if not (math.isfinite(a) and math.isfinite(b)):
                        raise Stopped("an output is not finite")
                    apart = abs(Fraction(a) - Fraction(b))
                    if apart > near:
                        raise Stopped("outputs differ")
                    closed.error = max(closed.error, apart)
                    met.add((a, b))
        except Stopped as stopped:
            closed.outcome, closed.reason, taken = "different", str(stopped), [place]
            while parent >= 0:
                parent, place = parents[parent]
                taken.append(place)
            closed.sequence = None if given is not None else [rows[place] for place in reversed(taken)]
            return False
        after = (one[1], other[1])
        if after not in seen:
            if given is not None:
                closed.outcome, closed.reason = "different", "there are other states than those given"
                return False
            seen.add(after)
            closed.newest = closed.transitions
            states.append(after)
            parents.append((parent, place))
        return True

    for place, row in enumerate(rows):
        if not position(-1, place, (left.start(row), right.start(row))):
            return closed
    closed.transitions, done, closed.length = len(rows), 0, 1
    while done < len(states):
        level = len(states)
        for number in range(done, level):
            if closed.transitions + len(rows) > most or (stop is not None and number % 64 == 0 and stop()):
                closed.outcome = "cut"
                return closed
            if not all(position(number, place, states[number]) for place in range(len(rows))):
                return closed
            closed.transitions += len(rows)
        done, closed.length = level, closed.length + 1
    return closed


def all_rows(domains: Sequence[Sequence[float]]) -> list[tuple]:
    """Every row of whole numbers between the ends of the domains."""
    return list(product(*(range(int(low), int(high) + 1) for low, high in domains)))


def machine(folder: Path, data: dict[str, Any]) -> Text | Written:
    """A machine of a claim; a network whose file would choose otherwise is refused."""
    source = (folder / data["file"]).read_text(encoding="utf-8")
    if data["kind"] == "text":
        return Text(source, data.get("inputs", ()), data.get("outputs", ()))
    if "weights" not in data:
        return Written(source)
    file = folder / data["weights"]
    for name, options, chosen in data["choices"]:
        scores = weights_in(file, [(name, place) for place in options])
        if options[scores.index(max(scores))] != chosen:
            raise Unsuited(f"{data['weights']} makes another choice")
    return Written(source, weights_in(file, data["places"]))


def main(folder: Path) -> int:
    """Close the states of every claim; the exit code."""
    failed = 0
    for claim in json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]:
        try:
            left, right = (machine(folder, claim[side]) for side in ("left", "right"))
            rows = all_rows(claim["domains"])
            found = close(left, right, rows, Fraction(claim["near"]), claim["transitions"])
            holds, many = found.outcome == "closed", f"{len(found.states)} states"
            why = found.reason or f"more than {many}"
            text = f"{many}, {found.transitions} transitions" if holds else f"{why}: {found.sequence}"
        except (Unsuited, OSError, LookupError, ValueError, SyntaxError) as error:
            holds, text = False, str(error)
        failed += not holds
        print(f"{'holds' if holds else 'DOES NOT HOLD'}: {claim['claim']}: {text}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent)))
