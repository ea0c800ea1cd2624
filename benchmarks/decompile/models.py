"""Models to decompile: networks of the usual kinds that are trained on a rule and left as ONNX, and functions
that follow one but for mistakes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

sys.path.append(str(Path(__file__).parents[1] / "own_data"))
from case_kinds import recur, stepping, stored

Rule = Callable[[np.ndarray], np.ndarray]
#: A machine of six states: the moves by 0 and 1, and what each state gives.
MOVES = ((1, 2), (3, 0), (4, 5), (5, 4), (0, 3), (2, 1))
GIVES = (0, 1, 0, 0, 1, 1)
#: Of the outputs of a model that makes mistakes, so many are wrong.
SHARE = 0.01
#: What networks are trained on, for one sequence.
RULES = {
    "parity": recur(lambda y, x: (y + x) % 2),
    "clipped_depth": stepping(lambda d, x: (d := max(d + 2 * x - 1, 0), min(d, 8)), 0),
    "modulo": recur(lambda y, x: (y + x) % 3),
    "same_key": stored,
    "average": recur(lambda y, x: 0.8 * y + 0.2 * x),
    "six_states": stepping(lambda state, x: (new := MOVES[state][int(x)], GIVES[new]), 0),
    "two_ones": stepping(lambda last, x: (x, x * last), 0),
    "latch": recur(lambda y, x: 1 if x == 2 else 0 if x == 0 else y),
    "highest": recur(max),
}


def rule_of(name: str) -> Rule:
    """(n, T, columns) -> (n, T)"""
    return lambda x: np.stack([RULES[name](row)[:, 0] for row in x])


def mistaken(name: str, inputs: str) -> Rule:
    """A model that follows a rule, but for mistakes without pattern: which they are is hashed from all that
    was read so far. A mistake gives one of the other outputs."""
    high = max(int(b) for _, b, _ in columns_of(inputs))

    def model(x: np.ndarray) -> np.ndarray:
        y, seen = rule_of(name)(x), np.zeros(len(x), np.uint64)
        for t in range(x.shape[1]):
            for column in x[:, t].T:
                seen = seen * np.uint64(31) + column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
                seen = (seen ^ (seen >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                seen = (seen ^ (seen >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                seen ^= seen >> np.uint64(31)
            wrong = (seen >> np.uint64(11)) / 2.0**53 < SHARE
            y[wrong, t] = (y[wrong, t] + 1 + seen[wrong] % np.uint64(max(1, high))) % (high + 1)
        return y

    return model


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a network is trained on.

    `kind` is `gru`, `lstm`, `rnn` or `former`; `classes` 0 is one number, fitted by squares. `noise` is the
    share of targets that are drawn anew; `pruned` the share of weights that are set to 0 at the end, `bits`
    what weights are rounded to.
    """

    name: str
    task: str
    kind: str
    inputs: str
    length: int
    classes: int
    width: int = 24
    steps: int = 1500
    noise: float = 0.0
    pruned: float = 0.0
    bits: int = 0
    seed: int = 0
    rate: float = 5e-3


GALLERY = [
    Recipe("gru_parity", "parity", "gru", "x=0..1", 10, 2),
    Recipe("lstm_depth", "clipped_depth", "lstm", "x=0..1", 12, 9, 32, 2500),
    Recipe("elman_modulo", "modulo", "rnn", "x=0..2", 10, 3, 48, 2000, rate=2e-3),
    Recipe("former_same_key", "same_key", "former", "key=0..3,value=0..4", 12, 5, 48, 3000, rate=2e-3),
    Recipe("gru_average", "average", "gru", "v=0.0..1.0", 16, 0, 24, 3000),
    Recipe("gru_six_states", "six_states", "gru", "x=0..1", 14, 2, 48, 3000),
]
_PLAIN = [
    Recipe("parity", "parity", "gru", "x=0..1", 10, 2),
    Recipe("modulo", "modulo", "gru", "x=0..2", 10, 3, 32, 2000),
    Recipe("two_ones", "two_ones", "rnn", "x=0..1", 10, 2, 16, 600),
    Recipe("latch", "latch", "lstm", "x=0..2", 12, 2, 16, 800),
    Recipe("highest", "highest", "gru", "x=0..5", 10, 6, 32, 1500),
]
#: Each rule with noise in its targets, trained too short, pruned, and rounded to few bits.
DAMAGED = [
    replace(recipe, name=f"{recipe.name}_{how}", **changed)
    for recipe in _PLAIN
    for how, changed in {
        "noise": {"noise": 0.2},
        "short": {"steps": recipe.steps // 3},
        "pruned": {"pruned": 0.4},
        "rounded": {"bits": 4},
    }.items()
]
#: Rules that a plain function follows but for 1 in 100 outputs: the name, its inputs, the length.
MISTAKEN = [
    ("parity", "x=0..1", 10),
    ("modulo", "x=0..2", 10),
    ("six_states", "x=0..1", 12),
    ("two_ones", "x=0..1", 10),
    ("latch", "x=0..2", 12),
    ("highest", "x=0..5", 10),
    ("same_key", "key=0..3,value=0..4", 12),
]


class Former(nn.Module):
    """A causal transformer of two layers with learned positions."""

    def __init__(self, columns: int, classes: int, width: int, longest: int) -> None:
        super().__init__()
        self.into, self.place = nn.Linear(columns, width), nn.Embedding(longest, width)
        self.q, self.k, self.v = (nn.ModuleList(nn.Linear(width, width) for _ in range(2)) for _ in range(3))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
            for _ in range(2)
        )
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.out = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        t = torch.arange(x.shape[1])
        h = self.into(x) + self.place(t)
        later = t[None, :] > t[:, None]
        for layer in range(2):
            a = self.norm[2 * layer](h)
            score = self.q[layer](a) @ self.k[layer](a).transpose(1, 2) / h.shape[2] ** 0.5
            h = h + torch.softmax(score.masked_fill(later, -1e9), 2) @ self.v[layer](a)
            h = h + self.mlp[layer](self.norm[2 * layer + 1](h))
        return self.out(h)


