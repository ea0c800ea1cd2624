"""The Discrete Transformer (paper, section 3), many members at once.

Members are independent models with a leading axis: restarts, or, through masks, other architectures. One
forward pass runs all of them; nothing mixes members, so a batched ensemble equals its members run alone.

The stream is laid out (member, variable, position, batch): a read is then one matrix product over the
variables, a location head one over the positions, and concatenation appends whole blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from weights2code.effort import charge
from weights2code.errors import InputError
from weights2code.heads import EQUALITY_SHARPNESS, FORBIDDEN, HEADS
from weights2code.model import attention
from weights2code.model.architecture import Architecture, Choice, Wiring, parameter_shapes, wiring
from weights2code.model.long_product import long_product
from weights2code.model.sampler import HARD, Sampling, sample
from weights2code.model.weights import Weights, open_masks

#: Seconds of a usual machine: a group of heads or sub-MLPs, a number of the stream; how many times faster a
#: GPU is, and what a pass costs of which the gradient is taken.
LAUNCH, CELL, FASTER, BACK = 1.7e-4, 1e-9, 30, 3.2


class DiscreteTransformer(nn.Module):
    """`members` Discrete Transformers of one architecture.

    Parameters
    ----------
    architecture : sizes.
    members : how many independent models.
    value_range : range of the (scaled) training data, cut into bins by the encoding of pointer heads.
    seed : of the initial weights; member i has the same initial weights in any ensemble size.
    sharpness : how strongly the scores of equality heads fall with the squared distance of query and key.
    """

    choices: nn.Parameter
    hidden_weight: nn.Parameter
    hidden_bias: nn.Parameter
    output_weight: nn.Parameter
    output_bias: nn.Parameter
    query_table: nn.Parameter
    key_table: nn.Parameter
    relative_bias: nn.Parameter
    null_score: nn.Parameter
    start: nn.Parameter
    head: nn.Parameter
    choice_mask: Tensor
    variable_mask: Tensor
    start_mask: Tensor
    offset_mask: Tensor

    def __init__(
        self,
        architecture: Architecture,
        members: int = 1,
        value_range: tuple[float, float] = (-1.0, 1.0),
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        sharpness: float = EQUALITY_SHARPNESS,
    ) -> None:
        super().__init__()
        if architecture.pointer and not value_range[0] < value_range[1]:
            raise InputError(f"pointer heads need a range of values to cut into bins, got {value_range}.")
        # Drawing member by member keeps a member's start independent of how many stand beside it.
        shapes = parameter_shapes(architecture)
        starts = [self._draw(architecture, shapes, seed * 100_003 + member) for member in range(members)]
        drawn = {name: torch.stack([start[name] for start in starts]).to(dtype) for name in shapes}
        masks = {name: torch.from_numpy(mask) for name, mask in open_masks(architecture, members).items()}
        self._hold(architecture, value_range, sharpness, drawn, masks)

    def _hold(
        self,
        architecture: Architecture,
        value_range: tuple[float, float],
        sharpness: float,
        parameters: Mapping[str, Tensor],
        masks: Mapping[str, Tensor],
    ) -> None:
        """Become the module of these tensors, which are its own from here on."""
        self.architecture, self.value_range, self.sharpness = architecture, value_range, sharpness
        self.members = len(parameters["head"])
        self.leak: float | Tensor = 0.0  # slope of hidden units below zero, in training only
        self.wiring: Wiring = wiring(architecture)
        for name, values in parameters.items():
            setattr(self, name, nn.Parameter(values))
        for name, values in masks.items():
            self.register_buffer(name, values, persistent=False)

    @staticmethod
    def _draw(a: Architecture, shapes: dict[str, tuple[int, ...]], seed: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        draw = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
        scales = {"hidden_weight": math.sqrt(2.0 / a.arity), "output_weight": math.sqrt(1.0 / a.hidden)}
        scales |= dict.fromkeys(("choices", "relative_bias", "null_score", "head"), 0.1)
        scales |= dict.fromkeys(("hidden_bias", "query_table", "key_table"), 0.5)
        scales |= dict.fromkeys(("output_bias", "start"), 0.0)
        return {name: values * scales[name] for name, values in draw.items()}

    # -- members, here and as plain arrays -------------------------------------------------------------------

    @staticmethod
    def of(weights: Weights) -> DiscreteTransformer:
        """The module of weights that were read or written, which it copies."""
        tensors = (
            {n: torch.tensor(v) for n, v in part.items()} for part in (weights.parameters, weights.masks)
        )
        return DiscreteTransformer._of(weights.architecture, weights.value_range, weights.sharpness, *tensors)

    @staticmethod
    def _of(*held: Any) -> DiscreteTransformer:
        model = DiscreteTransformer.__new__(DiscreteTransformer)
        nn.Module.__init__(model)
        model._hold(*held)
        return model

    def weights(self) -> Weights:
        """The weights as they are now."""
        parts = (dict(self.named_parameters()), dict(self.named_buffers()))
        arrays = ({n: v.detach().cpu().numpy().copy() for n, v in part.items()} for part in parts)
        return Weights(self.architecture, self.value_range, self.sharpness, *arrays)

    def take(self, members: Sequence[int]) -> DiscreteTransformer:
        """A new ensemble made of copies of some members (an index may repeat)."""
        index = torch.tensor(list(members), dtype=torch.long, device=self.choices.device)
        parts = (dict(self.named_parameters()), dict(self.named_buffers()))
        tensors = ({name: values.detach()[index] for name, values in part.items()} for part in parts)
        other = DiscreteTransformer._of(self.architecture, self.value_range, self.sharpness, *tensors)
        other.leak = self.leak
        return other

    def hard_choices(self) -> Int[Tensor, "member row"]:
        """The index that each choice has settled on."""
        return self.masked_choices().argmax(-1)

    # -- masks: the paper's interventions, and smaller architectures inside a batched program ---------------

    def forbid(self, member: int | slice, variables: Sequence[int]) -> None:
        """Hide stream variables: no read selects them and the head has no weight on them."""
        self.variable_mask[member, list(variables)] = False
        self._rule_out(member, variables, lambda choice: choice.decides != "offset")

    def forbid_offsets(self, member: int | slice, offsets: Sequence[int]) -> None:
        """No head may look `offsets` back (for location heads, the offset `window` is the null slot)."""
        reachable = [offset for offset in offsets if offset < self.architecture.window]
        self.offset_mask[member, reachable] = False
        self._rule_out(member, offsets, lambda choice: choice.decides == "offset")

    def forbid_present(self, member: int | slice, channels: Sequence[int]) -> None:
        """Channels may be looked up by attention, but not used at the present position."""
        self.variable_mask[member, list(channels)] = False
        self._rule_out(member, channels, lambda choice: choice.kind == "submlp")

    def _rule_out(
        self, member: int | slice, options: Sequence[int], concerned: Callable[[Choice], bool]
    ) -> None:
        for row, choice in enumerate(self.wiring.choices):
            if concerned(choice):
                self.choice_mask[member, row, [o for o in options if o < choice.options]] = False
        self._check_masks()

    def reserve_heads(
        self, member: int | slice, channel: int, offsets: Sequence[int], share: tuple[int, int] = (1, 2)
    ) -> None:
        """Hide a channel at some offsets: a share of the location heads reads it, at the offsets left.

        `share` = (i, n) reserves every n-th head, beginning with head i: by default the odd ones.
        """
        if 0 in offsets:
            self.forbid_present(member, [channel])
        for row, choice in enumerate(self.wiring.choices):
            if choice.kind == "submlp":
                continue
            reserved = choice.kind == "location" and choice.index % share[1] == share[0]
            if choice.decides == "offset":
                if reserved:
                    self.choice_mask[member, row, list(offsets)] = False
            elif reserved:
                others = [v for v in range(choice.options) if v != channel]
                self.choice_mask[member, row, others] = False
            else:
                self.choice_mask[member, row, channel] = False
        self._check_masks()

    def forbid_start(self, member: int | slice) -> None:
        """Nothing but 0 lies before the start."""
        self.start_mask[member] = False

    def _check_masks(self) -> None:
        """A choice without options would make its member's every output NaN."""
        for choice, some in zip(self.wiring.choices, self.choice_mask.any(-1).all(0).tolist(), strict=True):
            if not some:
                raise InputError(
                    f"the mask leaves nothing to choose from for the {choice.role} of {choice.module}."
                )

    # -- forward --------------------------------------------------------------------------------------------

    def masked_choices(self) -> Float[Tensor, "member row option"]:
        return self.choices.masked_fill(~self.choice_mask, -torch.inf)

    def forward(
        self, channels: Float[Tensor, "channel pos batch"], sampling: Sampling = HARD, first: int = 0
    ) -> Float[Tensor, "member output pos-{first} batch"]:
        """Predictions of every member, from position `first` on."""
        stream = self.stream(channels, sampling, first=first)
        weight = self.head[..., :-1] * self.variable_mask[:, None, :]
        out = long_product(weight, stream.flatten(2)) + self.head[..., -1:]
        return out.unflatten(-1, stream.shape[2:])

    def stream(
        self,
        channels: Float[Tensor, "channel pos batch"],
        sampling: Sampling = HARD,
        table: Float[Tensor, "member row option"] | None = None,
        first: int = 0,
    ) -> Float[Tensor, "member variable pos-{first} batch"]:
        """All variables of the residual stream, from position `first` on.

        `table` overrides the sampled choices.
        """
        flat, hidden = self.features(channels, sampling, table, first)
        if hidden is not None:
            flat = torch.cat([flat, self._operate(self.architecture.layers - 1, hidden)], 1)
        return flat.unflatten(-1, (-1, channels.shape[2]))

    def features(
        self,
        channels: Float[Tensor, "channel pos batch"],
        sampling: Sampling = HARD,
        table: Float[Tensor, "member row option"] | None = None,
        first: int = 0,
    ) -> tuple[Float[Tensor, "member variable column"], Float[Tensor, "member submlp hidden column"] | None]:
        """The stream up to the last layer's sub-MLPs, and their hidden units (None if there are none).

        Positions and batch are one axis here, the columns. Nothing looks at the last layer before position
        `first`, so it is not computed there: in the paper's layout that is half of it.
        """
        if table is None:
            table = sample(self.masked_choices(), sampling)
        a = self.architecture
        shape = (channels.shape[1], channels.shape[2])
        charge(self._cost(table.shape[0], *shape))
        start = self.start * self.start_mask if a.learned_start else None
        if start is not None and a.past:
            flat = self._with_start(channels, start[:, : a.past]).flatten(2)
        else:
            flat = channels.reshape(1, channels.shape[0], -1).expand(table.shape[0], -1, -1)
        row, hidden = 0, None
        for layer in range(a.layers):
            if hidden is not None:
                flat = torch.cat([flat, self._operate(layer - 1, hidden)], 1)
            skipped = first if layer == a.layers - 1 else 0
            if a.heads:
                own = a.past + layer * a.location
                null = None if start is None else start[:, own : own + a.location]
                outputs, row = self._heads(layer, row, flat, table, sampling, shape, null, skipped)
                flat = torch.cat([flat[..., skipped * shape[1] :], outputs.flatten(2)], 1)
            else:
                flat = flat[..., skipped * shape[1] :]
            if a.submlps:
                rows = slice(row, row + a.submlps * a.arity)
                operands = long_product(table[:, rows, : flat.shape[1]], flat)
                row += a.submlps * a.arity
                hidden = self._hidden(layer, operands)
        return flat, hidden

    def _cost(self, members: int, length: int, batch: int) -> float:
        """Seconds of a usual machine that running the members takes, with the way back if there is one."""
        a = self.architecture
        groups = 1 + (a.heads > 0) + (a.submlps > 0)
        each = 2 * a.stream_width(a.layers) + a.layers * (a.submlps * a.hidden + 1.2 * a.location * a.window)
        each += 5 * a.layers * (a.heads - a.location) * length
        cell = CELL / FASTER if self.choices.is_cuda else CELL
        return (LAUNCH * a.layers * groups + cell * members * length * batch * each) * (
            BACK if torch.is_grad_enabled() else 1
        )

    def _hidden(
        self, layer: int, operands: Float[Tensor, "member operand column"]
    ) -> Float[Tensor, "member submlp hidden column"]:
        """Hidden units of a layer's sub-MLPs: the largest tensor of a step, so written once and in place."""
        a = self.architecture
        u = operands.reshape(-1, a.arity, operands.shape[2])
        bias, weight = self.hidden_bias[:, layer].flatten(0, 1), self.hidden_weight[:, layer].flatten(0, 1)
        before = long_product(weight, u) + bias if u.is_cuda else torch.baddbmm(bias, weight, u)
        return self._activated(before).unflatten(0, (-1, a.submlps))

    def _activated(self, before: Tensor) -> Tensor:
        if isinstance(self.leak, Tensor):  # one that a recorded step looks up
            return torch.maximum(before, self.leak * before)
        return torch.nn.functional.leaky_relu_(before, self.leak) if self.leak else before.relu_()

    def _operate(
        self, layer: int, hidden: Float[Tensor, "member submlp hidden column"]
    ) -> Float[Tensor, "member submlp column"]:
        """Outputs of a layer's sub-MLPs from their hidden units."""
        return (long_product(self.output_weight[:, layer], hidden) + self.output_bias[:, layer]).squeeze(2)

    @staticmethod
    def _with_start(
        channels: Float[Tensor, "channel pos batch"], start: Float[Tensor, "member past"]
    ) -> Float[Tensor, "member channel pos batch"]:
        """Channels of each member with the learned past outputs at the first position."""
        position = torch.arange(channels.shape[1], device=channels.device)
        first = (position == 0).to(channels.dtype)[:, None]
        added = torch.nn.functional.pad(start, (channels.shape[0] - start.shape[1], 0))
        return channels + added[:, :, None, None] * first

    def _heads(
        self,
        layer: int,
        row: int,
        flat: Float[Tensor, "member variable column"],
        table: Float[Tensor, "member row option"],
        sampling: Sampling,
        shape: tuple[int, int],
        null: Float[Tensor, "member location"] | None,
        first: int,
    ) -> tuple[Float[Tensor, "member head pos batch"], int]:
        """Outputs of a layer's heads from position `first` on, and the row of the next choice."""
        a = self.architecture

        place: dict[str, Any] = {"device": flat.device, "dtype": flat.dtype}

        def read(rows: slice) -> Tensor:  # a slice: a list would be copied to the device at every step
            return long_product(table[:, rows, : flat.shape[1]], flat).unflatten(-1, shape)

        outputs = []
        if n := a.location:
            values = read(slice(row, row + 2 * n, 2))
            offsets = table[:, row + 1 : row + 2 * n : 2, : a.window + 1]
            basis = attention.offset_basis(shape[0], a.window, clip=False, **place)
            outputs.append(attention.location_attention(offsets, values, basis, null)[:, :, first:])
            row += 2 * n
        for kind, n, before in (("pointer", a.pointer, 0), ("equality", a.equality, a.pointer)):
            if not n:
                continue
            query, key, value = (read(slice(row + i, row + 3 * n, 3)) for i in range(3))
            query = query[:, :, first:]
            seekers = slice(before, before + n)
            if kind == "pointer":
                tables = self.query_table[:, layer], self.key_table[:, layer]
                scores = attention.pointer_scores(query, key, *tables, self.value_range)
            else:
                scores = attention.equality_scores(query, key, self.sharpness)
            scores = attention.with_bias_and_null(
                scores,
                self.relative_bias[:, layer, seekers].masked_fill(~self.offset_mask[:, None], -FORBIDDEN),
                self.null_score[:, layer, seekers],
                attention.offset_basis(shape[0], a.window, clip=True, **place),
            )
            outputs.append(attention.select_values(sample(scores, sampling), value))
            row += 3 * n
        for kind, facts in HEADS.items():  # what is computed of everything so far
            if facts.seeks or kind == "location" or not (n := a.count(kind)):
                continue
            roles = len(facts.reads)
            parts = (read(slice(row + i, row + roles * n, roles)) for i in range(roles))
            outputs.append(attention.computed(kind)(*parts)[:, :, first:])
            row += roles * n
        return torch.cat(outputs, 1), row
