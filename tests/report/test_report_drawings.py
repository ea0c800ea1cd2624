"""Drawings: scales, heat maps, the graph's layout, and files that stand alone."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_table import PROGRAMS
from weights2code.data import from_arrays
from weights2code.explain import ExplainedGraph
from weights2code.explain.operators import OperatorFit, node_variable
from weights2code.graph import RouterNode
from weights2code.language import op
from weights2code.report.attention import attention_drawing, pattern
from weights2code.report.contents import Epoch
from weights2code.report.graph_drawing import graph_drawing
from weights2code.report.graph_layout import Box, place
from weights2code.report.node_names import short_name
from weights2code.report.prediction_plots import prediction_drawings
from weights2code.report.svg import Frame, Scale, number, spread
from weights2code.report.training_curves import training_drawing

LIMITS = st.floats(-1e6, 1e6, allow_nan=False)
V = node_variable


def texts(drawing):
    return [element.text for element in ElementTree.fromstring(drawing.document()).iter() if element.text]


@given(LIMITS, LIMITS)
def test_ticks_lie_inside_and_are_evenly_spaced(one, other):
    low, high = spread([one, other])
    ticks = Scale(low, high, 0, 100).ticks()
    assert ticks
    assert all(low - 1e-6 * (high - low) <= tick <= high + 1e-6 * (high - low) for tick in ticks)
    steps = np.diff(ticks)
    assert steps.size == 0 or np.allclose(steps, steps[0])


def test_logarithmic_scale():
    scale = Scale(1e-4, 1e2, 0, 60, log=True)
    assert scale(1e-1) == pytest.approx(30)
    assert [scale.tick_text(tick) for tick in scale.ticks(3)] == ["10⁻⁴", "0.01", "1", "100"]


def test_missing_values_break_a_line_and_lonely_points_become_dots():
    frame = Frame.at((0, 0, 100, 100), (0, 4), (0, 1))
    drawn = frame.line([0, 1, 2, 3, 4], [0.1, 0.2, float("nan"), 0.4, float("inf")])
    assert drawn.count("<path") == 1
    assert drawn.count("<circle") == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (-1.5, "−1.5"),
        (1e-12, "1e−12"),
        (np.inf, "∞"),
        (np.nan, "NaN"),
        (12345.0, "1.234e4"),
    ],
)
def test_numbers_for_people(value, text):
    assert number(value) == text


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 5)), min_size=1, max_size=14))
def test_boxes_and_lanes_never_overlap(rows):
    boxes: list[Box] = []
    for i, (column, quiet, back) in enumerate(sorted(rows)):
        earlier = [box.key for box in boxes if box.column < column and not box.quiet]
        boxes.append(Box(str(i), column, 50, 20 + 5 * back, tuple(earlier[-back:] if back else ()), quiet))
    layout = place(boxes, top=10)
    stacked: dict[int, list[tuple[float, float]]] = {}
    for (_, column), at in layout.placed.items():
        stacked.setdefault(column, []).append((at.top, at.top + at.height))
    for spans in stacked.values():
        spans.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        assert spans[-1][1] <= layout.height
    assert all(at.left + at.width <= layout.width for at in layout.placed.values())


def test_the_graph_shows_formulas_and_greys_what_is_dead(graph):
    fit = OperatorFit((0, 2), op("abs", V(0) - 1.0001234 * V(2)), "formula", 0.0, 0.1)
    drawing = graph_drawing(ExplainedGraph(graph, {}, {4: fit}))
    shown = texts(drawing)
    assert "V4 · L0M0: abs(x[t] − 1*x[t-1])" in shown  # the title; constants are rounded
    assert "x[t-1]: offset 1" in shown
    assert drawing.body.count('class="node dead"') == 3  # y[t-1], the second head, the second sub-MLP
    assert "V4" in shown  # the output head reads it with weight one
    assert short_name(ExplainedGraph(graph, {}, {}), 3) == "y[t-3]"


def test_attention_patterns():
    values = np.random.default_rng(0).normal(size=(50, 6, 1))
    valid = np.ones((50, 6), bool)
    back = pattern(RouterNode("h", "location", {"value": 0}, 2), values, valid)
    assert back[0, -1] == back[1, -1] == 1
    assert back[4, 2] == 1
    mean = pattern(RouterNode("h", "mean", {"value": 0}), values, valid)
    assert mean[3, :4].tolist() == [0.25] * 4
    node = RouterNode("h", "equality", dict.fromkeys(("query", "key", "value"), 0), relative_bias=np.zeros(6))
    same = pattern(node, values, valid)
    assert np.allclose(same.sum(1), 1)
    assert np.allclose(np.diag(same), 1)  # a value equals itself
    largest = pattern(RouterNode("h", "max", {"value": 0}), values, valid)
    first = (values[:, 1, 0] > values[:, 0, 0]).mean()
    assert largest[1, 1] == pytest.approx(first)
    drawing = attention_drawing(node, same, "Equality retrieval")
    assert "null" in texts(drawing)


def test_training_curves_survive_gaps():
    lost, half = (None,), (None, 0.5)
    line = Epoch("pairs", 1.0, half, (None, 1e-20), (None, -0.5), ())
    drawing = training_drawing([line, line])
    assert "pairs (2 epochs)" in drawing.description
    assert "nan" not in drawing.body
    assert "nan" not in training_drawing([Epoch("pairs", 1.0, lost, lost, lost, ())]).body


def test_predictions_leave_out_what_was_given():
    x = np.arange(12.0).reshape(1, 12, 1)
    y = np.concatenate([x[:, :1], x[:, 1:] + x[:, :-1]], 1)
    wrong = y.copy()
    wrong[0, 0] = 99  # context: fed, not judged
    fresh = replace(from_arrays(x, wrong), context=np.array([1]))
    (drawing,) = prediction_drawings(PROGRAMS["sum_last2"], fresh)
    assert "the largest error is 0." in drawing.description


def test_files_of_their_own_need_no_page(graph):
    text = graph_drawing(ExplainedGraph(graph, {}, {})).document()
    ElementTree.fromstring(text)
    assert "var(" not in text
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}


def test_names_cannot_become_mark_up(graph):
    name = '"><script>alert(1)</script>'
    made = replace(graph, inputs=(name,), outputs=(name + "y",))
    drawing = graph_drawing(ExplainedGraph(made, {}, {}))
    assert "<script" not in drawing.inline() + drawing.document()
    assert json.dumps(name)[2:10] not in drawing.inline()
