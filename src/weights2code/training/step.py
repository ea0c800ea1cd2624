"""One training step: the loss with its gradient, and the change of the weights.

The objective is the mean squared error, with the linear head learned or solved in closed form. Variable
projection: for any stream the best linear head is a least-squares solution, so it need not be learned, and by
the envelope theorem the loss's gradient with the head held at its optimum is the whole gradient. This is what
makes stiff linear dynamics solvable, where the output is many times larger than the input.

On a GPU a step of many small models is bound by launching kernels, not by arithmetic: there the paper's
architecture has kernels of its own (`fused/`), and of others a step is recorded once as a CUDA graph and
replayed whole (`CapturedStep`). The closed-form head asks the host whether its solver failed, which a graph
cannot do, so that recipe keeps the ordinary step. `epochs_of` is the one door to all three.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, local

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from weights2code.effort import charge, check_time, work
from weights2code.model.sampler import HARD, Sampling
from weights2code.model.transformer import DiscreteTransformer
from weights2code.training.adamw import AdamW
from weights2code.training.recipes import Recipe

#: Channels, targets, and where they are scored; what is kept to judge by may have another length.
Batch = tuple[
    Float[Tensor, "channel pos batch"], Float[Tensor, "output pos batch"], Bool[Tensor, "pos batch"]
]
Validation = tuple[
    Float[Tensor, "channel kept_pos kept"],
    Float[Tensor, "output kept_pos kept"],
    Bool[Tensor, "kept_pos kept"],
]
#: (batch, share of the training that is done) -> the members' losses, detached.
Step = Callable[[Batch, float], Tensor]
#: (number of an epoch) -> the members' mean training losses in it, detached.
RunEpoch = Callable[[int], Tensor]

#: Ridge of the closed-form head, relative to each feature's own mean square: a sum may be far larger than
#: what it adds up.
RIDGE = 1e-8
#: A step of the optimizer, and a number that the closed form reads, in seconds of a usual machine.
DESCENT, SOLVED = 7e-4, 2e-9
#: Steps that run without a graph first: libraries choose their algorithms and the optimizer makes its state.
WARM_UP = 3
#: Several trainings may run in threads of one process, and recording begins by waiting for the whole device,
#: which no other recording survives.
_RECORDING, _OF_THREAD = Lock(), local()


def solve_head(
    features: Float[Tensor, "member feature column"],
    targets: Float[Tensor, "output column"],
    weight: Float[Tensor, " column"],
) -> Float[Tensor, "member output feature_and_one"]:
    """Least-squares weights (the intercept last) in float64, detached from the graph."""
    charge(SOLVED * features.numel())
    with torch.no_grad():
        ones = features.new_ones(features.shape[0], 1, features.shape[2])
        design = torch.cat([features, ones], 1).double()
        weighted = design * weight.double()
        gram = weighted @ design.transpose(1, 2)
        size = gram.diagonal(dim1=1, dim2=2)
        gram.diagonal(dim1=1, dim2=2).add_(RIDGE * size + 1e-12)
        right = weighted @ targets.double().T
        # A member with infinite features (a diverged sub-MLP) must not spoil the batch.
        bad = ~torch.isfinite(gram).all(-1).all(-1)
        if bad.any():
            gram[bad] = torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
            right[bad] = 0.0
        factor, failed = torch.linalg.cholesky_ex(gram)
        solution = torch.cholesky_solve(right, factor)
        if failed.any():
            rescue = torch.linalg.lstsq(gram[failed > 0], right[failed > 0]).solution
            solution[failed > 0] = rescue
        return solution.transpose(1, 2)


def member_losses(
    prediction: Float[Tensor, "member output pos batch"],
    targets: Float[Tensor, "output pos batch"],
    scored: Bool[Tensor, "pos batch"],
    variance: Float[Tensor, " output"],
) -> Float[Tensor, " member"]:
    """Mean squared error of each member over scored positions, each output divided by its variance."""
    error = (prediction - targets).square() / variance[:, None, None].to(prediction.dtype)
    return (error * scored).sum((1, 2, 3)) / (scored.sum() * targets.shape[0])


def target_variance(
    targets: Float[Tensor, "output pos batch"], scored: Bool[Tensor, "pos batch"]
) -> Float[Tensor, " output"]:
    """Variance of each output over the scored positions (1 where it is constant)."""
    columns = targets[:, scored].double()
    variance = columns.var(1, unbiased=False)
    return torch.where(variance > 0, variance, torch.ones_like(variance))


def first_scored(scored: Bool[Tensor, "pos batch"]) -> int:
    """The first position that any sequence is scored at (0 if none is)."""
    return int(scored.any(1).int().argmax())


@dataclass(frozen=True, slots=True)
class Solved:
    """The closed-form part of each member: head and output weights of the last layer's sub-MLPs."""

    head: Float[Tensor, "member output variable_and_one"]
    output_weight: Float[Tensor, "member submlp hidden"] | None
    prediction: Float[Tensor, "member output pos batch"]

    def write(self, model: DiscreteTransformer) -> None:
        """Make it the model's own."""
        with torch.no_grad():
            model.head.copy_(self.head)
            if self.output_weight is not None:
                last = model.architecture.layers - 1
                model.output_weight[:, last] = self.output_weight[:, :, None, :].to(model.head.dtype)
                model.output_bias[:, last] = 0.0


