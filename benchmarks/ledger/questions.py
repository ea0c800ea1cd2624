"""Calls of the engine that need no run: laws, and random programs from their true leaves.

What a rule reads is given, its formula is asked for; so they are the engine's part of a search alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import calls
import numpy as np
import problems

from weights2code.language import Expr, Op, Recurrence, Var, definition_variables, infer, uniform

Record = dict[str, Any]
#: Random trees of laws: how many, and the first seed.
TREES, FIRST_TREE = 60, 1000
#: Seeds of random programs, how many of each, and the sequences that rows are taken from.
SEEDS, PROGRAMS, SEQUENCES, POSITIONS = (12, 13, 14), 150, 200, 14
ROWS = 1500


def all_questions() -> Iterator[Record]:
    yield from laws()
    for seed in SEEDS:
        yield from leaves(seed)


def laws() -> Iterator[Record]:
    """Known functions, the written ones with noise too."""
    targets = problems.neighbour("symbolic_regression", "targets")
    noise = problems.neighbour("symbolic_regression", "run").NOISE
    drawn = [targets.random_tree(FIRST_TREE + number) for number in range(TREES)]
    for target in (*targets.written_targets(), *drawn):
        X = target.sample(ROWS, 1)
        y = target.values(X)
        said = {"variables": target.variables, "domains": target.domains}
        yield calls.record_of("laws", target.name, "clean", X, y, said)
        if target not in drawn:
            noisy = y + noise * (np.std(y) or 1.0) * np.random.default_rng(2).normal(size=len(y))
            yield calls.record_of("noisy laws", target.name, "noisy", X, noisy, said)


def leaves(seed: int, count: int = PROGRAMS, sizes: tuple[int, ...] | None = None) -> Iterator[Record]:
    """The last step of each program as a function of columns, outputs and states, other steps put in."""
    for program in problems.drawn("trees", count, seed, sizes=sizes):
        machine = program.recurrence
        definitions = {step.name: step.definition for step in machine.steps}
        formula = definitions[machine.outputs[0]]
        if isinstance(formula, Expr):
            formula = _without(formula, definitions, set(_remembering(machine)))
            x = uniform(np.random.default_rng([seed, 3]), program.domains, SEQUENCES, POSITIONS)
            names = (*machine.inputs, *definitions)
            values = dict(
                zip(names, np.moveaxis(np.concatenate([x, _all(machine, x)], 2), 2, 0), strict=True)
            )
            variables = tuple(sorted(formula.variables(), key=str))
            first = max((v.lag for v in variables), default=0)
            if not variables or first >= POSITIONS - 1:
                continue
            columns = [values[v.name][:, first - v.lag : POSITIONS - v.lag].ravel() for v in variables]
            X, y = np.stack(columns, 1), values[machine.outputs[0]][:, first:].ravel()
            said = {"variables": variables, "domains": tuple(infer(column) for column in columns)}
            yield calls.record_of(f"leaves {seed}", program.name, "leaves", X, y, said)


def _all(machine: Recurrence, x: np.ndarray) -> np.ndarray:
    """The values of every step."""
    with np.errstate(all="ignore"):
        return replace(machine, outputs=tuple(step.name for step in machine.steps)).run(x)


def _remembering(machine: Recurrence) -> Iterator[str]:
    """Steps that stay as they are: outputs, what reads its own past, and what goes over everything so far."""
    for step in machine.steps:
        reads = {variable.name for variable in definition_variables(step.definition)}
        if step.name in machine.outputs or step.name in reads or not isinstance(step.definition, Expr):
            yield step.name


def _without(expr: Expr, definitions: dict[str, Any], stay: set[str], lag: int = 0) -> Expr:
    """The formula `lag` steps back, with the definitions of steps in their place."""
    if isinstance(expr, Var):
        if expr.name in definitions and expr.name not in stay:
            return _without(definitions[expr.name], definitions, stay, lag + expr.lag)
        return Var(expr.name, expr.lag + lag)
    if isinstance(expr, Op):
        return Op(expr.name, tuple(_without(arg, definitions, stay, lag) for arg in expr.args))
    return expr
