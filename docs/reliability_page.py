"""The page of the attacks on what the system claims: how many cases, what was checked, what did not hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from figures import taken
from page_text import RENEW, page, table, unmeasured

Summary = Mapping[str, Any]

#: The attacks in the order of the page, and what each of them checks.
CHECKED = {
    "mutants": "a changed program is never called right where it differs from its specification, nor wrong "
    "where it does not",
    "machines": "hand-made machines get the verdict that is true of them",
    "steps": "a program is never called equal to a plain function that answers otherwise when it is called, "
    "and states that cannot be told apart are refused",
    "awkward": "what is no number, infinite, huge or a decimal, powers and steps that stop the text earn no "
    "verdict that the text contradicts",
    "weights": "a trained network with one weight changed is never called equal to its program where it "
    "differs from it, and a counterexample shows what it says",
    "networks": "networks made by hand, and programs that are right but for something rare, get no verdict "
    "that running them contradicts",
    "chain": "one change in one file of a run is found and named by `w2c verify`",
    "unsolvable": "data without a rule, or with half of one, end with a verdict, not with an error",
    "folders": "a run folder that was tampered with is refused in a sentence or judged by what it holds, and "
    "nothing in it is executed",
    "provenance": "how a run came about, forged in its folder, is repeated by no command",
    "files": "damaged and strange data files are read as they are meant or refused in a sentence",
    "kills": "a command that was killed at any moment goes on to the same result",
    "interrupts": "Ctrl-C at any moment ends with one line and exit code 130",
    "repeats": "the same data and seed give the same text, also beside other work and under other hash "
    "seeds, threads and locales",
}
#: Lines of a failure that the page shows, from its end, where a traceback names the error.
MOST_LINES = 4


def reliability(found: Mapping[str, Summary]) -> str:
    """One table of all attacks, then each by its kinds of cases, then what failed."""
    head = ("attack", "cases", "what is checked", "failures", "slowest case")
    return page(
        "Reliability",
        "What the system claims is attacked by the programs under `benchmarks/reliability/`. Each makes its "
        "cases from a number and a seed, runs every one in a process of its own, and knows from elsewhere "
        "what is right. A *failure* is a wrong verdict, a traceback, a hang, too much memory, or whatever "
        "else the attack says must not be.",
        table(head, [_line(name, found.get(name)) for name in CHECKED]),
        *(part for name in CHECKED for part in _details(name, found.get(name))),
    )


def _line(name: str, summary: Summary | None) -> tuple[Any, ...]:
    link = f"[{name}](#{name})"
    if summary is None:
        return link, "not measured yet", CHECKED[name], "-", "-"
    cases = f"{summary['cases']}" if is_whole(summary) else f"{summary['cases']} of {summary['whole']}"
    return link, cases, CHECKED[name], summary["failures"], f"{summary['slowest']:.1f} s"


def is_whole(summary: Summary) -> bool:
    """Whether all cases of the attack were tried, not a share of them."""
    return summary["cases"] >= summary.get("whole", 0)


def _details(name: str, summary: Summary | None) -> list[str]:
    title = f"## {name.capitalize()}"
    if summary is None:
        return [title, unmeasured(RENEW.format(name))]
    rows = [
        (kind["kind"] or "(no answer)", kind["cases"], _outcomes(kind["outcomes"]), kind["failures"])
        for kind in summary["kinds"]
    ]
    return [
        title,
        table(("kind", "cases", "outcomes", "failures"), rows),
        _failures(summary) if summary["failures"] else "",
        taken(summary),
    ]


def _outcomes(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{outcome or 'as it should'}: {number}" for outcome, number in counts.items())


def _failures(summary: Summary) -> str:
    shown, number = summary["failed"], summary["failures"]
    count = f"The first {len(shown)} of {number} failures" if len(shown) < number else "Failures"
    lines = [line for row in shown for line in _failure(row)]
    return "\n".join([f"{count}, with the numbers of their cases:\n", "````text", *lines, "````"])


def _failure(row: Mapping[str, Any]) -> list[str]:
    last = row["failure"].strip().splitlines()[-MOST_LINES:]
    return [f"{row['number']}: {row['kind'] or '(no answer)'}", *(f"    {line.rstrip()}" for line in last)]
