"""A step function with one part of its text changed: what does not change the output then was no part of it.

Each statement is removed, each condition made true and false, each operation replaced by one of its operands,
each entry of a table by another one, and each value that is read by a constant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any


def mutants(
    source: str, inputs: Sequence[tuple[str, tuple[float, float]]], start: Any
) -> Iterator[tuple[str, ast.Module]]:
    """Which part of a program is changed, and the program with it changed; it holds until the next one."""
    tree = ast.parse(source)
    reads = {
        name: (low + high) / 2 if isinstance(low, float) else int(low + high) // 2
        for name, (low, high) in inputs
    } | started(tree, start)
    parts = [part for part in tree.body if ast.unparse(part).split()[0] != "START"]
    for node in (node for part in parts for node in ast.walk(part)):
        for field, held in ast.iter_fields(node):
            children = held if isinstance(held, list) else [held]
            for i, child in enumerate(children):
                for other in _alternatives(child, reads) if isinstance(child, ast.AST) else ():
                    new = [*children[:i], other, *children[i + 1 :]]
                    setattr(node, field, new if isinstance(held, list) else other)
                    yield ast.unparse(child), ast.fix_missing_locations(tree)
                    setattr(node, field, held)


def started(tree: ast.Module, start: Any) -> dict[str, Any]:
    """Every register with its value before the first row."""
    if isinstance(start, dict):
        return start
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    if function.args.args[0].arg != "state":
        return {function.args.args[0].arg: start}
    names = ast.unparse(function.body[0]).removesuffix(" = state").strip("()").split(", ")
    return dict(zip(names, start, strict=True)) if start is not None else {}


def _alternatives(node: ast.AST, reads: dict[str, Any]) -> list[ast.AST]:
    """What a part is replaced by, to see whether it matters."""
    name = node.id if isinstance(node, ast.Name) else kept_in(node)
    if name is not None and isinstance(getattr(node, "ctx", None), ast.Load):
        plain = name not in ("row", "state", "min", "max", "abs", "sum", "int") and not name.isupper()
        return [ast.Constant(reads.get(name, 0))] if plain else []
    match node:
        case ast.If():
            return [ast.Pass(), *(ast.If(ast.Constant(b), node.body, node.orelse) for b in (True, False))]
        case ast.Assign() | ast.AugAssign():
            return [ast.Pass()]
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.BinOp():
            return [node.left, node.right]
        case ast.BoolOp():
            return [*node.values]
        case ast.Call(func=ast.Name(id="min" | "max" | "abs")):
            return [*node.args]
        case ast.Compare(ops=[one, other]):
            first, second = node.comparators
            return [ast.Compare(node.left, [one], [first]), ast.Compare(first, [other], [second])]
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple(elts=some)]):
            return [ast.Compare(node.left, [ast.Eq()], [one]) for one in some]
        case ast.List(elts=values) if len(values) > 1:
            return [ast.List(new, ast.Load()) for new in _others(values)]
        case ast.Dict(values=values):
            return [ast.Dict(node.keys, new) for new in _others(values)]
    return []


def _others(values: list[ast.expr]) -> Iterator[list[ast.expr]]:
    """The entries of a table, one of them replaced by another that differs."""
    texts = [ast.unparse(value) for value in values]
    for i, text in enumerate(texts):
        different = [value for value, other in zip(values, texts, strict=True) if other != text]
        yield [*values[:i], *(different[:1] or [ast.Constant(0)]), *values[i + 1 :]]


def kept_in(node: ast.AST) -> str | None:
    """The name of what is read as `row["..."]` or `state["..."]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return None
    place = node.value.id if isinstance(node.value, ast.Name) else None
    return str(node.slice.value) if place in ("row", "state") else None
