"""What the proofs of runs weigh: questions answered by two solvers, states closed again by `check.py`.

    python benchmarks/network/obligations.py RUNS    a folder of run folders, one a built-in task

A run's proof is written as `w2c export DIR --to proof` writes it. Every question goes to z3 and to cvc5, and
`check.py` runs as its users run it. One line a run, and the sum of all.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import z3

from weights2code.errors import InputError
from weights2code.export.proof import write_proof
from weights2code.run_folder import open_existing
from weights2code.views.hidden import problem_in

#: Milliseconds that cvc5 may take for one question.
PATIENCE = "20000"


def by_z3(text: str) -> str:
    solver = z3.Solver()
    solver.from_string(text)
    return str(solver.check())


def by_cvc5(text: str) -> str:
    cvc5 = importlib.import_module("cvc5")  # its names are made when it is imported
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", PATIENCE)
    parser, said = cvc5.InputParser(solver), ""
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    while not (command := parser.nextCommand()).isNull():
        said = str(command.invoke(solver, parser.getSymbolManager())).strip() or said
    return said


def answers(ask: Callable[[str], str], texts: list[str]) -> tuple[Counter[str], float]:
    began = time.perf_counter()
    return Counter(map(ask, texts)), time.perf_counter() - began


def measure(run: Path) -> Counter[str] | None:
    with tempfile.TemporaryDirectory() as place, suppress(InputError):
        proof, folder = Path(place) / "proof", open_existing(run)
        claims = write_proof(folder, problem_in(folder), proof)
        texts = [file.read_text("utf-8") for file in sorted(proof.rglob("*.smt2"))]
        (own, own_time), (other, other_time) = answers(by_z3, texts), answers(by_cvc5, texts)
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "check.py"], cwd=proof, capture_output=True, text=True)
        holds = sum("holds" in line for line in done.stdout.splitlines())
        found = Counter(
            runs=1,
            claims=len(claims),
            questions=len(texts),
            z3_unsat=own["unsat"],
            cvc5_unsat=other["unsat"],
            z3_ms=round(1e3 * own_time),
            cvc5_ms=round(1e3 * other_time),
            smt_bytes=sum(map(len, texts)),
            checker_holds=holds,
            checker_rejects=int(done.returncode != 0),
            checker_ms=round(1e3 * (time.perf_counter() - began)),
            bytes=sum(file.stat().st_size for file in proof.rglob("*") if file.is_file()),
        )
        print(run.name, dict(found), flush=True)
        return found
    print(run.name, "nothing proved", flush=True)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path)
    total: Counter[str] = Counter()
    for certificate in sorted(parser.parse_args().runs.glob("*/certificate.json")):
        total.update(measure(certificate.parent) or {})
    print(dict(total))


if __name__ == "__main__":
    main()
