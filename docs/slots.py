"""What the slots of pages hold: tables and counts, each made from the record of a benchmark.

Records are named as `benchmarks/renew.py` names them. A slot is a function of the words that a page gives it;
most are tables declared column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import figures
from experiment_slots import (
    NAMES,
    behind,
    compared,
    experiment,
    experiment_sources,
    place_of,
    protocol,
    times,
    ways_of,
)
from measured import (
    COUNTS,
    Columns,
    NotMeasured,
    Row,
    Rows,
    counted,
    known,
    largest,
    networks,
    number,
    program,
    proved,
    record,
    renew,
    rows,
    shown,
)
from summary_slots import BESIDE, mips_solved, sources, summary
from weights2code import tasks
from weights2code.experiments import paper_numbers
from weights2code.experiments.cases import ANNEALED, WAYS
from weights2code.experiments.limits import LIMITS, failure
from weights2code.experiments.tables import Cell, grouped, listed, markdown, members_of, middle, part


def made(name: str, words: Sequence[str]) -> str:
    """What a slot holds."""
    try:
        return SLOTS[name](*words)
    except NotMeasured as missing:
        return f"Not measured yet. The command is: `python benchmarks/renew.py {missing}`"


def taken(name: str, what: str = "Taken") -> str:
    return figures.taken(record(name).head, what=what)


def suite(name: str) -> str:
    """A line a task: seeds solved, verdicts, seconds, program; what MIPS and regression alone solve."""
    others = {"MIPS": mips_solved()} if name == "mips" else {}
    if name == "mips" and known("baselines"):
        for (way,), found in grouped(rows("baselines"), "way").items():
            if "lags" in way:
                others[way] = {row["task"] for row in found if row.get("solved")}
    beside: dict[str, Cell] = {
        way: lambda found, solved=solved: found[0]["task"] in solved for way, solved in others.items()
    }
    theirs = paper_numbers.by_task("table1")
    if name == "four":
        beside["paper: accuracy"] = lambda found: theirs[found[0]["task"]]["accuracy"]
    columns = {"task": "task", "solved": part("solved"), "proved": part(proved), "seconds": middle("seconds")}
    return listed(rows(name), columns | {"program": program} | beside, by=("task",))


def languages(finite: str) -> str:
    """A line a language, beside what merged states give."""
    columns: Columns = {
        "language": lambda found: (tasks.get(found[0]["task"]).name, *tasks.get(found[0]["task"]).aliases)[
            -1
        ],
        **COUNTS,
        "lines": lambda found: shown(found).get("body"),
        "operations": lambda found: shown(found).get("operations"),
        "program": program,
        "RPNI: states": lambda found: ", ".join(
            dict.fromkeys(str(row["rpni_states"] or "-") for row in found)
        ),
        "right": part("rpni_exact"),
        "RPNI, seconds": middle("rpni_seconds"),
    }
    return listed(rows("languages", finite=finite == "finite"), columns, by=("task",))


def language_rows() -> str:
    """How often a fit of so many sequences is solved, and how often merged states are right."""

    def of(count: int, has: str) -> Cell:
        return lambda found: part(has)([row for row in found if row["sequences"] == count])

    columns: Columns = {"language": "task"}
    for count in dict.fromkeys(row["sequences"] for row in rows("language_rows")):
        columns |= {f"{count} sequences": of(count, "solved"), f"{count}, RPNI": of(count, "rpni_exact")}
    return listed(rows("language_rows"), columns, by=("task",), total="all")


def by(name: str, key: str, memory: str = "") -> str:
    """Counts by what the rows have in common; `memory` leaves some out, such as `-hidden`."""
    chosen = [row for row in rows(name) if not memory or row["memory"] != memory.removeprefix("-")]
    return listed(sorted(chosen, key=lambda row: str(row[key])), {key: key, **COUNTS}, by=(key,), total="all")


def missed(name: str) -> str:
    """What was not solved, and what limits it."""
    found = [row for row in rows(name) if not row["solved"]]
    columns: Columns = {
        "": lambda found: found[0].get("name") or f"{found[0]['task']}, seed {found[0]['seed']}",
        "rule": "rule",
        "limit": lambda found: getattr(failure(found[0]), "limit", None),
        "evidence": lambda found: getattr(failure(found[0]), "evidence", None),
    }
    if not any("rule" in row for row in found):
        del columns["rule"]
    return listed(found, columns) if found else "There is none."


def own_files(name: str, group: str = "") -> str:
    """Files of our own invention, and what Operon on lagged variables gives beside us."""
    theirs = {row["name"]: row for found in known("operon").values() for row in found.rows}
    chosen = [row for row in rows(name) if group in ("", row.get("group"))]
    columns: Columns = {"file": "name", "field": "field"}
    columns |= {"part": "part", "steps": "steps"} if name == "deep" else {}
    columns |= {"solved": "solved", "verdict": "verdict", "network": networks, "seconds": "seconds"}
    columns |= {"rule": "rule"} if name == "deep" else {}
    columns["program"] = program
    if theirs and name == "own_data":
        for lags in (3, 8):
            cell = lambda found, lags=lags: theirs.get(found[0]["name"], {}).get(f"lags_{lags}")  # noqa: E731
            columns[f"Operon, lags to {lags}"] = cell
    return listed(chosen, columns)


def large_files() -> str:
    """What large files cost."""
    columns: Columns = {"file": "file", "rows": lambda found: f"{found[0]['rows']:,}"}
    columns |= {"columns used": "columns_used", "their size, GiB": rounded("columns_gib")}
    columns |= {"memory, GiB": rounded("peak_gib"), "over their size": rounded("times_columns")}
    columns |= {"reading, s": "cpu_seconds_to_read", "PyArrow, s": "arrow_cpu_seconds"}
    columns |= {"in all, s": "seconds", "processor in all, s": "cpu_seconds"}
    return listed(rows("wide"), columns)


def rounded(name: str) -> Cell:
    return lambda found: None if found[0].get(name) is None else round(found[0][name], 2)


def outcome(row: Row) -> str:
    return "solved" if row["solved"] else "tested, not solved" if row["exit"] == 0 else "failed"


def tables(*field: str) -> str:
    """Tables as people have them: outcomes by part and field, or those of a field one by one."""

    def right(key: str) -> Cell:
        return lambda found: part(lambda row: row[key] == "exact")(
            [r for r in found if r[key] in ("exact", "wrong")]
        )

    if field:
        columns: Columns = {"table": "name", "part": "part", "outcome": lambda f: outcome(f[0])}
        columns |= {"verdict": "verdict", "network": networks, "seconds": "seconds"}
        columns |= {title: key for key, title in BESIDE.items()} | {"program": program}
        return listed(rows("tables", field=field[0]), columns)
    words = {"develop": "seen while the package was made", "kept": "kept for this measurement"}
    columns = {"tables": "field", "number": number}
    for word in ("solved", "tested, not solved", "failed"):
        columns[word] = lambda found, word=word: sum(outcome(row) == word for row in found)
    columns |= {"median seconds": middle("seconds")} | {title: right(key) for key, title in BESIDE.items()}
    parts = [
        row | {"field": words[row["part"]]} for row in sorted(rows("tables"), key=lambda row: row["part"])
    ]
    return (
        listed(parts, columns, by=("field",))
        + "\n"
        + "\n".join(listed(rows("tables"), columns, by=("field",), total="all").splitlines()[2:])
    )


#: The groups of networks: title, and which rows belong there.
NETWORKS: dict[str, Callable[[Row], bool]] = {
    "the paper's tasks of whole numbers": lambda row: "paper" in row["suites"] and row["whole"],
    "the paper's continuous tasks": lambda row: "paper" in row["suites"] and not row["whole"],
    "the tasks of MIPS": lambda row: "mips" in row["suites"],
}


def links(what: str) -> str:
    """What is known of networks: by group, by task, or the bounds of continuous tasks beside the paper."""
    found = rows("links")
    if what == "groups":
        groups = [row | {"group": name} for name, has in NETWORKS.items() for row in found if has(row)]
        columns: Columns = {"group": "group", "runs": number, "networks": networks}
        return listed(groups, columns | {"median seconds": middle("cpu_seconds")}, by=("group",))
    if what == "tasks":
        columns = {"task": "task", "networks": networks, "covers": "covers"}
        columns |= {"margin": largest("margin", least=True), "error": largest("network_error")}
        columns |= {"trained on": part("trained_on"), "seconds": middle("cpu_seconds")}
        return listed(found, columns | {"link": middle("link_seconds")}, by=("task",)).replace("**", "^")
    theirs = paper_numbers.by_task("table1")
    real = [row for row in found if not row["whole"] and row["task"] in theirs]
    columns = {"task": "task", "bound": largest("network_error")}
    return listed(real, columns | {"paper: RMSE": lambda f: theirs[f[0]["task"]]["rmse"]}, by=("task",))


def laws() -> str:
    """Symbolic regression by itself, beside Operon."""
    columns: Columns = {"group": "group", "engine": "engine", "right": part("solved")}
    columns |= {"holds beyond": part("law"), "median seconds": middle("seconds")}
    return listed(rows("symbolic_regression"), columns, by=("group", "engine"))


def speed(device: str) -> str:
    columns: Columns = {"heads": "label", "run": "run", "ms a step": "ms_per_step"}
    columns |= {"member-steps a second": lambda f: round(f[0]["member_steps_per_second"])}
    return listed(members_of(rows(f"speed_{device}")), columns | {"times plain": "times_plain"})


def steps(what: str) -> str:
    """A training step on a GPU: its programs, its kernels, several at once."""
    found = record("fused_step")
    for row in found.rows:
        row["program"] = f"{row['layers']} layers, {row['positions']} positions"
    if what == "together":
        ratio = lambda rows: rows[0]["alone"] / rows[0]["together"]  # noqa: E731
        columns: Columns = {"programs": "programs", "ms one after the other": "alone"}
        return listed(found.head["together"], columns | {"ms together": "together", "ratio": ratio})
    if what == "kernels":
        names = sorted({name for row in found.rows for name in row["kernels"]})
        kernel: Columns = {"program": "program"}
        kernel |= {n: lambda rows, n=n: rows[0]["kernels"].get(n) for n in names}
        return listed(found.rows, kernel)
    columns = {"program": "program", "members": "members", "ms a step": "milliseconds"}
    columns |= {"MB that it moves": lambda rows: round(rows[0]["bytes"] / 1e6)}
    columns |= {"ms that memory allows": "memory_milliseconds"}
    return listed(found.rows, columns)


def reached(row: Row) -> str:
    """Members at the paper's loss, or at rounding, and the median."""
    losses, limit = sorted(row["losses"]), max(row["paper"] or 0.0, 1e-9)
    return f"{sum(loss <= limit for loss in losses)} of {len(losses)}; {losses[len(losses) // 2]:.1e}"


