"""The result of a run as people read it: the rule first, then how far it can be trusted."""

from __future__ import annotations

from typing import Any

from weights2code.results import Outcome, in_short
from weights2code.run_folder import RunFolder


def as_dict(outcome: Outcome, folder: RunFolder) -> dict[str, Any]:
    """The result as plain data, for `--json`."""
    program, certificate = outcome.program, outcome.certificate
    return {
        "source": str(folder.source),
        "exit_code": outcome.exit_code,
        "message": outcome.message,
        "hints": list(outcome.hints),
        "formula": program.formula().splitlines() if program else None,
        "lines": program.body if program else None,
        "operations": program.operations if program else None,
        "certificate": certificate.to_dict() if certificate else None,
        "alternatives": [other.to_dict() for other in outcome.alternatives],
        "attempts": [attempt.to_dict() for attempt in outcome.attempts],
        "seconds": round(outcome.seconds, 3),
        "folder": str(folder.path),
        "files": folder.files(),
    }


def facts(outcome: Outcome, folder: RunFolder) -> list[tuple[str, str]]:
    """What stands below the formula, as pairs of a word and a text."""
    rows: list[tuple[str, str]] = []
    certificate = outcome.certificate
    if outcome.broken:
        rows.append(("broken link", outcome.broken))
    if certificate:
        rows += [("verdict", certificate.verdict), ("why", in_short(certificate))]
        accuracy = "" if certificate.accuracy is None else f", right {100 * certificate.accuracy:.6g} %"
        rows.append(
            ("error", f"largest {certificate.max_abs_error:.3g}, typical {certificate.rmse:.3g}{accuracy}")
        )
        for word, network in (("network", certificate.network), ("another network", certificate.taught)):
            rows += [(word, f"{network.verdict}; {network.brief()}")] if network else []
        if certificate.listing and not certificate.listing.exact:
            rows.append(("listing", f"not exactly the network; {certificate.listing.brief()}"))
        rows += [("note", note) for note in certificate.notes]
    else:
        rows.append(("result", outcome.message))
    rows += [("rules", str(other)) for other in outcome.alternatives]
    rows += [("hint", hint) for hint in outcome.hints]
    rows.append(("time", f"{outcome.seconds:.1f} s"))
    if outcome.exit_code:
        rows += [("tried", text) for text in dict.fromkeys(attempt.brief() for attempt in outcome.attempts)]
    rows.append(("files", f"{folder.path}: {', '.join(folder.files())}"))
    return rows


def plain_lines(outcome: Outcome, folder: RunFolder, *, brief: bool = False) -> list[str]:
    """The result as lines; `brief` leaves the formula and the verdict."""
    formula = outcome.program.formula().splitlines() if outcome.program else []
    if brief:
        certificate = None if outcome.broken else outcome.certificate
        return [*formula, certificate.verdict if certificate else outcome.message]
    return [*formula, *(f"{word}: {text}" for word, text in facts(outcome, folder))]


def show_panel(outcome: Outcome, folder: RunFolder) -> None:
    """The result as a panel on the terminal."""
    from rich.console import Console, Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for word, text in facts(outcome, folder):
        table.add_row(Text(word, style="dim"), Text(text))
    formula = Text(outcome.program.formula() if outcome.program else "no program", style="bold")
    colour = {0: "green", 1: "red"}.get(outcome.exit_code, "yellow")
    Console().print(
        Panel(Group(formula, Text(), table), title=str(folder.source), border_style=colour, expand=False)
    )
