"""The pages of the other benchmarks: own data, symbolic regression, training speed."""

from __future__ import annotations

from statistics import median
from typing import Any

from figures import taken
from network_page import network_counts
from page_text import RENEW, SOLVED, code, networks_of, page, table, unmeasured, yes

Row = dict[str, Any]


#: The groups of own files: their name in the results, in titles and in tables, and what they are.
OWN_GROUPS = (
    ("simple", "Simple files", "simple", ""),
    ("hard", "Harder files", "harder", ""),
    ("fresh", "Fresh files", "fresh", "Written after the package, law first, and fitted once: "),
)


def own_group(row: Row) -> str:
    """The group of a row; old results only say whether a file is hard."""
    return row.get("group", "hard" if row["hard"] else "simple")


def own_data(
    record: Row | None,
    beside: Row | None,
    at_first: Row | None = None,
    wide: Row | None = None,
    long: Row | None = None,
) -> str:
    """Files of our own invention, and what Operon on lagged variables gives beside us."""
    if not record:
        return page("Own data", unmeasured(RENEW.format("own_data")))
    rows, operon, first = (found["rows"] if found else [] for found in (record, beside, at_first))
    theirs = {row["name"]: row for row in operon}
    linked = bool(rows) and all("network" in row for row in rows)  # old results say nothing of networks
    head = ["file", "field", "solved", "verdict", *["network"] * linked, "seconds", "program"]
    head += ["Operon, lags to 3", "lags to 8"] if theirs else []
    parts = []
    for group, title, _, remark in OWN_GROUPS:
        chosen = [row for row in rows if own_group(row) == group]
        if not chosen:
            continue
        cells = [
            (row["name"], row["field"], yes(row["solved"]), row["verdict"],
             *([networks_of(row)] if linked else []), f"{row['seconds']:.1f}", code(row["formula"]),
             *(yes(theirs[row["name"]][f"lags_{lags}"]) for lags in (3, 8) if theirs))
            for row in chosen
        ]  # fmt: skip
        solved, seconds = own_counts(chosen)
        counts = f"{solved} of {len(chosen)} solved, median {seconds:.1f} s. {operon_counts(chosen, operon)}"
        counts += f" Networks: {network_counts(chosen)}." if linked else ""
        if group == "fresh" and first:
            then, took = own_counts(first)
            counts = (
                f"{remark}{then} of {len(first)} solved, median {took:.1f} s. After what that showed was "
                f"mended, with the files no longer unseen: {counts}"
            )
        parts += [f"## {title}", counts.rstrip(), table(head, cells)]
    operon_words = (
        "*Operon*: symbolic regression on all values up to 3 and up to 8 steps back, without a network, in "
        "the time that our fit took (at least 8 s); real targets may be off by 0.1 % of the spread."
    )
    return page(
        "Own data",
        "CSV files of our own invention from different fields, none of them a built-in task. A file is "
        f"{SOLVED} if the program equals the machine behind it, where the file has noise the machine without "
        "noise. The fit sees the file and nothing else. Seconds are wall time on a machine that was shared "
        "with other work.",
        operon_words if theirs else "",
        *parts,
        large_files(wide, long),
        taken(record),
        taken(wide, what="Large files taken") if wide else "",
        taken(long, what="The million steps taken") if long else "",
        taken(at_first, what="At first sight taken") if at_first else "",
        taken(beside, what="Operon's answers taken") if beside else "",
    )


