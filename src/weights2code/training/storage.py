"""What training leaves: the members of a rung with their record, in safetensors with a JSON header.

Files are written atomically and never executed, and need no PyTorch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from weights2code.data import Layout, Problem
from weights2code.errors import InputError
from weights2code.graph import DiscreteGraph
from weights2code.graph.to_model import model_of
from weights2code.json_values import any_number, items, mapping, number, text, truth, whole
from weights2code.model.weights import Arrays, Weights
from weights2code.run_folder import LARGEST_TENSORS, read_file, write_atomically

#: What a rung is: `linear`, `prefix` and `lookup` have no functions, and their wiring is found by polishing;
#: a `window` reads everything within reach; annealed ones choose what their functions read. `made` is no
#: rung: a network that was wired or written for a rule.
RungKind = Literal["linear", "prefix", "lookup", "window", "annealed", "made"]
#: What an epoch records of each member.
_LISTS = ("soft_loss", "hard_loss", "discrepancy", "agreement")


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of `metrics.jsonl`; lists hold one entry a member, losses are relative to the variance."""

    stage: str
    epoch: int
    soft_loss: list[float]
    hard_loss: list[float]
    discrepancy: list[float]
    agreement: list[float]
    temperature: float
    seconds: float

    def of_members(self, members: list[int]) -> Epoch:
        """The line with the entries of some members only."""
        lists = {name: getattr(self, name) for name in _LISTS}
        return replace(self, **{n: [own[i] for i in members] if own else [] for n, own in lists.items()})

    @staticmethod
    def from_dict(data: Any) -> Epoch:
        """Inverse of `asdict`; losses may be infinite."""
        data = mapping(data, "an epoch")
        lists = {name: _numbers(data, name) for name in _LISTS}
        return Epoch(
            stage=text(data["stage"], "a stage"),
            epoch=whole(data["epoch"], "an epoch"),
            temperature=any_number(data["temperature"], "a temperature"),
            seconds=float(number(data["seconds"], "seconds")),
            **lists,
        )

    def to_dict(self) -> dict[str, Any]:
        """Four digits and the best values, for `metrics.jsonl`; null stands for infinities."""
        return {
            "stage": self.stage,
            "epoch": self.epoch,
            "temperature": _short(self.temperature),
            "seconds": round(self.seconds, 3),
            "best_hard_loss": _short(min(self.hard_loss)),
            "best_soft_loss": _short(min(self.soft_loss)),
            **{name: [_short(value) for value in getattr(self, name)] for name in _LISTS},
        }


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What a rung found: its best members, best first; `unfinished` if the time limit cut it short.

    `integer_outputs` says whether outputs are rounded, `work` what it took in seconds of a usual machine.
    """

    rung: str
    kind: RungKind
    layout: Layout
    weights: Weights
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
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
        return self.weights.header() | {
            "layout": self.layout.to_dict(),
            "rung": self.rung,
            "kind": self.kind,
            "losses": list(self.losses),
            "accuracies": list(self.accuracies),
            "fitted": self.fitted,
            "history": [asdict(epoch) for epoch in self.history],
            "seconds": self.seconds,
            "work": self.work,
            "integer_outputs": self.integer_outputs,
        }

    def save(self, path: Path) -> None:
        write_tensors(path, self.weights.tensors(), self.header())

    @staticmethod
    def load(path: Path, problem: Problem | None = None) -> Trained:
        """Inverse of `save`; a model of other columns than the problem's is refused."""
        tensors, header = read_tensors(path)
        try:
            weights, layout = Weights.read(tensors, header), Layout.from_dict(header["layout"])
            check_layout(weights, layout, problem)
            losses, accuracies = _numbers(header, "losses"), _numbers(header, "accuracies")
            kind = header["kind"]
            pairs = zip(losses, weights.finite().tolist(), strict=False)
            if any(loss < math.inf and not finite for loss, finite in pairs):
                raise ValueError("its weights are not numbers")
            if kind not in get_args(RungKind) or not len(losses) == len(accuracies) == weights.members:
                raise ValueError("kind, losses or accuracies are not those of its members")
            return Trained(
                text(header["rung"], "the rung"),
                kind,
                layout,
                weights,
                tuple(losses),
                tuple(accuracies),
                truth(header["fitted"], "fitted"),
                tuple(Epoch.from_dict(row) for row in items(header["history"], "the history")),
                float(number(header["seconds"], "seconds")),
                integer_outputs=truth(header["integer_outputs"], "integer_outputs"),
                work=float(number(header["work"], "work")),
            )
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


def _numbers(data: Mapping[str, Any], name: str) -> list[float]:
    """The list of that name, of numbers that may be infinite."""
    return [any_number(value, name) for value in items(data[name], name)]


def _short(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None
