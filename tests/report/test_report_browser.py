"""The page in a real browser: it opens cleanly, and its box computes what `program.py` computes."""

import os
import shutil

import numpy as np
import pytest

from case_table import PROGRAMS, rows
from weights2code.language import Recurrence, Step, Var, integers, op, texts
from weights2code.program import Program, run_program
from weights2code.report.page import page as page_html

api = pytest.importorskip("playwright.sync_api", reason="the tests in a browser need the package playwright")

pytestmark = pytest.mark.slow

OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip
EVIL = "\"><img src=x onerror=alert(1)></script><script>alert(2)</script>'&"


def chromium() -> str | None:
    named = os.environ.get("CHROMIUM")
    return named or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    if path is None:
        pytest.skip("no Chromium found; install it (apt-get install chromium) or set CHROMIUM to its path")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=OPTIONS)
        yield running
        running.close()


@pytest.fixture
def visit(browser, tmp_path):
    """Open HTML in a page; nothing may be logged as an error, raised, or asked of the network."""
    complaints: list[str] = []
    contexts = []

    def go(html: str, **options):
        file = tmp_path / f"page{len(contexts)}.html"
        file.write_text(html, encoding="utf-8")
        contexts.append(browser.new_context(**{"viewport": {"width": 1180, "height": 900}, **options}))
        shown = contexts[-1].new_page()
        shown.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        shown.on("request", lambda r: None if r.url.startswith("file:") else complaints.append(r.url))
        shown.goto(file.as_uri())
        return shown

    yield go
    for context in contexts:
        context.close()
    assert complaints == []


def read_box(shown, names):
    """The rows of the table by name, as numbers."""
    rows = shown.locator("#steps tbody tr").evaluate_all(
        "rows => rows.map(r => [r.dataset.name, [...r.querySelectorAll('td')].map(c => c.dataset.value)])"
    )
    table = {name: [float(v.replace("Infinity", "inf")) for v in cells] for name, cells in rows}
    return np.array([table[name] for name in names]).T


def type_in(shown, columns):
    for i, column in enumerate(columns):
        shown.locator(f"#column{i}").fill(", ".join(repr(float(v)) for v in column))


