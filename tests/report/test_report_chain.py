"""The chain on the first screen: boxes, links, and what is said of each."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from weights2code.explain import ExplainedGraph
from weights2code.report import fragment
from weights2code.report.chain import SIGNS, chain, listing_link
from weights2code.report.page import page
from weights2code.verify.links import Listing, NetworkCertificate, NetworkVerdict, Offered


def network(verdict: NetworkVerdict = "proved", **changes):
    fields = {"method": "all of it", "covers": "at every length for inputs in bits", "margin": 0.4567}
    fields |= {"proof": Offered()}
    return NetworkCertificate(verdict, **(fields | {"made": "trained"} | changes))  # type: ignore[arg-type]


class Items(HTMLParser):
    """The text of every item of the list, with what is hidden from screen readers left out."""

    def __init__(self):
        super().__init__()
        self.items, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += bool(self.hidden) or ("aria-hidden", "true") in attrs
        if tag == "li":
            self.items.append([])

    def handle_endtag(self, tag):
        self.hidden = max(0, self.hidden - 1)

    def handle_data(self, data):
        if not self.hidden:
            self.items[-1].append(data)


def items(html):
    parser = Items()
    parser.feed(html)
    return [" ".join(parts) for parts in parser.items]


def test_three_boxes_and_two_links(make_certificate):
    assert items(chain(make_certificate(network=network()))) == [
        "Weights model.safetensors trained",
        "proved at every length for inputs in bits",
        "Program program.py",
        "proved at every length",
        "Specification reference machine",
    ]


def listing(error=2.2e-16, scale=1.0):
    return Listing(error, scale, (1, 10, 40, 100), 40)


def test_the_listing_stands_between_weights_and_program(make_certificate):
    shown = items(chain(make_certificate(network=network(), listing=listing())))
    assert shown[:3] == [
        "Weights model.safetensors trained",
        "tested at most 2.3e−16 apart in 40 sequences",
        "Listing program_raw.py",
    ]
    assert shown[3].startswith("proved the network, at every length")
    assert len(shown) == 7


@pytest.mark.parametrize(
    ("error", "scale", "verdict"),
    [(0.0, 1.0, "tested"), (1e-12, 1.0, "tested"), (1e-3, 1.0, "differs"), (1e-6, 1e4, "tested")],
)
def test_a_listing_that_is_not_the_network_says_so(error, scale, verdict):
    assert listing_link(listing(error, scale)).verdict == verdict


def test_own_data_are_no_specification(make_certificate):
    shown = items(chain(make_certificate("tested", domain=(), network=network())))
    assert shown[-2:] == ["tested on 40 sequences of the data", "Data kept back for tests"]


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (network("bounded", margin=None, error=3.21e-7), "bounded within 3.3e−07, one step ahead"),
        (network("tested", margin=None, error=0.1234, sequences=1), "tested at most 0.13 apart in 1 seq"),
        (network("differs", margin=None, counterexample=((0.0,), (1.0,))), "differs after 2 inputs, shown"),
        (network(covers="at every length, as long as no value exceeds 2**26 (not in the first 52 positions)"),
         "proved at every length, as long as no value exceeds 2**26"),
        (network("exhaustive", covers="up to length 12"), "exhaustive up to length 12"),
    ],
)  # fmt: skip
def test_the_line_of_the_network(make_certificate, found, line):
    assert items(chain(make_certificate(network=found)))[1].startswith(line)


def test_every_verdict_has_a_sign_beside_its_colour(make_certificate):
    for verdict in ("proved", "exhaustive", "bounded", "tested", "differs"):
        sign, colour = SIGNS[verdict]
        html = chain(make_certificate(network=network(verdict)))
        badge = f'<span class="badge {colour}"><span aria-hidden="true">{sign} </span>{verdict}</span>'
        assert badge in html


def test_a_taught_network_stands_below_the_trained_one(make_certificate):
    own = network("differs", margin=None, counterexample=((0.0,), (1.0,)))
    found = make_certificate(network=own, taught=network(made="wired"), listing=listing())
    shown = items(chain(found))
    assert chain(found).count("<ol") == 2
    assert shown[:6] == [
        "Weights model.safetensors trained",
        "differs after 2 inputs, shown below",
        "Program program.py",
        "Taught weights taught.safetensors wired",
        "tested at most 2.3e−16 apart in 40 sequences",
        "Listing program_raw.py",
    ]
    assert shown[6].startswith("proved the network, at every length")


def test_older_certificates_have_no_chain(make_contents, programs, make_certificate):
    assert chain(make_certificate()) == ""
    html = page(make_contents(programs["one column"]))
    assert 'class="chain"' not in html
    assert "The network and the program" not in html


def test_the_page_shows_where_a_network_differs(make_contents, programs, make_certificate, graph):
    """The hand-made graph computes |x[t] - x[t-1]|, the program x[t] + x[t-1]: not the same after 1, 1."""
    found = network("differs", margin=None, counterexample=((1.0,), (1.0,)))
    contents = make_contents(programs["one column"], certificate=make_certificate(network=found))
    html = page(replace(contents, explained=ExplainedGraph(graph, {}, {})))
    assert html.index('class="chain"') < html.index('id="try"')
    section = html.split("The network and the program</h3>")[1].split("</section>")[0]
    assert "as the program does, differs from the program after the inputs 1, 1" in section
    rows = re.findall(r"<tr><th[^>]*>([^<]*)</th>((?:<td>[^<]*</td>)*)", section)
    assert [(name, re.findall(r"<td>([^<]*)", cells)) for name, cells in rows] == [
        ("x", ["1", "1"]),
        ("y, program", ["1", "2"]),
        ("y, network before rounding", ["1", "0"]),
    ]


def test_the_page_says_how_far_the_listing_is_from_the_network(make_contents, programs, make_certificate):
    found = make_certificate(network=network(), listing=listing())
    html = page(make_contents(programs["one column"], certificate=found))
    assert "is equal to the network to rounding, tested: at most 2.3e-16 from the network in 40" in html


def test_a_counterexample_of_other_columns_is_left_out(make_contents, programs, make_certificate):
    found = network("differs", margin=None, counterexample=((1.0, 2.0), (1.0, 2.0)))
    html = page(make_contents(programs["one column"], certificate=make_certificate(network=found)))
    assert "y, program" not in html


def test_nothing_of_a_network_becomes_mark_up(make_contents, programs, make_certificate):
    found = network(covers="<img src=x>", method="<img src=x>")
    html = page(make_contents(programs["one column"], certificate=make_certificate(network=found)))
    assert "<img" not in html
    assert "&lt;img" in html


def test_the_page_speaks_of_both_networks(make_contents, programs, make_certificate, graph):
    own = network("differs", margin=None, counterexample=((1.0,), (1.0,)))
    found = make_certificate(network=own, taught=network(made="written"))
    contents = make_contents(programs["one column"], certificate=found)
    html = page(replace(contents, explained=ExplainedGraph(graph, {}, {})))
    trained, _, taught = html.partition("The taught network and the program</h3>")
    trained = trained.partition("The network and the program</h3>")[2]
    assert (
        "model.safetensors</code>, which runs on its own past outputs as the program does, differs" in trained
    )
    assert "y, program" in trained
    assert "network before rounding" not in trained  # the graph that is drawn is the other's
    assert (
        "taught.safetensors</code>, which runs on its own past outputs as the program does, is pr" in taught
    )
    assert "The taught network, which was written from the program" in html
    assert "Taught network: Proved equal" in fragment(programs["one column"], found)


def test_notebooks_say_it_too(programs, make_certificate):
    html = fragment(programs["one column"], make_certificate(network=network()))
    assert "Network: Proved equal to the program at every length" in html
    assert "Network:" not in fragment(programs["one column"], make_certificate())
