"""Training with fused kernels: buffers, the order of the kernels in a step, and steps recorded as graphs.

Nothing of a step depends on the host: which sequences are next, the temperature, the learning rate and the
leak are looked up on the device by the number of the step. So many steps are recorded as one graph and
replayed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from weights2code.effort import charge
from weights2code.heads import FORBIDDEN
from weights2code.model.transformer import DiscreteTransformer
from weights2code.training.adamw import BETAS, AdamW
from weights2code.training.recipes import Recipe
from weights2code.training.step import Batch, first_scored, recording, shuffling, side_stream

#: Sequences whose keys one warp holds in its registers, the smallest tile of keys, and how many registers a
#: lane may use on the way back; columns of the kernels without keys, and of the small products; hidden units
#: times columns of a warp.
SEQUENCES = 8
LEAST_KEYS = 4
REGISTERS = 168
LANES = 32
COLUMNS = 64
UNITS = 512
#: Parts that gradients of weights are summed in, and those of choices.
PARTS = 32
CHOICE_PARTS = 64
#: How small products are made: what a model computes of three products of ten bits each, which lose next to
#: nothing; gradients of one, whose error is far below the noise of a batch.
PRECISION, GRADIENT_PRECISION = "tf32x3", "tf32"
#: Work of a step, in seconds of a usual machine.
FUSED_STEP = 2e-3
#: Steps of one graph.
RECORDED = 16
#: More operands than kernels hold totals for, boundaries than a tile has rows, positions than a tile holds.
MOST_OPERANDS = 4
MOST_BOUNDARIES = 16
MOST_POSITIONS = 64


def can_fuse(model: DiscreteTransformer, training: Batch, recipe: Recipe) -> bool:
    """Whether the kernels are there and do what this training asks for; every model of the paper's recipe is
    such a one."""
    a = model.architecture
    first = first_scored(training[2])
    return (
        find_spec("triton") is not None
        and any(map(shutil.which, ("cc", "gcc", "clang")))  # Triton compiles with one
        and recipe.head == "learned"
        and not recipe.halvings
        and training[0].dtype == torch.float32
        and a.layers > 0
        and a.pointer == a.heads > 0
        and a.submlps > 0
        and a.arity <= MOST_OPERANDS
        and max(a.bins + 1, a.width) <= MOST_BOUNDARIES
        and not a.learned_start
        and training[0].shape[1] <= MOST_POSITIONS
        and min(recipe.batch, training[0].shape[2]) % COLUMNS == 0
        and bool(training[2][first:].all())
    )


def power(size: int, least: int = 16) -> int:
    """The next power of two."""
    return max(least, 1 << (size - 1).bit_length())


class FusedTraining:
    """All steps of one training; weights and moments live in one flat buffer each.

    The model's parameters and the optimizer's moments become views of these buffers, so that evaluation and
    checkpoints know nothing of it. `known` holds what kernels are given, by the names of their arguments.
    """

    def __init__(
        self,
        model: DiscreteTransformer,
        optimizer: AdamW,
        training: Batch,
        recipe: Recipe,
        variance: Tensor,
        seed: int,
    ) -> None:
        from weights2code.training.fused import kernels

        self.kernels, self.model, self.optimizer = kernels, model, optimizer
        self.recipe, self.seed = recipe, seed
        self.device = training[0].device
        self.generator = torch.Generator(self.device)
        self.count, self.batch = training[0].shape[2], min(recipe.batch, training[0].shape[2])
        self.first = first_scored(training[2])
        self._flatten()
        self.order = torch.zeros(self.count, dtype=torch.int64, device=self.device)
        self.step = torch.zeros((), dtype=torch.int32, device=self.device)
        self.losses = self._empty(PARTS, model.members)
        self.known = self._sizes(training[0].shape) | self._buffers(training, variance)
        self.layers = [self._of_layer(layer) for layer in range(model.architecture.layers)]
        self.side = side_stream(self.device) if self.device.type == "cuda" else None
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.taken = 0

    def _empty(self, *shape: int) -> Tensor:
        return torch.zeros(shape, device=self.device)

    def _sizes(self, shape: torch.Size) -> dict[str, Any]:
        """Numbers that are the same for all kernels."""
        a, (channels, length, count) = self.model.architecture, shape
        _, rows, width = self.model.choices.shape
        low, high = self.model.value_range
        variables = a.stream_width(a.layers)
        keys = max(
            1 << (length.bit_length() - 1), LEAST_KEYS
        )  # in two tiles: early queries look at the first
        return {
            "COUNT": count, "STEPS": self.recipe.steps_per_epoch, "CHANNELS": channels, "LENGTH": length,
            "BATCH": self.batch, "SEQUENCES": self.batch, "COLUMNS": length * self.batch,
            "VARIABLES": variables, "VARIABLE_BLOCK": power(variables), "MEMBERS": self.model.members,
            "TABLE_ROWS": rows, "WIDTH": width, "LAYERS": a.layers, "HEADS": a.pointer,
            "ALL_HEADS": a.layers * a.pointer, "WINDOW": a.window, "SUBMLPS": a.submlps, "ARITY": a.arity,
            "HIDDEN": a.hidden, "HIDDEN_BLOCK": power(a.hidden, 1), "OUTPUTS": a.outputs,
            "BOUNDARIES": a.bins + 1, "EMBEDDING": a.width, "low": float(low), "scale": a.bins / (high - low),
            "KEYS": keys, "REST": power(length - keys, LEAST_KEYS) if length > keys else 0,
            "PARTS": PARTS, "CHOICE_PARTS": CHOICE_PARTS, "seed": self.seed,
            "FAST": self.device.type == "cuda",
        }  # fmt: skip

    def _buffers(self, training: Batch, variance: Tensor) -> dict[str, Any]:
        """Tensors that all layers share."""
        model, a, table = self.model, self.model.architecture, tuple(self.model.choices.shape)
        members, length = model.members, training[0].shape[1]
        stream = (members, a.stream_width(a.layers), length * self.batch)
        factors = (members, a.layers, a.pointer, a.bins + 1, a.bins + 1)
        scored = (length - self.first) * self.batch * a.outputs
        parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.numel()}
        shapes = {
            "goals": (a.outputs, length * self.batch), "stream": stream, "stream_gradient": stream,
            "table": table, "soft": table, "sparse": table, "table_parts": (CHOICE_PARTS, *table),
            "factors": factors, "factor_parts": (PARTS, *factors),
            "answer_gradient": (members, a.pointer, length, a.bins + 1, self.batch),
        }  # fmt: skip
        buffers = {name: self._empty(*shape) for name, shape in shapes.items()}
        sizes = {f"{name}_size": buffers[name].numel() for name in ("table", "factors")}
        return (
            parameters
            | {f"{name}_parts": self.parts[:, self.segment[name]] for name in parameters}
            | {"weights": self.weights, "parts": self.parts, "penalty": self.penalty}
            | {"first": self.moments[0], "second": self.moments[1], "weights_size": self.weights.numel()}
            | {"data": training[0].contiguous(), "targets": training[1].contiguous()}
            | {"order": self.order, "step": self.step, "schedule": self._schedule(), "losses": self.losses}
            | {"allowed": model.choice_mask.to(torch.int32).contiguous()}
            | {"shown": model.variable_mask.to(torch.int32).contiguous()}
            | {"loss_weights": (1.0 / (variance.to(self.device) * scored)).float().contiguous()}
            | buffers
            | sizes
        )

    def _of_layer(self, layer: int) -> dict[str, Any]:
        """Tensors and numbers of a layer; nothing looks at the last one before the first scored position."""
        a, members, columns = self.model.architecture, self.model.members, self.known["COLUMNS"]
        reads, operands = (members, 3 * a.pointer, columns), (members, a.submlps * a.arity, columns)
        length, base = self.known["LENGTH"], a.stream_width(layer)
        shapes = {
            "reads": reads, "read_gradient": reads, "operands": operands, "operand_gradient": operands,
            "scores": (members, a.pointer, length, columns),
            "answers": (members, a.pointer, length, a.bins + 1, self.batch),
            **dict.fromkeys(("nulls", "shares", "thresholds"), (members, a.pointer, columns)),
        }  # fmt: skip
        begin = self.first if layer == a.layers - 1 else 0
        return {name: self._empty(*shape) for name, shape in shapes.items()} | {
            "layer": layer, "base": base, "first_submlp": base + a.pointer, "first_head": layer * a.pointer,
            "salt": self.seed * 64 + 1 + layer, "BEGIN": begin, "FIRST": begin * self.batch,
        }  # fmt: skip

    def _flatten(self) -> None:
        """Make the parameters views of one buffer, with gradient parts, moments and penalties beside it."""
        own = [(name, p) for name, p in self.model.named_parameters() if p.numel()]
        total = sum(parameter.numel() for _, parameter in own)
        self.weights = torch.empty(total, device=self.device)
        self.moments = torch.zeros(2, total, device=self.device)
        self.penalty = torch.zeros(total, device=self.device)
        self.parts = torch.zeros(PARTS, total, device=self.device)
        self.segment: dict[str, slice] = {}
        start = 0
        for name, parameter in own:
            self.segment[name] = slice(start, start + parameter.numel())
            view = self.weights[self.segment[name]].view(parameter.shape)
            view.copy_(parameter.detach())
            parameter.data = view
            moments = self.moments[:, self.segment[name]].view(2, *parameter.shape)
            before = self.optimizer.state[parameter]  # of a training that goes on
            moments[0].copy_(before["exp_avg"])
            moments[1].copy_(before["exp_avg_sq"])
            number = torch.zeros((), dtype=torch.float32)
            self.optimizer.state[parameter] = {
                "step": number, "exp_avg": moments[0], "exp_avg_sq": moments[1]
            }  # fmt: skip
            start += parameter.numel()
        self.penalty[self.segment["head"]].view(self.model.head.shape)[..., :-1] = self.recipe.l1
        forbidden = ~self.model.offset_mask[:, None, None].expand_as(self.model.relative_bias)
        self.model.relative_bias.data[forbidden] = -FORBIDDEN  # no gradient reaches what no weight is left of

    def _schedule(self) -> Tensor:
        """(step, number): see `kernels`."""
        recipe, steps = self.recipe, max(self.recipe.steps, 1)
        progress = torch.arange(steps, dtype=torch.float64) / steps
        first, last = recipe.annealing.first, recipe.annealing.last
        tau = first * (last / first) ** progress
        alpha = (first - tau) / (first - last)
        noise = recipe.noise * torch.ones_like(tau) if recipe.cooled else recipe.noise / tau
        leak = torch.tensor([recipe.leak_at(share) for share in progress.tolist()], dtype=torch.float64)
        cosine = 0.5 * (1 + torch.cos(torch.pi * progress))
        rate = recipe.last_learning_rate + (recipe.learning_rate - recipe.last_learning_rate) * cosine
        shrinking = 1 - rate * recipe.weight_decay
        number = torch.arange(1, steps + 1, dtype=torch.float64)
        corrections = [1 - beta**number for beta in BETAS]
        table = torch.stack([1 / tau, alpha, noise, leak, rate, shrinking, *corrections], 1)
        return table.float().to(self.device).contiguous()

    # -- one step --------------------------------------------------------------------------------------------

    def _launch(self, name: str, grid: tuple[int, ...], layer: int = 0, warps: int = 1, **own: Any) -> None:
        """Run a kernel; what it is given beside its `own` arguments is known by their names."""
        kernel = getattr(self.kernels, name)
        known = self.known | self.layers[layer] | own
        options = {"maxnreg": own["maxnreg"]} if "maxnreg" in own else {}
        kernel[grid](**{given: known[given] for given in kernel.arg_names}, num_warps=warps, **options)

    def once(self) -> None:
        """All kernels of one step, in order."""
        self.forward()
        self.backward()
        self._launch(
            "update", (-(-self.weights.numel() // 128),), PART_BLOCK=power(PARTS, 1), BLOCK=128, warps=4
        )
        self.step.add_(1)

    def forward(self) -> None:
        a, k = self.model.architecture, self.known
        members, columns = k["MEMBERS"], k["COLUMNS"]
        lines = (k["CHANNELS"] + a.outputs) * k["LENGTH"]
        with self._aside():
            self._launch("fetch", (members, lines, -(-self.batch // 256)), BLOCK=256, warps=4)
            self._launch("compare", (members * k["ALL_HEADS"],))
        self._launch("choose", (members * k["TABLE_ROWS"],), BLOCK=power(k["WIDTH"]))
        self._together()
        for layer, own in enumerate(self.layers):
            self._read(layer, "reads")
            keys = {"PRECISION": PRECISION, "BLOCK": COLUMNS}
            self._launch("answer", (members * a.pointer, columns // COLUMNS), layer, **keys)
            self._launch("attend", self._attend_grid, layer, BLOCK=SEQUENCES)
            self._read(layer, "operands")
            grid = (members * a.submlps, -(-(columns - own["FIRST"]) // 128))
            self._launch("operate", grid, layer, BLOCK=128, warps=4)

    def backward(self) -> None:
        a, k = self.model.architecture, self.known
        members, last = k["MEMBERS"], a.layers - 1
        self._launch("predict", (members, PARTS), last, BLOCK=LANES)
        for layer in reversed(range(a.layers)):
            units = max(UNITS // power(a.hidden, LANES // 2), 1)
            self._launch("operate_backward", (members * a.submlps, PARTS), layer, BLOCK=units)
            self._read_backward(layer, "operands", "operand_gradient")
            self._launch("attend_backward", self._attend_grid, layer, BLOCK=SEQUENCES, maxnreg=REGISTERS)
            keys = {"PRECISION": GRADIENT_PRECISION, "BLOCK": COLUMNS}
            self._launch("answer_backward", (members * a.pointer, PARTS), layer, **keys)
            with self._aside():
                grid = (members * a.pointer, a.window + 1)
                self._launch("bias_backward", grid, layer, BLOCK=512, warps=4)
            self._read_backward(layer, "reads", "read_gradient")
        with self._aside():
            self._launch("compare_backward", (members * k["ALL_HEADS"],))
        blocks = {"PART_BLOCK": power(CHOICE_PARTS, 1), "BLOCK": power(k["WIDTH"])}
        self._launch("choose_backward", (members * k["TABLE_ROWS"],), **blocks)
        self._together()

    def _reading(self, layer: int, what: str) -> dict[str, Any]:
        """Which rows of the table heads of a layer are read by, or its operands, what they see, and where."""
        a, own = self.model.architecture, self.layers[layer]
        first = layer * (3 * a.pointer + a.submlps * a.arity)
        rows, seen, start = 3 * a.pointer, own["base"], 0
        if what == "operands":
            first, rows, seen, start = first + rows, a.submlps * a.arity, own["first_submlp"], own["FIRST"]
        return {
            "reads": own[what], "first_row": first, "ROWS": rows, "SEEN": seen, "ROW_BLOCK": power(rows),
            "SEEN_BLOCK": power(seen), "BLOCK": COLUMNS, "FIRST": start,
        }  # fmt: skip

    def _read(self, layer: int, what: str) -> None:
        own = self._reading(layer, what)
        grid = (self.known["MEMBERS"], -(-(self.known["COLUMNS"] - own["FIRST"]) // COLUMNS))
        self._launch("read", grid, layer, PRECISION=PRECISION, warps=2, **own)

    def _read_backward(self, layer: int, what: str, gradient: str) -> None:
        own = self._reading(layer, what) | {"read_gradient": self.layers[layer][gradient]}
        own |= {"ADDED": self.layers[layer]["FIRST"], "PRECISION": GRADIENT_PRECISION}
        self._launch("read_backward", (self.known["MEMBERS"], CHOICE_PARTS), layer, warps=2, **own)

    @property
    def _attend_grid(self) -> tuple[int, int]:
        return self.model.members * self.model.architecture.pointer, self.batch // SEQUENCES

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Kernels that need not be done before the next ones, up to `_together`."""
        if self.side is None:
            yield
            return
        self.side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.side):
            yield

    def _together(self) -> None:
        if self.side is not None:
            torch.cuda.current_stream(self.device).wait_stream(self.side)

    # -- many steps ------------------------------------------------------------------------------------------

    def run_epoch(self, epoch: int) -> Tensor:
        """One epoch of steps; returns each member's mean training loss."""
        charge(self.recipe.steps_per_epoch * FUSED_STEP)
        self.order.copy_(shuffling(self.count, self.seed, epoch, self.generator))
        self.step.fill_(epoch * self.recipe.steps_per_epoch)
        self.losses.zero_()
        left = self.recipe.steps_per_epoch
        if not self.weights.is_cuda:
            for _ in range(left):
                self.once()
            left = 0
        while left:
            size = RECORDED if left >= RECORDED and self.taken else 1
            if not self.taken:  # kernels are compiled by the first call, which cannot be recorded
                self.once()
            else:
                self._graph(size).replay()
            self.taken += size
            left -= size
        for moments in self.optimizer.state.values():  # as a checkpoint keeps it
            moments["step"].fill_((epoch + 1) * self.recipe.steps_per_epoch)
        return self.losses.sum(0) / self.recipe.steps_per_epoch

    def _graph(self, steps: int) -> torch.cuda.CUDAGraph:
        if steps not in self.graphs:
            graph = torch.cuda.CUDAGraph()
            with recording(graph):
                for _ in range(steps):
                    self.once()
            self.graphs[steps] = graph
        return self.graphs[steps]
