"""A problem: sequences to learn from, with names, domains and, where it is known, the reference machine.

A built-in task gives as many sequences as are asked for, of any length; own data give what they hold.
Everything after this point sees only the problem: nothing downstream asks which task it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from weights2code.data.sequences import Rows, Sequences, from_arrays
from weights2code.language import Domain
from weights2code.language.categories import categories_of
from weights2code.language.domain import Category
from weights2code.tasks import PaperSettings, Reference, Task

#: Whole-number outputs with a range of at least this may be rounded readings.
MANY = 20


class Regime(StrEnum):
    """How far targets are trusted: to the last digit, as rounded readings of reals, up to noise, or all but
    some that are mistakes."""

    EXACT = "exact"
    ROUNDED = "rounded"
    NOISY = "noisy"
    MISTAKES = "with mistakes"


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a run is about.

    Parameters
    ----------
    name : used for the emitted function.
    inputs, outputs : names of columns and outputs; domains, output_domains : their values.
    training, validation : sequences to learn from and to judge structures by.
    length : the training length.
    reference : what specifies the outputs, if that is known: a search runs it on inputs, a certificate is
        made against it.
    sampler : (rng, n, length) -> fresh inputs (n, length, columns), if they can be had.
    held_out : sequences that nothing was learned from, for the certificate of own data.
    rows : all rows of own data, which a program is judged by in the end.
    beginnings : where own sequences were cut into windows, some of them from their true start.
    regime : how far the targets are trusted.
    paper : the paper's settings of a task, if it reports any.
    state_tracking : whether a task tracks state, which the paper writes as text; None if nobody says.
    original : the problem as the user gave it, if outputs that it does not have were put before its own.
    season : how many rows a season has, of a problem in windows that see more than one.
    seasonal : the same problem in such windows, if there is a season.
    uncut : where own sequences were cut into windows, the same problem in sequences from their true start.
    remarks : what whoever reads a certificate should know about those, and about the data.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domains: tuple[Domain, ...]
    output_domains: tuple[Domain, ...]
    training: Sequences
    validation: Sequences
    length: int
    reference: Reference | None = None
    sampler: Callable[[np.random.Generator, int, int], np.ndarray] | None = None
    held_out: Sequences | None = None
    beginnings: Sequences | None = None
    regime: Regime = Regime.EXACT
    paper: PaperSettings | None = None
    state_tracking: bool | None = None
    original: Problem | None = None
    remarks: tuple[str, ...] = ()
    season: int | None = None
    seasonal: Problem | None = None
    uncut: Problem | None = None
    rows: Rows | None = None

    @property
    def integer_outputs(self) -> bool:
        return all(domain.discrete for domain in self.output_domains)

    @property
    def categories(self) -> dict[str, tuple[Category, ...]]:
        """The texts of the inputs and outputs that hold texts."""
        return categories_of(self.inputs, self.domains) | self.output_categories

    @property
    def output_categories(self) -> dict[str, tuple[Category, ...]]:
        """The texts of the outputs that hold texts."""
        return categories_of(self.outputs, self.output_domains)

    @property
    def output_truths(self) -> tuple[str, ...]:
        """The outputs that are True or False."""
        pairs = zip(self.outputs, self.output_domains, strict=True)
        return tuple(name for name, domain in pairs if domain.truths)

    @property
    def whole(self) -> bool:
        """Whether inputs and outputs are whole numbers: then rows repeat, and may contradict each other."""
        return all(domain.discrete for domain in (*self.domains, *self.output_domains))

    def under(self, regime: Regime) -> Problem:
        """The same problem with its targets taken for what the regime says."""
        domains = self.output_domains
        if regime is Regime.ROUNDED:
            domains = tuple(replace(d, kind="reals") if d.discrete and _many(d) else d for d in domains)
        return replace(self, output_domains=domains, regime=regime)

    def changed(self, change: Callable[[Problem], Problem]) -> Problem:
        """The problem, in whatever windows, with a change."""
        seasonal, uncut = (other and change(other) for other in (self.seasonal, self.uncut))
        return replace(change(self), seasonal=seasonal, uncut=uncut)

    @property
    def asked(self) -> Problem:
        """The problem as the user gave it: what a program is judged by."""
        if self.original is None:
            return self
        return self.original if self.regime is Regime.EXACT else self.original.under(self.regime)

    @property
    def hidden(self) -> tuple[str, ...]:
        """Outputs, before all others, that are not the user's: a state that the others do not show."""
        return self.outputs[: len(self.outputs) - len(self.asked.outputs)]

    def inexact(self) -> Regime | None:
        """What the targets may be if no rule is exact on them; None where a machine specifies them."""
        if self.reference is not None:
            return None
        if not self.integer_outputs:
            return Regime.NOISY
        readings = any(_many(domain) for domain in self.output_domains)
        return Regime.ROUNDED if readings else Regime.MISTAKES


def _many(domain: Domain) -> bool:
    return domain.high - domain.low >= MANY and not domain.categories


def from_task(
    task: Task, samples: int, seed: int, validation: int = 512, length: int | None = None
) -> Problem:
    """Fresh sequences of a built-in task, seeded; training and validation are drawn apart."""
    length = task.length if length is None else length
    everything = from_arrays(*task.sample(samples + validation, length=length, seed=seed))
    return Problem(
        task.name,
        task.columns,
        task.outputs,
        task.domains,
        everything.domains()[1],
        everything.take(slice(validation, None)),
        everything.take(slice(0, validation)),
        length,
        task.specification,
        task.draw,
        paper=task.paper,
        state_tracking=task.state_tracking,
    )
