"""Wirings that are fixed from the start: the full window, all prefix aggregates, lookups by key.

Annealing searches for the few values that matter. Where it does not find them, the dual works: give one
layer of sub-MLPs everything within reach, fit it without any sampling, and let pruning find out what the
output does not need. Fixed choices are masks that leave one option, so the model and the loop are the same.
"""

from __future__ import annotations

from typing import Any

import torch

from weights2code.data import Problem
from weights2code.model import Architecture, DiscreteTransformer

#: A sub-MLP is given at most this many values.
MOST_OPERANDS = 12


def window_sizes(channels: int, reach: int) -> dict[str, Any] | None:
    """Sizes for every channel at offsets 0..reach; None if those are too many."""
    operands = channels * (reach + 1)
    if operands > MOST_OPERANDS:
        return None
    return {"layers": 1, "location": channels * reach, "arity": operands}


def fix_window(model: DiscreteTransformer) -> None:
    """Head (channel, offset) copies that value; every sub-MLP reads all channels and all copies."""
    a = model.architecture
    copies = [
        (channel, offset)
        for offset in range(1, a.location // a.channels + 1)
        for channel in range(a.channels)
    ]
    for row, choice in enumerate(model.wiring.choices):
        if choice.module.startswith("Attn"):
            channel, offset = copies[int(choice.module.rpartition("H")[2])]
            _fix(model, row, channel if choice.role == "value" else offset)
        else:
            _fix(model, row, int(choice.role.removeprefix("operand")))


def aggregate_sizes(problem: Problem, channels: int) -> dict[str, Any] | None:
    """Two layers: aggregates of the inputs, then aggregates of functions of them and extrema of means."""
    inputs = len(problem.inputs)
    if inputs > 2:
        return None
    sizes: dict[str, Any] = {"layers": 2, "mean": max(3, inputs), "submlps": 3}
    sizes |= {"sum": inputs, "max": inputs, "min": inputs}
    return {**sizes, "arity": len(_aggregate_operands(Architecture(channels=channels, **sizes), inputs))}


def fix_aggregates(model: DiscreteTransformer, inputs: int) -> None:
    """Layer 0 aggregates the inputs and computes functions of one input each; layer 1 averages those
    functions, takes extrema of the means, and its sub-MLPs read everything."""
    a = model.architecture
    kinds = a.head_kinds()
    first = a.stream_width(1)
    operators = range(first - a.submlps, first)
    operands = _aggregate_operands(a, inputs)
    count: dict[tuple[int, str], int] = {}
    for row, choice in enumerate(model.wiring.choices):
        index = int(choice.module[-1] if choice.module[-2] in "HM" else choice.module.rpartition("H")[2])
        if choice.module.startswith("MLP"):
            slot = int(choice.role.removeprefix("operand"))
            _fix(model, row, index % inputs if choice.layer == 0 else operands[slot])
            continue
        kind = kinds[index]
        turn = count.get((choice.layer, kind), 0)
        count[choice.layer, kind] = turn + 1
        if choice.layer == 0:
            _fix(model, row, turn % inputs)
        elif kind in ("mean", "sum"):
            _fix(model, row, operators[turn % a.submlps])
        else:
            _fix(model, row, a.channels + turn % inputs)  # the means of layer 0 come first


def _aggregate_operands(a: Architecture, inputs: int) -> list[int]:
    """Channels; mean, sum, extrema of every input; means of functions; extrema of means."""
    zero, one = a.channels, a.stream_width(1)
    distinct = [*range(zero, zero + inputs), *range(zero + a.mean, zero + a.heads)]
    later = [*range(one, one + a.mean), *range(one + a.mean + a.sum, one + a.heads)]
    return [*range(a.channels), *distinct, *later][:MOST_OPERANDS]


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
