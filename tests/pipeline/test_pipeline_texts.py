"""Tables of texts, from the file to the certificate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from weights2code.cli import main

pytestmark = pytest.mark.slow


def door(rng: np.random.Generator, length: int) -> list[tuple[str, str]]:
    state, rows = "closed", []
    moves = {
        ("open", "closed"): "open", ("close", "open"): "closed", ("lock", "closed"): "locked",
        ("unlock", "locked"): "closed",
    }  # fmt: skip
    for _ in range(length):
        event = str(rng.choice(["open", "close", "lock", "unlock"]))
        state = moves.get((event, state), state)
        rows.append((event, state))
    return rows


def bank(rng: np.random.Generator, length: int) -> list[tuple[str, int, int]]:
    balance, rows = 0, []
    for _ in range(length):
        kind, amount = str(rng.choice(["deposit", "withdrawal", "fee"])), int(rng.integers(1, 50))
        balance += {"deposit": amount, "withdrawal": -amount, "fee": -2}[kind]
        rows.append((kind, amount, balance))
    return rows


def follows(rng: np.random.Generator, length: int) -> list[tuple[str, str]]:
    suits = [str(suit) for suit in rng.choice(["hearts", "spades", "clubs", "diamonds"], length)]
    return [(suit, "follows" if t and suits[t - 1] == suit else "no") for t, suit in enumerate(suits)]


def vending(rng: np.random.Generator, length: int) -> list[tuple[str, str]]:
    paid, rows = 0, []
    for _ in range(length):
        coin = str(rng.choice(["five", "ten", "push"]))
        if coin == "push":
            rows.append((coin, "drink" if paid >= 15 else "nothing"))
            paid = 0 if paid >= 15 else paid
        else:
            paid = min(paid + {"five": 5, "ten": 10}[coin], 20)
            rows.append((coin, "wait"))
    return rows


def parcel(rng: np.random.Generator, length: int) -> list[tuple[str, float, int, str]]:
    """Three ways of which none is near another: no network of numbers fits them."""
    rows = []
    for _ in range(length):
        kind = str(rng.choice(["book", "gift", "tool", "food"]))
        weight, miles = round(float(rng.uniform(0, 30)), 1), int(rng.integers(1, 900))
        way = "van" if kind == "food" else "truck" if weight >= 20.5 or miles < 90 else "mail"
        rows.append((kind, weight, miles, way))
    return rows


@pytest.mark.parametrize(
    ("rule", "header", "parts"),
    [
        (
            door,
            "id,event,state",
            ('event[t] == "close"', 'state[t-1] == "open"'),
        ),
        (bank, "id,kind,amount,balance", ('kind[t] == "',)),
        (follows, "id,suit,verdict", ('"follows" if suit[t] == suit[t-1] else "no"',)),
        (parcel, "id,kind,weight,miles,way", ('kind[t] == "food"', "weight[t]", "miles[t]")),
        (vending, "id,coin,result", ('coin[t] == "push"', "state[t-1]")),
    ],
)
def test_a_table_of_texts_becomes_a_program(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rule: Callable[[np.random.Generator, int], list[tuple]],
    header: str,
    parts: tuple[str, ...],
):
    rng, path, out = np.random.default_rng(1), tmp_path / "rows.csv", tmp_path / "run"
    rows = [(i, *row) for i in range(300) for row in rule(rng, 12)]
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    target = header.split(",")[-1]
    assert (
        main(["fit", str(path), "--targets", target, "--sequence", "id", "--out", str(out), "--quiet"]) == 0
    )
    shown = capsys.readouterr().out
    for part in parts:
        assert part in shown
    assert main(["verify", str(out), "--quiet"]) == 0
    assert main(["report", str(out)]) == 0
    source = (out / "program.py").read_text(encoding="utf-8")
    space: dict = {}
    exec(compile(source, "program.py", "exec"), space)
    fresh = rule(np.random.default_rng(9), 200)
    columns = len(header.split(",")) - 2
    x = np.array([row[:columns] for row in fresh], dtype=object)
    assert space["rows"](x).tolist() == [row[-1] for row in fresh]
    certificate = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["program"]["domains"][0]["kind"] == "texts"
