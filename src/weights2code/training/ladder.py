"""The ladder: architectures from small to large, the same for every problem.

A rung is one batched program. Its members differ in their start and, through masks, in what they may use:
past outputs or only inputs, how many heads, learned or zero starts. Variants are in order of preference:
among members that fit, the one with the earliest variant is the smallest program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from weights2code.data import Problem
from weights2code.errors import InputError
from weights2code.model import Architecture, DiscreteTransformer
from weights2code.settings import Settings
from weights2code.training.fixed_wiring import (
    aggregate_sizes,
    fix_aggregates,
    fix_lookup,
    fix_window,
    window_sizes,
)
from weights2code.training.recipes import Recipe, paper_recipe, with_samples

#: Location heads look back at most this far, and at most half a sequence, so that what they find is seen
#: to hold at positions beyond their own reach.
LONGEST_WINDOW = 12


@dataclass(frozen=True, slots=True)
class Variant:
    """What `members` of a rung may use; None means everything."""

    members: int
    past: bool = True
    heads: int | None = None
    start: bool = False


@dataclass(frozen=True, slots=True)
class Rung:
    """One step of the ladder: sizes (of `Architecture`), recipe, variants, layout.

    With a fixed wiring the sizes that depend on the problem are filled in when the rung is met; `reach` of
    a window is how far back it looks.
    """

    name: str
    sizes: dict[str, Any]
    recipe: Recipe
    variants: tuple[Variant, ...]
    layout: str = "autoregressive"
    wiring: Literal["free", "lookup", "window", "aggregates"] = "free"

    @property
    def members(self) -> int:
        return sum(variant.members for variant in self.variants)

    def variant_of(self, member: int) -> int:
        """Index of the variant that a member belongs to."""
        for index, variant in enumerate(self.variants):
            member -= variant.members
            if member < 0:
                return index
        raise IndexError("no such member")


def _recipe(steps: int, **other: Any) -> Recipe:
    return Recipe(epochs=steps // 50, steps_per_epoch=50, halvings=(0.5, 0.75), **other)


FAST_LADDER: tuple[Rung, ...] = (
    Rung(
        "linear",
        {"layers": 1, "location": 8, "submlps": 0},
        Recipe(epochs=0, tune_steps=0, polish=True),
        (Variant(1, past=False), Variant(1)),
    ),
    Rung(
        "prefix",
        {"layers": 1, "mean": 1, "sum": 1, "max": 1, "min": 1, "submlps": 0},
        Recipe(epochs=0, tune_steps=0, polish=True),
        (Variant(1, past=False), Variant(1)),
    ),
    Rung(
        "lookup",
        {"layers": 1, "equality": 1, "submlps": 0},
        Recipe(epochs=0, tune_steps=0, polish=True),
        (Variant(1), Variant(1)),
        wiring="lookup",
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
        wiring="window",
    ),
    Rung(
        "wide window",
        {"reach": 3, "submlps": 1, "hidden": 96, "learned_start": True},
        _recipe(500, head="projected", noise=0.0, batch=96),
        (Variant(2),),
        wiring="window",
    ),
    Rung(
        "aggregates",
        {"submlps": 3, "hidden": 24},
        _recipe(600, head="projected", noise=0.0, batch=64),
        (Variant(4),),
        wiring="aggregates",
    ),
    Rung(
        "triples",
        {"layers": 1, "location": 3, "submlps": 2, "arity": 3, "learned_start": True},
        _recipe(900),
        (
            Variant(4, past=False, heads=0),
            Variant(8, heads=0),
            Variant(6, past=False, heads=2),
            Variant(6, heads=1),
            Variant(8, heads=2),
            Variant(4, heads=1, start=True),
            Variant(4, heads=3),
        ),
    ),
    Rung(
        "deep aggregates",
        {"layers": 2, "location": 1, "mean": 1, "sum": 1, "submlps": 2, "arity": 2},
        _recipe(900),
        (Variant(16, past=False), Variant(8)),
    ),
    Rung(
        "deep",
        {"layers": 2, "location": 3, "submlps": 3, "arity": 3},
        _recipe(2000),
        (Variant(8, past=False), Variant(24)),
    ),
    Rung(
        "pointers",
        {"layers": 1, "pointer": 2, "submlps": 2, "arity": 2},
        _recipe(900),
        (Variant(8, past=False), Variant(8)),
    ),
    Rung(
        "wide",
        {"layers": 2, "location": 5, "submlps": 3, "arity": 4, "hidden": 32},
        _recipe(3000),
        (Variant(24),),
    ),
)


def rungs(problem: Problem, settings: Settings, paper: Any = None) -> tuple[Rung, ...]:
    """The rungs to climb: the ladder, or the one architecture that the settings fix.

    `paper` holds the paper's settings of a task (layers, heads, submlps, epochs, learning_rate), if any.
    """
    if settings.recipe == "paper":
        ladder = _paper_rungs(problem, settings, paper)
    elif settings.fixed_architecture():
        ladder = (_fixed_rung(settings),)
    else:
        ladder = FAST_LADDER
    ladder = tuple(_with_overrides(rung, settings) for rung in ladder)
    fitted = [_fitted_to(rung, problem, settings.layout) for rung in ladder]
    ladder = tuple(rung for rung in fitted if rung is not None)
    if settings.hide:  # a fixed wiring reads everything, so nothing can be hidden from it
        ladder = tuple(rung for rung in ladder if rung.wiring == "free")
    if settings.layout == "auto":
        return ladder
    if settings.layout == "concat":
        return tuple(_as_concat(rung) for rung in ladder if rung.wiring == "free")
    past = settings.layout == "autoregressive"
    return tuple(_only(rung, past) for rung in ladder)


def _fitted_to(rung: Rung, problem: Problem, layout: str) -> Rung | None:
    """A fixed wiring with the sizes that this problem needs; None if it would be too wide."""
    if rung.wiring == "free":
        return rung
    tagging = layout == "tagging"
    channels = len(problem.inputs) + (0 if tagging else len(problem.outputs))
    extra: dict[str, Any] | None
    if rung.wiring == "lookup":
        extra = {} if len(problem.inputs) > 1 else None
    elif rung.wiring == "window":
        extra = None
        for reach in range(min(rung.sizes["reach"], problem.length // 2), 0, -1):
            extra = extra or window_sizes(channels, reach)
    else:
        extra = aggregate_sizes(problem, channels)
    if extra is None:
        return None
    own = {name: size for name, size in rung.sizes.items() if name != "reach"}
    submlps = max(own["submlps"], len(problem.outputs)) if own["submlps"] else 0
    layout = "tagging" if tagging else "autoregressive"
    return replace(rung, layout=layout, sizes={**own, **extra, "submlps": submlps})


def _fixed_rung(settings: Settings) -> Rung:
    def size(value: int | None, default: int) -> int:
        return default if value is None else value

    sizes = {
        "layers": size(settings.layers, 1),
        "location": size(settings.heads, 0 if _other_heads(settings) else 2),
        "pointer": size(settings.pointer, 0),
        "equality": size(settings.equality, 0),
        "mean": size(settings.mean, 0),
        "sum": size(settings.sum, 0),
        "submlps": size(settings.submlps, 2),
        "arity": size(settings.arity, 2),
        "hidden": size(settings.hidden, 16),
        "learned_start": True,
    }
    big = sizes["layers"] * sizes["submlps"] * sizes["arity"] > 6
    variants = (
        Variant(12, past=False),
        Variant(12),
        Variant(4, past=False, start=True),
        Variant(4, start=True),
    )
    return Rung("fixed", sizes, _recipe(1500 if big else 900), variants)


def _other_heads(settings: Settings) -> bool:
    return any(getattr(settings, kind) for kind in ("pointer", "equality", "mean", "sum"))


def _paper_rungs(problem: Problem, settings: Settings, paper: Any) -> tuple[Rung, ...]:
    """The paper's architecture of the task, or its grid: layers 1, 2; heads 2, 3; sub-MLPs 2, 3."""
    epochs = paper.epochs if paper else 50
    rate = paper.learning_rate if paper else 0.05
    recipe = paper_recipe(epochs, rate, settings.l1)
    if settings.fixed_architecture():
        sizes = _fixed_rung(settings).sizes
        sizes["pointer"], sizes["location"], sizes["learned_start"] = sizes["location"], 0, False
        grid = [sizes]
    elif paper:
        grid = [{"layers": paper.layers, "pointer": paper.heads, "submlps": paper.submlps}]
    else:
        grid = [
            {"layers": layers, "pointer": heads, "submlps": submlps}
            for layers in (1, 2)
            for heads in (2, 3)
            for submlps in (2, 3)
        ]
    return tuple(
        Rung(
            "paper L{layers} H{pointer} M{submlps}".format(**sizes), sizes, recipe, (Variant(recipe.members),)
        )
        for sizes in grid
    )


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
    if rung.wiring != "free":
        return rung
    kept = tuple(variant for variant in rung.variants if variant.past == past)
    return replace(rung, variants=kept or (Variant(rung.members, past=past),))


