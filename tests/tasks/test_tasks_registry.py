"""Finding tasks, and the facts that the paper reports about them."""

from collections import Counter

import pytest

from weights2code import tasks
from weights2code.errors import InputError

PAPER_TO_MIPS = {
    "sum_last2": "Sum_Last2",
    "diff_last2": "Diff_Last2",
    "sum": "Sum_All",
    "div_3": "Div_3",
    "freebody": "Newton_Freebody",
    "gravity": "Newton_Gravity",
    "spring": "Newton_Spring",
    "magnetic": "Newton_Magnetic",
    "parity_last2": "Parity_Last2",
    "unique_prev2": "Previous_Equals_Current",
    "abs": "Abs_Current",
    "abs_of_diff": "Abs_Diff",
    "bitwise_and": "Bitwise_And",
    "bitwise_or": "Bitwise_Or",
    "bitwise_not": "Bitwise_Not",
    "bitwise_xor": "Bitwise_Xor",
    "parity": "Parity_All",
    "parity_zeros": "Parity_Zeros",
    "add_mod_3": "Add_Mod_3",
    "bit_dot_prod_mod_2": "Bit_Dot_Prod_Mod2",
    "bit_addition": "Binary_Addition",
    "balanced_parenthesis": "Balanced_Parenthesis",
    "parity_last3": "Parity_Last3",
}


@pytest.mark.parametrize(("paper", "mips"), PAPER_TO_MIPS.items())
def test_both_suites_name_the_same_task(paper, mips):
    assert tasks.get(paper) is tasks.get(mips)
    assert tasks.get(paper).name == paper
    assert mips in tasks.get(paper).aliases


@pytest.mark.parametrize("task", tasks.all_tasks(), ids=lambda task: task.name)
def test_case_and_hyphens_do_not_matter(task):
    for name in (task.name, *task.aliases):
        for variant in (name, name.upper(), name.lower(), name.replace("_", "-"), f" {name} "):
            assert tasks.get(variant) is task


def test_names_are_unique():
    spoken = [name.casefold() for task in tasks.all_tasks() for name in {task.name, *task.aliases}]
    doubled = [name for name, count in Counter(spoken).items() if count > 1]
    # a paper name that differs from its MIPS name in case only is the same task twice, not two tasks
    assert all(name == tasks.get(name).name.casefold() for name in doubled)
    assert len({task.name for task in tasks.all_tasks()}) == 90


@pytest.mark.parametrize(
    ("typo", "meant"), [("div3x", "div_3"), ("sum_last9", "Sum_Last"), ("bit_adition", "bit_addition")]
)
def test_a_typo_is_answered_with_the_nearest_names(typo, meant):
    with pytest.raises(InputError, match=meant):
        tasks.get(typo)


def test_nonsense_is_answered_with_the_list():
    with pytest.raises(InputError, match="w2c tasks"):
        tasks.get("qqqqqqqq")


@pytest.mark.parametrize(
    ("suite", "count"), [("paper", 29), ("mips", 62), ("appendix", 3), ("languages", 20), ("all", 90)]
)
def test_suites(suite, count):
    assert len(tasks.all_tasks(suite)) == count


def test_an_unknown_suite_is_refused():
    with pytest.raises(InputError, match="paper, mips, appendix, languages, all"):
        tasks.all_tasks("imagenet")


def test_the_paper_groups_its_tasks_in_three():
    counts = Counter(task.category for task in tasks.all_tasks("paper"))
    assert counts == {"Linear Arithmetic": 8, "Non-Linear Composition": 16, "Continuous Dynamics": 5}


def test_the_paper_trains_freebody_and_gravity_longer():
    exceptional = {
        task.name
        for task in tasks.all_tasks()
        if task.paper and (task.paper.epochs, task.paper.learning_rate) != (50, 0.05)
    }
    assert exceptional == {"freebody", "gravity"}
    assert tasks.get("gravity").paper == tasks.PaperSettings(2, 2, 3, epochs=100, learning_rate=0.01)
    assert tasks.get("bit_addition").paper == tasks.PaperSettings(2, 4, 4)
    assert tasks.get("Div_5").paper is None


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("Sum_Last7", "a"),  # inputs alone
        ("minimum_prev2", "a"),
        ("parity", "b"),  # its own past
        ("bit_addition", "b"),  # a carry
        ("magnetic", "b"),
        ("Majority_0_2", "c"),  # said, not derived
        ("Bit_Palindrome", "d"),
    ],
)
def test_the_class_of_the_window_follows_from_the_steps_unless_said(name, window):
    assert tasks.get(name).window_class == window


@pytest.mark.parametrize(
    ("name", "tracks"),
    [("sum_last2", False), ("sum", True), ("free_fall_height", False), ("prefix_mean", False)],
)
def test_formulation(name, tracks):
    assert tasks.get(name).state_tracking is tracks


def test_tagged_tasks_read_no_outputs():
    tagged = [task for task in tasks.all_tasks() if task.window_class == "a"]
    assert tagged
    for task in tagged:
        assert {variable.name for variable in task.machine.state()} <= set(task.columns), task.name
