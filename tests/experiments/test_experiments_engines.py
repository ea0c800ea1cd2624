"""The engines for real: processes that are killed, sweeps that are killed, machines that vanish."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weights2code.cli import main
from weights2code.errors import InputError
from weights2code.experiments.engines import Local
from weights2code.experiments.engines import ray as ray_engine
from weights2code.experiments.engines.local import cores, one_thread_each
from weights2code.experiments.jobs import Job
from weights2code.experiments.stores import Folders
from weights2code.experiments.sweep import run_sweep

Waiting = Callable[[Callable[[], object]], None]

posix = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

WORK = '''
import os, signal, sys, threading, time
from pathlib import Path

def nap(arguments, folder):
    """Leave a line for each try in a place of its own, and wait, die or fail as told."""
    tries = folder / "tries.txt"
    with open(tries, "a") as file:
        file.write(f"{os.getpid()}\\n")
    if arguments.get("tells"):  # which machine is at work, and stays so until one of them is gone
        import ray

        (Path(arguments["tells"]) / ray.get_runtime_context().get_node_id()).touch()
        while not (Path(arguments["tells"]) / "gone").exists():
            time.sleep(0.02)
    if arguments.get("stays") and len(tries.read_text().split()) == 1:
        threading.Event().wait()
    if len(tries.read_text().split()) <= arguments.get("dies", 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if arguments.get("fails"):
        raise ValueError("as asked")
    if arguments.get("leaves"):
        sys.exit(7)
    print(arguments.get("says", ""), end="", flush=True)
    threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return {"number": arguments["number"], "pid": os.getpid(), "threads": threads,
            "text": "x" * arguments.get("size", 0)}
'''

#: A sweep of its own process: folder, engine, jobs; it prints the keys of rows as they are made.
DRIVER = """
import json, sys
from pathlib import Path
from weights2code.experiments.engines import Local
from weights2code.experiments.jobs import Job
from weights2code.experiments.sweep import run_sweep

if __name__ == "__main__":
    jobs = [Job.from_dict(job) for job in json.loads(sys.argv[2])]
    run_sweep(jobs, Path(sys.argv[1]), Local(2, "json"), lambda row: print(row["key"], flush=True))
