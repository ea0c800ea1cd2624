"""`ProgramRegressor` and `ProgramClassifier`: sequences in, a certified program out, as in scikit-learn.

Works without scikit-learn; with it, `clone`, `Pipeline` and the rest treat it as one of their own.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from weights2code.data.cells import is_nothing
from weights2code.data.own import from_table
from weights2code.data.row_order import Arranged
from weights2code.data.shapes import Given, given_by
from weights2code.data.tables import Table
from weights2code.errors import TOO_FAR, InputError
from weights2code.plain_estimator import BadInput
from weights2code.progress import plain_lines
from weights2code.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError

else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
        from sklearn.exceptions import NotFittedError
    except ImportError:  # everything but scikit-learn's own tools works without it
        from weights2code.plain_estimator import (
            BaseEstimator,
            ClassifierMixin,
            NotFittedError,
            RegressorMixin,
        )


DEFAULTS = Settings()
#: Fewest independent samples that are learned from.
FEWEST_SAMPLES = 5


@dataclass(frozen=True, slots=True)
class SourceText:
    """A program that prints as its source."""

    program: Any

    def __str__(self) -> str:
        return self.program.source()

    __repr__ = __str__

    def __getattr__(self, name: str) -> Any:
        return getattr(self.program, name)


class _ProgramModel(BaseEstimator):
    """Learn a short Python program from sequences of numbers and texts.

    Parameters
    ----------
    categories
        Columns of categories that look like numbers, such as ids; texts are categories by themselves. Columns
        without names are x, or x1, x2, ..., and y.
    ignore_case
        Columns of texts in which "Open" and "open" are one.
    missing : {"refuse", "drop", "last"}
        What becomes of cells that hold nothing (`nan`, None): an error that counts them, sequences cut there
        (`predict` then gives nothing in such rows), or the last value before them.
    season
        How many steps a season has; by default the data are asked.
    axes : {"auto", "sequences", "steps", "samples"}
        What the axes of two-dimensional X mean. "sequences": (n, T), n sequences of one column. "steps":
        (T, columns), one sequence. "samples": (n, columns), n rows that have nothing to do with each other.
        "auto" takes X and Y of one shape (n, T) as sequences, DataFrames as one sequence with a row a step,
        and refuses the rest. Lists of arrays and (n, T, columns) speak for themselves.
    layout : {"auto", "tagging", "autoregressive"}
        How past outputs enter; by default the search decides.
    layers, heads, submlps, arity
        A fixed architecture instead of the ladder.
    hide
        Values that nothing may read, such as ("y[t-1]",).
    rungs
        Rungs of the ladder that may be climbed, such as ("pairs",); all by default.
    time_limit
        Work after which the search is cut short, in seconds of a usual machine.
    alternatives
        So many other rules beside the chosen one, shorter or longer: see `alternatives_`.
    device : {"cpu", "cuda", "auto"}
        Where to train.
    random_state
        Seed of data splits, initial weights and noise.
    verbose
        Whether to say on standard error what is going on.

    Attributes
    ----------
    program_ : the program; prints as its source, `program_.run(x)` runs it on one sequence.
    certificate_ : verdict, error and what they rest on.
    graph_ : the discrete graph of the network that equals the program: as it was trained, or the one that was
        taught if `certificate_.taught` speaks of one.
    explained_ : what each node of the graph does, where that was found out.
    equations_ : the lines of the formula.
    alternatives_ : with `alternatives`, the chosen rule and others, the shortest first; each has `equation`,
        `complexity`, `loss` and `chosen`, and prints as a line.
    attempts_ : what was tried, and why it was not enough.
    baseline_ : the score of guessing: the better of a constant, and of the last target again.
    n_features_in_ : number of input columns.
    feature_names_in_ : their names, if X had any.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).integers(0, 10, (200, 8))
    >>> y = np.cumsum(x, axis=1)
    >>> model = ProgramRegressor().fit(x, y)  # doctest: +SKIP
    >>> model.equations_  # doctest: +SKIP
    ('y[t] = x[t] + y[t-1]',)
    """

    def __init__(
        self,
        *,
        categories: Sequence[str] = (),
        ignore_case: Sequence[str] = (),
        missing: str = "refuse",
        season: int | None = None,
        axes: str = "auto",
        layout: str = DEFAULTS.layout,
        layers: int | None = None,
        heads: int | None = None,
        submlps: int | None = None,
        arity: int | None = None,
        hide: Sequence[str] = (),
        rungs: Sequence[str] = (),
        time_limit: float = DEFAULTS.time_limit,
        alternatives: int = DEFAULTS.alternatives,
        device: str = DEFAULTS.device,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.categories = categories
        self.ignore_case = ignore_case
        self.missing = missing
        self.season = season
        self.axes = axes
        self.layout = layout
        self.layers = layers
        self.heads = heads
        self.submlps = submlps
        self.arity = arity
        self.hide = hide
        self.rungs = rungs
        self.time_limit = time_limit
        self.alternatives = alternatives
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sequence: str | None = None,
        order: str | None = None,
        groups: Any = None,
    ) -> Self:
        """Search for a program; everything is checked before the search begins.

        Parameters
        ----------
        X, y : see `axes`; of a DataFrame X targets may be given by their names.
        sequence, order : columns of a DataFrame that tell sequences apart, and that their rows are sorted by.
        groups : in place of `sequence`, an array that tells the rows of sequences apart.

        Raises
        ------
        BadInput
            If the data cannot be used; the text names the fix.
        NotExtracted
            If no program could be read off any model.
        """
        from weights2code import pipeline
        from weights2code.errors import NotExtracted

        with _in_python():
            given = given_by(
                X,
                y,
                self.axes,
                sequence=sequence,
                order=order,
                groups=groups,
                categories=tuple(self.categories),
                ignore_case=tuple(self.ignore_case),
                missing=self.missing,
                season=self.season,
            )
            seed = 0 if self.random_state is None else int(self.random_state)
            given_settings = {name: getattr(self, name) for name in SETTINGS if hasattr(self, name)}
            changed = {"seed": seed, "hide": tuple(self.hide), "rungs": tuple(self.rungs)}
            changed |= {"time_limit": float(self.time_limit)}
            settings = Settings(**given_settings | changed)
            table, stand = given.rows(X, y, groups)
            fewest = FEWEST_SAMPLES if given.form == "samples" else None
            problem = from_table(table, stand, seed, fewest=fewest)
        try:
            with plain_lines() if self.verbose else nullcontext() as progress:
                outcome = pipeline.search(problem, settings, None, progress)
        except np.linalg.LinAlgError:
            raise BadInput(TOO_FAR) from None
        if outcome.extraction is None:
            raise NotExtracted(outcome.message)
        self.given_ = given
        self.n_features_in_ = len(given.inputs)
        if given.named:
            self.feature_names_in_ = np.array(given.inputs, dtype=object)
        self.program_ = SourceText(outcome.extraction.program)
        self.certificate_ = outcome.extraction.certificate
        self.graph_ = outcome.extraction.network
        self.explained_ = outcome.extraction.explained
        self.equations_ = tuple(outcome.extraction.program.formula().splitlines())
        self.attempts_ = outcome.attempts
        self.alternatives_ = outcome.alternatives
        self.baseline_ = self._baseline(np.split(_targets(table)[stand.listed], stand.ends))
        return self

    def predict(self, X: Any, groups: Any = None) -> Any:
        """Run the program, in the shape of X: a list gives a list, (n, T) gives (n, T), and so on.

        Whole numbers, truth values and texts come out as such; sequences and order are as in `fit`.
        """
        given = self._fitted()
        with _in_python():
            table, stand = given.rows(X, None, groups)
            return given.arrange(self._answers(table, stand), stand.lengths)

    def _rate(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """R squared over all positions, averaged over the outputs; of texts, the share that is right.

        Rows in which something is missing do not count. `baseline_` is what guessing gets.
        """
        given = self._fitted()
        with _in_python():
            table, stand = given.rows(X, y, groups)
            answers, right = self._answers(table, stand), _targets(table)
        weight = np.ones(len(right))
        if sample_weight is not None:
            weight = np.repeat(np.asarray(sample_weight, float), stand.lengths)
        if given.roles.missing != "refuse":
            known = ~(nothing_in(answers) | nothing_in(right)).any(1)
            answers, right, weight = answers[known], right[known], weight[known]
        return self._score(answers, right, weight)

    def _score(self, answers: np.ndarray, right: np.ndarray, weight: np.ndarray) -> float:
        texts = [name in self.program_.program.output_categories for name in self.given_.outputs]
        scores = [
            float(weight @ (a == b) / weight.sum())
            if text
            else _r_squared(b.astype(float), a.astype(float), weight)
            for a, b, text in zip(answers.T, right.T, texts, strict=True)
        ]
        return float(np.mean(scores))

    def _baseline(self, ys: Sequence[np.ndarray]) -> float:
        """The score of the better of two guesses: always the commonest text or mean, and the last target."""
        whole = [y[~nothing_in(y).any(1)] for y in ys]
        right = np.concatenate(whole)
        texts = self.program_.program.output_categories
        usual = [
            _commonest(column) if name in texts else column.astype(float).mean()
            for column, name in zip(right.T, self.given_.outputs, strict=True)
        ]
        constant = np.empty(right.shape, object)
        constant[:] = usual
        last = np.concatenate([np.concatenate([np.array([usual], object), y])[: len(y)] for y in whole])
        weight = np.ones(len(right))
        return max(self._score(guess, right, weight) for guess in (constant, last))

    def _answers(self, table: Table, stand: Arranged) -> np.ndarray:
        """Outputs (rows, outputs), texts as texts; rows that lack something have none."""
        from weights2code.predict import answered, reading_roles
        from weights2code.program.sandbox import call_program

        program = self.program_.program
        table = replace(table, roles=reading_roles(program, table.roles))
        return program.decode(answered(program, table, stand, call_program)[1][stand.back])

    def sympy(self) -> dict[str, Any]:
        """Each step of the program as a SymPy expression, by name."""
        from weights2code.language import Expr
        from weights2code.language.sympy_form import to_sympy

        self._fitted()
        steps = self.program_.program.recurrence.steps
        return {step.name: to_sympy(step.definition) for step in steps if isinstance(step.definition, Expr)}

    def latex(self) -> str:
        """The formula as aligned LaTeX equations."""
        from weights2code.language.latex import latex_lines

        self._fitted()
        program = self.program_.program
        lines = latex_lines(program.recurrence, program.categories)
        return "\\begin{aligned}" + r" \\ ".join(lines) + "\\end{aligned}"

    def _fitted(self) -> Given:
        if not hasattr(self, "program_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first.")
        return self.given_

    def _repr_html_(self) -> str:
        """Formula, verdict, graph and source, for notebooks."""
        if not hasattr(self, "program_"):
            return f"<pre>{html.escape(repr(self))}</pre>"
        from weights2code.explain import ExplainedGraph
        from weights2code.report import fragment

        explained = self.explained_ or (self.graph_ and ExplainedGraph(self.graph_, {}, {}))
        return fragment(self.program_.program, self.certificate_, explained)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks ask for first; scikit-learn's own would show the parameters instead."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "program_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.multi_output = True
        tags.input_tags.three_d_array = True
        return tags


class ProgramRegressor(RegressorMixin, _ProgramModel):
    __doc__ = _ProgramModel.__doc__
    score = _ProgramModel._rate  # type: ignore[assignment]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # random targets have no program
        return tags


class ProgramClassifier(ClassifierMixin, _ProgramModel):
    """Learn a short Python program whose output is one of a few: texts, truth values or whole numbers.

    As `ProgramRegressor`, but for `score`, the share that is right, and `classes_`, of a single target.
    """

    score = _ProgramModel._rate  # type: ignore[assignment]

    def fit(self, X: Any, y: Any = None, **labels: Any) -> Self:
        """Search for a program; the arguments are those of `ProgramRegressor.fit`."""
        return super().fit(X, y, **labels)

    def _score(self, answers: np.ndarray, right: np.ndarray, weight: np.ndarray) -> float:
        return float(weight @ (answers == right).all(1) / weight.sum())

    def _baseline(self, ys: Sequence[np.ndarray]) -> float:
        self.classes_ = np.unique(np.concatenate(ys)[:, 0].tolist())
        return super()._baseline(ys)


@contextmanager
def _in_python() -> Iterator[None]:
    """What cannot be used is said as `BadInput`, options in the words of Python."""
    try:
        yield
    except InputError as error:
        told = str(error).replace("a missing value", "a missing value (NaN)")
        told = re.sub(r"--missing (\w+)", r"missing='\1'", told)
        told = re.sub(r"--([a-z]+(?:-[a-z]+)*)\b", lambda found: f"{found[1].replace('-', '_')}=", told)
        raise BadInput(told) from None


def _commonest(column: np.ndarray) -> Any:
    values, counts = np.unique(column, return_counts=True)
    return values[int(np.argmax(counts))]


def _targets(table: Table) -> np.ndarray:
    """The targets (rows, outputs), as they were given."""
    columns = [table.loaded.load(name) for name in table.roles.targets]
    mixed = any(column.dtype.kind in "OUS" for column in columns)
    return np.stack([column.astype(object) if mixed else column for column in columns], -1)


def nothing_in(table: np.ndarray) -> np.ndarray:
    """Where a table holds nothing."""
    if table.dtype != object:
        return np.isnan(table.astype(float))
    return np.array([is_nothing(value) for value in table.flat]).reshape(table.shape)


def _r_squared(right: np.ndarray, answers: np.ndarray, weight: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        residual = weight @ (right - answers) ** 2
        mean = (weight @ right) / weight.sum()
        total = weight @ (right - mean) ** 2
        return float(1 - residual / total) if total > 0 else float(residual == 0)