def large_files(wide: Row | None, long: Row | None) -> str:
    """What large files cost."""
    if not wide:
        return f"## Large files\n\n{unmeasured(RENEW.format('wide'))}"
    head = ["file", "rows", "columns used", "their size", "memory", "over their size", "reading", "PyArrow"]
    head += ["until the first rung", "until it is done", "in all", "processor in all"]
    cells = [
        (row["file"], f"{row['rows']:,}", row["columns_used"], f"{row['columns_gib']:.2f} GiB",
         f"{row['peak_gib']:.2f} GiB", f"{row['times_columns']:.2g}", f"{row['cpu_seconds_to_read']:.1f} s",
         f"{row['arrow_cpu_seconds']:.1f} s", f"{row['seconds_until_first_rung']:.0f} s",
         f"{row['seconds_until_first_rung_is_done']:.0f} s", f"{row['seconds']:.0f} s",
         f"{row['cpu_seconds']:.0f} s")
        for row in wide["rows"]
    ]  # fmt: skip
    words = (
        "A tank of one sequence and 96 columns that have nothing to do with it; with three inputs named, or "
        "with all columns, of which the fit finds those that matter. *Their size*: of the columns that are "
        "used, in their own types. *Memory*: the most that the command used, its imports included "
        f"({wide['rows'][0]['gib_at_first']:.2f} GiB). *Reading*: processor time for everything up to the "
        "problem (columns read and looked over, windows cut, of many columns those chosen that matter); "
        "*PyArrow*: its own for the same columns, of Parquet one after the other. All other seconds are wall "
        "time from the start of the command, on two cores that were shared with other work."
    )
    parts = ["## Large files", words, table(head, cells)]
    if long:
        parts.append(
            f"One sequence of {long['size']:,} steps in a CSV file of four columns: "
            f"{long['seconds_until_training']} s until training, {long['seconds']} s in all "
            f"({long['cpu_seconds']} s of the processor), {long['peak_gib']} GiB, {long['verdict']}."
        )
    return "\n\n".join(parts)


def operon_counts(rows: list[Row], operon: list[Row]) -> str:
    """How many of these files Operon gets right; empty if that was not measured."""
    if not operon:
        return ""
    theirs = {row["name"]: row for row in operon}
    found = [theirs[row["name"]] for row in rows]
    counts = (f"{sum(row[f'lags_{lags}'] for row in found)} with lags to {lags}" for lags in (3, 8))
    return f"Operon: {', '.join(counts)}."


def own_counts(rows: list[Row]) -> tuple[int, float]:
    """Solved files, and the median time."""
    return sum(row["solved"] for row in rows), median(row["seconds"] for row in rows)


def symbolic_groups(data: Row) -> list[tuple[str, str, int, int, int, float]]:
    """(group, engine, found, held, of, median seconds), in the order of the file."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for outcome in data["outcomes"]:
        groups.setdefault((outcome["group"], outcome["engine"]), []).append(outcome)
    return [
        (group, engine, sum(o["success"] for o in found), sum(o["law"] for o in found), len(found),
         median(o["seconds"] for o in found))
        for (group, engine), found in groups.items()
    ]  # fmt: skip


def symbolic_regression(data: Row | None) -> str:
    title = "Symbolic regression by itself"
    if not data:
        return page(title, unmeasured(RENEW.format("symbolic_regression")))
    rows = [
        (group, engine, f"{found}/{of}", f"{held}/{of}", f"{seconds:.2f}")
        for group, engine, found, held, of, seconds in sorted(symbolic_groups(data), key=lambda row: row[:2])
    ]
    kinds = ", ".join(f"{name} {version}" for name, version in data["versions"].items())
    return page(
        title,
        "Functions with a known formula: how often each engine finds one that is right on the data, and one "
        "that still holds on a domain twice as wide. *noisy told*: with noise whose size is told; *trees*: "
        "random formulas.",
        table(("group", "engine", "right", "holds beyond", "median seconds"), rows),
        taken(data, kinds),
    )


def speed(runs: tuple[Row | None, ...]) -> str:
    measured = [run for run in runs if run]
    if not measured:
        return page("Training speed", unmeasured(RENEW.format("speed_cpu")))
    parts = []
    for run in measured:
        parts.append(f"## {run['device']}")
        for comparison in run["comparisons"]:
            case = comparison["case"]
            rows = [
                (r["run"], f"{r['ms_per_step']:.2f}", f"{r['member_steps_per_second']:.0f}",
                 f"{r['times_plain']:.1f}")
                for r in comparison["rows"]
            ]  # fmt: skip
            parts += [
                f"{comparison['label'].capitalize()}, batch {case['batch']}, length {case['length']}:",
                table(("run", "ms a step", "member-steps a second", "times plain"), rows),
            ]
        parts.append(taken(run, f"PyTorch {run['torch']}"))
    return page(
        "Training speed",
        "Many restarts train as one batched program. *Plain* is one model written as a textbook would, with "
        "the same outputs and gradients; *batched N* trains N members in one step, *times plain* compares "
        "member-steps a second.",
        *parts,
    )


def fastest(run: Row) -> float:
    """Member-steps a second against the plain loop, the best over all comparisons."""
    return max(row["times_plain"] for comparison in run["comparisons"] for row in comparison["rows"])
