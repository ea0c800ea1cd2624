"""The first screen: the rule, how to read it, the verdict in plain words; and what is said of networks."""

import re
from dataclasses import replace

import pytest

from case_table import PROGRAMS
from weights2code.explain import ExplainedGraph
from weights2code.language import Op, Recurrence, Step, Var, integers
from weights2code.program import Program
from weights2code.report import fragment
from weights2code.report.contents import about
from weights2code.report.head import facts, head, reading_key, rule_of
from weights2code.report.page import page
from weights2code.results import in_short
from weights2code.verify import Agreement
from weights2code.verify.certificate import Judged
from weights2code.verify.links import Listing, NetworkCertificate, NetworkVerdict, Offered

X, Y = Var("x"), Var("y", 1)
MANY = tuple(f"c{i}" for i in range(9))
SUM = PROGRAMS["sum_last2"]


def program_of(definition, inputs=("x",)) -> Program:
    rule = Recurrence(inputs, (Step("y", definition),), ("y",))
    return Program("name", rule, (integers(0, 1),) * len(inputs), True)


def network(verdict: NetworkVerdict = "proved", **changes):
    fields = {"method": "all of it", "covers": "at every length for inputs in bits", "margin": 0.4567}
    fields |= {"proof": Offered(), "made": "trained"}
    if verdict == "differs":
        fields |= {"margin": None, "counterexample": ((1.0,), (1.0,))}
    return NetworkCertificate(verdict, **(fields | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("definition", "inputs", "said", "there"),
    [
        (Op("gt", (X, Y)), ("x",), "[c] is 1 where c holds", True),
        (X + Y, ("x",), "[c] is 1 where c holds", False),
        (X + Y, ("x",), "[t-1] is the row before; values before the start are 0.", True),
        (X * 2, ("x",), "before", False),
        (Op("mod", (X, X + 2)), ("x",), "mod is the remainder", True),
        (Var("a") + Var("b"), ("a", "b"), "a and b are read, y is computed", True),
        (sum(map(Var, MANY), X * 0), (*MANY, "x"), "c0, c1, c2, c3 and … are read", True),
    ],
)
def test_the_key_explains_what_is_there(definition, inputs, said: str, there: bool):
    assert (said in reading_key(program_of(definition, inputs))) == there


def test_a_rule_too_long_to_typeset_is_wrapped_text():
    rule = X
    for i in range(2, 40):
        rule = rule * i + Y
    made = rule_of(program_of(rule))
    assert (made["size"], made["typeset"]) == ("long", "")
    short = rule_of(program_of(X + Y))
    assert "<math" in short["typeset"]
    assert short["lines"] == [["", "y[t]", " = ", "x[t]", " + ", "y[t-1]", ""]]  # what must not be torn apart


HALF = Agreement(40, 2.0, 0.5, 0.5)
OWN = {"domain": (), "rows": Judged(90, 81, 100), "target": Agreement(1, 1.0, 0.5, 0.9)}


@pytest.mark.parametrize(
    ("verdict", "changes", "said"),
    [
        ("proved", {}, "equal to its specification at every length, for inputs in bits"),
        ("bounded", {"error": 0.0123},
         "never more than 0.013 from its specification, at any length, for inputs in bits"),
        ("exhaustive", {"covers": "lengths 1 to 9"},
         "right on every input sequence, lengths 1 to 9, for inputs in bits"),
        ("tested", {}, "right at 100 % of the positions of 40 sequences that were made for the test; "
         "tested, not proved"),
        ("tested", OWN, "right in 81 of the 90 rows that can be judged; a part kept back for the test "
         "took no part in finding it; tested, not proved"),
        ("tested", {"domain": (), "target": Agreement(8, 0.57, 0.215), "one_step": True},
         "off by 0.57 at most and 0.215 as a rule in 8 sequences kept back for the test, where it was given "
         "the true past outputs; tested, not proved"),
        ("failed", {"target": HALF, "counterexample": ((1.0,), (0.0,))}, "wrong after 2 inputs; right at "
         "50 % of the positions of 40 sequences that were made for the test"),
        ("failed", {"rows": Judged(90, 10, 90)}, "wrong too often; right in 10 of 90 rows; 40 sequences that "
         "were made for the test took no part in finding it"),
    ],
)  # fmt: skip
def test_every_verdict_in_plain_words(make_certificate, verdict, changes, said):
    assert in_short(make_certificate(verdict, **changes)) == said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"network": network()}, "the same, proved"),
        ({"network": network("differs"), "taught": network("exhaustive", covers="up to length 12")},
         "the same up to length 12"),
        ({"network": network("bounded", error=3.21e-7)}, "within 3.3e-07 of it, proved for one step"),
        ({"network": network("tested", error=0.1234, sequences=7)}, "within 0.13 of it in 7 tests"),
        ({"network": network("differs")}, "something else"),
        ({}, None),
    ],
)  # fmt: skip
def test_the_network_in_plain_words(make_certificate, found, said):
    assert dict(facts(SUM, make_certificate(**found))).get("the network computes") == said