def build(
    rung: Rung, problem: Problem, channels: int, value_range: tuple[float, float], seed: int
) -> DiscreteTransformer:
    """The rung's ensemble with the masks of its variants."""
    concat = rung.layout == "concat"
    outputs = len(problem.outputs)
    window = problem.length + 4 if concat else min(LONGEST_WINDOW, problem.length // 2 + 1)
    architecture = Architecture(
        channels=channels,
        outputs=outputs,
        window=max(window, 2),
        past=outputs if rung.layout == "autoregressive" else 0,
        **rung.sizes,
    )
    model = DiscreteTransformer(architecture, rung.members, value_range, seed)
    inputs = len(problem.inputs)
    if rung.wiring == "window":
        fix_window(model)
    elif rung.wiring == "aggregates":
        fix_aggregates(model, inputs)
    elif rung.wiring == "lookup":
        fix_lookup(model)
    first = 0
    for variant in rung.variants:
        members = slice(first, first + variant.members)
        first += variant.members
        hidden: list[int] = []
        if not variant.past and not concat and rung.wiring == "free":
            hidden += range(inputs, inputs + outputs)
        if variant.heads is not None:
            for layer in range(architecture.layers):
                start = architecture.stream_width(layer)
                hidden += range(start + variant.heads, start + architecture.heads)
        if hidden:
            model.forbid(members, hidden)
        if not variant.start:
            model.forbid_start(members)
    return model


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
