"""The paper's grid of architectures: those of one depth train as members of one batched program.

Smaller architectures are masks of the largest (`Variant`); afterwards each has models of its own size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path

import torch

from weights2code.data import Problem
from weights2code.model.narrow import narrowed
from weights2code.progress import Progress
from weights2code.settings import Settings
from weights2code.training.ladder import Rung, ladder_of
from weights2code.training.search import train_rung
from weights2code.training.storage import Trained


@dataclass(frozen=True, slots=True, order=True)
class Sizes:
    """Layers, heads a layer, sub-MLPs a layer."""

    layers: int
    heads: int
    submlps: int

    @property
    def name(self) -> str:
        return f"L{self.layers}H{self.heads}M{self.submlps}"

    def settings(self) -> dict[str, int]:
        return {"layers": self.layers, "heads": self.heads, "submlps": self.submlps}


#: "A grid search over the number of layers {1, 2}, attention heads {2, 3}, and sub-MLPs per layer {2, 3}."
GRID = tuple(Sizes(*sizes) for sizes in product((1, 2), (2, 3), (2, 3)))
WIDEST = Sizes(max(s.layers for s in GRID), max(s.heads for s in GRID), max(s.submlps for s in GRID))


def programs_of(sizes: Sequence[Sizes]) -> list[tuple[Sizes, ...]]:
    """Sizes that train together: those of one depth within the grid, and each wider one alone."""

    def key(one: Sizes) -> tuple[int, int, int]:
        wide = one.heads > WIDEST.heads or one.submlps > WIDEST.submlps
        return (one.layers, one.heads, one.submlps) if wide else (one.layers, 0, 0)

    return [tuple(group) for _, group in groupby(sorted(set(sizes), key=lambda s: (key(s), s)), key)]


def rung_of(sizes: Sequence[Sizes], problem: Problem, settings: Settings, seeds: int) -> Rung:
    """The program of these architectures of one depth, `seeds` members each."""
    widest = Sizes(sizes[0].layers, max(s.heads for s in sizes), max(s.submlps for s in sizes))
    (rung,) = ladder_of(problem, replace(settings, members=seeds, **widest.settings()))
    (variant,) = rung.variants
    variants = tuple(replace(variant, heads=s.heads, submlps=s.submlps) for s in sizes)
    names = ", ".join(s.name for s in sizes)
    return replace(rung, name=f"paper {names}", variants=variants)


def train_together(
    sizes: Sequence[Sizes],
    problem: Problem,
    settings: Settings,
    seeds: int,
    device: torch.device,
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> dict[Sizes, Trained]:
    """Train `seeds` members of each of these architectures of one depth as one program."""
    rung = rung_of(sizes, problem, settings, seeds)
    whole = train_rung(rung, problem, settings, device, checkpoint, progress, ordered=False)
    found = {}
    for index, own in enumerate(sizes):
        members = range(index * seeds, (index + 1) * seeds)
        one = whole.only(sorted(members, key=whole.losses.__getitem__))
        weights = narrowed(one.weights, range(seeds), own.heads, own.submlps)
        found[own] = replace(one, rung=f"paper {own.name}", weights=weights)
    return found
