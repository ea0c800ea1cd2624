"""The model against the paper's equations (section 3, appendix A), written again with plain loops.

The reference below knows nothing of members, batching or tables of rows: it computes one scalar at a time
in float64, for one model, one sequence, one position, straight from the text of the paper and of the
docstrings.
"""

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
import pytest
import torch

from weights2code.heads import EQUALITY_SHARPNESS, RECENCY
from weights2code.model import HARD, Architecture, DiscreteTransformer, Sampling

# -- the reference ------------------------------------------------------------------------------------------


def softmax(z):
    largest = max(z)
    powers = [exp(v - largest) if v > -np.inf else 0.0 for v in z]
    return [p / sum(powers) for p in powers]


def sparsemax(z):
    """Projection onto the simplex: sort, and find the largest support whose threshold lies below it."""
    order = sorted((v for v in z if v > -np.inf), reverse=True)
    threshold = max((sum(order[:k]) - 1.0) / k for k in range(1, len(order) + 1))
    return [max(v - threshold, 0.0) for v in z]


@dataclass
class Reference:
    """One member, read off its weights; `gap` is the least margin by which a hard choice was made."""

    model: DiscreteTransformer
    member: int
    sampling: Sampling

    def __post_init__(self):
        names = [name for name, _ in self.model.named_parameters()]
        self.weights = {
            name: getattr(self.model, name)[self.member].detach().double().numpy() for name in names
        }
        mask = self.model.choice_mask[self.member].numpy()
        self.row = {
            (choice.module, choice.role): [
                value if allowed else -np.inf
                for value, allowed in zip(
                    self.weights["choices"][i, : choice.options], mask[i, : choice.options], strict=True
                )
            ]
            for i, choice in enumerate(self.model.wiring.choices)
        }
        self.gap = np.inf

    def select(self, logits, values):
        """S(logits, tau) . values (appendix A), without noise."""
        if self.sampling.mode == "hard":
            best = max(range(len(logits)), key=lambda i: (logits[i], -i))
            rivals = [i for i in range(len(logits)) if values[i] != values[best]]
            self.gap = min([self.gap, *(logits[best] - logits[i] for i in rivals)])
            return values[best]
        tau, alpha = float(self.sampling.tau), float(self.sampling.alpha)
        scaled = [v / tau for v in logits]
        soft, sparse = softmax(scaled), sparsemax(scaled)
        return sum(
            ((1 - alpha) * p + alpha * s) * v for p, s, v in zip(soft, sparse, values, strict=True) if p or s
        )

    def read(self, module, role, stream, t):
        """u = S(W_read, tau) h at position t."""
        return self.select(self.row[module, role], [variable[t] for variable in stream])

    def encode(self, x, table):
        """Piecewise linear encoding: interpolate between the embeddings of the two nearest boundaries."""
        low, high = self.model.value_range
        bins = len(table) - 1
        boundaries = [low + (high - low) * i / bins for i in range(bins + 1)]
        if x <= boundaries[0]:
            return table[0]
        for i in range(bins):
            if x <= boundaries[i + 1]:
                share = (x - boundaries[i]) / (boundaries[i + 1] - boundaries[i])
                return (1 - share) * table[i] + share * table[i + 1]
        return table[bins]

    def location(self, layer, head, name, stream, t, values):
        """A fixed offset: position scores alone, the same at every position; null and the past hold 0."""
        a = self.model.architecture
        before = 0.0
        if a.learned_start and self.model.start_mask[self.member].all():
            before = self.weights["start"][a.past + layer * a.location + head]
        reached = [values[t - offset] if t >= offset else before for offset in range(a.window)]
        return self.select(self.row[name, "offset"], [*reached, before])

    def seek(self, layer, kind, head, name, stream, t, values):
        """a_raw = K q / sqrt(d) + b_rel over the past and the present, one more slot for null."""
        a = self.model.architecture
        seeker = head if kind == "pointer" else a.pointer + head
        bias = self.weights["relative_bias"][layer, seeker]
        query = self.read(name, "query", stream, t)
        scores = []
        for s in range(t + 1):
            key = self.read(name, "key", stream, s)
            if kind == "pointer":
                q = self.encode(query, self.weights["query_table"][layer, head])
                k = self.encode(key, self.weights["key_table"][layer, head])
                content = sum(qi * ki for qi, ki in zip(q, k, strict=True)) / sqrt(a.width)
            else:
                content = -EQUALITY_SHARPNESS * (query - key) ** 2 - RECENCY * (t - s)
            offset = min(t - s, a.window - 1)
            allowed = bool(self.model.offset_mask[self.member, offset])
            scores.append(content + bias[offset] if allowed else -np.inf)
        null = self.weights["null_score"][layer, seeker]
        return self.select([*scores, null], [*values[: t + 1], 0.0])

    def attend(self, layer, kind, index, head, stream, length):
        """The output of one head at every position; values are raw scalars."""
        name = f"Attn_L{layer}H{index}"
        values = [self.read(name, "value", stream, t) for t in range(length)]
        if kind == "location":
            return [self.location(layer, head, name, stream, t, values) for t in range(length)]
        aggregates = {"mean": lambda v: sum(v) / len(v), "sum": sum, "max": max, "min": min}
        if kind in aggregates:
            return [aggregates[kind](values[: t + 1]) for t in range(length)]
        return [self.seek(layer, kind, head, name, stream, t, values) for t in range(length)]

    def operate(self, layer, index, stream, t):
        """o = W2 relu(W1 u + b1) + b2."""
        a, w = self.model.architecture, self.weights
        u = [self.read(f"MLP_L{layer}M{index}", f"operand{i}", stream, t) for i in range(a.arity)]
        out = w["output_bias"][layer, index, 0, 0]
        for h in range(a.hidden):
            total = w["hidden_bias"][layer, index, h, 0]
            for i in range(a.arity):
                total += w["hidden_weight"][layer, index, h, i] * u[i]
            out += w["output_weight"][layer, index, 0, h] * max(total, 0.0)
        return out

    def run(self, channels):
        """The outputs for one sequence (channel, pos): (output, pos)."""
        a, length = self.model.architecture, channels.shape[1]
        stream = [list(map(float, channel)) for channel in channels]
        if a.learned_start and self.model.start_mask[self.member].all():
            for i in range(a.past):
                stream[a.channels - a.past + i][0] += self.weights["start"][i]
        for layer in range(a.layers):
            new, seen = [], {}
            for index, kind in enumerate(a.head_kinds()):
                head = seen.get(kind, 0)
                seen[kind] = head + 1
                new.append(self.attend(layer, kind, index, head, stream, length))
            stream = stream + new  # sub-MLPs read the attention outputs of their own layer
            stream = stream + [
                [self.operate(layer, i, stream, t) for t in range(length)] for i in range(a.submlps)
            ]
        visible = self.model.variable_mask[self.member].numpy()
        result = np.zeros((a.outputs, length))
        for o, row in enumerate(self.weights["head"]):
            for t in range(length):
                terms = [w * v[t] for w, v, seen in zip(row[:-1], stream, visible, strict=True) if seen]
                result[o, t] = sum(terms) + row[-1]
        return result


