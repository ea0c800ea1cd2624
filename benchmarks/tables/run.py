"""Fit tables as users would, with `w2c fit`, and judge the programs by `w2c predict` on fresh ones.

    python benchmarks/tables/run.py [--part develop|kept|all] [--time-limit S] [--processes N]
                                    [--only NAME ...]

Programs are judged like all others, by what `w2c predict` answers. Tested but not solved: the fit ended with
exit code 0 all the same. The kept part is for one measurement at the end. Beside it what people would do
without us (`baselines.py`).
"""

from __future__ import annotations

from baselines import baselines
from fields import TABLES
from table import Table, fitted, predicted, with_holes, write

from weights2code.experiments.benchmark import Options, run
from weights2code.experiments.jobs import Row

__all__ = ["TABLES", "predicted", "with_holes", "write"]


def cases(options: Options) -> dict[str, tuple[Table, float]]:
    chosen = (table for table in TABLES if options.part in ("all", table.part))
    return {table.name: (table, options.time_limit) for table in chosen}


def measure(asked: tuple[Table, float]) -> Row:
    """Ours, and the others' answers."""
    table, time_limit = asked
    ours = fitted(table, time_limit)
    return ours | baselines(table, ours["seconds"])


def show(row: Row) -> str:
    """How it went, ours and theirs."""
    ours = "solved" if row["solved"] else f"exit {row['exit']}"
    beside = ", ".join(f"{name} {row.get(name)}" for name in ("tree", "rpni", "operon"))
    said = row["error"] or " ; ".join(row["formula"] or ())
    return f"{row['key']:20} {ours:8} {row['verdict']:14} {row['seconds']:6.1f} s  {beside}  {said}"


def record(options: Options) -> str:
    return "tables" if options.part == "all" else f"tables_{options.part}"


if __name__ == "__main__":
    parts = ["develop", "kept", "all"]
    run(__file__, __doc__, cases, measure, record=record, show=show, part=parts, time_limit=60.0)
