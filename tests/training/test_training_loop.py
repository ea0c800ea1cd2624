"""The loop: PyTorch's optimizer to the last bit, and successive halving, after which a run resumes alike."""

from dataclasses import replace

import torch

from weights2code.model import Architecture, DiscreteTransformer
from weights2code.training.adamw import AdamW
from weights2code.training.loop import LEAST_MEMBERS, load_loop, run_loop, save_loop, start
from weights2code.training.recipes import Recipe

RECIPE = Recipe(epochs=6, steps_per_epoch=3, batch=16, tune_steps=0, halvings=(0.34, 0.67))
ARCHITECTURE = Architecture(channels=2, past=1, layers=1, location=1, submlps=1, window=3)


class Stop(Exception):
    pass


def data():
    channels = torch.randn(2, 5, 64, generator=torch.Generator().manual_seed(1))
    return channels, channels[:1] * channels[1:], torch.ones(5, 64, dtype=torch.bool)


def fresh(recipe=RECIPE):
    return start(DiscreteTransformer(ARCHITECTURE, members=20, seed=5), recipe)


def test_the_better_members_go_on():
    whole, halved = fresh(), fresh()
    run_loop(whole, data(), data(), replace(RECIPE, epochs=2, halvings=()), seed=3)
    recipe = replace(RECIPE, epochs=2, halvings=(1.0,))
    run_loop(halved, data(), data(), recipe, seed=3)
    lowest = [min(pair) for pair in zip(*(epoch.hard_loss for epoch in whole.history), strict=True)]
    kept = sorted(sorted(range(20), key=lowest.__getitem__)[:10])
    assert halved.model.members == 10
    assert torch.equal(halved.model.choices, whole.model.choices[kept])
    assert list(halved.history[-1].hard_loss) == [whole.history[-1].hard_loss[member] for member in kept]
    moments = [next(iter(state.optimizer.state.values()))["exp_avg"] for state in (whole, halved)]
    assert torch.equal(moments[1], moments[0][kept])


def test_a_checkpoint_after_a_halving_goes_on_alike(tmp_path):
    whole, cut, resumed = fresh(), fresh(), fresh()
    run_loop(whole, data(), data(), RECIPE, seed=3)

    def stop(state):
        if state.epoch == 3:
            save_loop(tmp_path / "checkpoint", state, {"seed": 3})
            raise Stop

    try:
        run_loop(cut, data(), data(), RECIPE, seed=3, on_epoch=stop)
    except Stop:
        assert load_loop(tmp_path / "checkpoint", resumed, RECIPE, {"seed": 3})
    assert resumed.model.members == 10
    run_loop(resumed, data(), data(), RECIPE, seed=3)
    assert whole.model.members == LEAST_MEMBERS == len(whole.history[0].agreement)
    assert torch.equal(resumed.model.choices, whole.model.choices)
    assert torch.equal(resumed.model.head, whole.model.head)
    assert [e.hard_loss for e in resumed.history] == [e.hard_loss for e in whole.history]


def parameters() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=draw).requires_grad_() for shape in ((3, 4), (5,), (2, 2))]


def descend(optimizer, own: list[torch.Tensor], steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        first, second, _ = (part * (1 + step % 3) for part in own)  # the last has no gradient
        (first.cos().sum() + second.cos().sum()).backward()
        optimizer.step()


def test_the_same_as_pytorch():
    ours, theirs = parameters(), parameters()
    descend(AdamW(ours, 0.05, 0.1), ours, range(20))
    descend(torch.optim.AdamW(theirs, lr=0.05, weight_decay=0.1, fused=True), theirs, range(20))
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
