"""A training step as one CUDA graph: hundreds of small kernels, a single launch.

A step of many small models is bound by launching kernels, not by arithmetic. Recorded once, the step is
replayed whole. What differs from step to step (the batch, the temperature, the learning rate) lies in
buffers that are overwritten before each replay; Gumbel noise stays fresh, because the graph knows the
generator. In long trainings the loss is compiled before: fewer and larger kernels, twice as fast, after
half a minute of compiling. On the CPU the same step runs without a graph. The closed-form head asks the
host whether its solver failed, which a graph cannot do, so that recipe keeps the ordinary step.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from jaxtyping import Float
from torch import Tensor

from weights2code.model import DiscreteTransformer, Sampling
from weights2code.training.loop import batch_losses, descend, set_learning_rate, training_step
from weights2code.training.objective import Batch
from weights2code.training.recipes import Recipe

#: Steps that run without a graph first: libraries choose their algorithms and the optimizer makes its state.
WARM_UP = 3
#: Steps from which compiling pays: half a minute against half a millisecond a step.
LONG = 50_000

Step = Callable[[Batch, float], Tensor]


@contextmanager
def noise_source(device: torch.device) -> Iterator[torch.Generator]:
    """The generator of a training: one of its own on the CPU, the device's own on a GPU, since compiled
    code draws from no other; its state is put back afterwards."""
    if device.type != "cuda":
        yield torch.Generator(device=device)
        return
    index = torch.cuda.current_device() if device.index is None else device.index
    with torch.random.fork_rng(devices=[index]):
        yield torch.cuda.default_generators[index]


def make_step(
    model: DiscreteTransformer,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    variance: Tensor,
    generator: torch.Generator,
    first: int = 0,
) -> Step:
    """The fastest step for this device and recipe: (batch, progress) -> the members' losses, detached.

    Nothing before position `first` is scored.
    """
    if model.choices.is_cuda and recipe.head == "learned":
        compiled = recipe.steps >= LONG and can_compile()
        return CapturedStep(model, optimizer, recipe, variance, generator, first, compiled)

    def step(batch: Batch, progress: float) -> Tensor:
        tau = recipe.annealing.tau(progress)
        sampling = Sampling(
            tau, recipe.annealing.alpha(tau), noise=recipe.noise, generator=generator, cooled=recipe.cooled
        )
        return training_step(model, optimizer, batch, recipe, variance, sampling, progress, first)

    return step


def can_compile() -> bool:
    """Compiling for a GPU needs Triton and a C compiler."""
    return find_spec("triton") is not None and any(map(shutil.which, ("cc", "gcc", "clang")))


class CapturedStep:
    """A step with a learned head, recorded after `WARM_UP` ordinary ones.

    The optimizer must be a fused AdamW; its learning rate becomes a tensor. Batches must keep their shape,
    and weights and moments must be changed in place only, since the graph knows them by their address.
    A compiled step draws its noise from the device's own generator, whatever `generator` is.
    """

    def __init__(
        self,
        model: DiscreteTransformer,
        optimizer: torch.optim.Optimizer,
        recipe: Recipe,
        variance: Tensor,
        generator: torch.Generator,
        first: int = 0,
        compiled: bool = False,
    ) -> None:
        device = model.choices.device
        self.model, self.optimizer, self.recipe = model, optimizer, recipe
        self.variance, self.generator, self.first = variance.to(device), generator, first
        self.tau, self.alpha, self.rate = (torch.ones((), device=device) for _ in range(3))
        source = None if compiled else generator
        self.sampling = Sampling(
            self.tau, self.alpha, noise=recipe.noise, generator=source, cooled=recipe.cooled
        )
        self.losses_of = batch_losses
        if compiled:
            torch.compiler.reset()  # else many models in one process reach its limit and it gives up
            self.losses_of = torch.compile(batch_losses, dynamic=False)
        self.batch: Batch | None = None
        self.losses: Tensor | None = None
        self.graph: torch.cuda.CUDAGraph | None = None
        self.side = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.steps = 0

    def __call__(self, batch: Batch, progress: float) -> Float[Tensor, " member"]:
        """One step for all members at a share `progress` (0 to 1) of the training."""
        self._fill(batch, progress)
        self.steps += 1
        if self.side is None:
            return self._run()
        if self.graph is None:
            if self.steps <= WARM_UP:
                return self._run_aside(self.side)
            self.graph = self._capture(self.side)
        self.graph.replay()
        assert self.losses is not None
        return self.losses.clone()  # the next replay overwrites them

    def _fill(self, batch: Batch, progress: float) -> None:
        """Write what changes into the buffers that the graph reads."""
        tau = self.recipe.annealing.tau(progress)
        self.tau.fill_(tau)
        self.alpha.fill_(self.recipe.annealing.alpha(tau))
        set_learning_rate(self.optimizer, self.recipe, progress)
        for group in self.optimizer.param_groups:
            self.rate.fill_(group["lr"])
            group["lr"] = self.rate
        if self.batch is None:
            self.batch = (batch[0].clone(), batch[1].clone(), batch[2].clone())
            return
        for buffer, tensor in zip(self.batch, batch, strict=True):
            if buffer.shape != tensor.shape:
                raise ValueError(
                    f"batches must keep their shape: {tuple(buffer.shape)}, {tuple(tensor.shape)}"
                )
            buffer.copy_(tensor)

    def _run(self) -> Tensor:
        """The step itself: nothing in it may wait for the device or depend on a number of the host."""
        assert self.batch is not None
        losses = self.losses_of(self.model, self.batch, self.recipe, self.variance, self.sampling, self.first)
        descend(self.model, self.optimizer, losses, self.recipe)
        return losses.detach()

    def _run_aside(self, side: torch.cuda.Stream) -> Tensor:
        """On the stream of the later capture, as capturing asks for."""
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            losses = self._run()
        torch.cuda.current_stream().wait_stream(side)
        return losses

    def _capture(self, side: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
        """Record the step; nothing is computed until the first replay."""
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        self.optimizer.zero_grad(set_to_none=True)  # gradients must be born inside the graph's memory
        for group in self.optimizer.param_groups:
            group["capturable"] = True
        with torch.cuda.graph(graph, stream=side):
            self.losses = self._run()
        return graph
