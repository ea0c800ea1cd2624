"""A step of the paper's trainings on a GPU: how its time divides, and how far it is from what memory allows.

    python benchmarks/training/fused_step.py

Programs are those of the protocol: the four architectures of one depth, three seeds, as members of one
program; sequences of 10 and of 19 positions (inputs and outputs in one sequence). Each alone, kernel by
kernel, and several at once in threads, as the protocol trains them. What memory allows is the time that a
copy of as many bytes takes: every value that one kernel leaves for another is written once, and read once by
each that needs it.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from records import write_record
from weights2code.data import fit_layout
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.build import build
from weights2code.training.fused.program import PARTS, FusedTraining
from weights2code.training.grid import GRID, programs_of, rung_of
from weights2code.training.loop import start, to_batch
from weights2code.training.search import first_scored_of, value_range
from weights2code.training.step import target_variance

SEEDS = 3
SAMPLES = 32_768
STEPS = SAMPLES // 512
#: A task whose inputs and outputs stand side by side, and one whose stand one after the other.
TASKS = ("sum_last2", "spring")


def program(task: str, sizes: Any, device: torch.device) -> FusedTraining:
    """One program of the protocol, ready to run."""
    settings = Settings(recipe="paper", samples=SAMPLES)
    problem = problem_of(task, settings)
    rung = rung_of(sizes, problem, settings, SEEDS)
    layout = fit_layout(rung.layout, problem.training, first_scored_of(rung, problem))
    encoded = layout.encode(problem.training)
    training = to_batch(encoded, device)
    model = build(rung, problem, layout.channels, value_range(encoded), settings.seed).to(device)
    variance = target_variance(training[1], training[2])
    return FusedTraining(model, start(model, rung.recipe).optimizer, training, rung.recipe, variance, 0)


def run(one: FusedTraining, epochs: int, stream: torch.cuda.Stream) -> None:
    with torch.cuda.stream(stream):
        generator = torch.Generator(one.device)
        for _ in range(epochs):
            one.run_epoch(0, generator)
        stream.synchronize()


def milliseconds(programs: list[FusedTraining], epochs: int) -> float:
    """Of a step of all programs, side by side."""
    streams = [torch.cuda.Stream(one.device) for one in programs]
    threads = [
        threading.Thread(target=run, args=(one, epochs, stream))
        for one, stream in zip(programs, streams, strict=True)
    ]
    torch.cuda.synchronize()
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.perf_counter() - began) / (epochs * STEPS) * 1e3


def by_kernel(one: FusedTraining, steps: int = 8) -> dict[str, float]:
    """Microseconds of a step, kernel by kernel."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(steps):
            one.once()
        torch.cuda.synchronize()
    own = set(dir(one.kernels))
    found: dict[str, float] = {}
    for event in recorded.key_averages():
        name = event.key if event.key in own else "other"
        found[name] = found.get(name, 0.0) + event.device_time_total / steps
    return {name: round(found[name], 1) for name in sorted(found, key=lambda name: -found[name])}


def bytes_of(one: FusedTraining) -> int:
    """What the kernels of a step leave for each other, written and read."""
    a, numbers = one.model.architecture, 0
    members, columns, scored = one.model.members, one.columns, (one.length - one.first) * one.batch
    for layer in range(a.layers):
        queries = one.length - one._first_of(layer)
        seen = a.stream_width(layer)
        pairs = sum(range(one.length - queries + 1, one.length + 1)) * one.batch
        operands = a.submlps * a.arity * queries * one.batch
        numbers += columns * seen * 4  # the stream and its gradient, read and added to by the reads of heads
        numbers += queries * one.batch * (seen + a.pointer) * 4  # and by those of sub-MLPs
        numbers += columns * 3 * a.pointer * 5  # queries, keys, values; their gradients
        numbers += columns * a.pointer * (a.bins + 1) * 5  # answers and their gradients
        numbers += pairs * a.pointer * 4  # scores, their gradients, and the sums of these
        numbers += queries * one.batch * a.pointer * 9  # what is kept of a query
        numbers += operands * 5 + queries * one.batch * a.submlps * 2
    numbers += scored * one.variables * 2
    return 4 * (members * numbers + 2 * PARTS * one.weights.numel() + 6 * one.weights.numel())


def bandwidth(device: torch.device) -> float:
    """Bytes a second that a copy reads and writes."""
    source = torch.zeros(1 << 28, device=device)
    target = torch.empty_like(source)
    target.copy_(source)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(20):
        target.copy_(source)
    torch.cuda.synchronize()
    return 20 * 2 * 4 * source.numel() / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "fused_step.json")
    arguments = parser.parse_args()
    device, epochs = torch.device(arguments.device), arguments.epochs
    copied = bandwidth(device)
    rows, programs = [], {}
    for task in TASKS:
        for sizes in programs_of(GRID):
            one = program(task, sizes, device)
            run(one, 2, torch.cuda.Stream(device))  # kernels are compiled, steps recorded
            alone, needed = milliseconds([one], epochs), bytes_of(one)
            programs[task, sizes[0].layers] = one
            rows.append(
                {
                    "layers": sizes[0].layers,
                    "positions": one.length,
                    "members": one.model.members,
                    "milliseconds": round(alone, 4),
                    "bytes": needed,
                    "memory_milliseconds": round(needed / copied * 1e3, 4),
                    "kernels": by_kernel(one),
                }
            )
            print(rows[-1], flush=True)
    more = [program(task, sizes, device) for task in TASKS for sizes in programs_of(GRID)]
    for one in more:
        run(one, 2, torch.cuda.Stream(device))
    together = []
    for count in (1, 2, 4, 6, 8):
        chosen = [*programs.values(), *more][:count]
        alone = sum(rows[index % len(rows)]["milliseconds"] for index in range(count))
        milliseconds(chosen, 2)
        found = milliseconds(chosen, epochs)
        together.append({"programs": count, "alone": round(alone, 4), "together": round(found, 4)})
        print(together[-1], flush=True)
    write_record(
        arguments.out,
        "python benchmarks/training/fused_step.py",
        arguments.device,
        bandwidth=round(copied / 1e12, 3),
        rows=rows,
        together=together,
    )


if __name__ == "__main__":
    main()