def recipe(name: str) -> str:
    """What the paper leaves open, varied one thing at a time: a column a task."""
    found = members_of(rows(name))
    columns: Columns = {"variation": "variation"}
    for (task,), own in grouped(found, "task").items():
        title = f"{task} (paper {own[0]['paper']:.1e})" if own[0]["paper"] else task
        columns[title] = lambda f, task=task: next((reached(r) for r in f if r["task"] == task), None)
    return listed(found, columns, by=("variation",))


def unread() -> str:
    """What the members of the drops read, and how far that goes."""
    found = rows("unread")
    lines = []
    for index, floor in enumerate(found[0]["floors"]):
        count, both = floor["coefficients"], floor["both_heights"]
        name = f"the last height, {count} coefficient{'s' * (count > 1)}{', the height before' * both}"
        lines.append((name, *(f"{row['floors'][index]['loss']:.1e}" for row in found)))
    losses = [sorted(member["loss"] for member in row["members"]) for row in found]
    lines.append(("members of the protocol, best to worst", *(f"{o[0]:.1e} to {o[-1]:.1e}" for o in losses)))
    reading = (f"{sum(1 in m['offsets'] for m in row['members'])} of {len(row['members'])}" for row in found)
    lines.append(("of these with a head that reads the height before the last", *reading))
    return markdown(("known", *(row["task"] for row in found)), lines)


