"""The first screen: the rule, how to read it, the verdict, what it rests on, and the chain below it."""

import re
from dataclasses import replace

import pytest

from case_table import PROGRAMS
from weights2code.explain import ExplainedGraph
from weights2code.language import Op, Recurrence, Step, Var, integers
from weights2code.program import Program
from weights2code.report import fragment
from weights2code.report.contents import about
from weights2code.report.head import SIGNS, Box, chain, formula_block, listing_link, reading_key, verdict
from weights2code.report.page import page
from weights2code.report.templating import part
from weights2code.verify.links import Listing, NetworkCertificate, NetworkVerdict, Offered

X, Y = Var("x"), Var("y", 1)
WRONG = ((1.0,), (1.0,))
LISTING = Listing(2.2e-16, 1.0, (1, 10, 40, 100), 40)


def program_of(definition, inputs=("x",)) -> Program:
    rule = Recurrence(inputs, (Step("y", definition),), ("y",))
    return Program("name", rule, (integers(0, 1),) * len(inputs), True)


@pytest.mark.parametrize(
    ("definition", "said", "there"),
    [
        (Op("gt", (X, Y)), "[c] is 1 where c holds", True),
        (X + Y, "[c] is 1 where c holds", False),
        (X + Y, "values before the start are 0.", True),
        (X * 2, "before the start", False),
        (Op("mod", (X, X + 2)), "mod is the remainder", True),
    ],
)
def test_the_key_explains_the_signs_that_are_there(definition, said: str, there: bool):
    assert (said in reading_key(program_of(definition))) == there


def test_the_key_names_what_is_read():
    assert "a and b are read, y is computed" in reading_key(program_of(Var("a") + Var("b"), ("a", "b")))
    many = tuple(f"c{i}" for i in range(9))
    told = reading_key(program_of(sum(map(Var, many), X * 0), (*many, "x")))
    assert "c0, c1, c2, c3 and … are read" in told


def test_a_rule_too_long_to_typeset_is_wrapped_text():
    rule = X
    for i in range(2, 40):
        rule = rule * i + Y
    block = formula_block(program_of(rule))
    assert 'class="formula long"' in block
    assert "<math" not in block
    short = formula_block(program_of(X + Y))
    assert "<math" in short
    assert "<b>x[t]</b> + <b>y[t-1]</b>" in short  # what must not be torn apart


def test_the_verdict_comes_with_what_it_rests_on(make_certificate, make_contents):
    claims = ("[p.y[t-1] == r.y[t-1]]", "[p.y[t-1] >= 0]")
    certificate = make_certificate(notes=("the data are not exact",), invariant=claims)
    assert "The data are not exact." in verdict(certificate)["basis"]
    assert "p.y[t-1]" not in verdict(certificate)["basis"]
    html = page(make_contents(program_of(X + Y), certificate=certificate))
    assert "What the induction rests on (2 claims" in html  # folded away
    assert "<li>p.y[t-1] &gt;= 0</li>" in html


def test_a_page_says_what_it_is_about(make_contents):
    assert about("parity_last2").startswith("Task: ")
    assert "bits" in about("parity_last2")
    assert about("nothing like a task") == ""
    assert '<p class="about">A test.</p>' in page(make_contents(program_of(X + Y)))


# -- the chain: boxes, links, and what is said of each -------------------------------------------------------


def network(verdict: NetworkVerdict = "proved", **changes):
    fields = {"method": "all of it", "covers": "at every length for inputs in bits", "margin": 0.4567}
    fields |= {"proof": Offered()}
    return NetworkCertificate(verdict, **(fields | {"made": "trained"} | changes))  # type: ignore[arg-type]


def differs(**changes):
    return network("differs", margin=None, counterexample=WRONG, **changes)


def said(certificate):
    """The bands in words, as the page has them too."""
    bands = [
        [
            " ".join(filter(None, (p.title, p.name, p.hint) if isinstance(p, Box) else (p.verdict, p.line)))
            for p in parts
        ]
        for _, parts in chain(certificate)
    ]
    html = re.sub(r'<span aria-hidden="true">[^<]*</span>', "", part("chain", chain(certificate)))
    items = [re.sub("<[^>]*>", " ", item).split() for item in re.findall("<li.*</li>", html)]
    assert items == [line.split() for band in bands for line in band]
    return bands


ENDS = ["Weights model.safetensors trained", "Program program.py", "Specification reference machine"]
HOLDS = "proved at every length for inputs in bits"


def test_from_the_weights_to_the_specification(make_certificate):
    ends = [ENDS[0], HOLDS, ENDS[1], "proved at every length", ENDS[2]]
    assert said(make_certificate(network=network())) == [ends]
    (listed,) = said(make_certificate(network=network(), listing=LISTING))
    told = "tested at most 2.3e−16 apart in 40 sequences"
    assert listed[:4] == [ENDS[0], told, "Listing program_raw.py", HOLDS.replace("at", "the network, at", 1)]
    assert listed[4:] == ends[2:]
    (own,) = said(make_certificate("tested", domain=(), network=network()))
    assert own[-2:] == ["tested on 40 sequences of the data", "Data kept back for tests"]  # no specification


