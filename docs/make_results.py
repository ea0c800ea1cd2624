"""Make the pages of results, the gallery and the table in the README from what the benchmarks measured.

    python docs/make_results.py            writes docs/results/, docs/gallery/ and the block in README.md
    python docs/make_results.py --check    says what is out of date, and exits with 1 if anything is
    python docs/make_results.py --status   says of every record at which commit it was taken, and whether src/
                                           has changed since

No number in those places is typed by hand: all come from the JSON files under benchmarks/, and what was
not measured yet says so, with the command that measures it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmark_pages as other
import deep_page
import experiment_pages as experiments
import languages_page
import network_page
import random_page
import reliability_page as attacks
import result_pages as pages
from figures import head_of, records, state, taken_list, where, without_state
from recipe_page import recipe
from step_page import training_step
from suite_results import Suite
from tables_page import tables
from weights2code.experiments.registry import NAMES

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- results: written by docs/make_results.py -->"
END = "<!-- end of results -->"


def read(path: str) -> Any:
    """A JSON file of the benchmarks, or None if it was not measured yet."""
    file = ROOT / "benchmarks" / path
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def measured() -> pages.Measured:
    """Everything that the benchmarks left; a comparison counts once it covers every file."""
    own, operon = read("own_data/results/own_data.json"), read("own_data/results/operon.json")
    if own and operon and {row["name"] for row in own["rows"]} - {row["name"] for row in operon["rows"]}:
        operon = None
    return pages.Measured(
        {
            "mips": Suite.read("mips", read("suites/results/mips.json")),
            "paper": Suite.of_experiment("paper", read("experiments/table1/experiment.json")),
        },
        own,
        operon,
        read("random_programs/results/seed3.json"),
        read("symbolic_regression/results/results.json"),
        tuple(read(f"training/results/speed_{device}.json") for device in ("cpu", "cuda")),
        read("own_data/results/fresh_first.json"),
        {name: found for name in attacks.CHECKED if (found := read(f"reliability/results/{name}.json"))},
        read("network/results/links.json"),
        read("random_programs/results/fresh.json"),
        read("random_programs/results/fresh_deep.json"),
        read("own_data/results/deep.json"),
        read("own_data/results/deep_before.json"),
        read("random_programs/results/fresh_first.json"),
        read("languages/results/languages.json"),
        read("languages/results/rows.json"),
        read("random_programs/results/hidden.json"),
        read("tables/results/tables.json"),
        read("own_data/results/wide.json"),
        read("own_data/results/large.json"),
        read("ledger/results/kept.json"),
    )


def judged_anew(root: Path = ROOT) -> dict[str, Any]:
    """The notes of records whose programs were judged again, by the names of the records."""
    heads = {file: head_of(json.loads(file.read_text(encoding="utf-8"))) for file in records(root)}
    return {
        file.relative_to(root / "benchmarks").as_posix(): head["judged"]
        for file, head in heads.items()
        if "judged" in head
    }


def reproduced(root: Path = ROOT) -> experiments.Experiments:
    """The records of `w2c experiment` that are there, and their figures."""
    places = {
        (name, way): root / "benchmarks" / experiments.folder(name, way)
        for name in NAMES
        for way in experiments.WAYS
    }
    files = {
        key: (place / "experiment.json", place / "figure.svg")
        for key, place in places.items()
        if (place / "experiment.json").exists()
    }
    return experiments.Experiments(
        {key: json.loads(record.read_text(encoding="utf-8")) for key, (record, _) in files.items()},
        {key: figure.read_text(encoding="utf-8") for key, (_, figure) in files.items() if figure.exists()},
    )


def texts(root: Path = ROOT) -> dict[str, str]:
    """Every generated file, by its path from the root."""
    found, repeated = measured(), reproduced()
    solved = pages.gallery_runs(found.suites.values())
    made = {
        "docs/results/index.md": pages.index(found, repeated, judged_anew()),
        "docs/results/mips.md": pages.mips(
            found.suites["mips"],
            repeated.records.get(("baselines", "fast")),
            Suite.read("paper", read("suites/results/four.json")),
        ),
        "docs/results/languages.md": languages_page.languages(found.languages, found.language_rows),
        "docs/results/failures.md": pages.failures(
            found.suites, found.own, read("suites/results/fixed_length.json")
        ),
        "docs/results/random_programs.md": random_page.random_programs(
            found.random,
            found.random_fresh,
            found.random_deep,
            found.random_first,
            found.random_hidden,
            found.kept,
        ),
        "docs/results/own_data.md": other.own_data(
            found.own, found.operon, found.own_first, found.wide, found.long
        ),
        "docs/results/tables.md": tables(found.tables),
        "docs/results/paper_recipe.md": recipe(
            [read(f"training/results/{name}.json") for name in ("recipe", "recipe_rates", "recipe_drops")],
            read("training/results/unread.json"),
        ),
        "docs/results/training_step.md": training_step(
            read("training/results/fused_step.json"), read("experiments/protocol_paper/experiment.json")
        ),
        "docs/results/deep_rules.md": deep_page.deep_rules(found.deep_files, found.deep_before),
        "docs/results/symbolic_regression.md": other.symbolic_regression(found.symbolic),
        "docs/results/speed.md": other.speed(found.speed),
        "docs/results/network.md": network_page.network(found.network),
        "docs/results/reliability.md": attacks.reliability(found.reliability),
        "docs/gallery/index.md": pages.gallery(solved, taken_list(pages.heads(found.suites))),
    }
    made |= {f"docs/results/{name}": text for name, text in experiments.all_pages(repeated).items()}
    made |= {f"docs/gallery/{name}.py": run["source"] for name, run in solved.items() if run.get("source")}
    readme = (root / "README.md").read_text(encoding="utf-8")
    made["README.md"] = filled(readme, pages.summary_table(found, repeated, "docs/results/"))
    return made


def filled(text: str, table: str) -> str:
    """The text with the table between the two markers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"README.md needs the lines {BEGIN} and {END}, in this order.")
    return f"{before}{begin}\n{table}\n{end}{after}"


