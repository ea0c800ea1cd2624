"""A step of the paper's trainings on a GPU: how its time divides, and how far it is from what memory allows.

    python benchmarks/training/fused_step.py

Programs are those of the protocol: the four architectures of one depth, three seeds, as members of one
program; sequences of 10 and of 19 positions (inputs and outputs in one sequence). Each alone, kernel by
kernel, and several at once in threads, as the protocol trains them. What memory allows is the time that a
copy of as many bytes takes: every value that one kernel leaves for another is written once, and read once by
each that needs it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import torch

from weights2code.experiments.records import write_record
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training.fused.program import PARTS, FusedTraining
from weights2code.training.grid import GRID, programs_of, rung_of
from weights2code.training.loop import start
from weights2code.training.search import Prepared
from weights2code.training.step import target_variance

SEEDS = 3
SAMPLES = 32_768
STEPS = SAMPLES // 512
EPOCHS = 20
#: A task whose inputs and outputs stand side by side, and one whose stand one after the other.
TASKS = ("sum_last2", "spring")


def program(task: str, sizes: Any, device: torch.device) -> FusedTraining:
    """One program of the protocol, ready to run."""
    settings = Settings(recipe="paper", samples=SAMPLES)
    problem = problem_of(task, settings)
    rung = rung_of(sizes, problem, settings, SEEDS)
    own = Prepared.of(rung, problem, settings, device)
    variance = target_variance(own.training[1], own.training[2])
    optimizer = start(own.model, rung.recipe).optimizer
    return FusedTraining(own.model, optimizer, own.training, rung.recipe, variance, 0)


def run(one: FusedTraining, epochs: int, stream: torch.cuda.Stream) -> None:
    with torch.cuda.stream(stream):
        for _ in range(epochs):
            one.run_epoch(0)
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
    members, columns, length = one.model.members, one.known["COLUMNS"], one.known["LENGTH"]
    for layer in range(a.layers):
        queries = length - one.layers[layer]["BEGIN"]
        seen = a.stream_width(layer)
        pairs = sum(range(length - queries + 1, length + 1)) * one.batch
        operands = a.submlps * a.arity * queries * one.batch
        numbers += columns * seen * 4  # the stream and its gradient, read and added to by the reads of heads
        numbers += queries * one.batch * (seen + a.pointer) * 4  # and by those of sub-MLPs
        numbers += columns * 3 * a.pointer * 5  # queries, keys, values; their gradients
        numbers += columns * a.pointer * (a.bins + 1) * 5  # answers and their gradients
        numbers += pairs * a.pointer * 4  # scores, their gradients, and the sums of these
        numbers += queries * one.batch * a.pointer * 9  # what is kept of a query
        numbers += operands * 5 + queries * one.batch * a.submlps * 2
    numbers += (length - one.first) * one.batch * one.known["VARIABLES"] * 2
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
    device, rows, programs = torch.device("cuda"), [], []
    copied = bandwidth(device)
    for task in TASKS:
        for sizes in programs_of(GRID):
            one = program(task, sizes, device)
            run(one, 2, torch.cuda.Stream(device))  # kernels are compiled, steps recorded
            alone, needed = milliseconds([one], EPOCHS), bytes_of(one)
            programs.append(one)
            row = {"layers": sizes[0].layers, "positions": one.known["LENGTH"], "members": one.model.members}
            row |= {"milliseconds": round(alone, 4), "bytes": needed}
            row |= {"memory_milliseconds": round(needed / copied * 1e3, 4), "kernels": by_kernel(one)}
            rows.append(row)
            print(row, flush=True)
    more = [program(task, sizes, device) for task in TASKS for sizes in programs_of(GRID)]
    for one in more:
        run(one, 2, torch.cuda.Stream(device))
    together = []
    for count in (1, 2, 4, 6, 8):
        chosen = [*programs, *more][:count]
        alone = sum(rows[index % len(rows)]["milliseconds"] for index in range(count))
        milliseconds(chosen, 2)
        found = milliseconds(chosen, EPOCHS)
        together.append({"programs": count, "alone": round(alone, 4), "together": round(found, 4)})
        print(together[-1], flush=True)
    file, command = (
        Path(__file__).parent / "results" / "fused_step.json",
        "python benchmarks/training/fused_step.py",
    )
    head = {"bandwidth": round(copied / 1e12, 3), "together": together}
    write_record(file, command, rows, None, head, "cuda")


if __name__ == "__main__":
    main()
