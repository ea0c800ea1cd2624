"""The ladder: architectures from small to large, the same for every problem.

A rung is one batched program. Its members differ in their start and, through masks, in what they may use:
past outputs or only inputs, how many heads, learned or zero starts. Variants are in order of preference:
among members that fit, the one with the earliest variant is the smallest program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.heads import AGGREGATES
from weights2code.model import Architecture
from weights2code.model.sampler import Annealing
from weights2code.settings import Settings
from weights2code.training.recipes import PAPER_RATE, Recipe, paper_recipe, with_samples

#: Location heads look back at most this far, and at most half a sequence, so that what they find is seen
#: to hold at positions beyond their own reach.
LONGEST_WINDOW = 12
#: A sub-MLP with a fixed wiring is given at most this many values.
MOST_OPERANDS = 12
#: Functions of the inputs that aggregates are taken of, at least.
FUNCTIONS = 3

#: What a rung is: `linear`, `prefix` and `lookup` have no functions, and their wiring is found by polishing;
#: `window` and `aggregates` read everything within reach; annealed ones choose what their functions read.
#: `few` is a window on the few values that rows show to be enough. `memory` is several in one: heads over
#: everything so far that the data chose, and a rung above them.
RungKind = Literal["linear", "prefix", "lookup", "few", "window", "memory", "aggregates", "annealed"]


@dataclass(frozen=True, slots=True)
class Variant:
    """What `members` of a rung may use; None means everything.

    `reach` is how far back heads look at most, `unread` are channels that nothing reads.
    """

    members: int
    past: bool = True
    heads: int | None = None
    submlps: int | None = None
    start: bool = False
    reach: int | None = None
    unread: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder: sizes (of `Architecture`), recipe, variants, layout.

    With a fixed wiring the sizes that depend on the problem are filled in by `ladder_of`; `reach` of a window
    is how far back it looks at most. A window may read some `leaves` alone: channels, and how far back.
    """

    name: str
    sizes: dict[str, Any]
    recipe: Recipe
    variants: tuple[Variant, ...]
    layout: str = "autoregressive"
    kind: RungKind = "annealed"
    leaves: tuple[tuple[int, int], ...] = ()

    @property
    def option(self) -> str:
        """Its name as a command takes it, without spaces."""
        return self.name.replace(" ", "-")

    @property
    def wired(self) -> bool:
        """Whether the wiring, or a part of it, is fixed."""
        return self.kind in ("lookup", "few", "window", "memory", "aggregates")

    @property
    def aggregates(self) -> bool:
        """Whether it has functions of aggregates of everything so far."""
        functions = self.sizes.get("submlps", 0) > 0 and any(self.sizes.get(kind) for kind in AGGREGATES)
        return self.kind == "aggregates" or functions

    @property
    def members(self) -> int:
        return sum(variant.members for variant in self.variants)


