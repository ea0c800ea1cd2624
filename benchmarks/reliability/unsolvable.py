"""Files without a rule, with half of one, or with one that no program of the language has.

`w2c fit` may fail on them, in the ways that are agreed on: an exit code with its sentence, no traceback, no
attempt that ended in a defect. What it calls verified must be so: the program is run over the whole file and
compared with what the certificate claims of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from case import GIBIBYTE, Result
from weights2code.cli.main import main

from weights2code.errors import Reason

WHOLE = 300
SECONDS = 120.0
MEMORY = 4 * GIBIBYTE
#: Seconds that each file is given.
TIME_LIMIT = 5
#: What a certificate says of all rows, having seen some of them, may be off by this factor, by chance.
CHANCE = 1.5


@dataclass(slots=True)
class Log:
    """Sequences of inputs (T, columns) and targets (T, outputs)."""

    x: list[np.ndarray]
    y: list[np.ndarray]
    #: Whether the command may refuse the file.
    refused: bool = False

    def write(self, path: Path) -> list[str]:
        """As CSV; the options that name its columns."""
        inputs = [f"in{i}" for i in range(self.x[0].shape[1])]
        targets = [f"out{i}" for i in range(self.y[0].shape[1])]
        lines = [",".join(["series", *inputs, *targets])]
        for number, (x, y) in enumerate(zip(self.x, self.y, strict=True)):
            for row in np.hstack([x, y]).tolist():
                cells = (
                    repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
                    for value in row
                )
                lines.append(",".join([f"s{number}", *cells]))
        path.write_text("\n".join(lines) + "\n")
        return ["--inputs", ",".join(inputs), "--targets", ",".join(targets), "--sequence", "series"]


def sequences(rng: np.random.Generator, high: int = 9, columns: int = 1) -> list[np.ndarray]:
    """Whole numbers 0..high."""
    count, length = int(rng.integers(20, 60)), int(rng.integers(8, 20))
    return [rng.integers(0, high + 1, (length, columns)).astype(float) for _ in range(count)]


def ruled(
    rule: Callable[[np.ndarray], np.ndarray], high: int = 9, columns: int = 1
) -> Callable[[np.random.Generator], Log]:
    """Sequences whose target follows a rule of one of them."""

    def make(rng: np.random.Generator) -> Log:
        x = sequences(rng, high, columns)
        return Log(x, [np.asarray(rule(item), dtype=float).reshape(len(item), -1) for item in x])

    return make


def _last(x: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], x[:-1, 0]])


def _scan(step: Callable[[Any, float], tuple[Any, float]], start: Any) -> Callable[[np.ndarray], np.ndarray]:
    def rule(x: np.ndarray) -> np.ndarray:
        state, out = start, []
        for value in x[:, 0]:
            state, answer = step(state, value)
            out.append(answer)
        return np.array(out)

    return rule


def _hash(x: np.ndarray) -> np.ndarray:
    return _scan(lambda s, v: ((s * 1103515245 + 12345 + int(v)) % 2**31, (s >> 16) & 7), 1)(x)


def _is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def _rank(x: np.ndarray) -> np.ndarray:
    return np.array([np.sort(x[: t + 1, 0])[(t + 1) // 2] for t in range(len(x))])


def _distinct(x: np.ndarray) -> np.ndarray:
    return np.array([len(set(x[: t + 1, 0].tolist())) for t in range(len(x))])


def random_labels(rng: np.random.Generator, high: int) -> Log:
    x = sequences(rng)
    return Log(x, [rng.integers(0, high + 1, (len(item), 1)).astype(float) for item in x])


def noise(rng: np.random.Generator) -> Log:
    x = [rng.normal(size=item.shape) for item in sequences(rng)]
    return Log(x, [rng.normal(size=(len(item), 1)) for item in x])


def with_mistakes(share: float, high: int) -> Callable[[np.random.Generator], Log]:
    def make(rng: np.random.Generator) -> Log:
        x = sequences(rng, high)
        y = [(item + _last(item)[:, None]) % (high + 1) for item in x]
        for item in y:
            wrong = rng.random(len(item)) < share
            item[wrong] = rng.integers(0, high + 1, (int(wrong.sum()), 1))
        return Log(x, y)

    return make


def constant_column(rng: np.random.Generator) -> Log:
    x = sequences(rng, columns=2)
    for item in x:
        item[:, 1] = 7
    return Log(x, [item[:, :1] + 7 for item in x])


def alike(rng: np.random.Generator) -> Log:
    x = [np.hstack([item, item]) for item in sequences(rng)]
    return Log(x, [item[:, :1] * 2 + _last(item)[:, None] for item in x])


def all_zero(rng: np.random.Generator) -> Log:
    x = sequences(rng)
    return Log(x, [np.zeros((len(item), 1)) for item in x], refused=True)


def one_sequence(rng: np.random.Generator) -> Log:
    x = rng.integers(0, 9, (int(rng.integers(60, 200)), 1)).astype(float)
    return Log([x], [rng.integers(0, 3, x.shape).astype(float)])


def short_ones(length: int) -> Callable[[np.random.Generator], Log]:
    def make(rng: np.random.Generator) -> Log:
        x = [rng.integers(0, 9, (length, 2)).astype(float) for _ in range(80)]
        return Log(x, [item.sum(1, keepdims=True) % 7 for item in x])

    return make


def unequal(rng: np.random.Generator) -> Log:
    x = [rng.integers(0, 5, (int(rng.integers(1, 60)), 1)).astype(float) for _ in range(40)]
    return Log(x, [_hash(item)[:, None].astype(float) for item in x])


def mixed_scales(rng: np.random.Generator) -> Log:
    x = [np.column_stack([rng.normal(size=12) * 1e12, rng.normal(size=12) * 1e-9]) for _ in range(40)]
    return Log(x, [np.sin(item[:, :1] * 1e-12) * 1e6 + np.exp(item[:, 1:] * 1e9) for item in x])


def huge_whole(rng: np.random.Generator) -> Log:
    x = [rng.integers(0, 2**40, (12, 1)).astype(float) for _ in range(40)]
    return Log(x, [item // 1000 % 97 for item in x])


def time_index(rng: np.random.Generator) -> Log:
    x = sequences(rng)
    return Log(x, [np.arange(len(item), dtype=float)[:, None] for item in x])


def identical(rng: np.random.Generator) -> Log:
    x = rng.integers(0, 9, (14, 1)).astype(float)
    y = rng.integers(0, 4, (14, 1)).astype(float)
    return Log([x] * 30, [y] * 30)


def contradictory(rng: np.random.Generator) -> Log:
    x = sequences(rng, 3)
    y = [(item * 2) for item in x]
    return Log([*x, *x], [*y, *(item + 1 for item in y)])


def many_targets(rng: np.random.Generator) -> Log:
    x = sequences(rng, columns=2)
    return Log(
        x,
        [
            np.column_stack([item[:, 0], item.sum(1), rng.integers(0, 5, len(item)), _hash(item)])
            for item in x
        ],
    )


def three_rows(rng: np.random.Generator) -> Log:
    x = rng.integers(0, 9, (3, 1)).astype(float)
    return Log([x], [x * 2], refused=True)


def rare_target(rng: np.random.Generator) -> Log:
    x = sequences(rng)
    y = [np.zeros((len(item), 1)) for item in x]
    y[-1][-1] = 1
    return Log(x, y, refused=True)


def half_a_rule(rng: np.random.Generator) -> Log:
    """A rule in half of the cases, chance in the others."""
    x = sequences(rng, columns=2)
    y = []
    for item in x:
        right = item[:, 1] < 5
        y.append(np.where(right, item[:, 0] * 2, rng.integers(0, 19, len(item)))[:, None])
    return Log(x, y)


def hidden_switch(rng: np.random.Generator) -> Log:
    """A rule that depends on a column which the file does not have."""
    x = sequences(rng)
    return Log(x, [item * int(rng.integers(1, 3)) + int(rng.integers(0, 3)) for item in x])


KINDS: dict[str, Callable[[np.random.Generator], Log]] = {
    "random bits": lambda rng: random_labels(rng, 1),
    "random classes": lambda rng: random_labels(rng, 4),
    "random numbers": lambda rng: random_labels(rng, 60),
    "random reals": noise,
    "a tenth mistakes, bits": with_mistakes(0.1, 1),
    "a tenth mistakes, digits": with_mistakes(0.1, 9),
    "a third mistakes": with_mistakes(0.33, 4),
    "a hash": ruled(_hash),
    "xor of bits": ruled(_scan(lambda s, v: (s ^ int(v), s ^ int(v)), 0), 15),
    "primes": ruled(lambda x: np.array([_is_prime(int(v)) for v in x[:, 0]]), 99),
    "the median so far": ruled(_rank),
    "distinct values so far": ruled(_distinct),
    "digit sums": ruled(lambda x: np.array([sum(map(int, str(int(v)))) for v in x[:, 0]]), 999),
    "bit counts": ruled(lambda x: np.array([int(v).bit_count() for v in x[:, 0]]), 255),
    "a chaotic map": ruled(_scan(lambda s, v: (3.99 * s * (1 - s), 3.99 * s * (1 - s)), 0.31)),
    "the future": ruled(lambda x: np.concatenate([x[1:, 0], [0.0]])),
    "powers": ruled(lambda x: np.cumprod(1 + x[:, 0] / 10)),
    "constant column": constant_column,
    "two columns alike": alike,
    "all zero": all_zero,
    "one sequence": one_sequence,
    "sequences of length 1": short_ones(1),
    "sequences of length 2": short_ones(2),
    "unequal lengths": unequal,
    "mixed scales": mixed_scales,
    "huge whole numbers": huge_whole,
    "time index": time_index,
    "identical sequences": identical,
    "contradictory rows": contradictory,
    "many targets": many_targets,
    "three rows": three_rows,
    "rare target": rare_target,
    "half a rule": half_a_rule,
    "hidden switch": hidden_switch,
}


def attack(number: int, seed: int) -> Result:
    names = list(KINDS)
    kind = names[number % len(names)]
    log = KINDS[kind](np.random.default_rng([seed, number]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = log.write(folder / "data.csv")
        fixed = ["--quiet", "--time-limit", str(TIME_LIMIT), "--seed", str(number % 3)]
        said, shown = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
            code = main(["fit", str(folder / "data.csv"), *options, "--out", str(folder / "run"), *fixed])
        detail = f"number {number}: {shown.getvalue()} {said.getvalue()}".strip()[:1500]
        return Result(kind, f"exit {code}", judge(code, said.getvalue(), log, folder / "run"), detail)


def judge(code: int, said: str, log: Log, run: Path) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if code not in (0, 1, 2, 3) or "Traceback" in said:
        return f"exit code {code}: {said[-500:]}"
    if code == 2:
        return "" if log.refused and said.count("\n") == 1 else f"refused: {said[-500:]}"
    certificate = json.loads((run / "certificate.json").read_text())
    defects = [row["text"] for row in certificate["attempts"] if row["reason"] == Reason.DEFECT]
    if defects:
        return f"a defect: {'; '.join(defects)}"
    return claims(certificate, log, run / "program.py") if code == 0 else ""


def claims(certificate: dict[str, Any], log: Log, program: Path) -> str:
    """Whether the program is, over the whole file, what its certificate says of it."""
    if certificate["one_step"]:
        return ""  # the program alone never sees the true past
    made = runpy.run_path(str(program))
    function = made[made["__all__"][0]]
    answers = [
        np.reshape(function(x[:, 0] if x.shape[1] == 1 else x), y.shape)
        for x, y in zip(log.x, log.y, strict=True)
    ]
    answer, right = np.concatenate(answers), np.concatenate(log.y)
    error = np.abs(answer - right)
    noted = " ".join(certificate["notes"])
    flips = re.search(r"not exact: ([\d.e+-]+) % of the rows (?:that it was learned from )?disagree", noted)
    if flips:
        share = float((error >= 0.5).any(1).mean())
        allowed = CHANCE * float(flips[1]) / 100 + 0.03
        return f"{share:.3f} of the rows are wrong, said are {flips[0]}" if share > allowed else ""
    for column, name in enumerate(f"out{i}" for i in range(right.shape[1])):
        scatter = re.search(rf"{name} scatters by ([\d.e+-]+)", noted)
        if scatter:
            rmse = float(np.sqrt(np.mean(np.square(error[:, column]))))
            if not rmse <= CHANCE * float(scatter[1]):
                return f"{name} is off by {rmse:.3g}, said is {scatter[0]}"
            continue
        whole = bool(np.all(right[:, column] == np.round(right[:, column])))
        allowed = 0.5 if whole else 1e-3 * float(np.ptp(right[:, column]))
        wrong = int(np.sum(~(error[:, column] < allowed)))
        if wrong:
            return f"{wrong} of {len(right)} values of {name} are wrong, and no note says so"
    return ""
