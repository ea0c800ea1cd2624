"""Rules of different fields behind the tables, a third of them kept for a last measurement.

A rule is a function of its state and of the columns: `rule(state, ...) -> state, target, ...`. The default of
the state is what it starts with, the defaults of the columns are what they are drawn by.
"""

# ruff: noqa: B008 - defaults say what is drawn
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from table import Column, Part, Table, decimal, one_of, times, whole

TABLES: list[Table] = []


def table(
    field: str,
    targets: str,
    part: Part = "develop",
    columns: Mapping[str, Column] | None = None,
    **described: Any,
) -> Callable[[Any], Any]:
    """Declares the table of the rule that follows."""

    def declare(rule: Any) -> Any:
        first, *others = inspect.signature(rule).parameters.values()
        drawn = columns or {one.name: one.default for one in others}

        def step(state: Any, row: Any) -> tuple[Any, tuple[Any, ...]]:
            state, *answers = rule(state, **{name: row[name] for name in drawn})
            return state, tuple(answers)

        name, words = rule.__name__, tuple(targets.split())
        TABLES.append(Table(name, field, part, drawn, first.default, step, words, **described))
        return rule

    return declare


def moved(state: str, event: str, *moves: str) -> tuple[str, str]:
    """The state after an event, by moves such as `closed push open`; without one it stays."""
    known = {tuple(words[:2]): words[2] for words in map(str.split, moves)}
    state = known.get((state, event), state)
    return state, state


moment = datetime.fromisoformat


@table("events", "door")
def door(state="closed", event=one_of("push", "pull", "key", "wait")):
    return moved(
        state, event, "closed push open", "open pull closed", "closed key locked", "locked key closed"
    )


@table("events", "result")
def turnstile(state="locked", event=one_of("coin", "push")):
    if event == "coin":
        return "unlocked", "thanks" if state == "locked" else "returned"
    return "locked", "passed" if state == "unlocked" else "blocked"


@table("events", "label")
def repeated_event(last=None, event=one_of("view", "click", "buy", "leave")):
    return event, "repeat" if event == last else "new"


@table("events", "shown")
def caps_lock(caps=False, key=one_of("caps", "shift", "letter", "digit")):
    if key == "caps":
        return not caps, "nothing"
    if key == "letter":
        return caps, "upper" if caps else "lower"
    return caps, "nothing" if key == "shift" else "digit"


@table("events", "session", "kept", options=("--time", "time"))
def sessions(state=(None, 0), time=times("2024-03-01", 2, 5, 12, 45, 90)):
    last, number = state
    now = moment(time)
    number += last is not None and (now - last).total_seconds() > 1800
    return (now, number), number


@table("events", "answer", "kept")
def login_lock(wrong=0, attempt=one_of("right", "wrong")):
    if wrong >= 3:
        return wrong, "blocked"
    wrong = 0 if attempt == "right" else wrong + 1
    return wrong, "welcome" if attempt == "right" else "again" if wrong < 3 else "blocked"


@table("logistics", "status")
def order_status(state="new", event=one_of("pay", "ship", "deliver", "cancel", weights=(4, 4, 4, 1))):
    return moved(
        state,
        event,
        "new pay paid",
        "paid ship shipped",
        "shipped deliver delivered",
        "new cancel cancelled",
        "paid cancel cancelled",
    )


@table("logistics", "price")
def shipping_price(_=None, size=one_of("S", "M", "L"), express=one_of(True, False), weight=whole(1, 30)):
    base = {"S": 4, "M": 6, "L": 9}[size]
    return None, base + (5 if express else 0) + (weight if weight > 20 else 0)


@table("logistics", "stock reorder")
def stock(level=20, movement=one_of("in", "out"), units=whole(0, 9)):
    level = level + units if movement == "in" else max(level - units, 0)
    return level, level, level < 15