def test_rows_are_counted_as_rows_and_texts_have_no_errors(make_certificate):
    own = dict(facts(SUM, make_certificate("tested", **OWN)))
    assert (own["rows judged"], own["right"], own["typical error"]) == ("90", "90 %", "0.5")
    texts = replace(SUM, output_categories={"y": ("a", "b")})
    assert "typical error" not in dict(facts(texts, make_certificate("tested", **OWN)))


def test_the_verdict_comes_with_notes_and_its_proof_is_folded_away(make_certificate, make_contents):
    claims = ("[p.y[t-1] == r.y[t-1]]", "[p.y[t-1] >= 0]")
    certificate = make_certificate(notes=("the data are not exact",), invariant=claims)
    contents = make_contents(program_of(X + Y), certificate=certificate)
    assert head(contents)["basis"] == "The data are not exact."
    html = page(contents)
    assert "What the induction rests on (2 claims" in html
    assert "<li>p.y[t-1] &gt;= 0</li>" in html
    first, details = html.split("In detail: how this was found and checked")
    assert "complete exploration of 2 states" in details
    assert "complete exploration of 2 states" not in first


def test_a_page_says_what_it_is_about(make_contents):
    assert about("parity_last2").startswith("Task: ")
    assert "bits" in about("parity_last2")
    assert about("nothing like a task") == ""
    assert '<p class="about">A test.</p>' in page(make_contents(program_of(X + Y)))


def test_the_page_shows_where_a_network_differs(make_contents, make_certificate, graph):
    """The hand-made graph computes |x[t] - x[t-1]|, the program x[t] + x[t-1]: not the same after 1, 1."""
    contents = make_contents(SUM, certificate=make_certificate(network=network("differs")))
    html = page(replace(contents, explained=ExplainedGraph(graph, {}, {})))
    section = html.split("Network and the program</h3>")[1].split("</section>")[0]
    assert "as the program does, differs from the program after the inputs 1, 1" in section
    rows = re.findall(r"<tr><th[^>]*>([^<]*)</th>((?:<td>[^<]*</td>)*)", section)
    answers = {name: re.findall(r"<td>([^<]*)", cells) for name, cells in rows}
    assert answers.pop("x") == ["1", "1"]
    assert answers == {"y, program": ["1", "2"], "y, network before rounding": ["1", "0"]}
    other = network("differs", counterexample=((1.0, 2.0), (1.0, 2.0)))
    html = page(make_contents(SUM, certificate=make_certificate(network=other)))
    assert "y, program" not in html  # a counterexample of other columns is left out


def test_the_page_speaks_of_both_networks_and_the_listing(make_contents, make_certificate, graph):
    listing = Listing(2.2e-16, 1.0, (1, 10, 40, 100), 40)
    found = make_certificate(network=network("differs"), taught=network(made="written"), listing=listing)
    contents = make_contents(SUM, certificate=found)
    html = page(replace(contents, explained=ExplainedGraph(graph, {}, {})))
    trained, _, taught = html.partition("Another network and the program</h3>")
    trained = trained.partition("Network and the program</h3>")[2]
    runs = "</code>, which runs on its own past outputs as the program does, "
    assert f"model.safetensors{runs}differs" in trained
    assert "network before rounding" not in trained  # the graph that is drawn is the other's
    assert f"taught.safetensors{runs}is pr" in taught
    assert "The network that was made right, which was written from the program" in html
    assert "is equal to the network to rounding, tested: at most 2.3e-16 from the network in 40" in html
    assert "Another network: Proved equal" in fragment(SUM, found)
    assert "Network:" not in fragment(SUM, make_certificate())
