"""What an operator is, exactly: a short formula where one holds on all that can occur, else table or hinges.

The value of an operator is a number on an arbitrary scale, and what its readers make of it is all that it
means. So the scale comes off where that is free. Levels that lie evenly are numbered 0, 1, 2, ... A function
of two values each is one crisp function and a weighted sum of its operands, which goes to the output head.
What the output head alone reads is written as its share of the output, with what the head adds of its
operands. Whatever is done, the listing stays equal to the network up to rounding. Sums are made in a fixed
order, so that every machine writes the same digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from weights2code.explain.possible_values import Possible, combinations
from weights2code.graph import OperatorNode
from weights2code.graph.raw_nodes import RawNode
from weights2code.language import Const, Expr, Var, evaluate, op
from weights2code.symbolic.notation import weighted_sum
from weights2code.symbolic.relu_readoff import Hinges, hinges

#: Exact: off by so much of the largest value, which is rounding.
EXACT = 1e-12
#: Tables of more rows are not written, and levels are numbered up to this.
MOST_ROWS = 500
MOST_LEVELS = 1000
#: A head's weight of less than this share of the operator's own counts as none.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True, slots=True)
class Operand:
    """What an operator reads: its name in the listing, and what is listed there."""

    name: str
    possible: Possible


@dataclass(frozen=True, slots=True)
class HeadRow:
    """How one output weighs an operator that nothing else reads, its operands, and what it adds."""

    weight: float
    operands: tuple[float, ...]
    bias: float


@dataclass(frozen=True, slots=True)
class Form:
    """How an operator is listed: value = offset + factor * listed + share times its operands."""

    node: RawNode
    possible: Possible
    offset: float = 0.0
    factor: float = 1.0
    shares: tuple[float, ...] = ()


def exact_form(
    node: OperatorNode,
    operands: Sequence[Operand],
    *,
    formulas: Sequence[Expr] = (),
    free: bool = False,
    heads: Sequence[HeadRow] = (),
    rows: np.ndarray | None = None,
) -> Form:
    """The form of an operator whose weights are those of the operands as they are listed.

    Parameters
    ----------
    formulas : in the operands' names; the first that is exact is taken.
    free : whether an affine function of the value serves its readers as well.
    heads : the outputs that weigh it, if nothing else reads it.
    rows : all that the operands hold together, sorted, where that is known; else any combination may occur.
    """
    tables = _tables(node, tuple(operands), rows)
    for table in tables:
        for formula in formulas:
            if table.holds(formula):
                low, high = float(table.values.min()), float(table.values.max())
                return Form(_formula(node, formula), Possible(low, high))
        for form in (
            _numbered(node, table) if free else None,
            _affine(node, table) if table.whole else None,
            _of_two_pairs(node, table, heads) if heads and table.whole else None,
        ):
            if form is not None:
                return form
    box = np.array([[o.possible.low, o.possible.high] for o in operands]).reshape(-1, 2)
    found = hinges(node.hidden_weight, node.hidden_bias, node.output_weight, node.output_bias, box)
    row = heads[0] if len(heads) == 1 else HeadRow(1.0, (0.0,) * len(operands), 0.0)
    if tables and len(tables[0].rows) <= min(MOST_ROWS, found.numbers()):
        table = tables[0]
        values = row.weight * table.values + _weighted(table.rows, row.operands) + row.bias
        form = _written_out(node, table, values)
    else:
        form = _piecewise(node, operands, _taken_over(found, row), box)
    if len(heads) != 1:
        return form
    shares = tuple(-weight / row.weight for weight in row.operands)
    return replace(form, offset=-row.bias / row.weight, factor=1 / row.weight, shares=shares)


def values_of(node: RawNode, rows: np.ndarray) -> np.ndarray:
    """What a table or a formula gives on rows of what it reads, in the order of its operands."""
    if node.kind == "table":
        known = {row[:-1]: row[-1] for row in node.rows}
        return np.array([known[tuple(row)] for row in rows.tolist()])
    assert node.formula is not None
    columns = dict(zip(map(Var, node.reads), rows.T, strict=True))
    return np.broadcast_to(np.asarray(evaluate(node.formula, columns), float), len(rows))


def _tables(node: OperatorNode, operands: tuple[Operand, ...], rows: np.ndarray | None) -> list[_Table]:
    """The operator on what occurs and on all combinations of that; nothing where it cannot be told."""
    possible = [operand.possible.values for operand in operands]
    known = [some for some in possible if some is not None]
    if not operands or len(known) < len(possible):
        return []
    whole = combinations(known)
    if rows is not None and whole is not None and len(rows) == len(whole):
        rows = None
    found = [
        _Table(operands, some, in_order(node, some), some is whole)
        for some in (rows, whole)
        if some is not None
    ]
    return [table for table in found if np.isfinite(table.values).all()]


@dataclass(frozen=True, slots=True)
class _Table:
    """An operator on what its operands can hold; on all combinations of it, if it is `whole`."""

    operands: tuple[Operand, ...]
    rows: np.ndarray
    values: np.ndarray
    whole: bool

    @property
    def rounding(self) -> float:
        return EXACT * float(np.abs(self.values).max())

    def holds(self, formula: Expr) -> bool:
        """Whether a formula gives these values."""
        names = [operand.name for operand in self.operands]
        if not {variable.name for variable in formula.variables()} <= set(names):
            return False
        with np.errstate(all="ignore"):
            found = evaluate(formula, dict(zip(map(Var, names), self.rows.T, strict=True)))
            return bool((np.abs(found - self.values) <= self.rounding).all())

    def plane(self, rounding: float | None = None) -> tuple[tuple[float, ...], float] | None:
        """The values as a weighted sum of the operands and a constant; None if they are none.

        All combinations must be there, in order: each weight is told by the row in which one operand is at
        its highest and the others at their lowest.
        """
        if not self.whole:
            return None
        first, place, weights = self.rows[0], len(self.rows), []
        for slot, operand in enumerate(self.operands):
            count = len(operand.possible.values or ())
            place //= count
            row = (count - 1) * place
            width = self.rows[row, slot] - first[slot]
            weights.append(float((self.values[row] - self.values[0]) / width) if width else 0.0)
        constant = float(self.values[0] - _weighted(self.rows[:1], weights)[0])
        off = np.abs(_weighted(self.rows, weights) + constant - self.values).max()
        return (tuple(weights), constant) if off <= (rounding or self.rounding) else None


def in_order(node: OperatorNode, rows: np.ndarray) -> np.ndarray:
    """What an operator gives, added up in the order of its units: a matrix product leaves that open."""
    total = np.full(len(rows), float(node.output_bias))
    with np.errstate(all="ignore"):
        units = zip(node.hidden_weight, node.hidden_bias, node.output_weight, strict=True)
        for weights, bias, factor in units:
            total = total + factor * np.maximum(_weighted(rows, weights) + bias, 0.0)
    return total


def _weighted(rows: np.ndarray, weights: Iterable[float]) -> np.ndarray:
    """Rows times weights, added up in their order."""
    total = np.zeros(len(rows))
    for column, weight in zip(rows.T, weights, strict=True):
        total = total + weight * column
    return total


def _formula(node: OperatorNode, formula: Expr, operands: tuple[Operand, ...] = ()) -> RawNode:
    reads = tuple(operand.name for operand in operands)
    return RawNode(node.name, "formula", reads, formula=formula)


def _sum_of(table: _Table, weights: Iterable[float], constant: float) -> Expr:
    """The weighted sum of the operands, and the constant."""
    names = [Var(operand.name) for operand in table.operands]
    numbers = [Const(float(weight)).value for weight in weights]
    return weighted_sum(list(zip(numbers, names, strict=True)), Const(float(constant)).value)


def _affine(node: OperatorNode, table: _Table) -> Form | None:
    """A weighted sum of the operands."""
    plane = table.plane()
    if plane is None:
        return None
    low, high = float(table.values.min()), float(table.values.max())
    return Form(_formula(node, _sum_of(table, *plane)), Possible(low, high))


def _numbered(node: OperatorNode, table: _Table) -> Form | None:
    """Levels that lie evenly, by their numbers: as a formula if there is a plain one, else as a table."""
    levels = np.unique(table.values)
    levels = levels[np.append(True, np.diff(levels) > table.rounding)]
    if len(levels) < 2:
        return None
    step = float(np.diff(levels).min())
    if (levels[-1] - levels[0]) / step > MOST_LEVELS:
        return None
    step = float(levels[-1] - levels[0]) / np.round((levels[-1] - levels[0]) / step)
    numbers = np.round((table.values - levels[0]) / step)
    if np.abs(levels[0] + step * numbers - table.values).max() > table.rounding:
        return None
    crisp = replace(table, values=numbers)
    for formula in _plain_formulas(crisp):
        if crisp.holds(formula):
            listed = _formula(node, formula, table.operands)
            form = Form(listed, Possible.of(set(numbers.tolist())))
            break
    else:
        if len(table.rows) > MOST_ROWS:
            return None
        form = _written_out(node, table, numbers)
    return replace(form, offset=float(levels[0]), factor=step)


def _plain_formulas(table: _Table) -> list[Expr]:
    """Formulas worth trying on whole numbers: weighted sums, and what two operands can do."""
    found: list[Expr] = []
    plane = table.plane()
    if plane is not None:
        found.append(_sum_of(table, np.round(plane[0]), np.round(plane[1])))
    return [*found, *_of_two(table)]


def _of_two(table: _Table) -> list[Expr]:
    if len(table.operands) != 2:
        return []
    a, b = (Var(operand.name) for operand in table.operands)
    bits = all(operand.possible.values == (0.0, 1.0) for operand in table.operands)
    compared = [op(name, a, b) for name in ("ne", "eq", "gt", "lt", "ge", "le")]
    return [compared[0], a * b, op("max", a, b), *compared[1:]] if bits else [*compared[:2], a * b]


def _of_two_pairs(node: OperatorNode, table: _Table, heads: Sequence[HeadRow]) -> Form | None:
    """Two operands of two values each: any function is one crisp function and a sum of the two.

    The one is taken that leaves the output head least to add.
    """
    if len(table.operands) != 2 or any(len(operand.possible.values or ()) != 2 for operand in table.operands):
        return None
    best: tuple[int, Form] | None = None
    for formula in _of_two(table):
        names = (Var(operand.name) for operand in table.operands)
        crisp = np.asarray(evaluate(formula, dict(zip(names, table.rows.T, strict=True))), float)
        if not _twist(crisp):
            continue  # itself a sum of the two
        factor = _twist(table.values) / _twist(crisp)
        plane = replace(table, values=table.values - factor * crisp).plane(table.rounding)
        if plane is None or abs(factor) <= table.rounding:
            continue
        left = 0
        for row in heads:
            rest = row.weight * np.array(plane[0]) + np.array(row.operands)
            left += int((np.abs(rest) > NEGLIGIBLE * abs(row.weight * factor)).sum())
        held = Possible.of(set(crisp.tolist()))
        form = Form(_formula(node, formula, table.operands), held, plane[1], factor, plane[0])
        if best is None or left < best[0]:
            best = left, form
    return best[1] if best else None


def _twist(values: np.ndarray) -> float:
    """What a function of two pairs of values has that no sum of its operands has."""
    return float(values[0] - values[1] - values[2] + values[3])


def _written_out(node: OperatorNode, table: _Table, values: np.ndarray) -> Form:
    """The values one by one."""
    reads = tuple(operand.name for operand in table.operands)
    rows = tuple((*row, value) for row, value in zip(table.rows.tolist(), values.tolist(), strict=True))
    return Form(RawNode(node.name, "table", reads, rows=rows), Possible.of(set(values.tolist())))


def _taken_over(found: Hinges, row: HeadRow) -> Hinges:
    """The hinges as their share of an output, each unit with 1 for its largest weight."""
    slope = tuple(row.weight * own + weight for own, weight in zip(found.slope, row.operands, strict=True))
    units = []
    for factor, weights, bias in found.units:
        size = max(map(abs, weights), default=0.0)
        size = size if size and isfinite(row.weight * factor * size) else 1.0
        units.append((row.weight * factor * size, tuple(w / size for w in weights), bias / size))
    return Hinges(slope, row.weight * found.offset + row.bias, tuple(units))


def _piecewise(node: OperatorNode, operands: Sequence[Operand], found: Hinges, box: np.ndarray) -> Form:
    """The hinges of the units that bend somewhere on the box, and how far the value reaches there."""
    with np.errstate(invalid="ignore"):
        slope = np.array(found.slope).reshape(-1, 1)
        ends = np.where(slope == 0, 0.0, slope * box)
        low, high = ends.min(1).sum() + found.offset, ends.max(1).sum() + found.offset
        for factor, weights, bias in found.units:
            column = np.array(weights).reshape(-1, 1)
            most = np.where(column == 0, 0.0, column * box).max(1).sum() + bias
            low, high = low + min(factor * most, 0.0), high + max(factor * most, 0.0)
    reads, count = tuple(operand.name for operand in operands), len(found.units)
    comment = f"piecewise linear, {count} unit{'s' * (count != 1)}" if count else "linear"
    listed = RawNode(
        node.name, "piecewise", reads, start=found.offset, slope=found.slope, units=found.units,
        comment=comment if operands else "constant",
    )  # fmt: skip
    return Form(listed, Possible(float(low), float(high)))