"""


@pytest.fixture(autouse=True)
def work_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "modules"
    place.mkdir()
    (place / "napping_work.py").write_text(WORK)
    (place / "napping_driver.py").write_text(DRIVER)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]))
    return place


def job(number: int, **arguments: Any) -> Job:
    return Job(f"job{number}", "napping_work:nap", {"number": number, **arguments})


def tries_of(out: Path, number: int) -> int:
    return len((out / f"runs/job{number}/tries.txt").read_text().split())


@posix
@pytest.mark.slow
def test_a_killed_process_takes_nothing_else_with_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = run_sweep(
        [
            job(0),
            job(1, dies=1, says="before it died"),
            job(2, dies=9),
            job(3, fails=True),
            job(4, leaves=True),
            job(5, size=300_000, says="hello"),
        ],
        out,
        Local(2, preload="json"),
    )
    assert [(row["status"], row["tries"]) for row in rows] == [
        ("done", 1),
        ("done", 2),
        ("failed", 3),
        ("failed", 1),
        ("failed", 3),
        ("done", 1),
    ]
    assert [tries_of(out, number) for number in range(6)] == [1, 2, 3, 1, 3, 1]
    assert "SIGKILL" in rows[2]["error"]
    assert rows[3]["error"] == "ValueError: as asked"
    assert "exit code 7" in rows[4]["error"]
    assert len(rows[5]["text"]) == 300_000
    assert (out / "runs/job5/log.txt").read_text() == "hello"
    assert not (out / "runs/job0/log.txt").exists()
    pids = {row["pid"] for row in rows if row["status"] == "done"}
    assert len(pids) == 3  # a process a job
    assert os.getpid() not in pids
    assert set(rows[0]["threads"].values()) == {"1"}


def start_driver(out: Path, work_module: Path, jobs: list[Job]) -> subprocess.Popen[str]:
    described = json.dumps([item.to_dict() for item in jobs])
    return subprocess.Popen(
        [sys.executable, str(work_module / "napping_driver.py"), str(out), described],
        stdout=subprocess.PIPE,
        text=True,
    )


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z"


@posix
@pytest.mark.slow
def test_a_killed_sweep_goes_on_and_leaves_no_process(
    tmp_path: Path, work_module: Path, wait_for: Waiting
) -> None:
    out = tmp_path / "out"
    jobs = [job(0), job(1, stays=True), job(2), job(3, stays=True), job(4)]
    with start_driver(out, work_module, jobs) as driver:
        assert driver.stdout is not None
        seen = {driver.stdout.readline().strip() for _ in range(2)}
        started = [out / f"runs/job{number}/tries.txt" for number in (1, 3)]
        wait_for(lambda: all(path.exists() and path.read_text() for path in started))
        driver.kill()
    assert seen == {"job0", "job2"}
    workers = [int(path.read_text()) for path in started]
    wait_for(lambda: all(gone(pid) for pid in workers))
    rows = run_sweep(jobs, out, Local(2, preload="json"))
    assert [row["number"] for row in rows] == [0, 1, 2, 3, 4]
    assert [tries_of(out, number) for number in range(5)] == [1, 2, 1, 2, 1]


def test_threads_are_limited_only_for_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with one_thread_each():
        assert os.environ["OMP_NUM_THREADS"] == "3"
        assert os.environ["MKL_NUM_THREADS"] == "1"
    assert "MKL_NUM_THREADS" not in os.environ
    assert Local().jobs == cores() >= 1


# -- Ray -----------------------------------------------------------------------------------------------------


def test_without_ray_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"weights2code\[ray\]"):
        ray_engine.imported()
    out = tmp_path / "out"
    assert main(["bench", "abs", "--engine", "ray", "--out", str(out)]) == 2
    assert "pip install 'weights2code[ray]'" in capsys.readouterr().err
    assert not out.exists()


def test_files_come_back_unless_they_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "MOST_BYTES", 10)
    place = tmp_path / "job"
    (place / "run").mkdir(parents=True)
    (place / "run/small").write_bytes(b"small")
    (place / "large").write_bytes(b"x" * 11)
    assert ray_engine.collected(place) == ({"run/small": b"small"}, ["large"])


def test_a_worker_of_another_version_refuses() -> None:
    with pytest.raises(InputError, match=r"the sweep 0\.0\.0"):
        ray_engine.remote_attempt(job(0).to_dict(), "0.0.0")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_an_address_without_a_cluster_is_refused_at_once(address: str, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra: weights2code[ray]")
    command = [sys.executable, "-m", "weights2code", "bench", "abs", "--engine", "ray"]
    command += ["--address", address, "--out", str(tmp_path / "out")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=100, env=ray_environment()
    )
    assert done.returncode == 2
    assert f"there is no Ray cluster at {address}" in done.stderr
    assert not (tmp_path / "out").exists()


#: Two machines besides the head, on this one; the first that is at work after the first row is killed. In the
#: place of the lost one comes another that says it has two GPUs; nothing computes on them.
CLUSTER = """
import json, sys, time
from pathlib import Path
from ray.cluster_utils import Cluster
from weights2code.errors import InputError
from weights2code.experiments.engines import Ray
from weights2code.experiments.jobs import Job
from weights2code.experiments.sweep import run_sweep

def node(cpus, gpus=0):
    own = {"object_store_memory": 80 << 20, "include_dashboard": False}
    return {"num_cpus": cpus, "num_gpus": gpus, **own}

cluster = Cluster(initialize_head=True, head_node_args=node(0))
first, second = cluster.add_node(**node(1)), cluster.add_node(**node(1))
told = []

def on_row(row):
    told.append(row["key"])
    signs = Path(sys.argv[3])
    while not (signs / "gone").exists():
        for machine in (first, second):
            if (signs / machine.node_id).exists():
                cluster.remove_node(machine, allow_graceful=False)
                (signs / "gone").touch()
                break
        time.sleep(0.02)

jobs = [Job.from_dict(job) for job in json.loads(sys.argv[2])]
rows = run_sweep(jobs, Path(sys.argv[1]) / "naps", Ray(cluster.address), on_row)
jobs = [Job(f"job{number}", "training_work:work", {"fails": number == 2}) for number in range(4)]
trained = Path(sys.argv[1]) / "trained"
try:
    run_sweep(jobs, trained, Ray(cluster.address, device="cuda"))
    refused = ""
