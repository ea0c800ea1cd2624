"""Member-steps a second: the batched program against a plain one-model-at-a-time PyTorch loop.

    python benchmarks/training/speed.py                           # CPU, one thread, under two minutes
    python benchmarks/training/speed.py --device cuda --members 1,16,64,256 --batch 512

Both train the same model (the run first checks that outputs and gradients agree), with the learned head, the
same noise, optimizer and batch, interleaved in one process; the figures are medians over the rounds. On a
GPU the batched step is replayed as a CUDA graph, the plain loop runs as it would: a launch a kernel.
Results go to `benchmarks/training/results/` as JSON and Markdown.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from plain_model import PlainTransformer, copy_member

from weights2code.experiments.provenance import provenance
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
    recipe = Recipe(head=case.head, members=case.members, batch=case.batch)  # type: ignore[arg-type]
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
    for name, run in runs.items():
        seconds_of(run, 5, device)
        steps[name] = max(2, round(ROUND_SECONDS * 5 / seconds_of(run, 5, device)))
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(1e3 * seconds_of(run, steps[name], device) / steps[name])
    return times


def compare(label: str, case: Case, members: list[int], rounds: int, device: torch.device) -> dict[str, Any]:
    """The plain loop and the batched program at several ensemble sizes, interleaved."""
    difference = check_agreement(case, device)
    if not difference < 1e-8:
        sys.exit(f"the plain model of {label} differs from the batched one by {difference:g}")
    runs = {"plain": plain_steps(case, device)}
    for count in members:
        runs[f"batched {count}"] = batched_steps(replace(case, members=count), device)
    runs[f"closed head {members[-1]}"] = batched_steps(
        replace(case, members=members[-1], head="closed"), device
    )
    times = measure(runs, rounds, device)
    plain = times["plain"]
    rows = []
    for name, values in times.items():
        count = int(name.split()[-1]) if name != "plain" else 1
        # The ratio of each round, then the median: what slows the machine slows both sides of a round.
        ratio = statistics.median(count * p / v for p, v in zip(plain, values, strict=True))
        rows.append(
            {
                "run": name,
                "members": count,
                "ms_per_step": statistics.median(values),
                "member_steps_per_second": 1e3 * count / statistics.median(values),
                "times_plain": ratio,
            }
        )
    return {"label": label, "case": describe(case), "largest_difference": difference, "rows": rows}


def growth(label: str, cases: dict[str, Case], rounds: int, device: torch.device) -> dict[str, Any]:
    """How the cost of a batched step grows along one axis."""
    times = measure({name: batched_steps(case, device) for name, case in cases.items()}, rounds, device)
    rows = [{"value": name, "ms_per_step": statistics.median(values)} for name, values in times.items()]
    return {"label": label, "case": describe(next(iter(cases.values()))), "rows": rows}


def describe(case: Case) -> dict[str, Any]:
    return {
        "architecture": case.architecture.to_dict(),
        "members": case.members,
        "batch": case.batch,
        "length": case.length,
    }


def growth_axes(base: dict[str, Case]) -> dict[str, dict[str, Case]]:
    """The axes along which cost is followed: length, batch, number of heads, layers."""
    axes: dict[str, dict[str, Case]] = {}
    for kind, case in base.items():
        a = case.architecture
        axes[f"{kind} heads, length T"] = {str(n): replace(case, length=n) for n in (5, 10, 20, 40)}
        axes[f"{kind} heads, batch"] = {str(n): replace(case, batch=n) for n in (8, 32, 128)}
        axes[f"{kind} heads, heads a layer"] = {
            str(n): replace(case, architecture=replace(a, **{kind: n})) for n in (1, 2, 4)
        }
        axes[f"{kind} heads, layers"] = {
            str(n): replace(case, architecture=replace(a, layers=n)) for n in (1, 2, 3)
        }
    return axes


def markdown(result: dict[str, Any]) -> str:
    """The results as a page."""
    lines = [
        "# Training speed", "",
        f"`{result['command']}`", "",
        f"{result['device']}, {result['threads']} thread(s), torch {result['torch']}, median of "
        f"{result['rounds']} interleaved rounds. `times plain` is member-steps a second against the plain "
        "loop in the same round.", "",
    ]  # fmt: skip
    for part in result["comparisons"]:
        case = part["case"]
        lines += [
            f"## {part['label']} (batch {case['batch']}, T {case['length']})",
            "",
            f"Outputs and gradients of both programs agree to {part['largest_difference']:.0e} (float64).",
            "",
            "| run | ms a step | member-steps a second | times plain |",
            "|---|---:|---:|---:|",
        ]
        for row in part["rows"]:
            lines.append(
                f"| {row['run']} | {row['ms_per_step']:.2f} | {row['member_steps_per_second']:.0f} "
                f"| {row['times_plain']:.1f} |"
            )
        lines.append("")
    if result["growth"]:
        lines += [f"## Growth of a batched step ({result['growth_members']} members)", ""]
        lines += ["| axis | value: ms a step |", "|---|---|"]
        for part in result["growth"]:
            values = ", ".join(f"{row['value']}: {row['ms_per_step']:.2f}" for row in part["rows"])
            lines.append(f"| {part['label']} | {values} |")
        lines.append("")
    return "\n".join(lines)


def command(arguments: list[str]) -> str:
    """How to repeat the run; where the results were written does not matter."""
    kept = list(arguments)
    if "--out" in kept:
        place = kept.index("--out")
        del kept[place : place + 2]
    return " ".join(["python", "benchmarks/training/speed.py", *kept])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--members", default="1,4,16,64", help="ensemble sizes, smallest first")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1, help="torch threads (CPU)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-growth", action="store_true", help="leave the second part out")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder")
    options = parser.parse_args()

    began = time.perf_counter()
    torch.set_num_threads(options.threads)
    device = torch.device(options.device)
    members = [int(part) for part in options.members.split(",")]
    base = {kind: Case(a, 16, options.batch, options.length) for kind, a in HEADS.items()}
    comparisons = [
        compare(f"{kind} heads", case, members, options.rounds, device) for kind, case in base.items()
    ]
    axes = {} if options.no_growth else growth_axes(base)
    grown = [growth(label, cases, 3, device) for label, cases in axes.items()]
    result = {
        **provenance(command(sys.argv[1:]), options.device),
        "seconds": round(time.perf_counter() - began, 1),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
        "threads": options.threads,
        "torch": torch.__version__,
        "rounds": options.rounds,
        "comparisons": comparisons,
        "growth_members": 16,
        "growth": grown,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = markdown(result)
    (options.out / f"speed_{options.device}.json").write_text(json.dumps(result, indent=1) + "\n")
    (options.out / f"speed_{options.device}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