@table("logistics", "floor")
def lift(floor=0, call=one_of("up", "down", "none")):
    floor += {"up": 1, "down": -1, "none": 0}[call]
    floor = min(max(floor, 0), 6)
    return floor, floor


@table("logistics", "before", "kept", length=20)
def last_depot(seen=(), truck=one_of("T1", "T2", "T3"), depot=one_of("north", "south", "east")):
    before = dict(seen)
    answer = before.get(truck, "none")
    return tuple((before | {truck: depot}).items()), answer


@table("logistics", "sales", "kept", sequences=60, length=60, options=("--season", "7"))
def weekly_sales(last=(10,) * 7, promotion=one_of(True, False, weights=(1, 5)), rain=whole(0, 3)):
    sold = last[0] + 2 * promotion - (1 if rain == 3 and last[0] > 0 else 0)
    return (*last[1:], sold), sold


@table("energy", "action")
def thermostat(_="idle", mode=one_of("heat", "cool", "off"), room=decimal(15, 28, 1)):
    if mode == "heat" and room < 20:
        return "heating", "heating"
    if mode == "cool" and room > 24:
        return "cooling", "cooling"
    return "idle", "idle"


@table("energy", "on")
def boiler(on=False, water=decimal(40, 80, 1)):
    on = True if water < 50 else False if water > 65 else on
    return on, on


@table("energy", "cost", options=("--time", "time"), sequences=200, length=24)
def tariff(_=None, time=times("2024-05-01", 60), kwh=whole(0, 12)):
    return None, kwh * (32 if 7 <= moment(time).hour < 20 else 21)


@table("energy", "charge")
def battery(charge=4.0, source=one_of("sun", "grid", "load"), power=decimal(0, 3, 1)):
    change = {"sun": 1.0, "grid": 0.5, "load": -1.0}[source] * power
    charge = round(min(max(charge + change, 0.0), 10.0), 6)
    return charge, charge


@table("energy", "total", "kept", options=("--missing", "drop"), holes=0.02)
def meter_gaps(_=0, day=whole(0, 9), night=whole(0, 9)):
    return 0, 3 * day + 2 * night


@table("energy", "valve", "kept")
def valve(state="shut", signal=one_of("open", "shut", "hold"), alarm=one_of(True, False, weights=(1, 4))):
    state = "shut" if alarm else state if signal == "hold" else signal
    return state, state


@table("medicine", "level")
def triage(
    _=None,
    complaint=one_of("chest pain", "fever", "sprain", "cough"),
    temperature=decimal(36, 41, 1),
    age=whole(1, 95),
):
    if complaint == "chest pain":
        return None, "red"
    return None, "yellow" if temperature >= 39.5 or age >= 80 else "green"


@table("medicine", "allowed", length=20)
def next_dose(since=9, asked=one_of(True, False)):
    since += 1
    given = asked and since >= 4
    return 0 if given else since, given


@table("medicine", "compatible")
def blood_groups(_=None, donor=one_of("0", "A", "B", "AB"), patient=one_of("0", "A", "B", "AB")):
    given, taken = (set(donor) - {"0"}, set(patient) - {"0"})
    return None, "yes" if given <= taken else "no"


@table("medicine", "place")
def ward(state="home", event=one_of("admit", "operate", "recover", "discharge")):
    return moved(
        state, event, "home admit ward", "ward operate theatre", "theatre recover ward", "ward discharge home"
    )


@table("medicine", "visit", "kept", length=20)
def visits(seen=(), patient=one_of("Ann", "Ben", "Cho", "Dee")):
    return (*seen, patient), seen.count(patient) + 1


@table("medicine", "trend", "kept")
def pulse_trend(last=70, pulse=whole(50, 120)):
    change = pulse - last
    return pulse, "rising" if change > 10 else "falling" if change < -10 else "steady"


