"""The ensemble of a rung: its architecture, fixed wirings, and the masks of its variants.

Annealing searches for the few values that matter. Where it does not find them, the dual works: give one
layer of sub-MLPs everything within reach, fit it without any sampling, and let pruning find out what the
output does not need. Fixed choices are masks that leave one option, so the model and the loop are the same.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.heads import EQUALITY_SHARPNESS
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.training.ladder import Rung, window_of


def build(
    rung: Rung,
    problem: Problem,
    channels: int,
    value_range: tuple[float, float],
    seed: int,
    sharpness: float = EQUALITY_SHARPNESS,
) -> DiscreteTransformer:
    """The rung's ensemble with the masks of its variants."""
    concat = rung.layout == "concat"
    inputs, outputs = len(problem.inputs), len(problem.outputs)
    usual: dict[str, Any] = {"window": problem.length + 4 if concat else window_of(problem)}
    architecture = Architecture(
        channels=channels,
        outputs=outputs,
        past=outputs if rung.layout == "autoregressive" else 0,
        **usual | rung.sizes,
    )
    model = DiscreteTransformer(architecture, rung.members, value_range, seed, sharpness=sharpness)
    if rung.kind == "window":
        fix_window(model)
    elif rung.kind == "lookup":
        fix_lookup(model)
    first = 0
    for variant in rung.variants:
        members = slice(first, first + variant.members)
        first += variant.members
        hidden: list[int] = []
        if not variant.past and not concat and not rung.wired:
            hidden += range(inputs, inputs + outputs)
        for layer in range(architecture.layers):
            start, end = architecture.stream_width(layer), architecture.stream_width(layer + 1)
            operators = start + architecture.heads
            if variant.heads is not None:
                hidden += range(start + variant.heads, operators)
            if variant.submlps is not None:
                hidden += range(operators + variant.submlps, end)
        if hidden:
            model.forbid(members, hidden)
        if not variant.start:
            model.forbid_start(members)
    return model


def fix_window(model: DiscreteTransformer) -> None:
    """Head (channel, offset) copies that value; every sub-MLP reads all channels and all copies."""
    channels = model.architecture.channels
    for row, choice in enumerate(model.wiring.choices):
        if choice.kind == "submlp":
            _fix(model, row, choice.slot)
        elif choice.decides == "offset":
            _fix(model, row, choice.index // channels + 1)
        else:
            _fix(model, row, choice.index % channels)


def fix_lookup(model: DiscreteTransformer) -> None:
    """Equality heads with settled scores: a match beats the null slot, which beats everything else.

    What they read is left to polishing. Odd members do not look at the present position.
    """
    with torch.no_grad():
        model.relative_bias.zero_()
        model.null_score.fill_(-10.0)
    model.offset_mask[1::2, 0] = False


def _fix(model: DiscreteTransformer, row: int, option: int) -> None:
    model.choice_mask[:, row] = False
    model.choice_mask[:, row, option] = True


def hide(model: DiscreteTransformer, names: tuple[str, ...], problem: Problem, layout: str) -> None:
    """The paper's interventions: nothing may read the named values, such as `y[t-1]` or `x[t-2]`.

    A channel whose present value is hidden can still be looked up at other offsets. In `concat` offsets
    are enough, since every value has its own. Elsewhere the location heads are divided: with one masked
    channel the odd ones read only that, at the offsets that are left, and all others read anything else.
    """
    hidden: dict[int, set[int]] = {}
    for name in names:
        base, lag = _parse_mask(name, problem)
        if base in problem.outputs:
            channel = problem.outputs.index(base) + (0 if layout == "concat" else len(problem.inputs))
            hidden.setdefault(channel, set()).add(lag - 1)
        else:
            past = problem.length - 1 if layout == "concat" else 0
            hidden.setdefault(problem.inputs.index(base), set()).add(lag + past)
    if layout == "concat":
        offsets = sorted(set().union(*hidden.values()))
        model.forbid_offsets(slice(None), offsets)
        if 0 in offsets:
            model.forbid_present(slice(None), range(model.architecture.channels))
        return
    channels = range(model.architecture.channels)
    for member, seen in enumerate(model.variable_mask[:, : len(channels)].tolist()):
        masked = [channel for channel in hidden if seen[channel]]  # without past outputs, none of those
        free = any(seen[channel] for channel in channels if channel not in hidden)
        for index, channel in enumerate(masked, start=int(free)):
            model.reserve_heads(member, channel, sorted(hidden[channel]), (index, len(masked) + free))


def _parse_mask(name: str, problem: Problem) -> tuple[str, int]:
    found = re.fullmatch(r"\s*(\w+)\s*\[\s*t\s*(?:-\s*(\d+))?\s*\]\s*", name)
    known = problem.inputs + problem.outputs
    if not found or found[1] not in known:
        raise InputError(
            f"cannot read the mask {name!r}; write it as {known[-1]}[t-1], names: {', '.join(known)}."
        )
    lag = int(found[2] or 0)
    if found[1] in problem.outputs and lag == 0:
        raise InputError(f"the mask {name!r} hides the value that is to be computed.")
    return found[1], lag
