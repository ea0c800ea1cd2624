"""Member-steps a second: the batched program against a plain one-model-at-a-time PyTorch loop.

    python benchmarks/training/speed.py                           # CPU, one thread, under two minutes
    python benchmarks/training/speed.py --device cuda --members 1,16,64,256 --batch 512

Both train the same model (the run first checks that outputs and gradients agree), with the learned head, the
same noise, optimizer and batch, interleaved in one process; the figures are medians over the rounds. On a
GPU the batched step is replayed as a CUDA graph, the plain loop runs as it would: a launch a kernel.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from plain_model import PlainTransformer, copy_member

from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row
from weights2code.model import Architecture, DiscreteTransformer, Sampling
from weights2code.training.loop import start
from weights2code.training.recipes import Recipe
from weights2code.training.step import Batch, make_step

VALUE_RANGE = (-2.0, 2.0)
#: A round of one case lasts about this long; the first rounds of a case warm up and find its number of steps.
ROUND_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the results."""

    architecture: Architecture
    members: int
    batch: int
    length: int
    head: str = "learned"


HEADS = {
    "location": Architecture(channels=2, layers=2, location=2, submlps=3, arity=2, window=6),
    "pointer": Architecture(channels=2, layers=1, pointer=2, submlps=2, arity=2, window=6),
}


def make_batch(case: Case, device: torch.device) -> Batch:
    generator = torch.Generator().manual_seed(0)
    channels = torch.randn(case.architecture.channels, case.length, case.batch, generator=generator)
    targets = channels[:1].cumsum(1) / case.length
    scored = torch.ones(case.length, case.batch, dtype=torch.bool)
    return channels.to(device), targets.to(device), scored.to(device)


def batched_steps(case: Case, device: torch.device) -> Callable[[int], None]:
    """A function that trains the ensemble for a number of steps."""
    recipe = Recipe(head=case.head, batch=case.batch)  # type: ignore[arg-type]
    model = DiscreteTransformer(case.architecture, case.members, VALUE_RANGE).to(device)
    batch = make_batch(case, device)
    generator = torch.Generator(device=device).manual_seed(0)
    variance = torch.ones(case.architecture.outputs, dtype=torch.float64, device=device)
    step = make_step(model, start(model, recipe).optimizer, recipe, variance, generator)

    def run(steps: int) -> None:
        for _ in range(steps):
            step(batch, 0.5)

    return run


def plain_steps(case: Case, device: torch.device) -> Callable[[int], None]:
    """A function that trains one plain model for a number of steps."""
    torch.manual_seed(0)
    model = PlainTransformer(case.architecture, VALUE_RANGE).to(device)
    recipe = Recipe()
    tau = recipe.annealing.tau(0.5)
    model.sampler.tau, model.sampler.alpha, model.sampler.noise = (
        tau,
        recipe.annealing.alpha(tau),
        recipe.noise,
    )
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
    )
    channels, targets, _ = make_batch(case, device)
    inputs, answers = channels.permute(2, 1, 0).contiguous(), targets.permute(2, 1, 0).contiguous()

    def run(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), answers).backward()
            optimizer.step()

    return run


def check_agreement(case: Case, device: torch.device) -> float:
    """The largest difference of outputs, and of the gradient that reaches the inputs, without noise."""
    model = DiscreteTransformer(case.architecture, 2, VALUE_RANGE, dtype=torch.float64).to(device)
    plain = PlainTransformer(case.architecture, VALUE_RANGE).double().to(device)
    copy_member(model, 1, plain)
    plain.sampler.tau, plain.sampler.alpha = 0.7, 0.6
    channels = make_batch(case, device)[0].double().requires_grad_()
    ours = model(channels, Sampling(0.7, 0.6, "soft"))[1]
    theirs = plain(channels.permute(2, 1, 0)).permute(2, 1, 0)
    (our_gradient,) = torch.autograd.grad(ours.square().sum(), channels)
    (their_gradient,) = torch.autograd.grad(theirs.square().sum(), channels)
    pairs = ((ours.detach(), theirs.detach()), (our_gradient, their_gradient))
    return max(float((one - other).abs().max()) for one, other in pairs)


def seconds_of(run: Callable[[int], None], steps: int, device: torch.device) -> float:
    """Wall-clock seconds of some steps, the device's queue drained on both sides."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    began = time.perf_counter()
    run(steps)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - began


def measure(
    runs: dict[str, Callable[[int], None]], rounds: int, device: torch.device
) -> dict[str, list[float]]:
    """Milliseconds a step of each run, one entry a round; a round goes through all runs in turn."""
    steps: dict[str, int] = {}
    for name, train in runs.items():
        seconds_of(train, 5, device)
        steps[name] = max(2, round(ROUND_SECONDS * 5 / seconds_of(train, 5, device)))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, train in runs.items():
            times[name].append(1e3 * seconds_of(train, steps[name], device) / steps[name])
    return times


def compare(asked: tuple[str, Case, Options]) -> Row:
    """The plain loop and the batched program at several ensemble sizes, interleaved."""
    label, case, options = asked
    device, members = torch.device(options.device), options.members
    difference = check_agreement(case, device)
    if not difference < 1e-8:
        raise ValueError(f"the plain model of {label} differs from the batched one by {difference:g}")
    runs = {"plain": plain_steps(case, device)}
    runs |= {f"batched {n}": batched_steps(replace(case, members=n), device) for n in members}
    last = replace(case, members=members[-1], head="closed")
    runs[f"closed head {members[-1]}"] = batched_steps(last, device)
    times = measure(runs, options.rounds, device)
    rows = []
    for name, values in times.items():
        count = int(name.split()[-1]) if name != "plain" else 1
        # The ratio of each round, then the median: what slows the machine slows both sides of a round.
        ratio = statistics.median(count * p / v for p, v in zip(times["plain"], values, strict=True))
        middle = statistics.median(values)
        row: Row = {"run": name, "members": count, "ms_per_step": middle, "times_plain": ratio}
        rows.append(row | {"member_steps_per_second": 1e3 * count / middle})
    return {
        "label": label,
        "batch": case.batch,
        "length": case.length,
        "difference": difference,
        "members": rows,
    }


def cases(options: Options) -> dict[str, tuple[str, Case, Options]]:
    asked = {name: Case(a, 16, options.batch, options.length) for name, a in HEADS.items()}
    return {f"{name} heads": (f"{name} heads", case, options) for name, case in asked.items()}


def device_of(options: Options, rows: list[Row]) -> Row:
    named = torch.cuda.get_device_name() if options.device == "cuda" else platform.machine()
    return {"device": named, "torch": torch.__version__}


if __name__ == "__main__":
    own: dict[str, Any] = {"device": ["cpu", "cuda"], "members": (1, 4, 16, 64), "batch": 32, "length": 10}
    run(
        __file__,
        __doc__,
        cases,
        compare,
        record=lambda options: f"speed_{options.device}",
        show=str,
        more=device_of,
        processes=1,
        rounds=7,
        **own,
    )
