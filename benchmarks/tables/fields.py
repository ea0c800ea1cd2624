"""Rules of different fields behind the tables, a third of them kept for a last measurement."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from table import Part, Row, Table, decimal, one_of, times, whole

TABLES: list[Table] = []


def table(name: str, field: str, part: Part = "develop", *, start: Any = None, **described: Any) -> Any:
    """Declares the table of the rule that follows: `rule(state, row) -> state, target, ...`."""

    def declare(rule: Any) -> Any:
        def step(state: Any, row: Row) -> tuple[Any, tuple[Any, ...]]:
            state, *targets = rule(state, row)
            return state, tuple(targets)

        TABLES.append(Table(name, field, part, start=start, step=step, **described))
        return rule

    return declare


def moment(row: Row) -> datetime:
    return datetime.fromisoformat(row["time"])


# Events


@table(
    "door",
    "events",
    start="closed",
    columns={"event": one_of("push", "pull", "key", "wait")},
    targets=("door",),
)
def door(state: str, row: Row) -> tuple[str, str]:
    moves = {
        ("closed", "push"): "open",
        ("open", "pull"): "closed",
        ("closed", "key"): "locked",
        ("locked", "key"): "closed",
    }
    state = moves.get((state, row["event"]), state)
    return state, state


@table("turnstile", "events", start="locked", columns={"event": one_of("coin", "push")}, targets=("result",))
def turnstile(state: str, row: Row) -> tuple[str, str]:
    if row["event"] == "coin":
        return "unlocked", "thanks" if state == "locked" else "returned"
    return "locked", "passed" if state == "unlocked" else "blocked"


@table(
    "repeated_event", "events", columns={"event": one_of("view", "click", "buy", "leave")}, targets=("label",)
)
def repeated_event(last: str | None, row: Row) -> tuple[str, str]:
    return row["event"], "repeat" if row["event"] == last else "new"


@table(
    "caps_lock",
    "events",
    start=False,
    columns={"key": one_of("caps", "shift", "letter", "digit")},
    targets=("shown",),
)
def caps_lock(caps: bool, row: Row) -> tuple[bool, str]:
    if row["key"] == "caps":
        return not caps, "nothing"
    if row["key"] == "letter":
        return caps, "upper" if caps else "lower"
    return caps, "nothing" if row["key"] == "shift" else "digit"


@table(
    "sessions",
    "events",
    "kept",
    start=(None, 0),
    columns={"time": times("2024-03-01", 2, 5, 12, 45, 90)},
    targets=("session",),
    options=("--time", "time"),
)
def sessions(state: tuple[datetime | None, int], row: Row) -> tuple[tuple[datetime, int], int]:
    last, number = state
    now = moment(row)
    number += last is not None and (now - last).total_seconds() > 1800
    return (now, number), number


@table(
    "login_lock",
    "events",
    "kept",
    start=0,
    columns={"attempt": one_of("right", "wrong")},
    targets=("answer",),
)
def login_lock(wrong: int, row: Row) -> tuple[int, str]:
    if wrong >= 3:
        return wrong, "blocked"
    wrong = 0 if row["attempt"] == "right" else wrong + 1
    return wrong, "welcome" if row["attempt"] == "right" else "again" if wrong < 3 else "blocked"


# Logistics


@table(
    "order_status",
    "logistics",
    start="new",
    targets=("status",),
    columns={"event": one_of("pay", "ship", "deliver", "cancel", weights=(4, 4, 4, 1))},
)
def order_status(state: str, row: Row) -> tuple[str, str]:
    moves = {
        ("new", "pay"): "paid",
        ("paid", "ship"): "shipped",
        ("shipped", "deliver"): "delivered",
        ("new", "cancel"): "cancelled",
        ("paid", "cancel"): "cancelled",
    }
    state = moves.get((state, row["event"]), state)
    return state, state


@table(
    "shipping_price",
    "logistics",
    targets=("price",),
    columns={"size": one_of("S", "M", "L"), "express": one_of(True, False), "weight": whole(1, 30)},
)
def shipping_price(_: None, row: Row) -> tuple[None, int]:
    base = {"S": 4, "M": 6, "L": 9}[row["size"]]
    return None, base + (5 if row["express"] else 0) + (row["weight"] if row["weight"] > 20 else 0)


@table(
    "stock",
    "logistics",
    start=20,
    targets=("stock", "reorder"),
    columns={"movement": one_of("in", "out"), "units": whole(0, 9)},
)
def stock(level: int, row: Row) -> tuple[int, int, bool]:
    level = level + row["units"] if row["movement"] == "in" else max(level - row["units"], 0)
    return level, level, level < 15


@table("lift", "logistics", start=0, targets=("floor",), columns={"call": one_of("up", "down", "none")})
def lift(floor: int, row: Row) -> tuple[int, int]:
    floor += {"up": 1, "down": -1, "none": 0}[row["call"]]
    floor = min(max(floor, 0), 6)
    return floor, floor


@table(
    "last_depot",
    "logistics",
    "kept",
    start=(),
    targets=("before",),
    length=20,
    columns={"truck": one_of("T1", "T2", "T3"), "depot": one_of("north", "south", "east")},
)
def last_depot(seen: tuple[tuple[str, str], ...], row: Row) -> tuple[tuple[tuple[str, str], ...], str]:
    before = dict(seen)
    answer = before.get(row["truck"], "none")
    return tuple((before | {row["truck"]: row["depot"]}).items()), answer


@table(
    "weekly_sales",
    "logistics",
    "kept",
    start=(10,) * 7,
    targets=("sales",),
    sequences=60,
    length=60,
    columns={"promotion": one_of(True, False, weights=(1, 5)), "rain": whole(0, 3)},
    options=("--season", "7"),
)
def weekly_sales(last: tuple[int, ...], row: Row) -> tuple[tuple[int, ...], int]:
    sold = last[0] + 2 * row["promotion"] - (1 if row["rain"] == 3 and last[0] > 0 else 0)
    return (*last[1:], sold), sold


# Energy


@table(
    "thermostat",
    "energy",
    start="idle",
    targets=("action",),
    columns={"mode": one_of("heat", "cool", "off"), "room": decimal(15, 28, 1)},
)
def thermostat(_: str, row: Row) -> tuple[str, str]:
    if row["mode"] == "heat" and row["room"] < 20:
        return "heating", "heating"
    if row["mode"] == "cool" and row["room"] > 24:
        return "cooling", "cooling"
    return "idle", "idle"


@table("boiler", "energy", start=False, targets=("on",), columns={"water": decimal(40, 80, 1)})
def boiler(on: bool, row: Row) -> tuple[bool, bool]:
    on = True if row["water"] < 50 else False if row["water"] > 65 else on
    return on, on


@table(
    "tariff",
    "energy",
    targets=("cost",),
    options=("--time", "time"),
    sequences=200,
    length=24,
    columns={"time": times("2024-05-01", 60), "kwh": whole(0, 12)},
)
def tariff(_: None, row: Row) -> tuple[None, int]:
    return None, row["kwh"] * (32 if 7 <= moment(row).hour < 20 else 21)


@table(
    "battery",
    "energy",
    start=4.0,
    targets=("charge",),
    columns={"source": one_of("sun", "grid", "load"), "power": decimal(0, 3, 1)},
)
def battery(charge: float, row: Row) -> tuple[float, float]:
    change = {"sun": 1.0, "grid": 0.5, "load": -1.0}[row["source"]] * row["power"]
    charge = round(min(max(charge + change, 0.0), 10.0), 6)
    return charge, charge


@table(
    "meter_gaps",
    "energy",
    "kept",
    start=0,
    targets=("total",),
    options=("--missing", "drop"),
    holes=0.02,
    columns={"day": whole(0, 9), "night": whole(0, 9)},
)
def meter_gaps(_: int, row: Row) -> tuple[int, int]:
    return 0, 3 * row["day"] + 2 * row["night"]


@table(
    "valve",
    "energy",
    "kept",
    start="shut",
    targets=("valve",),
    columns={"signal": one_of("open", "shut", "hold"), "alarm": one_of(True, False, weights=(1, 4))},
)
def valve(state: str, row: Row) -> tuple[str, str]:
    state = "shut" if row["alarm"] else state if row["signal"] == "hold" else row["signal"]
    return state, state


# Medicine


@table(
    "triage",
    "medicine",
    targets=("level",),
    columns={
        "complaint": one_of("chest pain", "fever", "sprain", "cough"),
        "temperature": decimal(36, 41, 1),
        "age": whole(1, 95),
    },
)
def triage(_: None, row: Row) -> tuple[None, str]:
    if row["complaint"] == "chest pain":
        return None, "red"
    return None, "yellow" if row["temperature"] >= 39.5 or row["age"] >= 80 else "green"


@table(
    "next_dose", "medicine", start=9, targets=("allowed",), length=20, columns={"asked": one_of(True, False)}
)
def next_dose(since: int, row: Row) -> tuple[int, bool]:
    since += 1
    given = row["asked"] and since >= 4
    return (0 if given else since), given


@table(
    "blood_groups",
    "medicine",
    targets=("compatible",),
    columns={"donor": one_of("0", "A", "B", "AB"), "patient": one_of("0", "A", "B", "AB")},
)
def blood_groups(_: None, row: Row) -> tuple[None, str]:
    given, taken = set(row["donor"]) - {"0"}, set(row["patient"]) - {"0"}
    return None, "yes" if given <= taken else "no"


@table(
    "ward",
    "medicine",
    start="home",
    targets=("place",),
    columns={"event": one_of("admit", "operate", "recover", "discharge")},
)
def ward(state: str, row: Row) -> tuple[str, str]:
    moves = {
        ("home", "admit"): "ward",
        ("ward", "operate"): "theatre",
        ("theatre", "recover"): "ward",
        ("ward", "discharge"): "home",
    }
    state = moves.get((state, row["event"]), state)
    return state, state


@table(
    "visits",
    "medicine",
    "kept",
    start=(),
    targets=("visit",),
    length=20,
    columns={"patient": one_of("Ann", "Ben", "Cho", "Dee")},
)
def visits(seen: tuple[str, ...], row: Row) -> tuple[tuple[str, ...], int]:
    return (*seen, row["patient"]), seen.count(row["patient"]) + 1


@table("pulse_trend", "medicine", "kept", start=70, targets=("trend",), columns={"pulse": whole(50, 120)})
def pulse_trend(last: int, row: Row) -> tuple[int, str]:
    change = row["pulse"] - last
    return row["pulse"], "rising" if change > 10 else "falling" if change < -10 else "steady"


# Games


@table(
    "rock_paper_scissors",
    "games",
    targets=("winner",),
    columns={"anna": one_of("rock", "paper", "scissors"), "bert": one_of("rock", "paper", "scissors")},
)
def rock_paper_scissors(_: None, row: Row) -> tuple[None, str]:
    beats = {("rock", "scissors"), ("paper", "rock"), ("scissors", "paper")}
    pair = row["anna"], row["bert"]
    return None, "nobody" if pair[0] == pair[1] else "anna" if pair in beats else "bert"


@table(
    "lives", "games", start=3, targets=("lives", "status"), columns={"event": one_of("hit", "heart", "coin")}
)
def lives(left: int, row: Row) -> tuple[int, int, str]:
    if left > 0:
        left = min(left + {"hit": -1, "heart": 1, "coin": 0}[row["event"]], 5)
    return left, left, "alive" if left > 0 else "dead"


@table(
    "facing",
    "games",
    start=0,
    targets=("facing",),
    columns={"turn": one_of("left", "right", "about", "none")},
)
def facing(direction: int, row: Row) -> tuple[int, str]:
    direction = (direction + {"left": -1, "right": 1, "about": 2, "none": 0}[row["turn"]]) % 4
    return direction, ("north", "east", "south", "west")[direction]


@table(
    "whose_turn",
    "games",
    "kept",
    start="white",
    targets=("next",),
    columns={"move": one_of("move", "pass", "illegal")},
)
def whose_turn(player: str, row: Row) -> tuple[str, str]:
    if row["move"] != "illegal":
        player = "black" if player == "white" else "white"
    return player, player


@table("combo", "games", start=0, targets=("points",), columns={"hit": one_of("red", "blue", "miss")})
def combo(run: int, row: Row) -> tuple[int, int]:
    run = 0 if row["hit"] == "miss" else run + 1
    return run, 2 * run if row["hit"] == "red" else run


# Finance


@table(
    "account",
    "finance",
    start=100,
    targets=("balance",),
    columns={"kind": one_of("deposit", "withdrawal", "fee"), "amount": whole(1, 50)},
)
def account(balance: int, row: Row) -> tuple[int, int]:
    if row["kind"] == "deposit":
        balance += row["amount"]
    elif row["kind"] == "fee":
        balance -= 2
    else:
        balance -= row["amount"]
    return balance, balance


@table(
    "position",
    "finance",
    start=0,
    targets=("position",),
    columns={"side": one_of("buy", "sell", "cancel"), "lots": whole(1, 4)},
)
def position(held: int, row: Row) -> tuple[int, int]:
    held += {"buy": row["lots"], "sell": -row["lots"], "cancel": 0}[row["side"]]
    held = min(max(held, -10), 10)
    return held, held


@table("signal", "finance", start=(50.0, "none"), targets=("signal",), columns={"price": decimal(40, 60, 2)})
def signal(state: tuple[float, str], row: Row) -> tuple[tuple[float, str], str]:
    last, _ = state
    answer = "buy" if row["price"] > last + 5 else "sell" if row["price"] < last - 5 else "hold"
    return (row["price"], answer), answer


@table(
    "branch_codes",
    "finance",
    targets=("fee",),
    options=("--categories", "branch"),
    columns={"branch": one_of(104, 220, 371, 405, 590), "amount": whole(0, 40)},
)
def branch_codes(_: None, row: Row) -> tuple[None, int]:
    return None, row["amount"] + (7 if row["branch"] in (220, 405) else 0)


@table(
    "best_price",
    "finance",
    "kept",
    start=60,
    targets=("best",),
    columns={"side": one_of("bid", "ask"), "price": whole(40, 60)},
)
def best_price(best: int, row: Row) -> tuple[int, int]:
    best = min(best, row["price"]) if row["side"] == "ask" else best
    return best, best


# Manufacturing


@table(
    "machine_mode",
    "manufacturing",
    start="idle",
    targets=("mode",),
    columns={
        "button": one_of("start", "stop", "reset", "none"),
        "fault": one_of(True, False, weights=(1, 4)),
    },
)
def machine_mode(mode: str, row: Row) -> tuple[str, str]:
    if row["fault"]:
        mode = "fault"
    elif mode == "fault":
        mode = "idle" if row["button"] == "reset" else "fault"
    elif row["button"] in ("start", "stop"):
        mode = "running" if row["button"] == "start" else "idle"
    return mode, mode


@table(
    "two_defects",
    "manufacturing",
    start="ok",
    targets=("line",),
    columns={"part": one_of("ok", "scratch", "dent")},
)
def two_defects(last: str, row: Row) -> tuple[str, str]:
    return row["part"], "stop" if row["part"] != "ok" and last != "ok" else "go"


@table(
    "many_sensors",
    "manufacturing",
    targets=("alarm",),
    columns={f"s{number:02d}": whole(0, 9) for number in range(100)},
)
def many_sensors(_: None, row: Row) -> tuple[None, bool]:
    return None, row["s17"] + row["s42"] > 12 or row["s80"] == 0


@table(
    "sorter",
    "manufacturing",
    targets=("bin",),
    columns={"colour": one_of("red", "green", "blue"), "length": decimal(1, 9, 1)},
)
def sorter(_: None, row: Row) -> tuple[None, str]:
    if row["colour"] == "blue":
        return None, "B"
    return None, "A" if row["length"] <= 4.5 else "C"


@table(
    "changeovers",
    "manufacturing",
    "kept",
    start=(None, 0),
    targets=("changes",),
    columns={"product": one_of("cup", "bowl", "plate")},
)
def changeovers(state: tuple[str | None, int], row: Row) -> tuple[tuple[str, int], int]:
    last, changes = state
    changes += last is not None and row["product"] != last
    return (row["product"], changes), changes


@table(
    "night_shift",
    "manufacturing",
    "kept",
    targets=("crew",),
    options=("--time", "time"),
    columns={"time": times("2024-09-02", 60, 180, 420)},
)
def night_shift(_: None, row: Row) -> tuple[None, str]:
    now = moment(row)
    return None, "weekend" if now.weekday() >= 5 else "day" if 6 <= now.hour < 22 else "night"