def _recipe(steps: int, **other: Any) -> Recipe:
    return Recipe(epochs=steps // 50, steps_per_epoch=50, halvings=(0.5, 0.75), **other)


FAST_LADDER: tuple[Rung, ...] = (
    Rung(
        "linear",
        {"layers": 1, "location": 8, "submlps": 0},
        Recipe(epochs=0, tune_steps=0, polish=True),
        (Variant(1, past=False), Variant(1)),
        kind="linear",
    ),
    Rung(
        "prefix",
        {"layers": 1, "mean": 1, "sum": 1, "max": 1, "min": 1, "submlps": 0},
        Recipe(epochs=0, tune_steps=0, polish=True),
        (Variant(1, past=False), Variant(1)),
        kind="prefix",
    ),
    Rung(
        "lookup",
        {"layers": 1, "equality": 1, "submlps": 0},
        Recipe(epochs=0, tune_steps=0, polish=True),
        (Variant(1), Variant(1)),
        kind="lookup",
    ),
    Rung(
        "memory",
        {"layers": 1, "submlps": 1, "hidden": 64, "learned_start": True},
        _recipe(400, head="projected", noise=0.0, batch=64),
        (Variant(3), Variant(1, start=True)),
        kind="memory",
    ),
    Rung(
        "few values",
        {"layers": 1, "submlps": 1, "hidden": 64, "learned_start": True},
        _recipe(400, head="projected", noise=0.0, batch=64),
        (Variant(3), Variant(1, start=True)),
        kind="few",
    ),
    Rung(
        "pairs",
        {"layers": 1, "location": 2, "submlps": 2, "arity": 2, "learned_start": True},
        _recipe(600),
        (
            Variant(4, past=False, heads=0),
            Variant(6, heads=0),
            Variant(8, past=False, heads=1),
            Variant(4, heads=1),
            Variant(4, past=False, heads=2),
            Variant(4, heads=2),
            Variant(4, heads=0, start=True),
            Variant(4, past=False, heads=1, start=True),
            Variant(2, heads=1, start=True),
        ),
    ),
    Rung(
        "window",
        {"reach": 1, "submlps": 1, "hidden": 64, "learned_start": True},
        _recipe(400, head="projected", noise=0.0, batch=64),
        (Variant(3), Variant(1, start=True)),
        kind="window",
    ),
    Rung(
        "memory of inputs",
        {"layers": 1, "submlps": 1, "hidden": 64, "learned_start": True},
        _recipe(400, head="projected", noise=0.0, batch=64),
        (Variant(3, past=False), Variant(1, past=False, start=True)),
        kind="memory",
    ),
    Rung(
        "wide window",
        {"reach": LONGEST_WINDOW, "submlps": 1, "hidden": 96, "learned_start": True},
        _recipe(500, head="projected", noise=0.0, batch=96),
        (Variant(2),),
        kind="window",
    ),
    Rung(
        "deep memory",
        {"layers": 2, "location": 4, "submlps": 3, "arity": 4},
        _recipe(2000, head="learned", finish="closed", annealing=Annealing(first=3.0)),
        (Variant(16, past=False), Variant(16)),
        kind="memory",
    ),
    Rung(
        "aggregates",
        {"hidden": 24},
        _recipe(600, head="projected", noise=0.0, batch=64),
        (Variant(4),),
        kind="aggregates",
    ),
    Rung(
        "deep aggregates",
        {"layers": 2, "location": 1, "mean": 1, "sum": 1, "submlps": 2, "arity": 2},
        _recipe(900),
        (Variant(16, past=False), Variant(8)),
    ),
    Rung(
        "deep",
        {"layers": 2, "location": 4, "submlps": 3, "arity": 4},
        _recipe(2000, head="learned", finish="closed", annealing=Annealing(first=3.0)),
        (Variant(16, past=False), Variant(16)),
    ),
    Rung(
        "deeper",
        {"layers": 3, "location": 4, "submlps": 3, "arity": 4},
        _recipe(2000, head="learned", finish="closed", annealing=Annealing(first=3.0)),
        (Variant(16, past=False), Variant(16)),
    ),
)


#: The rung of problems whose state is given: all that their rule reads is the present, and the last state.
PRESENT = Rung(
    "present",
    {"reach": 0, "submlps": 1, "hidden": 64, "learned_start": True},
    _recipe(400, head="projected", noise=0.0, batch=64),
    (Variant(3), Variant(1, start=True)),
    kind="window",
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
    if layout == "auto":
        return ladder
    if layout == "concat":
        return tuple(_as_concat(rung) for rung in ladder)
    return tuple(_only(rung, past=layout == "autoregressive") for rung in ladder)


def _fitted_to(problem: Problem, layout: str) -> tuple[Rung, ...]:
    """The ladder with the sizes that fixed wirings need for this problem; without those that would be too
    wide, and without a window that reads no more than the one before it."""
    layout = "tagging" if layout == "tagging" else "autoregressive"
    inputs, outputs = len(problem.inputs), len(problem.outputs)
    channels = inputs + (0 if layout == "tagging" else outputs)
    texts = all(domain.categories for domain in problem.domains)
    fitted: list[Rung] = []
    widest, ladder = 0, FAST_LADDER
    if problem.original is not None:
        windows = tuple(rung for rung in FAST_LADDER if rung.kind == "window")
        widest, ladder = -1, (PRESENT, *windows, FAST_LADDER[0])  # some network, if windows see too little
    for rung in ladder:
        own = {name: size for name, size in rung.sizes.items() if name != "reach"}
        if rung.kind == "window":
            reach = min(rung.sizes["reach"], problem.length // 2, MOST_OPERANDS // channels - 1)
            if reach <= widest:
                continue
            widest = reach
            own |= window_sizes(channels, reach)
            own["submlps"] = max(own["submlps"], outputs)
        elif rung.kind == "aggregates":
            own |= aggregate_sizes(inputs, channels, outputs)
            if own["arity"] <= channels:
                continue
        elif rung.kind == "lookup" and inputs < 2:
            continue
        if texts and (rung.kind == "prefix" or (rung.aggregates and rung.kind != "memory")):
            continue  # texts have no sums and no extrema
        fitted.append(replace(rung, sizes=own, layout=layout if rung.wired else rung.layout))
    return tuple(fitted)


def window_sizes(channels: int, reach: int) -> dict[str, Any]:
    """Every channel at offsets 0..reach."""
    return {"layers": 1, "location": channels * reach, "arity": channels * (reach + 1)}


def aggregate_sizes(inputs: int, channels: int, outputs: int = 1) -> dict[str, Any]:
    """Two layers: aggregates of the inputs, then aggregates of functions of them and extrema of aggregates.

    An arity no larger than the channels means that no aggregate fits beside them.
    """
    heads = {"mean": max(FUNCTIONS, inputs), "sum": inputs, "max": inputs, "min": inputs}
    sizes: dict[str, Any] = {"layers": 2, "submlps": max(FUNCTIONS, inputs, outputs), **heads}
    architecture = Architecture(channels=channels, **sizes)
    return {**sizes, "arity": max(len(operands) for operands in aggregate_operands(architecture, inputs))}


def aggregate_operands(a: Architecture, inputs: int) -> tuple[list[int], list[int]]:
    """What even and odd members read: the channels, and as many groups of aggregates as fit.

    Even ones prefer those of the inputs themselves, odd ones those of functions and of other aggregates.
    """
    layer, kinds = a.stream_width(1) - a.channels, a.head_kinds()

    def heads(first: int, count: int, *chosen: str) -> list[int]:
        return [first + kinds.index(kind) + turn for kind in chosen for turn in range(count)]

    mean, total, highest, lowest = (heads(a.channels, inputs, kind) for kind in ("mean", "sum", "max", "min"))
    functions = heads(a.channels + layer, a.mean, "mean")
    extrema = heads(a.channels + layer, inputs, "max", "min")
    even = (mean, total, highest, lowest, functions, extrema)
    odd = (mean, functions, total, extrema, highest, lowest)
    return _first_that_fit(a.channels, even), _first_that_fit(a.channels, odd)


def _first_that_fit(channels: int, groups: Iterable[list[int]]) -> list[int]:
    found = [*range(channels)]
    for group in groups:
        if len(found) + len(group) <= MOST_OPERANDS:
            found += group
    return found


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
    variants = (
        Variant(12, past=False),
        Variant(12),
        Variant(4, past=False, start=True),
        Variant(4, start=True),
    )
    return Rung("fixed", sizes, _recipe(1500 if big else 900), variants)


def _paper_rungs(problem: Problem, settings: Settings) -> tuple[Rung, ...]:
    """The paper's architecture of the task, or its grid: layers 1, 2; heads 2, 3; sub-MLPs 2, 3."""
    paper = problem.paper
    epochs = paper.epochs if paper else 50
    rate = min(paper.learning_rate, PAPER_RATE) if paper else PAPER_RATE
    recipe = paper_recipe(epochs, rate, settings.l1)
    if settings.fixed_architecture():
        sizes = _fixed_rung(settings).sizes
        sizes["pointer"], sizes["location"], sizes["learned_start"] = sizes["location"], 0, False
        grid = [sizes]
    elif paper:
        grid = [{"layers": paper.layers, "pointer": paper.heads, "submlps": paper.submlps}]
    else:
        every = product((1, 2), (2, 3), (2, 3))
        grid = [{"layers": layers, "pointer": heads, "submlps": submlps} for layers, heads, submlps in every]
    name, variants = "paper L{layers} H{pointer} M{submlps}", (Variant(recipe.members),)
    return tuple(Rung(name.format(**sizes), sizes, recipe, variants) for sizes in grid)


def _with_overrides(rung: Rung, settings: Settings) -> Rung:
    recipe = rung.recipe
    if settings.epochs is not None and recipe.epochs:  # a rung without annealing stays without
        recipe = replace(recipe, epochs=settings.epochs)
    if settings.samples is not None:
        recipe = with_samples(recipe, settings.samples)
    if settings.l1 and recipe.head == "learned":
        recipe = replace(recipe, l1=settings.l1)
    variants = rung.variants
    if settings.members is not None:
        variants = tuple(replace(variant, members=settings.members) for variant in variants)
    return replace(rung, recipe=recipe, variants=variants)


def _as_concat(rung: Rung) -> Rung:
    """One scalar sequence: every member sees everything, and nothing lies before the start but 0."""
    members = max(rung.members, 1)
    sizes = {**rung.sizes, "learned_start": False}
    return replace(rung, layout="concat", sizes=sizes, variants=(Variant(members),))


def _only(rung: Rung, past: bool) -> Rung:
    """Keep the variants of one layout; if there are none, make one."""
    if rung.wired:
        return rung
    kept = tuple(variant for variant in rung.variants if variant.past == past)
    return replace(rung, variants=kept or (Variant(rung.members, past=past),))
