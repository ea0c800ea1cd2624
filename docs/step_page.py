"""The page of a training step on a GPU: how its time divides, and how far it is from what memory allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from figures import taken
from page_text import page, table, unmeasured

COMMAND = "python benchmarks/training/fused_step.py"


def training_step(record: Mapping[str, Any] | None, protocol: Mapping[str, Any] | None = None) -> str:
    """A line a program, a line a kernel, what several programs at once gain, and what the protocol takes."""
    title = "A training step of the paper's models on a GPU"
    if not record:
        return page(title, unmeasured(COMMAND))
    rows = record["rows"]
    programs = [
        (
            f"{row['layers']} layers, {row['positions']} positions",
            row["members"],
            f"{row['milliseconds']:.3f}",
            f"{row['bytes'] / 1e6:.0f}",
            f"{row['memory_milliseconds']:.3f}",
            f"{row['milliseconds'] / row['memory_milliseconds']:.1f}",
        )
        for row in rows
    ]
    names = list(dict.fromkeys(name for row in rows for name in row["kernels"]))
    largest = sorted(names, key=lambda name: -max(row["kernels"].get(name, 0.0) for row in rows))
    kernels = [
        (f"`{name}`" if name != "other" else name, *(f"{row['kernels'].get(name, 0.0):.1f}" for row in rows))
        for name in largest
    ]
    together = [
        (
            row["programs"],
            f"{row['alone']:.3f}",
            f"{row['together']:.3f}",
            f"{row['alone'] / row['together']:.2f}",
        )
        for row in record["together"]
    ]
    head = ("program", "members", "ms a step", "MB that it moves", "ms that memory allows", "ratio")
    return page(
        title,
        "The programs of `w2c experiment protocol`: the four architectures of one depth, three seeds each, "
        "as members of one program, batch 512. A step is about twenty kernels, recorded once and replayed; "
        "nothing of it depends on the host. What memory allows is the time in which the device copies as "
        "many bytes as the kernels leave for each other.",
        table(head, programs),
        f"A copy moves {record['bandwidth']:.2f} TB a second. The rest is waiting and arithmetic: noise, "
        "scores and sparse weights of every query and key.",
        "## Kernel by kernel\n\nMicroseconds of a step.",
        table(("kernel", *(row[0] for row in programs)), kernels),
        "## Several programs at once\n\nIn threads of one process, each with a stream of its own.",
        table(("programs", "ms one after the other", "ms together", "ratio"), together),
        taken(record),
        *(whole(protocol) if protocol else ()),
    )


def whole(protocol: Mapping[str, Any]) -> list[str]:
    """How the time of the whole protocol divides."""
    rows = protocol["rows"]
    trained = protocol.get("trained_by", [protocol])[-1]
    training, data = (sum(row[name] for row in rows) for name in ("training_seconds", "data_seconds"))
    reading = sum(row["extraction_seconds"] for row in rows)
    members = sum(len(row["members"]) for row in rows)
    parts = [
        ("the whole, from start to end", f"{trained['wall_seconds']:.0f}"),
        ("trainings, each from its start to its end, six at once", f"{training:.0f}"),
        ("making the sequences", f"{data:.0f}"),
        ("reading and certifying programs, on processor cores beside the trainings", f"{reading:.0f}"),
    ]
    return [
        f"## The whole protocol\n\n{len(rows)} tasks, {members} members in all "
        "([their results](experiment_protocol.md)).",
        table(("part", "seconds"), parts),
        taken(trained, what="Trained"),
        *([taken(protocol, what="Programs read")] if trained is not protocol else []),
    ]