def closed_form(
    model: DiscreteTransformer,
    batch: Batch,
    sampling: Sampling = HARD,
    table: Tensor | None = None,
    project: bool = False,
) -> Solved:
    """Run the members and solve their linear head; the prediction carries the gradient, the head does not.

    With `project`, the output weights of the last layer's sub-MLPs are solved too: the head alone reads
    them, so output weights and head weight are one linear map of the hidden units. With several outputs
    each of these sub-MLPs then serves one of them, in turn.
    """
    channels, targets, scored = batch
    if project:
        flat, hidden = model.features(channels, sampling, table)
    else:
        flat, hidden = model.stream(channels, sampling, table).flatten(2), None
    mask = model.variable_mask.to(flat.dtype)
    before = flat * mask[:, : flat.shape[1], None]
    outputs, width = targets.shape[0], before.shape[1]
    weight = scored.flatten().to(flat.dtype)
    total = model.architecture.stream_width(model.architecture.layers)
    head = flat.new_zeros(model.members, outputs, total + 1, dtype=torch.float64)
    inner = None
    if hidden is not None:
        hidden = hidden * mask[:, width:, None, None]
        inner = torch.zeros(hidden.shape[:3], dtype=torch.float64, device=flat.device)
    predictions = []
    for output in range(outputs):
        own = before
        if hidden is not None:
            own = torch.cat([before, hidden[:, output::outputs].flatten(1, 2)], 1)
        solution = solve_head(own, targets[output : output + 1].flatten(1), weight)[:, 0]
        head[:, output, :width], head[:, output, -1] = solution[:, :width], solution[:, -1]
        if inner is not None:
            part = solution[:, width:-1].unflatten(1, (-1, inner.shape[2]))
            inner[:, output::outputs] = part
            head[:, output, width + output : total : outputs] = 1.0
        row = solution.to(flat.dtype)
        predictions.append((row[:, None, :-1] @ own).squeeze(1) + row[:, -1:])
    prediction = torch.stack(predictions, 1).unflatten(-1, channels.shape[1:])
    return Solved(head, inner, prediction)


def batch_losses(
    model: DiscreteTransformer,
    batch: Batch,
    recipe: Recipe,
    variance: Tensor,
    sampling: Sampling,
    first: int = 0,
) -> Float[Tensor, " member"]:
    """The members' losses on a batch, with their gradient; nothing before position `first` is scored."""
    channels, targets, scored = batch
    if recipe.solves_head:
        project = recipe.head == "projected"
        prediction = closed_form(model, batch, sampling, project=project).prediction
        return member_losses(prediction, targets, scored, variance)
    prediction = model(channels, sampling, first)
    return member_losses(prediction, targets[:, first:], scored[first:], variance)


