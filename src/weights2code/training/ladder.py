"""The ladder: architectures from small to large, the same for every problem.

A rung is one batched program. Its members differ in their start and, through masks, in what they may use:
past outputs or only inputs, how many heads, learned or zero starts. Variants are in order of preference:
among members that fit, the one with the earliest variant is the smallest program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.settings import Settings
from weights2code.training.recipes import PAPER_RATE, PAPER_SAMPLES, PAPER_SEEDS, Recipe, paper_recipe
from weights2code.training.storage import RungKind

#: Location heads look back at most this far, and at most half a sequence, so that what they find is seen
#: to hold at positions beyond their own reach.
LONGEST_WINDOW = 12
#: A sub-MLP with a fixed wiring is given at most this many values.
MOST_OPERANDS = 12


@dataclass(frozen=True, slots=True)
class Variant:
    """What `members` of a rung may use; None means everything."""

    members: int
    past: bool = True
    heads: int | None = None
    submlps: int | None = None
    start: bool = False


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder: sizes (of `Architecture`), recipe, variants, layout.

    With a fixed wiring the sizes that depend on the problem are filled in by `ladder_of`; `reach` of a window
    is how far back it looks at most.
    """

    name: str
    sizes: dict[str, Any]
    recipe: Recipe
    variants: tuple[Variant, ...]
    layout: str = "autoregressive"
    kind: RungKind = "annealed"
    reach: int = 0

    @property
    def option(self) -> str:
        """Its name as a command takes it, without spaces."""
        return self.name.replace(" ", "-")

    @property
    def wired(self) -> bool:
        """Whether the wiring, or a part of it, is fixed."""
        return self.kind in ("lookup", "window")

    @property
    def members(self) -> int:
        return sum(variant.members for variant in self.variants)