class Recurrent(nn.Module):
    """A recurrent layer and a linear head."""

    def __init__(self, kind: str, columns: int, classes: int, width: int) -> None:
        super().__init__()
        layer = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}[kind]
        self.layer, self.head = layer(columns, width, batch_first=True), nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(x)[0])


def one_hot(values: torch.Tensor, sizes: list[tuple[int, int]]) -> torch.Tensor:
    """Columns as vectors side by side."""
    parts = [nn.functional.one_hot(values[..., i].long() - low, n) for i, (low, n) in enumerate(sizes)]
    return torch.cat(parts, -1).float()


class Whole(nn.Module):
    """The network with its encoding, so that it takes the columns themselves."""

    def __init__(self, inner: nn.Module, sizes: list[tuple[int, int]] | None) -> None:
        super().__init__()
        self.inner, self.sizes = inner, sizes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x if self.sizes is None else one_hot(x, self.sizes))


def columns_of(text: str) -> list[tuple[float, float, bool]]:
    """Ranges out of `x=0..1,v=0.0..1.0`: both ends, and whether they are whole."""
    ends = [part.split("=")[1].split("..") for part in text.split(",")]
    return [(float(a), float(b), "." not in a) for a, b in ends]


def drawn(rng: np.random.Generator, inputs: str, count: int, length: int) -> np.ndarray:
    columns = [
        rng.integers(int(a), int(b) + 1, (count, length)).astype(float)
        if whole
        else rng.uniform(a, b, (count, length))
        for a, b, whole in columns_of(inputs)
    ]
    return np.stack(columns, -1)


def trained(recipe: Recipe) -> Whole:
    """The network after its training, and what was done to it."""
    torch.manual_seed(recipe.seed)
    rng, rule = np.random.default_rng(recipe.seed), rule_of(recipe.task)
    ranges = columns_of(recipe.inputs)
    whole = all(is_whole for _, _, is_whole in ranges)
    sizes = [(int(a), int(b - a) + 1) for a, b, _ in ranges] if whole else None
    width = sum(n for _, n in sizes) if sizes else len(ranges)
    outputs = max(1, recipe.classes)
    if recipe.kind == "former":
        inner: nn.Module = Former(width, outputs, recipe.width, 4 * recipe.length)
    else:
        inner = Recurrent(recipe.kind, width, outputs, recipe.width)
    model = Whole(inner, sizes)
    optimiser = torch.optim.AdamW(model.parameters(), recipe.rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, recipe.steps)
    for _ in range(recipe.steps):
        x = drawn(rng, recipe.inputs, 128, recipe.length)
        y = rule(x)
        if recipe.noise and recipe.classes:
            y = np.where(rng.random(y.shape) < recipe.noise, rng.integers(0, recipe.classes, y.shape), y)
        elif recipe.noise:
            y = y + recipe.noise * rng.normal(size=y.shape)
        out, right = model(torch.tensor(x, dtype=torch.float32)), torch.tensor(y)
        if recipe.classes:
            loss = nn.functional.cross_entropy(out.flatten(0, 1), right.long().flatten())
        else:
            loss = ((out[..., 0] - right) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    _damage(model, recipe)
    return model.eval()


@torch.no_grad()
def _damage(model: nn.Module, recipe: Recipe) -> None:
    for weights in model.parameters():
        if weights.ndim > 1 and recipe.pruned:
            weights[weights.abs() < weights.abs().quantile(recipe.pruned)] = 0.0
        if recipe.bits:
            step = weights.abs().max() / 2 ** (recipe.bits - 1)
            weights.copy_(torch.round(weights / step) * step)


def export(model: Whole, recipe: Recipe, folder: Path) -> Path:
    """The network as ONNX."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recipe.name}.onnx"
    x = torch.zeros(2, recipe.length, len(columns_of(recipe.inputs)))
    axes = {"x": {0: "n", 1: "t"}, "y": {0: "n", 1: "t"}}
    torch.onnx.export(
        model, (x,), str(path), input_names=["x"], output_names=["y"], dynamic_axes=axes, dynamo=False
    )
    return path


def make(recipes: list[Recipe], folder: Path) -> list[dict[str, Any]]:
    """Train what is not there yet; the index says what each file is."""
    rows = []
    for recipe in recipes:
        path = folder / f"{recipe.name}.onnx"
        if not path.exists():
            export(trained(recipe), recipe, folder)
            print(f"{recipe.name}: trained", flush=True)
        rows.append({**asdict(recipe), "file": path.name})
    (folder / "models.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return rows