@table("games", "winner")
def rock_paper_scissors(
    _=None, anna=one_of("rock", "paper", "scissors"), bert=one_of("rock", "paper", "scissors")
):
    beats = {("rock", "scissors"), ("paper", "rock"), ("scissors", "paper")}
    pair = (anna, bert)
    return None, "nobody" if pair[0] == pair[1] else "anna" if pair in beats else "bert"


@table("games", "lives status")
def lives(left=3, event=one_of("hit", "heart", "coin")):
    if left > 0:
        left = min(left + {"hit": -1, "heart": 1, "coin": 0}[event], 5)
    return left, left, "alive" if left > 0 else "dead"


@table("games", "facing")
def facing(direction=0, turn=one_of("left", "right", "about", "none")):
    direction = (direction + {"left": -1, "right": 1, "about": 2, "none": 0}[turn]) % 4
    return direction, ("north", "east", "south", "west")[direction]


@table("games", "next", "kept")
def whose_turn(player="white", move=one_of("move", "pass", "illegal")):
    if move != "illegal":
        player = "black" if player == "white" else "white"
    return player, player


@table("games", "points")
def combo(run=0, hit=one_of("red", "blue", "miss")):
    run = 0 if hit == "miss" else run + 1
    return run, 2 * run if hit == "red" else run


@table("finance", "balance")
def account(balance=100, kind=one_of("deposit", "withdrawal", "fee"), amount=whole(1, 50)):
    if kind == "deposit":
        balance += amount
    elif kind == "fee":
        balance -= 2
    else:
        balance -= amount
    return balance, balance


@table("finance", "position")
def position(held=0, side=one_of("buy", "sell", "cancel"), lots=whole(1, 4)):
    held += {"buy": lots, "sell": -lots, "cancel": 0}[side]
    held = min(max(held, -10), 10)
    return held, held


@table("finance", "signal")
def signal(state=(50.0, "none"), price=decimal(40, 60, 2)):
    last, _ = state
    answer = "buy" if price > last + 5 else "sell" if price < last - 5 else "hold"
    return (price, answer), answer


@table("finance", "fee", options=("--categories", "branch"))
def branch_codes(_=None, branch=one_of(104, 220, 371, 405, 590), amount=whole(0, 40)):
    return None, amount + (7 if branch in (220, 405) else 0)


@table("finance", "best", "kept")
def best_price(best=60, side=one_of("bid", "ask"), price=whole(40, 60)):
    best = min(best, price) if side == "ask" else best
    return best, best


@table("manufacturing", "mode")
def machine_mode(
    mode="idle", button=one_of("start", "stop", "reset", "none"), fault=one_of(True, False, weights=(1, 4))
):
    if fault:
        mode = "fault"
    elif mode == "fault":
        mode = "idle" if button == "reset" else "fault"
    elif button in ("start", "stop"):
        mode = "running" if button == "start" else "idle"
    return mode, mode


@table("manufacturing", "line")
def two_defects(last="ok", part=one_of("ok", "scratch", "dent")):
    return part, "stop" if part != "ok" and last != "ok" else "go"


@table("manufacturing", "alarm", columns={f"s{number:02d}": whole(0, 9) for number in range(100)})
def many_sensors(_=None, **row):
    return None, row["s17"] + row["s42"] > 12 or row["s80"] == 0


@table("manufacturing", "bin")
def sorter(_=None, colour=one_of("red", "green", "blue"), length=decimal(1, 9, 1)):
    if colour == "blue":
        return None, "B"
    return None, "A" if length <= 4.5 else "C"


@table("manufacturing", "changes", "kept")
def changeovers(state=(None, 0), product=one_of("cup", "bowl", "plate")):
    last, changes = state
    changes += last is not None and product != last
    return (product, changes), changes


@table("manufacturing", "crew", "kept", options=("--time", "time"))
def night_shift(_=None, time=times("2024-09-02", 60, 180, 420)):
    now = moment(time)
    return None, "weekend" if now.weekday() >= 5 else "day" if 6 <= now.hour < 22 else "night"