def _recipe(steps: int, **other: Any) -> Recipe:
    return Recipe(epochs=steps // 50, steps_per_epoch=50, halvings=(0.5, 0.75), **other)


def _row(
    kind: RungKind, sizes: dict[str, Any], recipe: Recipe, *variants: Variant, name: str = "", reach: int = 0
) -> Rung:
    return Rung(name or kind, {"layers": 1, **sizes}, recipe, variants, kind=kind, reach=reach)


_LINEAR = {"submlps": 0}
_FUNCTIONS = {"learned_start": True}
_POLISHED = Recipe(epochs=0, tune_steps=0, polish=True)
_BOTH = (Variant(1, past=False), Variant(1))

FAST_LADDER: tuple[Rung, ...] = (
    _row("linear", _LINEAR | {"location": 8}, _POLISHED, *_BOTH),
    _row("prefix", _LINEAR | {"mean": 1, "sum": 1, "max": 1, "min": 1}, _POLISHED, *_BOTH),
    _row("lookup", _LINEAR | {"equality": 1}, _POLISHED, Variant(1), Variant(1)),
    _row(
        "annealed",
        _FUNCTIONS | {"location": 2, "submlps": 2, "arity": 2},
        _recipe(600),
        Variant(4, past=False, heads=0),
        Variant(6, heads=0),
        Variant(8, past=False, heads=1),
        Variant(4, heads=1),
        Variant(4, past=False, heads=2),
        Variant(4, heads=2),
        Variant(4, heads=0, start=True),
        Variant(4, past=False, heads=1, start=True),
        Variant(2, heads=1, start=True),
        name="pairs",
    ),
    _row(
        "window",
        _FUNCTIONS | {"submlps": 1, "hidden": 64},
        _recipe(400, head="projected", noise=0.0, batch=64),
        Variant(3),
        Variant(1, start=True),
        reach=1,
    ),
    _row(
        "window",
        _FUNCTIONS | {"submlps": 1, "hidden": 96},
        _recipe(500, head="projected", noise=0.0, batch=96),
        Variant(2),
        name="wide window",
        reach=LONGEST_WINDOW,
    ),
)


def ladder_of(problem: Problem, settings: Settings) -> tuple[Rung, ...]:
    """Every rung that a run may climb: the ladder, or the one architecture that the settings fix."""
    layout = settings.layout
    if settings.recipe == "paper":  # it tags stateless tasks and continues text for the others
        ladder = _paper_rungs(problem, settings)
        if layout == "auto" and problem.state_tracking is not None:
            layout = "concat" if problem.state_tracking else "tagging"
    elif settings.fixed_architecture():
        ladder = (_fixed_rung(settings),)
    else:
        ladder = _fitted_to(problem, layout)
    ladder = tuple(_with_overrides(rung, settings) for rung in ladder)
    if settings.hide or layout == "concat":  # a fixed wiring reads everything, and knows no text
        ladder = tuple(rung for rung in ladder if not rung.wired)
    if settings.rungs:
        ladder = tuple(rung for rung in ladder if rung.option in settings.rungs)
        if not ladder:
            raise InputError(
                f"no model of {problem.name} can be trained on --rungs {','.join(settings.rungs)}."
            )
    return tuple(_in_layout(rung, layout) for rung in ladder)


def _fitted_to(problem: Problem, layout: str) -> tuple[Rung, ...]:
    """The ladder with the sizes that fixed wirings need for this problem; without those that would be too
    wide, and without a window that reads no more than the one before it."""
    layout = "tagging" if layout == "tagging" else "autoregressive"
    inputs, outputs = len(problem.inputs), len(problem.outputs)
    channels = inputs + (0 if layout == "tagging" else outputs)
    texts = all(domain.categories for domain in problem.domains)
    fitted: list[Rung] = []
    widest = 0
    for rung in FAST_LADDER:
        own = rung.sizes
        if rung.kind == "window":
            reach = min(rung.reach, problem.length // 2, MOST_OPERANDS // channels - 1)
            if reach <= widest:
                continue
            widest = reach
            own = own | window_sizes(channels, reach) | {"submlps": max(own["submlps"], outputs)}
        elif rung.kind == "lookup" and inputs < 2:
            continue
        if texts and rung.kind == "prefix":
            continue  # texts have no sums and no extrema
        fitted.append(replace(rung, sizes=own, layout=layout if rung.wired else rung.layout))
    return tuple(fitted)


def window_sizes(channels: int, reach: int) -> dict[str, Any]:
    """Every channel at offsets 0..reach."""
    return {"location": channels * reach, "arity": channels * (reach + 1)}


def window_of(problem: Problem) -> int:
    """How many offsets location heads tell apart."""
    return max(min(LONGEST_WINDOW, problem.length // 2 + 1), 2)


def _fixed_rung(settings: Settings) -> Rung:
    others = {kind: getattr(settings, kind) or 0 for kind in ("pointer", "equality", "mean", "sum")}
    usual = {"layers": 1, "heads": 0 if any(others.values()) else 2, "submlps": 2, "arity": 2, "hidden": 16}
    given = {name: getattr(settings, name) for name in usual}
    sizes: dict[str, Any] = {name: usual[name] if size is None else size for name, size in given.items()}
    sizes |= {"location": sizes.pop("heads"), **others, "learned_start": True}
    big = sizes["layers"] * sizes["submlps"] * sizes["arity"] > 6
    variants = tuple(
        Variant(members, past=past, start=start)
        for members, start in ((12, False), (4, True))
        for past in (False, True)
    )
    return Rung("fixed", sizes, _recipe(1500 if big else 900), variants)


def _paper_rungs(problem: Problem, settings: Settings) -> tuple[Rung, ...]:
    """The paper's architecture of the task, or its grid: layers 1, 2; heads 2, 3; sub-MLPs 2, 3."""
    paper = problem.paper
    rate = min(paper.learning_rate, PAPER_RATE) if paper else PAPER_RATE
    recipe = paper_recipe(paper.epochs if paper else 50, rate, settings.samples or PAPER_SAMPLES)
    if settings.fixed_architecture():
        sizes = _fixed_rung(settings).sizes
        sizes["pointer"], sizes["location"], sizes["learned_start"] = sizes["location"], 0, False
        grid = [sizes]
    else:
        every = [(paper.layers, paper.heads, paper.submlps)] if paper else product((1, 2), (2, 3), (2, 3))
        grid = [{"layers": layers, "pointer": heads, "submlps": submlps} for layers, heads, submlps in every]
    name, variants = "paper L{layers} H{pointer} M{submlps}", (Variant(PAPER_SEEDS),)
    return tuple(Rung(name.format(**sizes), sizes, recipe, variants) for sizes in grid)


def _with_overrides(rung: Rung, settings: Settings) -> Rung:
    recipe, variants = rung.recipe, rung.variants
    if settings.epochs is not None and recipe.epochs:  # a rung without annealing stays without
        recipe = replace(recipe, epochs=settings.epochs)
    if recipe.head == "learned":
        recipe = replace(recipe, l1=settings.l1)
    if settings.members is not None:
        variants = tuple(replace(variant, members=settings.members) for variant in variants)
    return replace(rung, recipe=recipe, variants=variants)


def _in_layout(rung: Rung, layout: str) -> Rung:
    """The rung in the layout that is asked for: its variants, or one if it has none. In `concat`, one scalar
    sequence, every member sees everything and nothing lies before the start but 0."""
    if layout == "concat":
        sizes = {**rung.sizes, "learned_start": False}
        return replace(rung, layout=layout, sizes=sizes, variants=(Variant(rung.members),))
    if layout == "auto" or rung.wired:
        return rung
    past = layout == "autoregressive"
    kept = tuple(variant for variant in rung.variants if variant.past == past)
    return replace(rung, variants=kept or (Variant(rung.members, past=past),))
