"""Kinds of heads of one's own: a value that is carried from position to position, as one small class.

What such a head computes is said twice: on tensors, for training, and as one step in the language of the
programs, from which everything else follows: what the network computes exactly, what the listing and the
program say, and what is proved about the program. Of the *network* with such a head nothing is proved: the
methods that do that know the built-in kinds, so it is compared with its program on sequences (`tested`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from weights2code.errors import InputError
from weights2code.heads import HEADS, HeadFacts
from weights2code.language import Expr, Var
from weights2code.language.evaluation import evaluate

if TYPE_CHECKING:
    from torch import Tensor

LAST, VALUE = Var("last"), Var("value")
#: Sequences that both forms are compared on, and how far apart they may be.
_TRIED, _LENGTH, _SAME = 8, 12, 1e-4


class RunningHead(ABC):
    """A kind of head that makes a number of everything so far, from its last one and the value now.

    Give it a `name`, and a `start` if it does not begin with 0; `register` makes it known.
    """

    name: ClassVar[str]
    start: ClassVar[float] = 0.0

    @abstractmethod
    def on_tensors(self, values: Tensor) -> Tensor:
        """For training: what it gives at every position, from values (member, head, position, batch)."""

    @abstractmethod
    def step(self, last: Expr, value: Expr) -> Expr:
        """The exact form: what it gives now, from what it gave last and the value now."""

    def describe(self) -> str:
        """A few words for the listing and the report."""
        return self.name.capitalize()

    def exact(self, values: np.ndarray) -> np.ndarray:
        """What it gives on sequences (n, T)."""
        formula, found = self.step(LAST, VALUE), np.empty(values.shape)
        last = np.full(len(values), float(self.start))
        with np.errstate(all="ignore"):
            for t in range(values.shape[1]):
                last = found[:, t] = evaluate(formula, {LAST: last, VALUE: values[:, t]})
        return found


#: Those that were registered, by name.
OWN: dict[str, RunningHead] = {}


def register(head: RunningHead) -> None:
    """Make a kind of head known: `Architecture(own=(("name", 1),))` has one of them in every layer.

    Raises
    ------
    InputError
        If the name is no plain name, or that of a built-in kind, or if both forms differ.
    """
    if not head.name.isidentifier() or (head.name in HEADS and head.name not in OWN):
        raise InputError(f"a head cannot be called {head.name!r}; choose another plain name.")
    _compare(head)
    OWN[head.name] = head
    HEADS[head.name] = HeadFacts(
        aggregate=head.exact, tensors=head.on_tensors, own=True, step=head.step, start=head.start,
        words=head.describe(),
    )  # fmt: skip


def _compare(head: RunningHead) -> None:
    """Refuse a head whose two forms differ."""
    import torch

    values = np.random.default_rng(0).integers(-2, 3, (_TRIED, _LENGTH)).astype(float)
    given: Any = head.on_tensors(torch.tensor(values.T[None, None].copy()))
    if tuple(given.shape) != (1, 1, _LENGTH, _TRIED):
        raise InputError(
            f"{head.name}: on_tensors gives the shape {tuple(given.shape)}, not that of its values."
        )
    exact = head.exact(values)
    if not np.allclose(given[0, 0].detach().numpy().T, exact, rtol=_SAME, atol=_SAME, equal_nan=True):
        raise InputError(f"{head.name}: on_tensors and step are not the same function; mend one of them.")