def test_a_taught_network_stands_below_the_trained_one(make_certificate):
    found = make_certificate(network=differs(), taught=network(made="wired"), listing=LISTING)
    trained, taught = said(found)
    assert trained == [ENDS[0], "differs after 2 inputs, shown below", ENDS[1]]
    assert taught[0] == "Taught weights taught.safetensors wired"
    assert taught[3].startswith("proved the network, at every length")


@pytest.mark.parametrize(
    ("error", "scale", "verdict"),
    [(0.0, 1.0, "tested"), (1e-12, 1.0, "tested"), (1e-3, 1.0, "differs"), (1e-6, 1e4, "tested")],
)
def test_a_listing_that_is_not_the_network_says_so(error, scale, verdict):
    assert listing_link(replace(LISTING, max_abs_error=error, scale=scale)).verdict == verdict


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (network("bounded", margin=None, error=3.21e-7), "bounded within 3.3e−07, one step ahead"),
        (network("tested", margin=None, error=0.1234, sequences=1), "tested at most 0.13 apart in 1 seq"),
        (differs(), "differs after 2 inputs, shown"),
        (network(covers="at every length, as long as no value exceeds 2**26 (not in the first 52 positions)"),
         "proved at every length, as long as no value exceeds 2**26"),
        (network("exhaustive", covers="up to length 12"), "exhaustive up to length 12"),
    ],
)  # fmt: skip
def test_every_verdict_has_a_line_and_a_sign_beside_its_colour(make_certificate, found, line):
    certificate = make_certificate(network=found)
    assert said(certificate)[0][1].startswith(line)
    sign, colour = SIGNS[found.verdict]
    badge = f'<span class="badge {colour}"><span aria-hidden="true">{sign} </span>{found.verdict}</span>'
    assert badge in part("chain", chain(certificate))


def test_older_certificates_have_no_chain(make_contents, make_certificate):
    assert chain(make_certificate()) == []
    html = page(make_contents(PROGRAMS["sum_last2"]))
    assert 'class="chain"' not in html
    assert "The network and the program" not in html


def test_the_page_shows_where_a_network_differs(make_contents, make_certificate, graph):
    """The hand-made graph computes |x[t] - x[t-1]|, the program x[t] + x[t-1]: not the same after 1, 1."""
    contents = make_contents(PROGRAMS["sum_last2"], certificate=make_certificate(network=differs()))
    html = page(replace(contents, explained=ExplainedGraph(graph, {}, {})))
    assert html.index('class="chain"') < html.index('id="try"')
    section = html.split("The network and the program</h3>")[1].split("</section>")[0]
    assert "as the program does, differs from the program after the inputs 1, 1" in section
    rows = re.findall(r"<tr><th[^>]*>([^<]*)</th>((?:<td>[^<]*</td>)*)", section)
    answers = {name: re.findall(r"<td>([^<]*)", cells) for name, cells in rows}
    assert answers.pop("x") == ["1", "1"]
    assert answers == {"y, program": ["1", "2"], "y, network before rounding": ["1", "0"]}


def test_the_page_speaks_of_both_networks(make_contents, make_certificate, graph):
    found = make_certificate(network=differs(), taught=network(made="written"))
    contents = make_contents(PROGRAMS["sum_last2"], certificate=found)
    html = page(replace(contents, explained=ExplainedGraph(graph, {}, {})))
    trained, _, taught = html.partition("The taught network and the program</h3>")
    trained = trained.partition("The network and the program</h3>")[2]
    runs = "</code>, which runs on its own past outputs as the program does, "
    assert f"model.safetensors{runs}differs" in trained
    assert "y, program" in trained
    assert "network before rounding" not in trained  # the graph that is drawn is the other's
    assert f"taught.safetensors{runs}is pr" in taught
    assert "The taught network, which was written from the program" in html
    assert "Taught network: Proved equal" in fragment(PROGRAMS["sum_last2"], found)


def test_what_is_said_of_links_beside_the_chain(make_contents, make_certificate):
    program = PROGRAMS["sum_last2"]
    found = make_certificate(network=network(), listing=LISTING)
    html = page(make_contents(program, certificate=found))
    assert "is equal to the network to rounding, tested: at most 2.3e-16 from the network in 40" in html
    assert "Network: Proved equal to the program at every length" in fragment(program, found)
    assert "Network:" not in fragment(program, make_certificate())
    other = network("differs", margin=None, counterexample=((1.0, 2.0), (1.0, 2.0)))
    html = page(make_contents(program, certificate=make_certificate(network=other)))
    assert "y, program" not in html  # a counterexample of other columns is left out
    evil = network(covers="<img src=x>", method="<img src=x>")
    html = page(make_contents(program, certificate=make_certificate(network=evil)))
    assert "<img" not in html
    assert "&lt;img" in html