CASES = [
    "sum_last2", "bit_addition", "magnetic", "minimum_prev2", "Min_Seen", "parity", "retrieve", "lookup0",
    "lookup2", "count_le", "starts", "long_choice", "median",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_box_computes_what_the_program_computes(visit, make_contents, tmp_path, case):
    program = PROGRAMS[case]
    (tmp_path / "program.py").write_text(program.source())
    shown = visit(page_html(make_contents(program)))
    sequences = [rows(program.domains, length, seed=seed) for seed, length in enumerate((1, 2, 30))]
    answers = run_program(
        tmp_path / "program.py", [s[:, 0] if len(program.domains) == 1 else s for s in sequences]
    )
    for x, answer in zip(sequences, answers, strict=True):
        type_in(shown, x.T)
        assert shown.locator("#message").inner_text() == ""
        box = read_box(shown, program.recurrence.outputs)
        assert box.tolist() == np.reshape(answer, box.shape).tolist()  # every digit
        every = [*program.recurrence.inputs, *(step.name for step in program.recurrence.steps)]
        trace = program.recurrence.trace(x[None])
        assert read_box(shown, every).tolist() == np.stack([trace[n][0] for n in every], -1).tolist()


def test_the_box_says_what_is_wrong(visit, make_contents):
    shown = visit(page_html(make_contents(PROGRAMS["bit_addition"])))
    message = shown.locator("#message")
    for a, b, said in (
        ("1 0 x", "1 0 1", "“x” in a is not a number."),
        ("1 0", "1 0 1", "a has 2, b has 3"),
        ("", "1", "Type numbers for a"),
        ("1 0 1", "1 2 1", "2 is outside b: bits"),
        ("1 " * 1001, "1", "more than 1000"),
        ("1e400", "1", "“1e400” in a is too large"),
        ("[1, 0]", "(1; 0)", ""),
    ):
        shown.locator("#column0").fill(a)
        shown.locator("#column1").fill(b)
        assert said in message.inner_text()
        wrong = "bad" in (message.get_attribute("class") or "")
        assert wrong == ("stale" in (shown.locator("#steps").get_attribute("class") or ""))
    assert message.inner_text() == ""


def test_one_position_at_a_time(visit, make_contents):
    shown = visit(page_html(make_contents(PROGRAMS["freebody"])))
    shown.locator("#column0").fill("3 −4 5")
    shown.locator("#steps td[data-t='1']").first.click()
    assert shown.locator("#working li").inner_text() == "y[1] = 2·y[t−1] − y[t−2] + x[t] = 2·3 − 0 + (−4) = 2"
    shown.get_by_role("button", name="Next position").click()
    assert shown.locator("#where").inner_text() == "t = 2"
    assert shown.locator("#forward").is_disabled()
    shown.locator("#steps").locator("xpath=..").focus()
    shown.keyboard.press("ArrowLeft")
    shown.keyboard.press("ArrowLeft")
    assert "+ 3 = 3" in shown.locator("#working li").inner_text()


def test_a_counterexample_runs_in_the_box(visit, make_contents, make_certificate):
    wrong = make_certificate("failed", counterexample=((1.0,), (7.0,), (2.0,)))
    shown = visit(page_html(make_contents(PROGRAMS["sum_last2"], certificate=wrong)))
    shown.get_by_role("button", name="Run it in the box").click()
    assert read_box(shown, ["x", "y"]).tolist() == [[1, 1], [7, 8], [2, 9]]


def test_a_whole_report(visit, report):
    shown = visit(report)
    assert shown.locator("h1").inner_text() == "parity_last2"
    assert shown.locator("svg[role=img]:not([aria-label])").count() == 0
    assert shown.locator("svg").count() >= 4
    unnamed = "els => els.filter(e => !(e.textContent.trim() || e.getAttribute('aria-label'))).length"
    assert shown.locator("button:visible").evaluate_all(unnamed) == 0
    assert shown.locator("input").evaluate_all("els => els.filter(e => !e.labels.length).length") == 0
    # every link of the contents leads somewhere
    assert shown.locator("nav a").evaluate_all("as => as.every(a => document.querySelector(a.hash))")
    formula = shown.locator(".formula math").bounding_box()
    assert formula["height"] > 30  # typeset large


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(visit, report, scheme):
    shown = visit(report, color_scheme=scheme)
    assert contrasts(shown) >= 4.5
    shown.locator("#theme").click()
    assert shown.evaluate("document.documentElement.dataset.theme") == (
        "light" if scheme == "dark" else "dark"
    )
    assert contrasts(shown) >= 4.5


def contrasts(shown) -> float:
    """The lowest contrast of the page's text colours against the paper (WCAG)."""
    return shown.evaluate(
        """() => {
        const light = (c) => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const texts = [...document.querySelectorAll(
            "p, h1, h2, h3, dt, dd, td, th, li, a, figcaption, .badge, pre span, text.tick, text.label")];
        return Math.min(...texts.map(e => { const s = getComputedStyle(e);
            const ink = light(e.namespaceURI.endsWith("svg") ? s.fill : s.color);
            return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05); })); }"""
    )


@pytest.mark.parametrize("width", [320, 390, 820, 1400])
def test_the_page_never_scrolls_sideways(visit, report, width):
    shown = visit(report, viewport={"width": width, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper(visit, report):
    shown = visit(report, color_scheme="dark")
    shown.emulate_media(media="print")
    assert shown.locator("nav").is_hidden()
    assert shown.locator("#theme").is_hidden()
    paper = shown.evaluate("getComputedStyle(document.querySelector('h1')).color")
    assert max(int(v) for v in paper[4:-1].split(",")) < 80  # dark ink, even for those who read in the dark
    assert len(shown.pdf(format="A4")) > 20_000


def test_copying(visit, make_contents):
    shown = visit(
        page_html(make_contents(PROGRAMS["sum_last2"])), permissions=["clipboard-read", "clipboard-write"]
    )
    shown.clock.install(time=0)
    shown.clock.pause_at(1)  # "Copied" stays until the page's clock is moved
    button = shown.locator("button[data-copy=source]")
    button.click()
    api.expect(button).to_have_text("Copied")
    shown.clock.run_for(10_000)
    api.expect(button).to_have_text("Copy")
    assert shown.evaluate("navigator.clipboard.readText()") == PROGRAMS["sum_last2"].source()


def test_nothing_from_outside_acts(visit, make_contents, make_certificate):
    rule = Recurrence((EVIL,), (Step("y", Var(EVIL) + Var("y", 1)),), ("y",))
    program = Program("name", rule, (integers(0, 9),), True, EVIL).with_verdict(EVIL)
    html = page_html(make_contents(program, certificate=make_certificate(method=EVIL, notes=(EVIL,))))
    shown = visit(html)
    shown.locator("#column0").fill("1 2 3")
    assert shown.locator("#steps tbody th").first.inner_text() == EVIL
    assert shown.locator("img").count() == 0


def test_even_an_unescaped_script_would_not_run(browser, make_contents, tmp_path):
    html = page_html(make_contents(PROGRAMS["moving_average"]))
    (tmp_path / "page.html").write_text(
        html.replace("</main>", "<script>document.title = 'run'</script></main>")
    )
    context = browser.new_context()
    shown = context.new_page()
    with shown.expect_console_message(lambda message: "Content Security Policy" in message.text):
        shown.goto((tmp_path / "page.html").as_uri())
    assert shown.title() == "moving_average · weights2code"
    context.close()


def test_the_box_takes_and_shows_texts(visit, make_contents):
    event, state = Var("event"), Var("state", 1)
    rule = op("where", event.equals(1), 2, op("where", event.equals(2), 1, state))
    machine = Recurrence(("event",), (Step("state", rule),), ("state",), {"state": 1.0})
    domains, answers = (texts(("coin", "push on", "wait")),), {"state": ("locked", "open")}
    program = Program("turnstile", machine, domains, True, output_categories=answers)
    shown = visit(page_html(make_contents(program)))
    shown.locator("#column0").fill("wait, coin, push on")
    assert shown.locator("#message").inner_text() == ""
    cells = shown.locator("#steps tbody tr[data-name=state] td").all_inner_texts()
    assert cells == ["locked", "open", "locked"]
    shown.locator("#column0").fill("wait, cion")
    assert "“cion” in event is none of coin, push on, wait" in shown.locator("#message").inner_text()
