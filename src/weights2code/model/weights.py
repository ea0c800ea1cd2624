"""The weights of an ensemble as they lie in a file: sizes, NumPy arrays, no PyTorch.

Networks are written, read and looked at in this form; `module` is the form that computes and learns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from weights2code.heads import EQUALITY_SHARPNESS
from weights2code.json_values import items, number, whole
from weights2code.model.architecture import Architecture, Wiring, mask_shapes, parameter_shapes, wiring

#: Members by name: parameters and masks have one on their first axis each.
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Parameters and masks of the members of an ensemble.

    Parameters
    ----------
    architecture, value_range, sharpness : as of `DiscreteTransformer`.
    parameters, masks : arrays whose first axis is the member, by the names of the module.
    """

    architecture: Architecture
    value_range: tuple[float, float]
    sharpness: float
    parameters: Arrays
    masks: Arrays

    @staticmethod
    def blank(
        architecture: Architecture,
        members: int = 1,
        value_range: tuple[float, float] = (-1.0, 1.0),
        sharpness: float = EQUALITY_SHARPNESS,
    ) -> Weights:
        """Members whose weights are all 0, in float64, and from whom nothing is masked."""
        shapes = parameter_shapes(architecture)
        parameters = {name: np.zeros((members, *shape)) for name, shape in shapes.items()}
        return Weights(architecture, value_range, sharpness, parameters, open_masks(architecture, members))

    @property
    def members(self) -> int:
        return len(self.parameters["head"])

    @property
    def wiring(self) -> Wiring:
        return wiring(self.architecture)

    def take(self, members: Sequence[int]) -> Weights:
        """Copies of some members (an index may repeat)."""
        chosen = list(members)
        parameters, masks = (
            {name: values[chosen] for name, values in part.items()} for part in (self.parameters, self.masks)
        )
        return replace(self, parameters=parameters, masks=masks)

    def double(self) -> Weights:
        """The same numbers in float64, copied."""
        return replace(self, parameters={name: v.astype(float) for name, v in self.parameters.items()})

    def hard_choices(self) -> Int[np.ndarray, "member row"]:
        """The index that each choice has settled on."""
        logits = np.where(self.masks["choice_mask"], self.parameters["choices"], -np.inf)
        return logits.argmax(-1)

    def finite(self) -> Bool[np.ndarray, " member"]:
        """Whether all weights of each member are numbers."""
        return np.all([np.isfinite(v).all(tuple(range(1, v.ndim))) for v in self.parameters.values()], 0)

    def module(self) -> Any:
        """The `DiscreteTransformer` with copies of these weights."""
        from weights2code.model.transformer import DiscreteTransformer

        return DiscreteTransformer.of(self)

    # -- files -----------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """What is no array, as JSON has it."""
        return {
            "architecture": self.architecture.to_dict(),
            "members": self.members,
            "value_range": list(self.value_range),
            "sharpness": self.sharpness,
        }

    def tensors(self) -> Arrays:
        """The arrays under the names that a file has them by."""
        parameters = {f"model.{name}": values for name, values in self.parameters.items()}
        return parameters | {f"mask.{name}": values.astype(np.uint8) for name, values in self.masks.items()}

    @staticmethod
    def read(tensors: Mapping[str, np.ndarray], header: Mapping[str, Any]) -> Weights:
        """Inverse of `tensors` and `header`; ValueError or KeyError if no ensemble has such."""
        architecture = Architecture.from_dict(header["architecture"])
        low, high = (
            float(number(end, "value_range")) for end in items(header["value_range"], "value_range", 2)
        )
        if architecture.pointer and not low < high:
            raise ValueError("pointer heads have no range of values")
        sharpness = float(number(header["sharpness"], "sharpness"))
        members = whole(header["members"], "members", least=1)
        parameters, masks = (
            {name: _of_shape(tensors, f"{kind}.{name}", (members, *shape)) for name, shape in shapes.items()}
            for kind, shapes in (
                ("model", parameter_shapes(architecture)),
                ("mask", mask_shapes(architecture)),
            )
        )
        if any(values.dtype not in (np.float32, np.float64) for values in parameters.values()):
            raise ValueError("its weights are neither single nor double numbers")
        found = Weights(
            architecture, (low, high), sharpness, parameters, {n: m.astype(bool) for n, m in masks.items()}
        )
        for row, choice in enumerate(found.wiring.choices):
            allowed = found.masks["choice_mask"][:, row]
            if allowed[:, choice.options :].any() or not allowed.any(1).all():
                raise ValueError(f"a choice of {choice.module} has no option, or one that is not there")
        return found


def open_masks(architecture: Architecture, members: int) -> Arrays:
    """The masks of members that may use everything that is there."""
    masks = {name: np.ones((members, *shape), bool) for name, shape in mask_shapes(architecture).items()}
    for row, choice in enumerate(wiring(architecture).choices):
        masks["choice_mask"][:, row, choice.options :] = False
    return masks


def _of_shape(tensors: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The tensor of that name, which must not be stretched to fit."""
    found = tensors[name]
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape}, not {shape}")
    return found