def descend(model: DiscreteTransformer, optimizer: AdamW, losses: Tensor, recipe: Recipe) -> None:
    """Change the weights to lower the losses (and the penalty, if any)."""
    charge(DESCENT)
    objective = losses.sum()
    if recipe.l1 and recipe.head == "learned":
        objective = objective + recipe.l1 * model.head[..., :-1].abs().sum()
    if objective.requires_grad:
        optimizer.zero_grad()
        objective.backward()
        _clip_members(model)
        optimizer.step()


def set_learning_rate(optimizer: AdamW, recipe: Recipe, progress: float) -> None:
    """Cosine from the first to the last learning rate."""
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    rate = recipe.last_learning_rate + (recipe.learning_rate - recipe.last_learning_rate) * cosine
    optimizer.rate = rate


def _clip_members(model: DiscreteTransformer, limit: float = 100.0) -> None:
    """A member whose gradient is not finite, or huge, is held back without touching the others."""
    for parameter in model.parameters():
        if parameter.grad is not None:
            torch.nan_to_num_(parameter.grad, nan=0.0, posinf=limit, neginf=-limit)


def side_stream(device: torch.device) -> torch.cuda.Stream:
    """A stream beside the current one, the same for all trainings of a thread.

    PyTorch has 32 streams and gives them out in turn: trainings that took new ones would soon share them
    with other threads, which may just record on theirs.
    """
    streams, name = _OF_THREAD.__dict__, str(device)
    if name not in streams:
        streams[name] = torch.cuda.Stream(device)
    return streams[name]


@contextmanager
def recording(graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream | None = None) -> Iterator[None]:
    """What this thread does in here goes into the graph; other threads may go on with what they do."""
    with _RECORDING, torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        yield


def epochs_of(
    model: DiscreteTransformer,
    optimizer: AdamW,
    training: Batch,
    recipe: Recipe,
    variance: Float[Tensor, " output"],
    seed: int,
) -> RunEpoch:
    """The fastest way to run epochs on this device: fused kernels, a recorded step, or the plain one.

    All randomness of an epoch comes from (seed, epoch), so that one may begin at any of them.
    """
    from weights2code.training.fused.program import FusedTraining, can_fuse

    if model.choices.is_cuda and can_fuse(model, training, recipe):
        return FusedTraining(model, optimizer, training, recipe, variance, seed).run_epoch
    generator = torch.Generator(training[0].device)
    step = make_step(model, optimizer, recipe, variance, generator, first_scored(training[2]))
    count, steps = training[0].shape[2], recipe.steps_per_epoch
    batch = min(recipe.batch, count)

    def run_epoch(epoch: int) -> Float[Tensor, " member"]:
        shuffled = sequences_of(training, shuffling(count, seed, epoch, generator))
        total = torch.zeros(model.members, device=training[0].device)
        for index in range(steps):
            check_time()
            first = (index * batch) % max(count - batch + 1, 1)
            part = sequences_of(shuffled, slice(first, first + batch))
            total += step(part, (epoch * steps + index) / max(recipe.steps, 1))
        return total / steps

    return run_epoch


def shuffling(count: int, seed: int, epoch: int, generator: torch.Generator) -> Tensor:
    """The order of the sequences in an epoch; the generator is seeded for it and goes on from there."""
    generator.manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(count, generator=generator, device=generator.device)


def sequences_of(data: Validation, chosen: slice | Tensor) -> Batch:
    """Some of the sequences of a batch."""
    return tuple(tensor[..., chosen] for tensor in data)  # type: ignore[return-value]