def fixed_length() -> str:
    exact = lambda found: found[0].get("solved", found[0].get("exact"))  # noqa: E731
    columns: Columns = {
        "length": "length",
        "exact": exact,
        "seconds": "seconds",
        "program": program,
    }
    return listed(rows("fixed_length"), columns)


def failures() -> str:
    """Every run that was not solved, or solved but not proved; a line for each limit of a task."""
    met: dict[tuple[str, str, str], tuple[list[str], str]] = {}
    for name, title in {"mips": "MIPS", "table1": "the paper", "own_data": "own data"}.items():
        for row in known(name)[name].rows if known(name) else ():
            if row.get("status", "done") != "done" or (name == "own_data" and row["solved"]):
                continue  # on own data nothing can be proved
            if found := failure(row):
                key = (title, row.get("task") or row["name"], found.limit)
                met.setdefault(key, ([], found.evidence))[0].append(str(row.get("seed", "")))
    lines = [(*key[:2], ", ".join(seeds), key[2], why) for key, (seeds, why) in met.items()]
    return markdown(("suite", "task", "seeds", "limit", "evidence"), lines) if lines else "There are none."


def limits() -> str:
    return markdown(("limit", "meaning"), LIMITS.items())


def origins() -> str:
    """Where the rules of the ledger's runs came from, group by group."""

    def total(name: str) -> Cell:
        return lambda found: sum(row[name] for row in found)

    counts = {name: total(name) for name in ("runs", "solved", ANNEALED, *WAYS)}
    return listed(rows("origins"), {"suite": "group", **counts}, by=("group",), total="all")


