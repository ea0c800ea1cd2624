"""The text of a `program.py` read back as the recurrence that its loop computes, in exact numbers.

Induction speaks about formulas; so that what it says is about the text, the formulas are taken from the text
itself, statement by statement, and from nothing else. What is read by a rule that holds for some values only
(`a and b` as a number is 0 or 1 if both are) is checked on what the values can be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from weights2code.kernel.closing import Text, Unsuited
from weights2code.language import (
    Const,
    Count,
    Definition,
    Domain,
    Expr,
    Recurrence,
    Retrieval,
    Start,
    Step,
    Var,
    is_boolean,
    op,
    where,
)
from weights2code.language.formula_reading import joined, read_arithmetic, read_logic
from weights2code.language.kinds import kinds_of
from weights2code.language.operators import OPERATORS, order_name

#: What enters a table, where it is read further back from some position on; and what enters a sorted list.
_PUT = r"(?:if t >= (?P<late>\d+):\n    )?(?P<table>\w+)\[(?P<key>.+)\] = (?P<value>.+)"
_SORTED = r"insort\((?P<table>\w+), (?P<key>.+)\)"
#: How a lookup reads its table, and a count a list.
_GET = r"(?P<table>\w+)\.get\((?P<query>.+), (?P<default>.+)\)"
_RANK = r"(?:len\((?P<whole>\w+)\) - )?(?P<function>bisect_\w+)\((?P<table>\w+), (?P<query>.+)\)"
#: How a count looks into sorted keys: `bisect_left` counts those below, the rest of the list the others.
_COUNTED = {
    ("bisect_left", False): "lt",
    ("bisect_right", False): "le",
    ("bisect_left", True): "ge",
    ("bisect_right", True): "gt",
}


def read_text(text: Text, inputs: Sequence[str], domains: Sequence[Domain]) -> Recurrence:
    """What the loop of a text computes.

    Raises
    ------
    Unsuited
        If some statement is none of those that programs consist of, or is read rightly only for other values.
    """
    return _Reader(text, domains).recurrence(inputs)


class _Reader:
    def __init__(self, text: Text, domains: Sequence[Domain]) -> None:
        self.text, self.domains = text, domains
        self.bits: list[Expr] = []
        self.stored: dict[str, tuple[str, str, int]] = {}
        self.counted: dict[str, str] = {}
        self.written: dict[str, tuple[int, int]] = {}  # where in the text something enters each table

    def recurrence(self, inputs: Sequence[str]) -> Recurrence:
        steps: dict[str, Definition] = {}
        for node in [node for node in self.text.body if not self._enters(node)]:
            name, definition = self._statement(node)
            if name in steps:
                raise Unsuited(f"{name} is assigned twice")
            steps[name] = definition
        columns = {place: name for name, place in self.text.columns.items()}
        names = tuple(columns.get(place, f"unread{place}") for place in range(len(inputs)))
        found = Recurrence(
            names,
            tuple(Step(name, definition) for name, definition in steps.items()),
            tuple(name for name, _ in self.text.outputs),
            self._starts(),
        )
        if self.text.inputs or any(self.text.texts):
            raise Unsuited("a program of texts is not read")
        kinds = kinds_of(found, self.domains)
        if not all(kinds.is_bit(expr) for expr in self.bits):
            raise Unsuited("a number stands for a truth value that may be neither 0 nor 1")
        if any(truth and not kinds.is_bit(Var(name)) for name, truth in self.text.outputs):
            raise Unsuited("an output that is returned as a truth value may be neither 0 nor 1")
        return found

    def _starts(self) -> dict[str, Start]:
        """What lies before the start: the same for two different rows, or the first value of its column."""
        rows = [[domain.low for domain in self.domains], [domain.high for domain in self.domains]]
        low, high = (self.text.start(row)[1:] for row in rows)
        starts: dict[str, Start] = {}
        place = 0
        for name, lag in self.text.lags.items():
            if not lag:
                continue
            one, other = low[place : place + lag], high[place : place + lag]
            place += lag
            column = self.text.columns.get(name)
            if column is not None and rows[0][column] != rows[1][column] and one != other:
                starts[name] = "first"
            elif len(set(one)) == 1 and one == other:
                starts[name] = 0.0 if one[0] is None else one[0]
            else:
                raise Unsuited(f"what lies before the start of {name} is not one number")
        if any(isinstance(start, str) and start != "first" for start in starts.values()):
            raise Unsuited("a text lies before the start")
        return starts

    # -- statements -----------------------------------------------------------------------------------------

    def _enters(self, node: ast.stmt) -> bool:
        """Whether a statement is what enters a table, which is noted then; no other may enter the same."""
        text = ast.unparse(node)
        found = re.fullmatch(_PUT, text) or re.fullmatch(_SORTED, text)
        table = found["table"] if found else ""
        if found is None or table not in self.text.tables:
            if text.startswith("if t >= ") or isinstance(node, ast.Expr):
                raise Unsuited("the loop asks for the position, or for something, and not for a table")
            return False
        put = found.groupdict()
        key, late = self._said(put["key"]), int(put.get("late") or 0)
        if table in self.written or self.text.tables[table] != ("dict" if "value" in put else "list"):
            raise Unsuited(f"{table} is written twice, or is no such table")
        self.written[table] = node.lineno, node.col_offset
        if put.get("value", "") in ("", f"{table}.get({put['key']}, 0) + 1"):
            if not isinstance(key, Var) or key.lag or late:
                raise Unsuited(f"{table} counts something else than a name at every position")
            self.counted[table] = key.name
            return True
        value = self._said(put["value"])
        if not isinstance(key, Var) or not isinstance(value, Var) or not key.lag == value.lag == late:
            raise Unsuited(f"{table} keeps more than one value, or at other positions than are read")
        self.stored[table] = key.name, value.name, key.lag
        return True

    def _said(self, text: str) -> Expr:
        try:
            return self._number(ast.parse(text, mode="eval").body)
        except SyntaxError:  # two targets, say
            raise Unsuited(f"{text[:60]} is not part of a formula") from None

    def _statement(self, node: ast.stmt) -> tuple[str, Definition]:
        """The name that a statement defines, and as what."""
        if isinstance(node, ast.If):
            (name, yes), (other, no) = self._branch(node.body), self._branch(node.orelse)
            if name != other:
                raise Unsuited("the branches of a choice define different names")
            return name, where(self._truth(node.test), yes, no)
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            raise Unsuited(f"a statement of the loop is {type(node).__name__}")
        target = ast.unparse(node.targets[0])
        name = target.removesuffix("[t]")
        if not name.isidentifier() or name in self.text.tables or target in self.text.lags:
            raise Unsuited(f"the loop defines {target} as a whole")
        return name, self._over_all(node) or self._number(node.value)

    def _branch(self, body: list[ast.stmt]) -> tuple[str, Expr]:
        name, found = self._statement(body[0]) if len(body) == 1 else ("", None)
        if not isinstance(found, Expr):
            raise Unsuited("a branch does not define one name")
        return name, found

    def _over_all(self, node: ast.Assign) -> Definition | None:
        """A lookup or a count; None if the value is a formula."""
        text = ast.unparse(node.value)
        found = re.fullmatch(_GET, text) or re.fullmatch(_RANK, text)
        if found is None:
            return None
        table, query, said = found["table"], self._said(found["query"]), found.groupdict()
        if (
            self.text.tables.get(table) != ("dict" if "default" in said else "list")
            or table not in self.written
        ):
            raise Unsuited(f"{table} is never written, or is read otherwise")
        default = self._said(said.get("default", "0"))
        before = self.written[table] < (node.lineno, node.col_offset)
        if table in self.counted:
            if not before or default != Const(0) or said.get("whole") not in (None, table):
                raise Unsuited(f"{table} counts otherwise")
            relation = _COUNTED[said["function"], bool(said["whole"])] if "function" in said else "eq"
            return Count(self.counted[table], query, relation)  # type: ignore[arg-type]
        key, kept, lag = self.stored[table]
        if not isinstance(default, Const) or (before and lag):
            raise Unsuited(f"{table} is read otherwise, or is written before it is read")
        return Retrieval(key, kept, query, 0 if before else lag + 1, float(default.value))

    # -- expressions ----------------------------------------------------------------------------------------

    def _number(self, node: ast.expr) -> Expr:
        found = read_arithmetic(node, self._number, self._truth)
        if found is not None:
            return found
        if ast.unparse(node) == "np.inf":
            return Const(float("inf"))
        if isinstance(node, ast.Name):
            return Var(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            return Var(node.value.id, int(ast.unparse(node.slice).replace(" ", "")[2:] or 0))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).startswith("sorted(["):
            values = node.value.args[0].elts  # type: ignore[attr-defined]
            return op(order_name(ast.literal_eval(node.slice) + 1, len(values)), *map(self._number, values))
        if isinstance(node, ast.Call) and not node.keywords:
            return self._call(ast.unparse(node.func), node.args)
        raise Unsuited(f"{ast.unparse(node)[:60]} is not part of a formula")

    def _call(self, function: str, arguments: list[ast.expr]) -> Expr:
        if function == "int" and len(arguments) == 1:
            inner = arguments[0]
            if isinstance(inner, ast.Call) and ast.unparse(inner.func) == "bool" and len(inner.args) == 1:
                truth = self._truth(inner.args[0])
                return truth if is_boolean(truth) else op("ne", truth, 0)
            return self._truth(inner, number=True)
        name = function.removeprefix("np.")
        if name not in OPERATORS or OPERATORS[name].arity != len(arguments) or OPERATORS[name].truths:
            raise Unsuited(f"the text calls {function}")
        return op(name, *(self._number(argument) for argument in arguments))

    def _truth(self, node: ast.expr, *, number: bool = False) -> Expr:
        """A condition; if it is used as a `number`, what stands in it must be 0 or 1."""
        found = read_logic(node, self._number, lambda part: self._truth(part, number=number))
        if found is not None:
            return found
        if isinstance(node, ast.Compare) and [type(sign) for sign in node.ops] == [ast.In]:
            left, items = self._number(node.left), getattr(node.comparators[0], "elts", [])
            if items:
                return joined("or", [op("eq", left, self._number(item)) for item in items])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return op("not", self._truth(node.operand))
        found = self._number(node)
        if number and not is_boolean(found):
            self.bits.append(found)
        return found
