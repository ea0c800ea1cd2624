"""The page, from a run folder alone: what it says, what it never lets through, and how it fails."""

import json
import re
import subprocess
import sys
from html import unescape
from html.parser import HTMLParser

import pytest

from case_table import PROGRAMS
from weights2code import pipeline, results, tasks
from weights2code.cli import main
from weights2code.data import from_task
from weights2code.errors import InputError
from weights2code.explain import ExplainedGraph
from weights2code.extraction.attempt import Attempt
from weights2code.extraction.values import Extraction
from weights2code.language import BITS, Recurrence, Step, Var
from weights2code.program import Program
from weights2code.report import fragment, write_plots, write_report
from weights2code.report.contents import gather
from weights2code.report.javascript import literal, machine
from weights2code.report.listing import listing
from weights2code.report.page import page
from weights2code.results import read_run
from weights2code.run_folder import open_existing

VOID = {"meta", "input", "br", "img", "link"}
EVIL = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>'&\u2028"


class Outline(HTMLParser):
    """Checks nesting while it collects headings, ids and scripts."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.headings, self.ids, self.scripts, self.words, self.tags = [], [], [], [], [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        assert not any(name.startswith("on") for name, _ in attrs)
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] == "script" else self.words).append(data)


def outline(html):
    parser = Outline()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


def test_a_report_from_a_run_folder_alone(report):
    found = outline(report)
    text = " ".join(found.words)
    for said in ("Proved", "Fixed offset 1", "V4_MLP_L0M0", "length 40"):
        assert said in text
    assert "written by hand" not in text  # only the run knew
    assert found.headings[0] == 1
    assert found.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(found.headings, found.headings[1:], strict=False))
    assert len(found.ids) == len(set(found.ids))
    assert {"try", "program", "verdict", "graph", "attention", "operators", "training"} <= set(found.ids)
    assert not re.search(r"https?://|//cdn|@import|url\(", report)
    assert {"header", "nav", "main", "footer", "math", "svg"} <= found.tags


@pytest.mark.slow
def test_a_page_without_torch(run_folder):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from weights2code.report import write_report\n"
        "from weights2code.run_folder import open_existing\n"
        f"with open_existing({str(run_folder)!r}) as folder: print(write_report(folder).stat().st_size)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 10_000


def test_stored_formulas_are_shown_and_not_searched_again(run_folder):
    data = json.loads((run_folder / "graph.json").read_text())
    formula = {"op": "max", "args": [{"var": "V0", "lag": 0}, {"var": "V2", "lag": 0}]}
    entry = {"operands": [0, 2], "formula": formula, "kind": "formula", "max_error": 0.25, "tolerance": 0.5}
    data["formulas"] = {"4": entry}
    (run_folder / "graph.json").write_text(json.dumps(data))
    with open_existing(run_folder) as folder:
        contents = gather(folder)
    assert contents.explained is not None
    assert str(contents.explained.operators[4].formula) == "max(V0[t], V2[t])"
    assert "on the data 0.25" in page(contents)


@pytest.mark.parametrize("name", ["metrics.jsonl", "graph.json", "certificate.json"])
@pytest.mark.parametrize("damage", ["{", '{"a": 1}', "[]"])
def test_damaged_folders_are_refused_and_left_alone(run_folder, name, damage):
    (run_folder / name).write_text(damage)
    with open_existing(run_folder) as folder, pytest.raises(InputError, match=r"damaged|corrupt"):
        write_report(folder)
    assert (run_folder / name).read_text() == damage
    assert not (run_folder / "report.html").exists()


def test_a_source_that_is_gone_leaves_a_page_that_says_so(run_folder):
    config = json.loads((run_folder / "config.json").read_text())
    config["source"] = "a task of another version"
    (run_folder / "config.json").write_text(json.dumps(config))
    with open_existing(run_folder) as folder:
        html = write_report(folder).read_text()
    assert "Figures that need the data are left out" in html
    assert 'id="program"' in html
    assert 'id="attention"' not in html


def test_a_run_without_a_program(run_folder):
    for name in ("graph.json", "certificate.json", "program.py"):
        (run_folder / name).unlink()
    outcome = results.Outcome(
        None, None, (Attempt("pairs", 0, 0.1, detail="the live head V2 matches nothing"),), 1.0
    )
    with open_existing(run_folder) as folder:
        html = write_report(folder, outcome=outcome).read_text()
    found = outline(html)
    assert "V2 matches nothing" in " ".join(found.words)
    assert {"training", "attempts"} <= set(found.ids)
    assert "try" not in found.ids


def test_a_report_that_fails_never_makes_a_run_fail(run_folder, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("no space")

    monkeypatch.setattr("weights2code.report.report.write_report", broken)
    problem = from_task(tasks.get("parity_last2"), 64, 0)
    with open_existing(run_folder) as folder:
        found = read_run(folder)
        extraction = Extraction(found.graph, None, found.program, found.certificate)
        kept = Attempt("pairs", 0, 0.1, detail="kept")
        pipeline.leave(results.Outcome(extraction, None, (kept,), 1.0), problem, folder)
    assert "report.html could not be made (RuntimeError: no space)" in caplog.text
    assert json.loads((run_folder / "certificate.json").read_text())["attempts"][0]["detail"] == "kept"


def test_nothing_from_outside_becomes_mark_up(make_contents, make_certificate):
    rule = Recurrence((EVIL,), (Step("y" + EVIL, Var(EVIL) + Var("y" + EVIL, 1)),), ("y" + EVIL,))
    program = Program("name", rule, (BITS,), True, EVIL).with_verdict(EVIL)
    certificate = make_certificate("failed", method=EVIL, notes=(EVIL,), counterexample=((1.0,), (0.0,)))
    html = page(
        make_contents(
            program,
            certificate=certificate,
            attempts=(Attempt(EVIL, 0, 0.1, detail=EVIL),),
            listing=f"# {EVIL}",
            notes=(EVIL,),
        )
    )
    found = outline(html)
    assert "img" not in found.tags
    assert html.count("<script>") == len(found.scripts) == 2
    assert EVIL in "".join(found.words)


def test_names_never_become_code():
    assert literal("</script>\u2028&") == '"\\u003c/script\\u003e\\u2028\\u0026"'
    rule = Recurrence(("alert(1)",), (Step("y", Var("alert(1)", 2) + 1),), ("y",))
    code = machine(rule, (BITS,)).split("run:")[1]
    assert "(v0_past[1] + 1.0)" in code
    assert "alert" not in code


SOURCES = (
    'def f(x):  # <b>\n    """doc & "quotes" """\n    return x < 1.5\n',
    "'''<never closed",
    "x = 1 \0 < 2",
    "\"open\n'&",
)


@pytest.mark.parametrize("source", SOURCES)
def test_listings_keep_every_character(source):
    assert unescape(re.sub(r"<[^>]+>", "", listing(source))) == source
    assert ('<span class="kw">return</span>' in listing(source)) == ("return" in source)
    long = listing(source * 40_000)
    assert "more characters" in long[-40:]


def test_a_fragment_for_notebooks(make_certificate, graph):
    html = fragment(PROGRAMS["sum_last2"], make_certificate(), ExplainedGraph(graph, {}, {}))
    found = outline(html)
    assert {"math", "img"} <= found.tags
    assert "script" not in found.tags
    assert "Proved" in "".join(found.words)
    assert "<img" not in fragment(PROGRAMS["sum_last2"], make_certificate("tested"))


@pytest.mark.slow
def test_plots_as_png(run_folder):
    pytest.importorskip("resvg_py")
    with open_existing(run_folder) as folder:
        files = write_plots(folder, "png")
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in files)


def test_png_without_its_package_names_the_fix(run_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with open_existing(run_folder) as folder, pytest.raises(InputError, match=r"weights2code\[plots\]"):
        write_plots(folder, "png")


@pytest.mark.slow
def test_the_command(run_folder, capsys):
    assert main(["report", str(run_folder), "--plots", "svg", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["files"][0] == str(run_folder / "report.html")
    assert len(answer["files"]) > 4
    assert main(["report", str(run_folder / "nowhere")]) == 2
    assert "there is no run folder" in capsys.readouterr().err


@pytest.mark.slow
def test_verifying_again_remakes_the_page(run_folder, capsys):
    (run_folder / "report.html").write_text("an old page")
    assert main(["verify", str(run_folder), "--quiet"]) == 0
    assert "complete exploration of the" in (run_folder / "report.html").read_text()
    source = (run_folder / "program.py").read_text()
    (run_folder / "program.py").write_text(source.replace("% 2", "% 1"))
    assert main(["verify", str(run_folder), "--quiet"]) == 1
    assert "program.py is not the program" in (run_folder / "report.html").read_text()
