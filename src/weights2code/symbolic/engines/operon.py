"""Operon behind the common Protocol (extra `weights2code[operon]`).

Operon evolves trees with float constants; its front is read from text, its constants are snapped by our
rule, and the result is judged like any other candidate. It has no remainders and no tests, so on whole
numbers it finds other forms than the native engine; on smooth functions it is a good second opinion.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from weights2code.errors import InputError
from weights2code.language import Domain, Var
from weights2code.symbolic.engine import EFFORT, Candidate, Options
from weights2code.symbolic.engines.infix import judged, suiting
from weights2code.symbolic.search.rows import prepare

#: Operon's symbol for each operator of the language.
_SYMBOLS = {
    **{name: name for name in ("div", "abs", "floor", "exp", "sin", "cos")},
    "max": "fmax",
    "min": "fmin",
    "sqrt": "sqrtabs",
    "log": "logabs",
}


class OperonEngine:
    """Genetic programming by pyoperon, one thread, seeded."""

    name = "operon"

    def __init__(self, *, population_size: int = 1000, max_length: int = 30) -> None:
        self.population_size = population_size
        self.max_length = max_length

    def search(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        variables: tuple[Var, ...],
        domains: tuple[Domain, ...],
        **options: Unpack[Options],
    ) -> tuple[Candidate, ...]:
        """See `Engine.search`; Operon counts its time in whole seconds, at least one."""
        try:
            from pyoperon.sklearn import SymbolicRegressor
        except ImportError as problem:
            raise InputError(
                f"the engine 'operon' needs pyoperon ({problem}): pip install 'weights2code[operon]'."
            ) from problem
        problem = prepare(
            X, y, variables=variables, domains=domains, **{**options, "effort": 1e9, "operators": None}
        )
        model = SymbolicRegressor(
            allowed_symbols=",".join(symbols_for(domains, options.get("operators"))),
            objectives=["mse", "length"],
            epsilon=1e-6,
            max_length=min(self.max_length, options.get("max_complexity") or self.max_length),
            population_size=self.population_size,
            optimizer_iterations=5,
            generations=1_000_000,
            max_evaluations=1_000_000_000,
            n_threads=1,
            max_time=max(1, math.ceil(options.get("effort", EFFORT))),
            random_state=options.get("random_state", 0),
        )
        model.fit(problem.Xs, problem.ys)
        names = [f"v{j}" for j in range(len(variables))]
        trees = [member["tree"] for member in model.pareto_front_ if member["variables"]]
        # Operon's formatter has no word for a formula without variables
        texts = [
            repr(float(np.mean(problem.ys))),
            *(model.get_model_string(tree, 9, names) for tree in trees),
        ]
        # float32 arithmetic: constants are good to six digits at best
        return judged(problem, texts, max(problem.tolerance, 1e-6 * float(np.abs(problem.y).max())))


def symbols_for(domains: tuple[Domain, ...], operators: frozenset[str] | None) -> list[str]:
    """Operon's symbols for what the domains and the user allow."""
    chosen = (_SYMBOLS[name] for name in suiting(_SYMBOLS, domains, operators))
    return ["add", "sub", "mul", "constant", "variable", *chosen]
