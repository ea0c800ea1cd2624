"""A run that is killed at any moment ends, when resumed, with the same weights, bit by bit."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from itertools import islice, product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from weights2code.errors import InputError
from weights2code.run_folder import begin
from weights2code.settings import Settings
from weights2code.source import problem_of
from weights2code.training import search
from weights2code.training.train import rungs_of, train

#: The command line, with a checkpoint after every epoch however short, so that every kind of stop occurs.
#: After so many seconds of work, waiting not counted, a signal that nobody handles ends it, wherever it is.
COMMAND = """
import signal, sys, time
from weights2code.cli import main
from weights2code.training import search
search.CHECKPOINT_INTERVAL = 0.0
before = time.process_time()
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[1]))
code = main(sys.argv[2:])
print(time.process_time() - before)
sys.exit(code)
"""

SHORT = ["parity_last2", "--recipe", "paper", "--epochs", "5", "--samples", "2048"]
KILLS = 2


def command(
    arguments: list[str], folder: Path, killed_after: float = 0.0
) -> subprocess.CompletedProcess[str]:
    """Train; a process that is killed after no seconds is not killed."""
    train = ["train", *arguments, "--out", str(folder), "--quiet"]
    return subprocess.run(
        [sys.executable, "-c", COMMAND, str(killed_after), *train],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def same_weights(one: Path, other: Path) -> bool:
    a, b = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def records(folder: Path) -> list[dict]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_killed_at_random_moments(tmp_path: Path):
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    whole = command(SHORT, unbroken)
    assert whole.returncode == 0, whole.stderr
    lasted = float(whole.stdout.split()[-1])

    rng = random.Random(7)
    ends = [command(SHORT, broken, rng.uniform(0.001, 0.4 * lasted)).returncode for _ in range(KILLS)]
    assert ends == [-signal.SIGPROF] * KILLS
    done = command(SHORT, broken)
    assert done.returncode == 0, done.stderr
    assert same_weights(unbroken, broken)
    assert records(unbroken) == records(broken)
    assert sorted(os.listdir(broken)) == ["config.json", "metrics.jsonl", "model.safetensors"]


class Stop(Exception):
    """Stands for a power cut."""


SMALL = Settings(recipe="paper", epochs=4, samples=1024, length=5)


@pytest.fixture
def every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CHECKPOINT_INTERVAL", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("every_epoch")
@pytest.mark.parametrize("after", [1, 4])
def test_stopped_after_an_epoch(after: int, tmp_path: Path):
    problem = problem_of("bitwise_xor", SMALL)
    with begin(tmp_path / "whole", "bitwise_xor", SMALL) as folder:
        train(problem, SMALL, folder)

    def cut(stage: str, done: int, *_: object) -> None:
        if done == after:
            raise Stop

    with pytest.raises(Stop), begin(tmp_path / "cut", "bitwise_xor", SMALL) as folder:
        train(problem, SMALL, folder, cut)
    assert (tmp_path / "cut" / "checkpoint" / "current.safetensors").exists()
    assert len(records(tmp_path / "cut")) == after
    with begin(tmp_path / "cut", "bitwise_xor", SMALL) as folder:
        train(problem, SMALL, folder)
    assert same_weights(tmp_path / "whole", tmp_path / "cut")
    assert records(tmp_path / "whole") == records(tmp_path / "cut")


@pytest.mark.usefixtures("every_epoch")
@pytest.mark.slow
def test_a_stop_at_the_early_end_does_not_train_on(tmp_path: Path):
    """The epoch that ends a rung early has its checkpoint too; resumed, the rung must end there as well."""
    settings = Settings(layers=1, heads=1, submlps=0, samples=256, members=1, epochs=6)
    problem = problem_of("sum_last2", settings)
    done = []
    for trained in rungs_of(problem, settings, progress=lambda _, epoch, *__: done.append(epoch)):
        assert trained.fitted
    assert done[-1] < settings.epochs

    def cut(stage: str, epoch: int, *_: object) -> None:
        if epoch == done[-1]:
            raise Stop

    with begin(tmp_path, "sum_last2", settings) as folder:
        with pytest.raises(Stop):
            next(rungs_of(problem, settings, folder, cut))
        resumed = next(rungs_of(problem, settings, folder))
    assert len(resumed.history) == done[-1]


@pytest.mark.usefixtures("every_epoch")
def test_finished_rungs_are_not_trained_again(tmp_path: Path):
    settings = Settings(recipe="paper", epochs=1, samples=512, length=5, time_limit=1000.0)
    problem = problem_of("Div_5", settings)  # not in the paper, so its whole grid is climbed
    with begin(tmp_path / "run", "Div_5", settings) as folder:
        first = [trained.rung for trained in islice(rungs_of(problem, settings, folder), 3)]
        stages: list[str] = []
        climbing = rungs_of(problem, settings, folder, lambda stage, *_: stages.append(stage))
        again = list(islice(climbing, 4))
    assert [trained.rung for trained in again[:3]] == first
    assert stages == [f"network {again[3].rung}"]


def test_a_corrupt_checkpoint_is_refused_and_left(tmp_path: Path):
    problem, damages = problem_of("bitwise_xor", SMALL), (b"", b"garbage", b"\x02\0\0\0\0\0\0\0{}")
    with begin(tmp_path / "run", "bitwise_xor", SMALL) as folder:
        folder.checkpoint.mkdir()
        for name, damage in product(("rung0", "current"), damages):
            file = folder.checkpoint / f"{name}.safetensors"
            file.write_bytes(damage)
            with pytest.raises(InputError, match=r"corrupt.*left untouched"):
                train(problem, SMALL, folder)
            assert file.read_bytes() == damage
            file.unlink()


@pytest.mark.slow
@pytest.mark.usefixtures("every_epoch")
def test_every_rung_goes_on_from_every_epoch(tmp_path: Path):
    """Choices that are annealed and choices that are fixed."""
    settings = Settings(samples=256, members=2, epochs=2, length=5, rungs=("pairs", "window"))
    problem = problem_of("Evens_Detector", settings)
    whole = [(trained.rung, len(trained.history)) for trained in rungs_of(problem, settings)]

    def cut(stage: str, epoch: int, *_: object) -> None:
        raise Stop

    stops, parts = 0, []
    with begin(tmp_path, "Evens_Detector", settings) as folder:
        while not parts:
            try:
                parts = [(f.rung, len(f.history)) for f in rungs_of(problem, settings, folder, cut)]
            except Stop:
                stops += 1
    assert parts == whole
    assert stops >= len(whole)