def make_step(
    model: DiscreteTransformer,
    optimizer: AdamW,
    recipe: Recipe,
    variance: Tensor,
    generator: torch.Generator,
    first: int = 0,
) -> Step:
    """The fastest step for this device and recipe: (batch, progress) -> the members' losses, detached.

    Nothing before position `first` is scored.
    """
    if model.choices.is_cuda and recipe.head == "learned":
        return CapturedStep(model, optimizer, recipe, variance, generator, first)

    def step(batch: Batch, progress: float) -> Tensor:
        tau = recipe.annealing.tau(progress)
        model.leak = recipe.leak_at(progress)
        sampling = Sampling(
            tau, recipe.annealing.alpha(tau), noise=recipe.noise, generator=generator, cooled=recipe.cooled
        )
        set_learning_rate(optimizer, recipe, progress)
        losses = batch_losses(model, batch, recipe, variance, sampling, first)
        descend(model, optimizer, losses, recipe)
        return losses.detach()

    return step


class CapturedStep:
    """A step with a learned head as one CUDA graph, recorded after `WARM_UP` ordinary ones.

    What differs from step to step (the batch, the temperature, the learning rate) lies in buffers that are
    overwritten before each replay; Gumbel noise stays fresh, because the graph knows the generator. On the
    CPU the same step runs without a graph.

    The optimizer's learning rate becomes a tensor. Batches must keep their shape, and weights and moments
    must be changed in place only, since the graph knows them by their address.
    """

    def __init__(
        self,
        model: DiscreteTransformer,
        optimizer: AdamW,
        recipe: Recipe,
        variance: Tensor,
        generator: torch.Generator,
        first: int = 0,
    ) -> None:
        device = model.choices.device
        self.model, self.optimizer, self.recipe = model, optimizer, recipe
        self.variance, self.generator, self.first = variance.to(device), generator, first
        self.tau, self.alpha, self.rate, self.leak = (torch.ones((), device=device) for _ in range(4))
        self.sampling = Sampling(
            self.tau, self.alpha, noise=recipe.noise, generator=generator, cooled=recipe.cooled
        )
        self.batch: Batch | None = None
        self.losses: Tensor | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.side = side_stream(device) if device.type == "cuda" else None
        self.steps, self.work = 0, 0.0

    def __call__(self, batch: Batch, progress: float) -> Float[Tensor, " member"]:
        """One step for all members at a share `progress` (0 to 1) of the training."""
        self._fill(batch, progress)
        self.steps += 1
        if self.side is None:
            return self._run()
        if self.graph is None:
            if self.steps <= WARM_UP:
                return self._run_aside(self.side)
            self.graph = torch.cuda.CUDAGraph()
            self.graph.register_generator_state(self.generator)
            self.optimizer.zero_grad()  # gradients must be born inside the graph's memory
            with recording(self.graph, self.side):  # nothing is computed until the first replay
                self.losses = self._run()
        charge(self.work)  # a replay does not come by the model
        self.graph.replay()
        assert self.losses is not None
        return self.losses.clone()  # the next replay overwrites them

    def _fill(self, batch: Batch, progress: float) -> None:
        """Write what changes into the buffers that the graph reads."""
        tau = self.recipe.annealing.tau(progress)
        self.tau.fill_(tau)
        self.alpha.fill_(self.recipe.annealing.alpha(tau))
        if self.recipe.leak:
            self.leak.fill_(self.recipe.leak_at(progress))
            self.model.leak = self.leak
        set_learning_rate(self.optimizer, self.recipe, progress)
        self.rate.fill_(self.optimizer.rate)
        self.optimizer.rate = self.rate
        if self.batch is None:
            self.batch = (batch[0].clone(), batch[1].clone(), batch[2].clone())
        for buffer, tensor in zip(self.batch, batch, strict=True):
            buffer.copy_(tensor)

    def _run(self) -> Tensor:
        """The step itself: nothing in it may wait for the device or depend on a number of the host."""
        assert self.batch is not None
        losses = batch_losses(self.model, self.batch, self.recipe, self.variance, self.sampling, self.first)
        descend(self.model, self.optimizer, losses, self.recipe)
        return losses.detach()

    def _run_aside(self, side: torch.cuda.Stream) -> Tensor:
        """On the stream of the later capture, as capturing asks for."""
        before = work()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            losses = self._run()
        torch.cuda.current_stream().wait_stream(side)
        self.work = work() - before
        return losses
