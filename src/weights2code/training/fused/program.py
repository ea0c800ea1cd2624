"""Training with fused kernels: buffers, the order of the kernels in a step, and steps recorded as graphs.

Nothing of a step depends on the host: which sequences are next, the temperature, the learning rate and the
leak are looked up on the device by the number of the step. So many steps are recorded as one graph and
replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from weights2code.model import DiscreteTransformer
from weights2code.training.adamw import BETAS, AdamW
from weights2code.training.recipes import Recipe
from weights2code.training.step import Batch, first_scored, recording, side_stream

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
#: Steps of one graph.
RECORDED = 16
#: More operands than kernels hold totals for, boundaries than a tile has rows, positions than a tile holds.
MOST_OPERANDS = 4
MOST_BOUNDARIES = 16
MOST_POSITIONS = 64


def can_fuse(model: DiscreteTransformer, training: Batch, recipe: Recipe) -> bool:
    """Whether the kernels do what this training asks for; every model of the paper's recipe is such a one."""
    a = model.architecture
    first = first_scored(training[2])
    return (
        recipe.head == "learned"
        and not recipe.halvings
        and training[0].dtype == torch.float32
        and a.layers > 0
        and a.pointer == a.heads > 0
        and a.submlps > 0
        and a.arity <= MOST_OPERANDS
        and max(a.bins + 1, a.width) <= MOST_BOUNDARIES
        and not a.learned_start
        and bool(model.offset_mask.all())
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
    checkpoints know nothing of it. Members may differ in temperatures, noise, leak, rates and penalties:
    `recipes` has then one for each of them; steps and batches are those of `recipe`.
    """

    def __init__(
        self,
        model: DiscreteTransformer,
        optimizer: AdamW,
        training: Batch,
        recipe: Recipe,
        variance: Tensor,
        seed: int,
        recipes: Sequence[Recipe] = (),
    ) -> None:
        from weights2code.training.fused import kernels

        self.kernels, self.model, self.optimizer = kernels, model, optimizer
        self.recipe, self.seed = recipe, seed
        a, device = model.architecture, training[0].device
        self.device, self.fast = device, device.type == "cuda"
        self.data, self.targets = training[0].contiguous(), training[1].contiguous()
        self.channels, self.length, self.count = self.data.shape
        self.batch = min(recipe.batch, self.count)
        self.columns = self.length * self.batch
        self.first = first_scored(training[2])
        self.variables = a.stream_width(a.layers)
        members, rows, width = model.choices.shape
        of_members = list(recipes) or [recipe] * members
        self.different = list(dict.fromkeys(of_members))
        own = [self.different.index(one) for one in of_members]
        self.recipes = torch.tensor(own, dtype=torch.int32, device=device)
        self._flatten(of_members)

        def empty(*shape: int) -> Tensor:
            return torch.zeros(shape, device=device)

        self.order = torch.zeros(self.count, dtype=torch.int64, device=device)
        self.step = torch.zeros((), dtype=torch.int32, device=device)
        self.schedule = self._schedule()
        self.stream, self.stream_gradient = (empty(members, self.variables, self.columns) for _ in range(2))
        self.goals = empty(a.outputs, self.columns)
        self.table, self.soft, self.sparse = (empty(members, rows, width) for _ in range(3))
        self.table_parts = empty(CHOICE_PARTS, members, rows, width)
        boundaries = a.bins + 1
        self.factors = empty(members, a.layers, a.pointer, boundaries, boundaries)
        self.factor_parts = empty(PARTS, *self.factors.shape)
        layers = range(a.layers)
        self.reads = [empty(members, 3 * a.pointer, self.columns) for _ in layers]
        self.read_gradient = [empty(members, 3 * a.pointer, self.columns) for _ in layers]
        self.operands = [empty(members, a.submlps * a.arity, self.columns) for _ in layers]
        self.operand_gradient = [empty(members, a.submlps * a.arity, self.columns) for _ in layers]
        self.saved = [[empty(members, a.pointer, self.columns) for _ in range(3)] for _ in layers]
        self.scores = [empty(members, a.pointer, self.length, self.columns) for _ in layers]
        self.answers = [empty(members, a.pointer, self.length, boundaries, self.batch) for _ in layers]
        self.answer_gradient = empty(members, a.pointer, self.length, boundaries, self.batch)
        self.allowed = model.choice_mask.to(torch.int32).contiguous()
        self.shown = model.variable_mask.to(torch.int32).contiguous()
        scored = (self.length - self.first) * self.batch * a.outputs
        self.loss_weights = (1.0 / (variance.to(device) * scored)).float().contiguous()
        self.losses = empty(PARTS, members)
        self.side = side_stream(device) if device.type == "cuda" else None
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.taken = 0

    def _flatten(self, recipes: Sequence[Recipe]) -> None:
        """Make the parameters views of one buffer, with gradient parts, moments and penalties beside it."""
        own = [(name, p) for name, p in self.model.named_parameters() if p.numel()]
        total = sum(parameter.numel() for _, parameter in own)
        self.weights = torch.empty(total, device=self.device)
        self.moments = torch.zeros(2, total, device=self.device)
        self.penalty = torch.zeros(total, device=self.device)
        self.owners = torch.zeros(total, dtype=torch.int32, device=self.device)
        self.parts = torch.zeros(PARTS, total, device=self.device)
        self.segment: dict[str, slice] = {}
        start = 0
        for name, parameter in own:
            self.segment[name] = slice(start, start + parameter.numel())
            view = self.weights[self.segment[name]].view(parameter.shape)
            view.copy_(parameter.detach())
            parameter.data = view
            owners = self.owners[self.segment[name]].view(self.model.members, -1)
            owners.copy_(self.recipes[:, None].expand_as(owners))
            moments = self.moments[:, self.segment[name]].view(2, *parameter.shape)
            before = self.optimizer.state.get(parameter)
            if before:  # a training that goes on
                moments[0].copy_(before["exp_avg"])
                moments[1].copy_(before["exp_avg_sq"])
            number = torch.zeros((), dtype=torch.float32)
            self.optimizer.state[parameter] = {
                "step": number, "exp_avg": moments[0], "exp_avg_sq": moments[1]
            }  # fmt: skip
            start += parameter.numel()
        penalty = self.penalty[self.segment["head"]].view(self.model.head.shape)
        for member, recipe in enumerate(recipes):
            penalty[member, ..., :-1] = recipe.l1

    def _schedule(self) -> Tensor:
        """(recipe, step, number): see `kernels`."""
        steps = max(self.recipe.steps, 1)
        progress = torch.arange(steps, dtype=torch.float64) / steps
        number = torch.arange(1, steps + 1, dtype=torch.float64)
        corrections = [1 - beta**number for beta in BETAS]
        tables = []
        for recipe in self.different:
            first, last = recipe.annealing.first, recipe.annealing.last
            tau = first * (last / first) ** progress
            alpha = (first - tau) / (first - last)
            noise = recipe.noise * torch.ones_like(tau) if recipe.cooled else recipe.noise / tau
            leak = torch.tensor([recipe.leak_at(share) for share in progress.tolist()], dtype=torch.float64)
            cosine = 0.5 * (1 + torch.cos(torch.pi * progress))
            rate = recipe.last_learning_rate + (recipe.learning_rate - recipe.last_learning_rate) * cosine
            shrinking = 1 - rate * recipe.weight_decay
            tables.append(torch.stack([1 / tau, alpha, noise, leak, rate, shrinking, *corrections], 1))
        return torch.stack(tables).float().to(self.device).contiguous()

    # -- one step --------------------------------------------------------------------------------------------

    @property
    def _now(self) -> tuple[Tensor, Tensor, Tensor, int]:
        """Where kernels look up the numbers of a step."""
        return self.step, self.schedule, self.recipes, self.schedule.shape[1]

    def _part(self, name: str) -> Tensor:
        return self.parts[:, self.segment[name]]

    def once(self) -> None:
        """All kernels of one step, in order."""
        self.forward()
        self.backward()
        total = self.weights.numel()
        self.kernels.update[(-(-total // 128),)](
            self.weights, self.parts, *self.moments, self.penalty, self.owners, self.step, self.schedule,
            self.schedule.shape[1], total, PARTS=PARTS,
            PART_BLOCK=power(PARTS, 1), BLOCK=128, num_warps=4,
        )  # fmt: skip
        self.step.add_(1)

    def forward(self) -> None:
        k, model, a = self.kernels, self.model, self.model.architecture
        members, rows, width = model.choices.shape
        lines = (self.channels + a.outputs) * self.length
        with self._aside():
            k.fetch[(members, lines, -(-self.batch // 256))](
                self.order, self.data, self.targets, self.step, self.stream, self.goals,
                COUNT=self.count, STEPS=self.recipe.steps_per_epoch, CHANNELS=self.channels,
                LENGTH=self.length, BATCH=self.batch, VARIABLES=self.variables, BLOCK=256, num_warps=4,
            )  # fmt: skip
            k.compare[(members * a.layers * a.pointer,)](
                model.query_table, model.key_table, self.factors, BOUNDARIES=a.bins + 1, WIDTH=a.width,
                num_warps=1,
            )  # fmt: skip
        k.choose[(members * rows,)](
            model.choices, self.allowed, self.table, self.soft, self.sparse, *self._now, self.seed,
            ROWS=rows, WIDTH=width, FAST=self.fast, BLOCK=power(width), num_warps=1,
        )  # fmt: skip
        self._together()
        row = 0
        for layer in range(a.layers):
            base, first = a.stream_width(layer), self._first_of(layer)
            self._read(self.reads[layer], row, 3 * a.pointer, base, 0)
            row += 3 * a.pointer
            k.answer[(members * a.pointer, self.columns // COLUMNS)](
                self.reads[layer], self.factors, self.answers[layer], self.shown,
                **self._answer_sizes(layer), PRECISION=PRECISION, num_warps=1,
            )  # fmt: skip
            self._attend(layer)
            seen = base + a.pointer
            self._read(self.operands[layer], row, a.submlps * a.arity, seen, first)
            row += a.submlps * a.arity
            start = first * self.batch
            k.operate[(members * a.submlps, -(-(self.columns - start) // 128))](
                self.operands[layer], self.stream, model.hidden_weight, model.hidden_bias,
                model.output_weight, model.output_bias, self.shown, *self._now, seen, layer,
                **self._mlp_sizes(start), BLOCK=128, num_warps=4,
            )  # fmt: skip

    def backward(self) -> None:
        k, model, a = self.kernels, self.model, self.model.architecture
        members, rows, width = model.choices.shape
        stride = self.weights.numel()
        k.predict[(members, PARTS)](
            self.stream, self.stream_gradient, self.goals, model.head, self.shown, self._part("head"),
            self.losses, stride, self.loss_weights, OUTPUTS=a.outputs, VARIABLES=self.variables,
            FIRST=self.first * self.batch, COLUMNS=self.columns, MEMBERS=members, PARTS=PARTS,
            VARIABLE_BLOCK=power(self.variables), BLOCK=LANES, num_warps=1,
        )  # fmt: skip
        row = rows
        for layer in reversed(range(a.layers)):
            base, first = a.stream_width(layer), self._first_of(layer)
            seen, start = base + a.pointer, first * self.batch
            k.operate_backward[(members * a.submlps, PARTS)](
                self.operands[layer], self.stream_gradient, model.hidden_weight, model.hidden_bias,
                model.output_weight, self.operand_gradient[layer], self._part("hidden_weight"),
                self._part("hidden_bias"), self._part("output_weight"), self._part("output_bias"), stride,
                self.shown, *self._now, seen, layer, **self._mlp_sizes(start), PARTS=PARTS,
                BLOCK=max(UNITS // power(a.hidden, LANES // 2), 1), num_warps=1,
            )  # fmt: skip
            row -= a.submlps * a.arity
            self._read_backward(self.operand_gradient[layer], row, a.submlps * a.arity, seen, start, start)
            self._attend_backward(layer)
            k.answer_backward[(members * a.pointer, PARTS)](
                self.reads[layer], self.factors, self.answer_gradient, self.read_gradient[layer],
                self.factor_parts, self.factors.numel(), self.shown, PARTS=PARTS, **self._answer_sizes(layer),
                PRECISION=GRADIENT_PRECISION,
                num_warps=1,
            )  # fmt: skip
            with self._aside():
                self._bias_backward(layer, first)
            row -= 3 * a.pointer
            self._read_backward(self.read_gradient[layer], row, 3 * a.pointer, base, 0, start)
        with self._aside():
            k.compare_backward[(members * a.layers * a.pointer,)](
                model.query_table, model.key_table, self.factor_parts, self._part("query_table"),
                self._part("key_table"), self.factors.numel(), BOUNDARIES=a.bins + 1, WIDTH=a.width,
                PARTS=PARTS, num_warps=1,
            )  # fmt: skip
        k.choose_backward[(members * rows,)](
            self.table_parts, self.soft, self.sparse, self._part("choices"), *self._now,
            self.table.numel(), ROWS=rows, WIDTH=width, PARTS=CHOICE_PARTS,
            PART_BLOCK=power(CHOICE_PARTS, 1), BLOCK=power(width), num_warps=1,
        )  # fmt: skip
        self._together()

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

    def _first_of(self, layer: int) -> int:
        """The first position that is computed: nothing looks at the last layer before the first scored."""
        return self.first if layer == self.model.architecture.layers - 1 else 0

    @property
    def _tiles(self) -> dict[str, int]:
        """Keys in two tiles, so that early queries look at the first alone."""
        keys = max(1 << (self.length.bit_length() - 1), LEAST_KEYS)
        return {"KEYS": keys, "REST": power(self.length - keys, LEAST_KEYS) if self.length > keys else 0}

    @property
    def _low(self) -> float:
        return float(self.model.value_range[0])

    @property
    def _scale(self) -> float:
        low, high = self.model.value_range
        return self.model.architecture.bins / (high - low)

    def _mlp_sizes(self, start: int) -> dict[str, int]:
        a = self.model.architecture
        return {
            "LAYERS": a.layers, "SUBMLPS": a.submlps, "ARITY": a.arity, "HIDDEN": a.hidden,
            "VARIABLES": self.variables, "FIRST": start, "COLUMNS": self.columns,
            "HIDDEN_BLOCK": power(a.hidden, 1),
        }  # fmt: skip

    def _read_sizes(self, rows: int, seen: int) -> dict[str, Any]:
        _, all_rows, width = self.model.choices.shape
        return {
            "ROWS": rows, "SEEN": seen, "TABLE_ROWS": all_rows, "WIDTH": width, "VARIABLES": self.variables,
            "COLUMNS": self.columns, "ROW_BLOCK": power(rows), "SEEN_BLOCK": power(seen),
            "BLOCK": COLUMNS,
        }  # fmt: skip

    def _read(self, reads: Tensor, row: int, rows: int, seen: int, first: int) -> None:
        start = first * self.batch
        grid = (self.model.members, -(-(self.columns - start) // COLUMNS))
        self.kernels.read[grid](
            self.stream,
            self.table,
            reads,
            row,
            FIRST=start,
            **self._read_sizes(rows, seen),
            PRECISION=PRECISION,
            num_warps=2,
        )

    def _read_backward(
        self, gradient: Tensor, row: int, rows: int, seen: int, start: int, added: int
    ) -> None:
        self.kernels.read_backward[(self.model.members, CHOICE_PARTS)](
            self.stream, self.table, gradient, self.stream_gradient, self.table_parts, self.table.numel(),
            row, FIRST=start, PARTS=CHOICE_PARTS, ADDED=added, **self._read_sizes(rows, seen),
            PRECISION=GRADIENT_PRECISION, num_warps=2,
        )  # fmt: skip

    def _head_sizes(self, layer: int) -> dict[str, Any]:
        a = self.model.architecture
        return {
            "low": self._low, "scale": self._scale, "base": a.stream_width(layer), "HEADS": a.pointer,
            "VARIABLES": self.variables, "LENGTH": self.length, "BOUNDARIES": a.bins + 1,
        }  # fmt: skip

    def _answer_sizes(self, layer: int) -> dict[str, Any]:
        a = self.model.architecture
        return self._head_sizes(layer) | {
            "first_head": layer * a.pointer, "ALL_HEADS": a.layers * a.pointer, "BATCH": self.batch,
            "BLOCK": COLUMNS,
        }  # fmt: skip

    def _attend_sizes(self, layer: int) -> dict[str, Any]:
        own = {"SEQUENCES": self.batch, "BEGIN": self._first_of(layer), "BLOCK": SEQUENCES}
        return self._head_sizes(layer) | self._tiles | own

    @property
    def _attend_grid(self) -> tuple[int, int]:
        return self.model.members * self.model.architecture.pointer, self.batch // SEQUENCES

    def _attend(self, layer: int) -> None:
        model, a = self.model, self.model.architecture
        self.kernels.attend[self._attend_grid](
            self.reads[layer], self.stream, self.answers[layer], model.relative_bias, model.null_score,
            self.scores[layer], *self.saved[layer], self.shown, *self._now, self._salt(layer),
            first_head=layer * a.pointer, ALL_HEADS=a.layers * a.pointer, WINDOW=a.window, FAST=self.fast,
            **self._attend_sizes(layer), num_warps=1,
        )  # fmt: skip

    def _attend_backward(self, layer: int) -> None:
        self.kernels.attend_backward[self._attend_grid](
            self.reads[layer], self.stream_gradient, self.answers[layer], self.scores[layer],
            *self.saved[layer], self.read_gradient[layer], self.answer_gradient, self.shown, *self._now,
            **self._attend_sizes(layer), num_warps=1, maxnreg=REGISTERS,
        )  # fmt: skip

    def _bias_backward(self, layer: int, first: int) -> None:
        a = self.model.architecture
        self.kernels.bias_backward[(self.model.members * a.pointer, a.window + 1)](
            self.scores[layer], self.saved[layer][0], self._part("relative_bias"), self._part("null_score"),
            self.shown, a.stream_width(layer), layer * a.pointer, VARIABLES=self.variables,
            HEADS=a.pointer, ALL_HEADS=a.layers * a.pointer, LENGTH=self.length,
            BATCH=self.batch, WINDOW=a.window, BEGIN=first, BLOCK=512, num_warps=4,
        )  # fmt: skip

    def _salt(self, layer: int) -> int:
        return self.seed * 64 + 1 + layer

    # -- many steps ------------------------------------------------------------------------------------------

    def run_epoch(self, epoch: int, generator: torch.Generator) -> Tensor:
        """One epoch of steps; returns each member's mean training loss."""
        self.order.copy_(torch.randperm(self.count, generator=generator, device=self.device))
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
