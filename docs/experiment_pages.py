"""The pages of the paper's experiments, and the page that says where we are better, equal or worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from figures import machine, taken, taken_list
from page_text import page, table, unmeasured
from weights2code.experiments import registry
from weights2code.experiments.tables import Line, Table, markdown_table

#: The ways in which an experiment is run, and the flags that ask for each.
WAYS = {"fast": "", "paper": " --recipe paper --device cuda", "concat": " --layout concat"}
WORDS = {
    "fast": "the fast recipe",
    "paper": "the paper's recipe",
    "concat": "the fast recipe, inputs and outputs in one sequence",
}
STANDINGS = ("better", "equal", "mixed", "worse")

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Experiments:
    """What `w2c experiment` left, by name and way; and its figures, as text."""

    records: Mapping[tuple[str, str], Record]
    figures: Mapping[tuple[str, str], str]

    def of(self, name: str) -> list[tuple[str, Record]]:
        return [(way, self.records[name, way]) for way in WAYS if (name, way) in self.records]

    @property
    def standing(self) -> Counter[str]:
        """Rows of all tables made with the fast recipe, by how they stand beside the paper's."""
        total: Counter[str] = Counter()
        for (_, way), record in self.records.items():
            if way == "fast":
                total.update(record["standing"])
        return total


def folder(name: str, way: str) -> str:
    """Where the record of an experiment lies, under benchmarks/."""
    return f"experiments/{name}" + ("" if way == "fast" else f"_{way}")


def file_name(name: str) -> str:
    return f"experiment_{name}"


def command(name: str, way: str = "fast") -> str:
    return f"w2c experiment {name}{WAYS[way]} --out benchmarks/{folder(name, way)}"


def all_pages(found: Experiments) -> dict[str, str]:
    """Every page and figure, by its name in docs/results/."""
    made = {f"{file_name(name)}.md": experiment_page(name, found) for name in registry.NAMES}
    made["compared_with_the_paper.md"] = compared(found)
    for (name, way), text in found.figures.items():
        made[f"{file_name(name)}_{way}.svg"] = text
    return made


def title_of(name: str) -> str:
    text = registry.get(name).reproduces
    return text[0].upper() + text[1:]


def experiment_page(name: str, found: Experiments) -> str:
    measured = found.of(name)
    if not measured:
        return page(title_of(name), unmeasured(command(name)))
    parts = []
    for way, record in measured:
        parts.append(f"## T{WORDS[way][1:]}")
        if record["standing"]:
            parts.append(f"Rows beside the paper's: {counts(record['standing'])}.")
        parts.append(markdown_table(Table.from_dict(record["table"])))
        parts += record["table"]["notes"]
        if (name, way) in found.figures:
            parts.append(f"![{title_of(name)}]({file_name(name)}_{way}.svg)")
        if record["failed"]:
            parts.append(f"Runs that ended in an error: {', '.join(record['failed'])}.")
        parts.append(made_by(record))
        parts += [made_by(part, "Its models were trained before") for part in record.get("trained_by", ())]
    return page(title_of(name), *parts)


def counts(standing: Mapping[str, int]) -> str:
    return ", ".join(f"{standing[word]} {word}" for word in STANDINGS if standing.get(word))


def made_by(record: Record, what: str = "Taken") -> str:
    return taken(record, "seeds " + ", ".join(map(str, record["options"]["seeds"])), what)


# -- beside the paper ---------------------------------------------------------------------------------------


def compared(found: Experiments) -> str:
    """Where we are better, equal or worse than the paper; every word from the records."""
    title = "Compared with the paper"
    missing = [name for name in registry.NAMES if not found.of(name)]
    rows, details = [], []
    for name in registry.NAMES:
        for way, record in found.of(name):
            standing = record["standing"]
            if standing:
                link = f"[{name}]({file_name(name)}.md)"
                rows.append((link, way, *(standing.get(word, 0) for word in STANDINGS)))
            details += behind(name, way, record)
    if not rows:
        return page(title, unmeasured(command("table1")))
    return page(
        title,
        "Every table of the paper, row by row. *Better*: at least one of the row's measures is better and "
        "none is worse; *mixed*: some are better and some worse; errors below 1e-6 on both sides are equal. "
        "The measures are accuracy and RMSE (Table 1), MSE (architectures, annealing), success rate, lines "
        "of the listing and RMSE (robustness), lines and RMSE (pruning, l1), RMSE (arity, attention), and "
        "whether the same is found (interventions, unmatched heads). Dynamics is a figure without numbers, "
        "and baselines and cost are ours. Ways: `fast` and `paper` are recipes; `concat` is the fast one "
        "with inputs and outputs in one sequence for every task, where the experiment itself does so only "
        "for tasks that track a state, as the paper says it did.",
        table(("experiment", "way", *STANDINGS), rows),
        "## Where we are worse, or mixed",
        "\n\n".join(details) if details else "Nowhere, in what was measured.",
        cost(found),
        f"Not measured yet: {', '.join(missing)}." if missing else "",
        "## When it was taken",
        taken_list((f"{n} ({way})", record) for n in registry.NAMES for way, record in found.of(n)),
    )


def behind(name: str, way: str, record: Record) -> list[str]:
    """The rows of one experiment that are not at least equal, with both numbers and the reason."""
    whole = Table.from_dict(record["table"])
    lines = [line for line in whole.lines if line.standing in ("worse", "mixed")]
    if not lines:
        return []
    shown = {key: text for key, text in whole.columns.items() if key not in ("formula", "nearest")}
    marked = [Line({**line.cells, "why": line.why or None}, line.standing) for line in lines]
    part = Table({**shown, "why": "why"}, marked)
    return [
        f"### [{name}]({file_name(name)}.md), {WORDS[way]}",
        markdown_table(part),
    ]


def cost(found: Experiments) -> str:
    """Seconds to a program on each task: the paper's recipe against the fast one."""
    both = dict(found.of("table1"))
    if not {"fast", "paper"} <= set(both):
        return ""
    seconds = {
        way: {line["cells"]["task"]: line["cells"]["seconds"] for line in record["table"]["lines"]}
        for way, record in both.items()
    }
    rows = [
        (task, f"{fast:.1f}", f"{slow:.1f}", f"{slow / fast:.3g}")
        for task, fast in seconds["fast"].items()
        if fast and (slow := seconds["paper"].get(task))
    ]
    trained = both["paper"].get("trained_by", [both["paper"]])[-1]
    if both["fast"]["machine"] == trained["machine"]:
        where = f"Both on {machine(trained)}."
    else:
        where = f"Fast on {machine(both['fast'])}; the paper's recipe on {machine(trained)}: not one machine."
    head = ("task", "fast, seconds a seed", "paper's recipe, seconds for all seeds", "ratio")
    return f"## Time to a program\n\n{where}\n\n{table(head, rows)}"
