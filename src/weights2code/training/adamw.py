"""AdamW by PyTorch's own fused kernel. `torch.optim` computes the same and takes a second to import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

#: Of the moments, and what is added to the second one's root.
BETAS, EPSILON = (0.9, 0.999), 1e-8
#: What is remembered of a parameter, under PyTorch's names: the steps taken, and both moments.
Moments = dict[str, Tensor]


class AdamW:
    """Parameters, and what is remembered of those that had a gradient; `rate` may be a tensor of the device,
    so that a recorded step follows it."""

    def __init__(self, parameters: Iterable[Tensor], rate: float, weight_decay: float = 0.0) -> None:
        self.parameters, self.weight_decay = list(parameters), weight_decay
        self.rate: float | Tensor = rate
        self.state: dict[Tensor, Moments] = {}

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients."""
        moved = [parameter for parameter in self.parameters if parameter.grad is not None]
        if not moved:
            return
        for parameter in moved:
            if parameter not in self.state:
                count = torch.zeros((), dtype=torch.float32, device=parameter.device)
                first, second = torch.zeros_like(parameter), torch.zeros_like(parameter)
                self.state[parameter] = {"step": count, "exp_avg": first, "exp_avg_sq": second}
        kept = [self.state[parameter] for parameter in moved]
        steps = [own["step"] for own in kept]
        torch._foreach_add_(steps, 1)  # pyright: ignore[reportPrivateImportUsage]
        torch._fused_adamw_(  # pyright: ignore[reportPrivateImportUsage]
            moved,
            [parameter.grad for parameter in moved],  # type: ignore[misc]
            [own["exp_avg"] for own in kept],
            [own["exp_avg_sq"] for own in kept],
            [],
            steps,
            lr=self.rate,  # type: ignore[arg-type]
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=self.weight_decay,
            eps=EPSILON,
            amsgrad=False,
            maximize=False,
        )

    def moments(self) -> dict[int, Moments]:
        """What is remembered, by the places of the parameters."""
        return {i: self.state[own] for i, own in enumerate(self.parameters) if own in self.state}

    def remember(self, moments: Mapping[int, Moments]) -> None:
        """Go on from what was remembered elsewhere."""
        for place, own in moments.items():
            parameter = self.parameters[place]
            kept = {name: value.to(parameter) for name, value in own.items() if name != "step"}
            self.state[parameter] = {"step": own["step"].to(parameter.device, torch.float32), **kept}
