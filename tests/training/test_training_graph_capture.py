"""The step that a CUDA graph records is the ordinary training step, with numbers held in tensors."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from weights2code.model import Architecture, DiscreteTransformer
from weights2code.training.adamw import AdamW
from weights2code.training.recipes import Recipe
from weights2code.training.step import WARM_UP, CapturedStep, make_step

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
ARCHITECTURE = Architecture(
    channels=2, past=1, layers=2, location=1, pointer=1, mean=1, window=4, learned_start=True
)
RECIPE = Recipe(head="learned", l1=0.01, weight_decay=0.01, noise=0.5)


def prepare(recipe=RECIPE, device="cpu"):
    model = DiscreteTransformer(ARCHITECTURE, members=3, seed=1).to(device)
    optimizer = AdamW(model.parameters(), recipe.learning_rate, recipe.weight_decay)
    generator = torch.Generator(device=device).manual_seed(2)
    return model, optimizer, recipe, torch.ones(1, dtype=torch.float64, device=device), generator


def batches(count, device="cpu"):
    draw = torch.Generator().manual_seed(3)
    for _ in range(count):
        channels = torch.randn(2, 6, 5, generator=draw)
        scored = torch.rand(6, 5, generator=draw) < 0.8
        yield channels.to(device), channels[:1].cumsum(1).to(device), scored.to(device)


def train(step, count=6, device="cpu"):
    return torch.stack([step(batch, i / count) for i, batch in enumerate(batches(count, device))]).cpu()


@pytest.mark.slow
def test_the_step_equals_the_ordinary_one():
    """Same losses at every step, same weights at the end: noise, schedules, penalty and decay included."""
    plain, tensors = prepare(), prepare()
    expected = train(make_step(*plain))
    losses = train(CapturedStep(*tensors))
    torch.testing.assert_close(losses, expected)
    for name, parameter in plain[0].named_parameters():
        torch.testing.assert_close(getattr(tensors[0], name), parameter)
    assert not torch.equal(losses[0], losses[-1])


class Operators(TorchDispatchMode):
    """Writes down which operators run."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def test_the_step_never_waits_for_the_device():
    """What a graph cannot hold: numbers that the host looks at, or tensors that the host makes."""
    step = CapturedStep(*prepare())
    batch = next(batches(1))
    step(batch, 0.0)
    with Operators() as operators:
        step._run()
    assert {"bmm", "sort", "uniform_"} <= operators.seen
    waiting = {"_local_scalar_dense", "item", "equal", "is_nonzero", "nonzero", "masked_select", "index"}
    made_by_the_host = {"lift_fresh", "lift"}
    assert not operators.seen & (waiting | made_by_the_host)


@CUDA
def test_replays_equal_ordinary_steps_on_the_gpu():
    """Without noise both ways of running draw nothing, so that they must agree."""
    recipe = Recipe(head="learned", noise=0.0)
    captured, plain = prepare(recipe, "cuda"), prepare(recipe, "cuda")
    step = make_step(*captured)
    assert isinstance(step, CapturedStep)
    losses = train(step, 3 * WARM_UP, "cuda")
    assert step.graph is not None
    other = CapturedStep(*plain)
    other.side = None  # never captures
    torch.testing.assert_close(losses, train(other, 3 * WARM_UP, "cuda"), rtol=1e-4, atol=1e-5)


@CUDA
def test_replays_draw_fresh_noise_and_repeat_with_the_seed():
    def losses(seed):
        model, optimizer, recipe, variance, generator = prepare(device="cuda")
        step = make_step(model, optimizer, recipe, variance, generator.manual_seed(seed))
        batch = next(batches(1, "cuda"))
        return torch.stack([step(batch, 0.0) for _ in range(3 * WARM_UP)]).cpu()

    first = losses(1)
    assert len(set(first[:, 0].tolist())) == len(first)
    torch.testing.assert_close(losses(1), first)
    assert not torch.allclose(losses(2), first)
