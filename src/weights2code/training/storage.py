"""What training leaves: the members of a rung with their record, in safetensors with a JSON header.

Files are written atomically and never executed, and need no PyTorch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from weights2code.data import Layout, Problem
from weights2code.errors import InputError
from weights2code.graph import DiscreteGraph
from weights2code.graph.to_model import model_of
from weights2code.json_fields import from_fields, to_fields
from weights2code.json_values import any_number, items, mapping, shown
from weights2code.model.weights import Arrays, Weights
from weights2code.run_folder import LARGEST_TENSORS, read_file, write_atomically

#: What a rung is: `linear`, `prefix` and `lookup` have no functions, and their wiring is found by polishing;
#: a `window` reads everything within reach; annealed ones choose what their functions read. `made` is no
#: rung: a network that was wired or written for a rule.
RungKind = Literal["linear", "prefix", "lookup", "window", "annealed", "made"]
#: What an epoch records of each member.
_OF_MEMBERS = ("soft_loss", "hard_loss", "discrepancy", "agreement")


def _numbers(data: Any, what: str) -> tuple[float, ...]:
    """Numbers that may be infinite."""
    return tuple(any_number(value, what) for value in items(data, what))


def _kind(data: Any, what: str) -> str:
    if data not in get_args(RungKind):
        raise ValueError(f"there is no {what} of rungs {shown(data)}")
    return data


Numbers = Annotated[tuple[float, ...], _numbers]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of `metrics.jsonl`: an entry a member, losses are relative to the variance."""

    stage: str
    epoch: int
    soft_loss: Numbers
    hard_loss: Numbers
    discrepancy: Numbers
    agreement: Numbers
    temperature: float
    seconds: float

    def of_members(self, members: Sequence[int]) -> Epoch:
        """The line with the entries of some members only."""
        own = {name: getattr(self, name) for name in _OF_MEMBERS}
        return replace(self, **{n: tuple(each[i] for i in members if each) for n, each in own.items()})

    def line(self) -> dict[str, Any]:
        """Four digits and the best values, for `metrics.jsonl`; null stands for infinities."""
        told = to_fields(self, float)
        told |= {f"best_{name}": min(told[name]) for name in ("hard_loss", "soft_loss")}
        return {
            n: list(map(_short, own)) if isinstance(own, list) else _short(own) for n, own in told.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What a rung found: its best members, best first; `unfinished` if the time limit cut it short.

    `integer_outputs` says whether outputs are rounded, `work` what it took in seconds of a usual machine.
    """

    rung: str
    kind: Annotated[RungKind, _kind]
    layout: Layout
    weights: Weights
    losses: Numbers
    accuracies: Numbers
    fitted: bool
    history: tuple[Epoch, ...]
    seconds: float
    unfinished: bool = False
    integer_outputs: bool = False
    work: float = 0.0

    @property
    def model(self) -> Any:
        """The members as a PyTorch module, a `DiscreteTransformer` made anew."""
        return self.weights.module()

    def only(self, members: list[int]) -> Trained:
        """As if there were these members alone, in this order."""
        return replace(
            self,
            weights=self.weights.take(members),
            losses=tuple(self.losses[index] for index in members),
            accuracies=tuple(self.accuracies[index] for index in members),
            history=tuple(epoch.of_members(members) for epoch in self.history),
        )

    def taught(self, graph: DiscreteGraph, loss: float, accuracy: float, *, integer_outputs: bool) -> Trained:
        """A network that was made for the rule, alone, with its loss; what was learned before is not its."""
        return replace(
            self,
            weights=model_of(graph, self.weights),
            losses=(loss,),
            accuracies=(accuracy,),
            history=(),
            integer_outputs=integer_outputs,
        )

    def header(self) -> dict[str, Any]:
        return to_fields(self, weights=self.weights.header())

    def save(self, path: Path) -> None:
        write_tensors(path, self.weights.tensors(), self.header())

    @staticmethod
    def load(path: Path, problem: Problem | None = None) -> Trained:
        """Inverse of `save`; a model of other columns than the problem's is refused."""
        tensors, header = read_tensors(path)
        try:
            weights = Weights.read(tensors, mapping(header["weights"], "the weights"))
            found = from_fields(Trained, header, "a model", weights=weights)
            losses = found.losses
            check_layout(weights, found.layout, problem)
            if not len(losses) == len(found.accuracies) == weights.members:
                raise ValueError("losses or accuracies are not those of its members")
            if any(np.isfinite(losses) & ~weights.finite()):
                raise ValueError("its weights are not numbers")
            return found
        except (KeyError, TypeError, ValueError, RuntimeError, InputError) as error:
            raise InputError(
                f"{path} does not hold a trained model ({error}); it was left untouched."
            ) from None


def check_layout(weights: Weights, layout: Layout, problem: Problem | None) -> None:
    """Raise ValueError if a model that was read cannot run in its layout, or on the problem."""
    a = weights.architecture
    if (a.channels, a.outputs) != (layout.channels, layout.outputs):
        raise ValueError("its channels are not those of its layout")
    if problem and (len(layout.input_scales), layout.outputs) != (len(problem.inputs), len(problem.outputs)):
        raise ValueError(f"it was trained on other columns than those of {problem.name}")
    if layout.first_scored >= (problem.length if problem else layout.first_scored + 1):
        raise ValueError("it scores no position")


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray], header: dict[str, Any]) -> None:
    plain = {name: np.asarray(tensor, order="C") for name, tensor in tensors.items()}
    write_atomically(path, save(plain, {"weights2code": json.dumps(header)}))


def read_tensors(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Tensors and header; a file that is not whole is refused and left as it is."""
    content = read_file(path, LARGEST_TENSORS)
    try:
        tensors = load(content)
        size = int.from_bytes(content[:8], "little")  # then a JSON header of that size: the format's own
        texts = json.loads(content[8 : 8 + size])["__metadata__"]
        return tensors, dict(json.loads(texts["weights2code"]))
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is corrupt or not a weights2code file ({type(error).__name__}); it was left untouched. "
            "Delete its folder or choose another --out."
        ) from None


def _short(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return float(f"{value:.4g}") if math.isfinite(value) else None
