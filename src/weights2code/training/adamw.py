"""AdamW by PyTorch's own fused kernel. `torch.optim` computes the same and takes a second to import."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

#: Of the moments, and what is added to the second one's root.
BETAS, EPSILON = (0.9, 0.999), 1e-8


class AdamW:
    """Parameters, and what is remembered of each under PyTorch's names: the steps taken, and both moments.

    `rate` may be a tensor of the device, so that a recorded step follows it.
    """

    def __init__(self, parameters: Iterable[Tensor], rate: float, weight_decay: float = 0.0) -> None:
        self.rate: float | Tensor = rate
        self.weight_decay = weight_decay
        self.state = {
            own: {
                "step": torch.zeros((), dtype=torch.float32, device=own.device),
                "exp_avg": torch.zeros_like(own, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(own, requires_grad=False),
            }
            for own in parameters
        }

    def zero_grad(self) -> None:
        for parameter in self.state:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients, of the parameters that have one."""
        moved = [parameter for parameter in self.state if parameter.grad is not None]
        if not moved:
            return
        steps, first, second = (
            [self.state[parameter][name] for parameter in moved] for name in ("step", "exp_avg", "exp_avg_sq")
        )
        torch._foreach_add_(steps, 1)  # pyright: ignore[reportPrivateImportUsage]
        torch._fused_adamw_(  # pyright: ignore[reportPrivateImportUsage]
            moved,
            [parameter.grad for parameter in moved],  # type: ignore[misc]
            first,
            second,
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