except InputError as error:
    refused = str(error)
cluster.add_node(**node(4, 2))
trained = run_sweep(jobs, trained, Ray(cluster.address, device="cuda"))
cluster.shutdown()
print(json.dumps({"rows": rows, "told": told, "trained": trained, "refused": refused}))
"""

#: Work that begins with a training, and says which GPUs each of the two was given.
TRAINING_WORK = """
import os
from weights2code.experiments.jobs import trains

def train(arguments, folder):
    if arguments.get("fails"):
        raise ValueError("as asked")
    if not (folder / "models").exists():
        (folder / "models").mkdir()
        (folder / "models" / "one").write_text(",".join(gpus()))

def gpus():
    import ray
    return [str(one) for one in ray.get_gpu_ids()]

@trains(train)
def work(arguments, folder):
    trained_on = (folder / "models" / "one").read_text()
    return {"trained_on": trained_on, "seen": os.environ.get("CUDA_VISIBLE_DEVICES"), "worked_on": gpus()}
"""


def ray_environment() -> dict[str, str]:
    """Quiet, and quick to notice that a machine is gone."""
    checks = {"period_ms": "200", "timeout_ms": "10000", "failure_threshold": "3", "initial_delay_ms": "0"}
    return {**os.environ, **ray_engine.QUIET, **{f"RAY_health_check_{k}": v for k, v in checks.items()}}


@posix
@pytest.mark.slow
def test_machines_that_vanish_and_machines_with_gpus(tmp_path: Path, work_module: Path) -> None:
    """A lost machine costs nothing but time; a training has a share of a GPU and the rest has none."""
    pytest.importorskip("ray", reason="needs the extra: weights2code[ray]")
    signs = tmp_path / "at_work"
    signs.mkdir()
    jobs = [
        job(number, fails=number == 5, size=200_000, **({"tells": str(signs)} if number else {}))
        for number in range(10)
    ]
    (work_module / "training_work.py").write_text(TRAINING_WORK)
    (script := work_module / "cluster_driver.py").write_text(CLUSTER)
    described = json.dumps([item.to_dict() for item in jobs])
    command = [sys.executable, str(script), str(tmp_path / "out"), described, str(signs)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240, env=ray_environment()
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)  # and nothing else on stdout
    rows, out = found["rows"], tmp_path / "out" / "naps"
    assert [row["key"] for row in rows] == [item.key for item in jobs]
    assert [row["status"] for row in rows] == ["failed" if n == 5 else "done" for n in range(10)]
    assert [row["number"] for row in rows if row["status"] == "done"] == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert rows[5]["error"] == "ValueError: as asked"
    assert sorted(found["told"]) == [item.key for item in jobs]  # each once
    assert any(row["tries"] > 1 for row in rows)  # what the lost machine had was done again
    assert all(row["tries"] <= 3 for row in rows)
    assert all(tries_of(out, number) == 1 for number in range(10))  # of the try that counted
    assert set(Folders(out).rows(jobs)) == {item.key for item in jobs} - {"job5"}

    assert found["refused"] == "--device cuda needs a GPU, and the Ray cluster has none."
    assert [row["status"] for row in found["trained"]] == ["done", "done", "failed", "done"]
    assert found["trained"][2]["error"] == "ValueError: as asked"
    trained = [row for row in found["trained"] if row["status"] == "done"]
    assert {row["trained_on"] for row in trained} <= {"0", "1"}
    assert all(row["worked_on"] == [] for row in trained)
    left = [tmp_path / "out/trained/runs" / row["key"] / "models/one" for row in trained]
    assert [path.read_text() for path in left] == [row["trained_on"] for row in trained]


@posix
@pytest.mark.slow
def test_a_cluster_of_its_own(tmp_path: Path, work_module: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra: weights2code[ray]")
    command = [sys.executable, "-m", "weights2code", "bench", "abs", "--engine", "ray", "--jobs", "1"]
    command += ["--json", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240, env=ray_environment()
    )
    said = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert said["rows"][0]["solved"]
    assert said["summary"]["engine"] == "ray"
    assert (tmp_path / "out/runs/abs-seed0/run/report.html").exists()
