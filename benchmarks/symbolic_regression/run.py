"""Native engine against Operon: success and wall time on written functions and random trees.

    python benchmarks/symbolic_regression/run.py [--trees 60] [--first-seed 1000] [--operon 1 3] [--out DIR]

Engines take turns on every target within one process. A formula succeeds if it is right on 2000 fresh points:
within 1e-4 of the range of the target on clean data, within five standard deviations of the noise on noisy
data, and after rounding on whole-number targets. "Law" asks the same on a domain twice as wide. Seeds below
1000 were used during development; the default first seed is held out. A run that was stopped goes on where it
was.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from weights2code.experiments.provenance import versions
from weights2code.language import compile_numpy
from weights2code.symbolic.engine import Candidate, Engine, pick
from weights2code.symbolic.engines.native import NativeEngine

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
from targets import Target, random_tree, written_targets

from records import Rows, write_record

ROWS = 2000
NOISE = 1e-3


@dataclass(frozen=True, slots=True)
class Outcome:
    """One engine on one target."""

    target: str
    kind: str
    group: str
    engine: str
    success: bool
    law: bool
    seconds: float
    cpu_seconds: float
    complexity: int
    truth_complexity: int
    label: str
    formula: str


def judge(target: Target, chosen: Candidate, noise: float, *, factor: float) -> bool:
    X = target.sample(ROWS, 99, factor=factor)
    truth = target.values(X)
    with np.errstate(all="ignore"):
        values = np.broadcast_to(compile_numpy(chosen.expr, target.variables)(*X.T), truth.shape)
    known = np.isfinite(truth)
    if np.all(truth[known] == np.round(truth[known])) and all(d.discrete for d in target.domains):
        return bool(np.all(np.round(values[known]) == truth[known]))
    scale = float(np.ptp(truth[known])) or 1.0
    allowed = max(1e-4 * scale, 5 * noise * factor)
    return bool(np.all(np.abs(values[known] - truth[known]) <= allowed))


def run_one(
    target: Target, engine: Engine, label: str, limit: float, group: str, *, noisy: bool, told: bool
) -> Outcome:
    X = target.sample(ROWS, 1)
    y = target.values(X)
    noise = NOISE * float(np.std(y) or 1.0) if noisy else 0.0
    y = y + noise * np.random.default_rng(2).normal(size=len(y))
    tolerance = 5 * noise if noisy and told else None
    start, cpu = time.perf_counter(), time.process_time()
    front = engine.search(
        X,
        y,
        variables=target.variables,
        domains=target.domains,
        tolerance=tolerance,
        effort=limit,
        random_state=0,
    )
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    chosen = pick(front)
    return Outcome(
        target.name,
        target.kind,
        group,
        label,
        judge(target, chosen, noise, factor=1.0),
        judge(target, chosen, noise, factor=2.0),
        round(seconds, 4),
        round(cpu, 4),
        chosen.complexity,
        target.expr.size(),
        chosen.kind,
        str(chosen.expr),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trees", type=int, default=60, help="number of random trees")
    parser.add_argument("--first-seed", type=int, default=1000, help="seed of the first tree")
    parser.add_argument(
        "--operon", type=int, nargs="*", default=[1, 3], help="caps in seconds; none: leave out"
    )
    parser.add_argument(
        "--limit", type=float, default=5.0, help="effort of the native engine, in seconds of a usual machine"
    )
    parser.add_argument("--groups", nargs="*", default=["clean", "noisy told", "noisy", "trees"])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    engines: list[tuple[Engine, str, float]] = [(NativeEngine(), "native", options.limit)]
    if options.operon:
        from weights2code.symbolic.engines.operon import OperonEngine

        engines += [(OperonEngine(), f"operon {cap} s", float(cap)) for cap in options.operon]
    cases = [
        (target, group)
        for target in written_targets()
        for group in ("clean", "noisy told", "noisy")
        if group in options.groups
    ]
    if "trees" in options.groups:
        cases += [(random_tree(options.first_seed + i), "trees") for i in range(options.trees)]
    asked = {key: value for key, value in vars(options).items() if key != "out"}
    kept = Rows(Path(__file__).parent / "runs" / "results.jsonl", asked)
    outcomes = [Outcome(**row) for row in kept.rows]
    done = {(o.group, o.target, o.engine) for o in outcomes}
    for target, group in cases:
        for engine, label, limit in engines:
            if (group, target.name, label) in done:
                continue
            noisy = group.startswith("noisy")
            outcome = run_one(target, engine, label, limit, group, noisy=noisy, told=group == "noisy told")
            outcomes.append(outcome)
            kept.add(asdict(outcome))
            mark = "ok " if outcome.success else "MISS"
            print(
                f"{group:10s} {target.name:24s} {label:11s} {mark:4s} {outcome.seconds:7.3f} s  "
                f"{outcome.complexity:3d}/{outcome.truth_complexity:<3d} {outcome.formula[:90]}",
                flush=True,
            )
    write(options.out, outcomes)
    kept.file.unlink()


def write(folder: Path, outcomes: list[Outcome]) -> None:
    """Results as JSON and as a Markdown table, with the command and the versions."""
    command = shlex.join(["python", "benchmarks/symbolic_regression/run.py", *sys.argv[1:]])
    seconds = round(sum(o.seconds for o in outcomes), 1)
    write_record(
        folder / "results.json",
        command,
        seconds=seconds,
        load=round(os.getloadavg()[1], 1),
        outcomes=[asdict(o) for o in outcomes],
    )
    lines = ["# Symbolic regression: native engine against Operon", "", f"Command: `{command}`", ""]
    lines += ["Versions: " + ", ".join(f"{k} {v}" for k, v in versions().items()) + ".", ""]
    lines += [
        "| group | engine | success | law on a domain twice as wide | wall, all | median wall | CPU, all |",
        "|---|---|---|---|---|---|---|",
    ]
    groups = list(dict.fromkeys(o.group for o in outcomes))
    labels = list(dict.fromkeys(o.engine for o in outcomes))
    for group in groups:
        for label in labels:
            rows = [o for o in outcomes if o.group == group and o.engine == label]
            wall = [o.seconds for o in rows]
            lines.append(
                f"| {group} | {label} | {sum(o.success for o in rows)}/{len(rows)} "
                f"| {sum(o.law for o in rows)}/{len(rows)} | {sum(wall):.1f} s | {np.median(wall):.3f} s "
                f"| {sum(o.cpu_seconds for o in rows):.1f} s |"
            )
    lines += ["", "## Missed", ""]
    for o in outcomes:
        if not o.success:
            lines.append(f"- {o.group}, {o.target} ({o.kind}), {o.engine}: `{o.formula[:120]}`")
    (folder / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[6 : 8 + len(groups) * len(labels)]))


if __name__ == "__main__":
    main()
