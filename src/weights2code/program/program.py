"""`Program`: what extraction hands to people, with the formula first.

Paper, section "Global Program Assembly".
The recurrence is the program; its texts are views of it. Verification adds one sentence, the verdict,
which every text repeats.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

import numpy as np

from weights2code import json_values
from weights2code.data import Regime
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import mapping, text
from weights2code.language import (
    Domain,
    OverAll,
    Recurrence,
    Selection,
    definition_variables,
    expression_of,
)
from weights2code.language.categories import categories_of, encoded, in_words
from weights2code.language.domain import Category, read_categories
from weights2code.language.latex import latex_source
from weights2code.language.python_source import formula_lines, identifier, python_source


class Origin(StrEnum):
    """Which route led to a program."""

    ROWS = "found in the rows, which show what decides the output"
    LEAVES = "found in the values that the trained network reads"
    CUTS = "read from parts of the trained network"
    NODES = "put together from every part of the trained network"
    MAJORITIES = "found in what most of the rows say"


@dataclass(frozen=True, slots=True)
class Program:
    """A recurrence with its name, the domains of its inputs, where it came from and how far it is trusted.

    Parameters
    ----------
    name
        The name of the function in `program.py`; any text is turned into a valid identifier.
    recurrence
        What is computed.
    domains
        One domain an input, in order.
    integer_outputs
        Whether every output is a whole number on the domain.
    origin
        Which route produced it, in a few words; an `Origin` if extraction did.
    regime
        How far the targets were trusted that it was found on.
    verdict
        The certificate's verdict, as a sentence.
    output_categories
        The texts of outputs that hold texts, by name; those of inputs are in their domains.
    output_truths
        The outputs that are True or False; of inputs the domains say it.

    Examples
    --------
    >>> from weights2code.language import BITS, Recurrence, Step, Var
    >>> x, y = Var("x"), Var("y", 1)
    >>> rule = Recurrence(("x",), (Step("y", x + y - 2 * x * y),), ("y",))
    >>> program = Program("parity", rule, (BITS,), True)
    >>> program.formula()
    'y[t] = x[t] + y[t-1] - 2*x[t]*y[t-1]'
    >>> program.run([1, 0, 1, 1])
    array([1., 1., 0., 1.])
    """

    name: Annotated[str, json_values.name]
    recurrence: Recurrence
    domains: tuple[Domain, ...]
    integer_outputs: bool = False
    origin: str = ""
    regime: Regime = Regime.EXACT
    verdict: str = "not verified"
    output_categories: Mapping[str, tuple[Category, ...]] = field(default_factory=dict)
    output_truths: Annotated[tuple[str, ...], json_values.names] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", identifier(self.name))
        object.__setattr__(self, "domains", tuple(self.domains))
        if len(self.domains) != len(self.recurrence.inputs):
            raise ValueError(
                f"one domain an input: got {len(self.domains)} for {len(self.recurrence.inputs)} inputs"
            )
        if any(isinstance(step.definition, Selection) for step in self.recurrence.steps):
            raise ValueError("a program has no selections by score: networks alone have them")

    def run(self, x: Any) -> np.ndarray:
        """The outputs for one sequence, (T,) or (T, columns), or for a batch, (n, T, columns).

        One sequence gives (T,), or (T, outputs) if there are several outputs; a batch gives (n, T, outputs).
        """
        values, columns = self.encode(x), len(self.recurrence.inputs)
        if values.ndim == 3:
            return self.decode(self.recurrence.run(values))
        flat = values.ndim == 1 and (columns == 1 or not values.size)
        if not flat and values.shape[1:] != (columns,):
            wanted = "(T,), (T, 1) or (n, T, 1)" if columns == 1 else f"(T, {columns}) or (n, T, {columns})"
            raise ValueError(f"expected shape {wanted}, got {values.shape}")
        result = self.decode(self.recurrence.run(values.reshape(1, -1, columns))[0])
        return result[:, 0] if len(self.recurrence.outputs) == 1 else result

    @property
    def categories(self) -> dict[str, tuple[Category, ...]]:
        """The texts of every input and output that holds texts."""
        return categories_of(self.recurrence.inputs, self.domains) | dict(self.output_categories)

    @property
    def truths(self) -> frozenset[str]:
        """Every input and output that is True or False."""
        inputs = zip(self.recurrence.inputs, self.domains, strict=True)
        return frozenset(self.output_truths) | {name for name, domain in inputs if domain.truths}

    def encode(self, x: Any) -> np.ndarray:
        """Inputs as numbers, texts as those that stand for them.

        Raises
        ------
        ValueError
            If a column of texts holds one that the program does not know.
        """
        given = np.asarray(x) if not self.categories else np.asarray(x, dtype=object)
        if given.dtype != object:
            return given.astype(float)
        names, columns = self.recurrence.inputs, len(self.recurrence.inputs)
        flat = given.reshape(-1, columns)
        numbers = np.empty(flat.shape)
        for i, (read, domain) in enumerate(zip(names, self.domains, strict=True)):
            column = flat[:, i]
            if not domain.categories:
                numbers[:, i] = column.astype(float)
                continue
            numbers[:, i] = encoded(column, domain.categories)
            if (numbers[:, i] < 0).any():
                other = column[int(np.argmax(numbers[:, i] < 0))]
                raise ValueError(f"{read}: {other!r} is none of {domain}")
        return numbers.reshape(given.shape)

    def decode(self, answers: np.ndarray) -> np.ndarray:
        """Outputs (..., outputs), texts and truth values as such; all are objects if only some are."""
        return in_words(answers, self.recurrence.outputs, self.output_categories, self.output_truths)

    def formula(self) -> str:
        """One line a step, then the start values that are not zero."""
        return "\n".join(formula_lines(self.recurrence, categories=self.categories))

    def source(self) -> str:
        """The text of `program.py`."""
        return python_source(
            self.recurrence,
            self.domains,
            self.name,
            integer_outputs=self.integer_outputs,
            origin=self.how,
            verdict=self.verdict,
            categories=self.output_categories,
            truths=self.output_truths,
        )

    def latex(self) -> str:
        """The text of `program.tex`."""
        return latex_source(
            self.recurrence,
            self.domains,
            self.name,
            verdict=self.verdict,
            categories=self.output_categories,
        )

    @property
    def how(self) -> str:
        """How it was found, in a few words."""
        noise = "its constants have as many digits as the noise allows"
        return "; ".join(filter(None, (self.origin, noise * self.under_noise)))

    @property
    def under_noise(self) -> bool:
        """Whether its constants have only the digits that the data allow."""
        return self.regime in (Regime.NOISY, Regime.ROUNDED)

    @property
    def lines(self) -> int:
        """Total lines of `program.py`: program length as in the paper's tables."""
        return total_lines(self.source())

    @property
    def body(self) -> int:
        """Lines of the function's body, its docstring not counted."""
        return body_lines(self.source())

    @property
    def operations(self) -> int:
        """Operators in all steps; a lookup or a count is one."""
        definitions = [step.definition for step in self.recurrence.steps]
        return sum(expression_of(d).operations() + isinstance(d, OverAll) for d in definitions)

    def reading(self) -> Program:
        """The same program without inputs that nothing reads; one is left at least."""
        rule = self.recurrence.live()
        read = {v.name for step in rule.steps for v in definition_variables(step.definition)}
        kept = [i for i, name in enumerate(rule.inputs) if name in read] or [0]
        inputs = tuple(rule.inputs[i] for i in kept)
        domains = tuple(self.domains[i] for i in kept)
        return replace(self, recurrence=replace(rule, inputs=inputs), domains=domains)

    def with_verdict(self, verdict: str) -> Program:
        """The same program with another verdict."""
        return replace(self, verdict=verdict)

    def __str__(self) -> str:
        return f"{self.formula()}\n\n{self.source()}"

    def to_dict(self) -> dict[str, Any]:
        """JSON form, without what no text or truth value asks for."""
        told = to_fields(self, regime=str(self.regime))
        return {name: value for name, value in told.items() if value or name not in _FOR_WORDS}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Program:
        """Inverse of `to_dict`."""
        data = mapping(data, "a program")
        regime = Regime(text(data.get("regime", Regime.EXACT), "the regime"))
        words = mapping(data.get("output_categories", {}), "output_categories")
        known = {name: read_categories(texts) for name, texts in words.items()}
        return from_fields(Program, data, "a program", _FOR_WORDS, regime=regime, output_categories=known)


_FOR_WORDS = ("output_categories", "output_truths")


def total_lines(text: str) -> int:
    """Every line of the text, as the paper's tables count."""
    return len(text.splitlines())


def body_lines(text: str) -> int:
    """Lines of code inside the functions of a program, without docstrings, comments and blank lines."""
    source, lines = text.splitlines(), set[int]()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            documented = ast.get_docstring(function, clean=False) is not None
            for statement in function.body[documented:]:
                lines.update(range(statement.lineno - 1, statement.end_lineno or statement.lineno))
    return sum(source[line].strip()[:1] not in ("", "#") for line in lines)