def decompiled(part: str) -> str:
    """Models that were decompiled: the rule, the departure, what it took; beside AALpy."""

    def of(way: str) -> Cell:
        def cell(found: Rows) -> str:
            said = found[0].get(way) or {}
            return f"{said['queries']}, {said['seconds']}, {said['states'] or 'none'}" if said else ""

        return cell

    def departs(found: Rows) -> str:
        row = found[0]
        where = (
            "" if row.get("departs") is None else f"{row['departs']}{' (proven)' if row['proven'] else ''}"
        )
        return where + (f", known {row['known']}" if row.get("known") else "")

    rule = lambda f: "meant" if f[0]["right"] else "none" if f[0]["formula"] is None else "another"  # noqa: E731
    columns: Columns = {"model": "name", "rule": rule, "departs after": departs}
    columns |= {"questions for the rule": "rule_queries", "its seconds": "rule_seconds", "in all": "seconds"}
    found = rows(f"decompile_{part}")
    if any("L*" in row for row in found):
        columns |= {"AALpy L\\*: questions, seconds, states": of("L*"), "KV": of("KV")}
    right = sum(row["right"] for row in found)
    return f"{listed(found, columns)}\n\nThe meant rule came out of {right} of {len(found)} models."


# -- attacks ------------------------------------------------------------------------------------------------


def attacks() -> str:
    """A line an attack."""
    lines = []
    for name in renew.ATTACKS:
        head = known(name)[name].head if known(name) else {}
        whole = f" of {head['whole']}" if head and head["cases"] < head.get("whole", 0) else ""
        slowest = f"{head['slowest']:.1f} s" if head else "-"
        lines.append(
            (f"[{name}](#{name})", f"{head.get('cases', '-')}{whole}", head.get("failures", "-"), slowest)
        )
    return markdown(("attack", "cases", "failures", "slowest case"), lines)


def attack(name: str) -> str:
    """An attack by its kinds of cases, then what failed."""
    head = record(name).head
    lines = [
        (
            kind["kind"] or "(no answer)",
            kind["cases"],
            ", ".join(f"{word or 'as it should'}: {n}" for word, n in kind["outcomes"].items()),
            kind["failures"],
        )
        for kind in record(name).rows
    ]
    parts = [markdown(("kind", "cases", "outcomes", "failures"), lines)]
    for row in head["failed"]:
        last = row["failure"].strip().splitlines()[-4:]
        parts.append(
            "\n".join(["````text", f"{row['number']}: {row['kind'] or '(no answer)'}", *last, "````"])
        )
    return "\n\n".join([*parts, figures.taken(head)])


# -- gallery ------------------------------------------------------------------------------------------------


@cache
def gallery_runs() -> dict[str, Row]:
    """The run that stands for each solved task."""
    runs = [row for name in ("table1", "mips") for found in known(name).values() for row in found.rows]
    found = {task: shown(own) for (task,), own in grouped(list(reversed(runs)), "task").items()}
    return {task.name: found[task.name] for task in tasks.all_tasks("all") if found.get(task.name)}


def gallery() -> str:
    parts = []
    for name, run in gallery_runs().items():
        described = tasks.get(name).description
        lines = [f"## {name}", f"{described[0].upper()}{described[1:]}.", f"```\n{run['formula']}\n```"]
        lines.append(
            f"**{run['verdict']}** (seed {run['seed']}, {run['seconds']:.1f} s). {run['explanation']}"
        )
        lines += [f"Note: {note}." for note in run.get("notes", ())]
        folded = (
            {"invariant": "```\n" + "\n".join(run["invariant"]) + "\n```"} if run.get("invariant") else {}
        )
        if run.get("source"):
            folded[f"{name}.py"] = f"```python\n{run['source'].rstrip()}\n```"
        lines += [f"<details><summary>{t}</summary>\n\n{text}\n\n</details>" for t, text in folded.items()]
        parts.append("\n\n".join(lines))
    return "\n\n".join(parts)


def files() -> dict[str, str]:
    """What pages show as files of their own: figures of experiments."""
    made = {}
    for name in NAMES:
        for way in ways_of(name):
            if (figure := place_of(name, way, "figure.svg")).exists():
                made[f"docs/results/experiment_{name}_{way}.svg"] = figure.read_text(encoding="utf-8")
    return made


_NAMED = (
    attack, attacks, behind, by, compared, decompiled, experiment, experiment_sources, failures,
    fixed_length, gallery, languages, language_rows, large_files, laws, limits, links, missed, origins,
    own_files, protocol, recipe, sources, speed, steps, suite, summary, tables, taken, times, unread,
)  # fmt: skip
SLOTS: dict[str, Callable[..., str]] = {
    **{slot.__name__: slot for slot in _NAMED},
    "counts": lambda name: counted(rows(name)),
    "counts_of_group": lambda name, group: counted(rows(name, group=group)),
    "head": lambda name, key: str(record(name).head.get(key, "-")),
    "networks": lambda name: networks(rows(name)),
    "kept": lambda: listed(rows("kept"), {name: name for name in rows("kept")[0]}),
}