# -- random configurations ----------------------------------------------------------------------------------

#: Written down rather than drawn, so that every head kind, size and mask is certainly covered.
SIZES = {
    "head alone": Architecture(layers=0),
    "sub-MLPs alone": Architecture(layers=1, submlps=2, arity=2),
    "arity 4": Architecture(layers=2, submlps=1, arity=4, outputs=3),
    "location": Architecture(location=2, window=4),
    "location, window beyond the length": Architecture(location=2, window=9),
    "pointer, clipped bias": Architecture(pointer=2, window=3),
    "pointer, one bin": Architecture(pointer=2, bins=1, width=3, channels=2),
    "pointer, many bins": Architecture(pointer=2, bins=17, width=1, window=8),
    "equality, clipped bias": Architecture(equality=2, channels=3, window=2),
    "equality, two layers": Architecture(equality=1, channels=2, layers=2, window=7),
    "mean, two layers": Architecture(mean=2, layers=2, channels=2),
    "sum and mean": Architecture(sum=1, mean=1, layers=2),
    "min, two layers": Architecture(min=2, layers=2, channels=2),
    "every kind": Architecture(
        location=1, pointer=1, equality=1, mean=1, sum=1, max=1, min=1, channels=2, window=8
    ),
    "three layers": Architecture(location=1, pointer=1, layers=3, submlps=3, arity=3, outputs=2, window=8),
    "learned start, past outputs": Architecture(channels=3, past=2, learned_start=True),
    "learned start, location": Architecture(
        location=2, layers=2, channels=2, past=1, learned_start=True, window=3
    ),
}
SOFT = [(10.0, 0.0), (1.0, 0.4), (0.3, 0.9), (0.1, 1.0)]
EVERY = pytest.mark.parametrize("name", SIZES)


def random_model(name, members=2, masked=False):
    """A float64 model whose every weight is random, biases and starts too, and a few sequences."""
    number = list(SIZES).index(name)
    architecture = SIZES[name]
    model = DiscreteTransformer(architecture, members, (-1.5, 2.0), seed=number, dtype=torch.float64)
    generator = torch.Generator().manual_seed(number)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        # A sub-MLP's sum over hidden units must not grow, or values leave the bins of the encoding.
        model.output_weight.mul_(0.3)
    if masked:
        width = architecture.stream_width(architecture.layers)
        if width > 1:
            model.forbid(0, [width - 1])
        if architecture.channels > 1:
            model.forbid(1, [0])
        if architecture.window > 1:
            model.forbid_offsets(0, [0])
        model.forbid_start(1)
    rng = np.random.default_rng(number)
    channels = rng.uniform(-1.4, 1.9, size=(architecture.channels, 7, 3))
    if architecture.equality:
        channels = np.round(channels * 2) / 2  # so that keys do equal queries
    return model, torch.from_numpy(channels)


def assert_agrees(model, channels, sampling):
    with torch.no_grad():
        outputs = model(channels, sampling).numpy()
    for member in range(model.members):
        reference = Reference(model, member, sampling)
        for sample in range(channels.shape[2]):
            expected = reference.run(channels[:, :, sample].numpy())
            np.testing.assert_allclose(outputs[member, :, :, sample], expected, rtol=1e-9, atol=1e-9)
        if sampling.mode == "hard":
            assert reference.gap > 1e-9, "the seed makes a tie; the comparison would be meaningless"


@EVERY
def test_soft_model_is_the_papers(name):
    model, channels = random_model(name)
    tau, alpha = SOFT[list(SIZES).index(name) % len(SOFT)]
    assert_agrees(model, channels, Sampling(tau, alpha, "soft"))


@EVERY
def test_masked_model_is_the_papers(name):
    model, channels = random_model(name, masked=True)
    assert_agrees(model, channels, HARD)
    assert_agrees(model, channels, Sampling(0.5, 0.5, "soft"))


def test_float32_is_close_to_float64():
    model, channels = random_model("every kind")
    sampling = Sampling(1.0, 0.5, "soft")
    with torch.no_grad():
        exact = model(channels, sampling)
        single = model.float()(channels.float(), sampling)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), exact, rtol=1e-3, atol=1e-3)