def out_of_date(root: Path = ROOT) -> list[str]:
    """Paths of generated files that are missing, different, or left over.

    What became of `src/` since figures were taken may differ: pages say as of which commit that is meant.
    """
    return _different(texts(root), root, without_state)


def _different(made: dict[str, str], root: Path, compared: Callable[[str], str]) -> list[str]:
    kept = {path: (root / path).read_text(encoding="utf-8") for path in made if (root / path).exists()}
    wrong = [path for path, text in made.items() if compared(kept.get(path, "")) != compared(text)]
    return sorted(wrong + [path for path in _present(root) if path not in made])


def _present(root: Path) -> list[str]:
    found = [*(root / "docs/results").glob("*"), *(root / "docs/gallery").glob("*")]
    return [path.relative_to(root).as_posix() for path in found if path.is_file()]


def write(root: Path = ROOT) -> list[str]:
    """Write what is out of date, remove what is left over; the paths that changed."""
    made = texts(root)
    changed = _different(made, root, str)
    for path in changed:
        file = root / path
        if path not in made:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(made[path], encoding="utf-8")
    return changed


def status(root: Path = ROOT) -> list[str]:
    """A line a record: when it was taken, and whether `src/` is still the same."""
    heads = {file: head_of(json.loads(file.read_text(encoding="utf-8"))) for file in records(root)}
    return [
        f"{file.relative_to(root).as_posix()}: {where(head)}; src/ {state(head, root).text}"
        for file, head in heads.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if out of date")
    parser.add_argument("--status", action="store_true", help="write nothing; how old each record is")
    options = parser.parse_args()
    if options.status:
        print("\n".join(status()))
        return 0
    changed = out_of_date() if options.check else write()
    word = "out of date" if options.check else "written"
    print("\n".join(f"{path}: {word}" for path in changed) or "everything is up to date")
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
