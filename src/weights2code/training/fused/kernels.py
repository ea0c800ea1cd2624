"""The kernels of a fused training step (Triton).

A warp of the attention holds all keys of a few sequences in its registers, and its loop runs over queries.

Layouts: the stream and its gradient (member, variable, position * batch); reads (member, row, position *
batch). Gradients of weights are summed over blocks of sequences; each block leaves its part in a slot of
its own, (block, weight), which the update adds up, so that results do not depend on the order in which
blocks finish.

A pointer head's score is piecewise linear in query and key, by the similarity S of their boundaries. Here it
is written as the sum of E[a, b] f_a(query) f_b(key) with f_0 = 1 and f_a(x) = max(x - (a - 1), 0); `compare`
changes the basis. Summed over b first it is what a key answers to each function of a query, so that a pair
of query and key costs one multiplication a boundary.

What a kernel is given has the name that `program` knows it by. Sizes that differ from task to task are
arguments, not constants, so that a kernel is compiled once for all.
Where Triton's interpreter runs them on a CPU they can be compared with PyTorch's own gradients.
"""

# pyright: reportGeneralTypeIssues=false
from __future__ import annotations

import inspect

import triton
import triton.language as tl
from triton.language.extra import libdevice

#: Columns of the table of schedules, which has a row a step: one over the temperature, the
#: blend of softmax and sparsemax, the factor of the noise, the leak of hidden units, the learning rate, what
#: weights shrink by, and the corrections of the moments.
COLDNESS = tl.constexpr(0)
ALPHA = tl.constexpr(1)
NOISE = tl.constexpr(2)
LEAK = tl.constexpr(3)
RATE = tl.constexpr(4)
SHRINKING = tl.constexpr(5)
FIRST_MOMENT = tl.constexpr(6)
SECOND_MOMENT = tl.constexpr(7)
SCHEDULES = tl.constexpr(8)
#: Stands for minus infinity.
NEVER = tl.constexpr(-1e30)

#: Arguments that differ from task to task: no kernel is compiled anew for a value of theirs.
SIZES = (
    "STEPS", "CHANNELS", "LENGTH", "VARIABLES", "seed", "WIDTH", "PARTS", "CHOICE_PARTS", "first_row", "ROWS",
    "SEEN", "TABLE_ROWS", "base", "first_submlp", "layer", "LAYERS", "SUBMLPS", "HIDDEN", "MEMBERS",
    "weights_size", "table_size", "factors_size", "salt", "first_head", "HEADS", "ALL_HEADS", "WINDOW",
    "BEGIN", "SEQUENCES",
)  # fmt: skip


def once_for_all(function):
    """A kernel that is compiled once whatever the sizes are."""
    named = inspect.signature(function).parameters
    open_ = [name for name in SIZES if name in named and named[name].annotation is inspect.Parameter.empty]
    return triton.jit(function, do_not_specialize=open_)


@triton.jit
def scrambled(x):
    """A hash of 32 bits."""
    x = x.to(tl.uint32)
    x = x ^ (x >> 16)
    x = x * 0x7FEB352D
    x = x ^ (x >> 15)
    x = x * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def noise_key(step, salt):
    """The start of the noise of one step and one layer."""
    return scrambled(scrambled(step) + salt.to(tl.uint32) * 0x9E3779B9)


@triton.jit
def gumbel(index, key, FAST: tl.constexpr):
    """Standard Gumbel noise, a number for each index; never infinite."""
    uniform = (scrambled(index.to(tl.uint32) + key) >> 9).to(tl.float32) * 1.1920929e-07 + 5.9604645e-08
    if FAST:
        return -libdevice.fast_logf(tl.maximum(-libdevice.fast_logf(uniform), 5.9604645e-08))
    return -tl.log(-tl.log(uniform))


@triton.jit
def numbers_of(schedule, step):
    """Where the numbers of a step lie."""
    return schedule + step * SCHEDULES


@once_for_all
def fetch(
    order, data, targets, step, stream, goals, COUNT, STEPS, CHANNELS, LENGTH, BATCH, VARIABLES,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Copy the step's sequences into the first variables of every member's stream, and their targets."""
    member, row = tl.program_id(0), tl.program_id(1)
    place = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    inside = place < BATCH
    first = ((tl.load(step) % STEPS) * BATCH) % (COUNT - BATCH + 1)
    sequence = tl.load(order + first + place, mask=inside, other=0)
    if row < CHANNELS * LENGTH:
        value = tl.load(data + row.to(tl.int64) * COUNT + sequence, mask=inside)
        channel, position = row // LENGTH, row % LENGTH
        at = ((member * VARIABLES + channel) * LENGTH + position) * BATCH + place
        tl.store(stream + at, value, mask=inside)
    elif member == 0:
        own = row - CHANNELS * LENGTH
        value = tl.load(targets + own.to(tl.int64) * COUNT + sequence, mask=inside)
        tl.store(goals + own * BATCH + place, value, mask=inside)


@once_for_all
def choose(
    choices, allowed, table, soft, sparse, step, schedule, seed, WIDTH, FAST: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Sample every row of the table of choices: a blend of softmax and sparsemax with Gumbel noise."""
    row = tl.program_id(0)
    option = tl.arange(0, BLOCK)
    now = tl.load(step)
    numbers = numbers_of(schedule, now)
    cold, alpha = tl.load(numbers + COLDNESS), tl.load(numbers + ALPHA)
    at = row * WIDTH + option
    open_ = tl.load(allowed + at, mask=option < WIDTH, other=0) != 0
    z = tl.load(choices + at, mask=option < WIDTH, other=0.0)
    z = z * cold + tl.load(numbers + NOISE) * gumbel(at, noise_key(now, seed * 64), FAST)
    z = tl.where(open_, z, NEVER)
    z = z - tl.max(z, 0)
    e = tl.where(open_, tl.exp(z), 0.0)
    p = e / tl.sum(e, 0)
    threshold = -1.0 + tl.sum(z * 0.0, 0)
    before = threshold - 1.0
    while threshold > before:
        before = threshold
        above = z > threshold
        threshold = (tl.sum(tl.where(above, z, 0.0), 0) - 1.0) / tl.sum(above.to(tl.float32), 0)
    q = tl.where(z > threshold, z - threshold, 0.0)
    tl.store(soft + at, p, mask=option < WIDTH)
    tl.store(sparse + at, q, mask=option < WIDTH)
    tl.store(table + at, p + alpha * (q - p), mask=option < WIDTH)


@once_for_all
def choose_backward(
    table_parts, soft, sparse, choices_parts, step, schedule, table_size, WIDTH, CHOICE_PARTS,
    PART_BLOCK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The gradient of the logits from that of the table, which lies there in parts."""
    row = tl.program_id(0)
    option = tl.arange(0, BLOCK)
    now = tl.load(step)
    numbers = numbers_of(schedule, now)
    cold, alpha = tl.load(numbers + COLDNESS), tl.load(numbers + ALPHA)
    at = row * WIDTH + option
    inside = option < WIDTH
    part = tl.arange(0, PART_BLOCK)[:, None]
    there = (part < CHOICE_PARTS) & inside[None, :]
    g = tl.sum(tl.load(table_parts + part * table_size + at[None, :], mask=there, other=0.0), 0)
    p = tl.load(soft + at, mask=inside, other=0.0)
    q = tl.load(sparse + at, mask=inside, other=0.0)
    held = q > 0.0
    mean = tl.sum(tl.where(held, g, 0.0), 0) / tl.sum(held.to(tl.float32), 0)
    from_soft = p * (g - tl.sum(p * g, 0))
    from_sparse = tl.where(held, g - mean, 0.0)
    tl.store(choices_parts + at, (from_soft + alpha * (from_sparse - from_soft)) * cold, mask=inside)


@triton.jit
def change_of_basis():
    """(boundary, function): the value at each boundary as the functions f have it, inverted: entry [x, a] is
    the weight of S[x] in the factor of f_a."""
    x, a = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    first = tl.where((a == 0) & (x == 0), 1.0, 0.0)
    second = tl.where((a == 1) & (x == 1), 1.0, 0.0) - tl.where((a == 1) & (x == 0), 1.0, 0.0)
    later = tl.where(x == a, 1.0, 0.0) - tl.where(x == a - 1, 2.0, 0.0) + tl.where(x == a - 2, 1.0, 0.0)
    return first + second + tl.where(a > 1, later, 0.0)


@triton.jit
def compare(query_table, key_table, factors, BOUNDARIES: tl.constexpr, EMBEDDING: tl.constexpr):
    """What the boundaries of queries and keys say to each other: one small table for each head."""
    head = tl.program_id(0)
    a, w = tl.arange(0, 16), tl.arange(0, 16)
    inside = (a[:, None] < BOUNDARIES) & (w[None, :] < EMBEDDING)
    at = head * BOUNDARIES * EMBEDDING + a[:, None] * EMBEDDING + w[None, :]
    query = tl.load(query_table + at, mask=inside, other=0.0)
    key = tl.load(key_table + at, mask=inside, other=0.0)
    basis = change_of_basis()
    query = tl.dot(tl.trans(basis), query, input_precision="ieee") * (1.0 / EMBEDDING**0.5)
    key = tl.dot(tl.trans(basis), key, input_precision="ieee")
    product = tl.dot(query, tl.trans(key), input_precision="ieee")
    both = (a[:, None] < BOUNDARIES) & (a[None, :] < BOUNDARIES)
    own = head * BOUNDARIES * BOUNDARIES + a[:, None] * BOUNDARIES + a[None, :]
    tl.store(factors + own, product, mask=both)


@once_for_all
def compare_backward(
    query_table, key_table, factor_parts, query_table_parts, key_table_parts, factors_size,
    PARTS: tl.constexpr, BOUNDARIES: tl.constexpr, EMBEDDING: tl.constexpr,
):  # fmt: skip
    """The gradients of both embeddings from the parts of that of the factors."""
    head = tl.program_id(0)
    a, w = tl.arange(0, 16), tl.arange(0, 16)
    both = (a[:, None] < BOUNDARIES) & (a[None, :] < BOUNDARIES)
    own = head * BOUNDARIES * BOUNDARIES + a[:, None] * BOUNDARIES + a[None, :]
    g = tl.zeros((16, 16), tl.float32)
    for part in tl.static_range(PARTS):
        g += tl.load(factor_parts + part * factors_size + own, mask=both, other=0.0)
    basis = change_of_basis()
    g = tl.dot(tl.dot(basis, g, input_precision="ieee"), tl.trans(basis), input_precision="ieee")
    inside = (a[:, None] < BOUNDARIES) & (w[None, :] < EMBEDDING)
    at = head * BOUNDARIES * EMBEDDING + a[:, None] * EMBEDDING + w[None, :]
    query = tl.load(query_table + at, mask=inside, other=0.0)
    key = tl.load(key_table + at, mask=inside, other=0.0)
    scale = 1.0 / EMBEDDING**0.5
    tl.store(query_table_parts + at, tl.dot(g, key, input_precision="ieee") * scale, mask=inside)
    tl.store(key_table_parts + at, tl.dot(tl.trans(g), query, input_precision="ieee") * scale, mask=inside)


@once_for_all
def read(
    stream, table, reads, first_row, ROWS, SEEN, TABLE_ROWS, WIDTH, VARIABLES, FIRST, COLUMNS,
    ROW_BLOCK: tl.constexpr, SEEN_BLOCK: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Some rows of the table read the stream: one small product."""
    member = tl.program_id(0)
    column = FIRST + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    r, v = tl.arange(0, ROW_BLOCK), tl.arange(0, SEEN_BLOCK)
    weight = tl.load(
        table + (member * TABLE_ROWS + first_row + r[:, None]) * WIDTH + v[None, :],
        mask=(r[:, None] < ROWS) & (v[None, :] < SEEN), other=0.0,
    )  # fmt: skip
    x = tl.load(
        stream + (member * VARIABLES + v[:, None]) * COLUMNS + column[None, :],
        mask=(v[:, None] < SEEN) & (column[None, :] < COLUMNS), other=0.0,
    )  # fmt: skip
    out = tl.dot(weight, x, input_precision=PRECISION)
    tl.store(
        reads + (member * ROWS + r[:, None]) * COLUMNS + column[None, :], out,
        mask=(r[:, None] < ROWS) & (column[None, :] < COLUMNS),
    )  # fmt: skip


@once_for_all
def read_backward(
    stream, table, read_gradient, stream_gradient, table_parts, table_size, first_row, ROWS, SEEN,
    TABLE_ROWS, WIDTH, VARIABLES, FIRST, COLUMNS, CHOICE_PARTS, ADDED, ROW_BLOCK: tl.constexpr,
    SEEN_BLOCK: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add what the reads ask for to the stream's gradient from column ADDED on (before it, that is the first
    to be written), and leave the part of the table's gradient."""
    member, part = tl.program_id(0), tl.program_id(1)
    r, v = tl.arange(0, ROW_BLOCK), tl.arange(0, SEEN_BLOCK)
    at = (member * TABLE_ROWS + first_row + r[:, None]) * WIDTH + v[None, :]
    known = (r[:, None] < ROWS) & (v[None, :] < SEEN)
    weight = tl.load(table + at, mask=known, other=0.0)
    total = tl.zeros((ROW_BLOCK, SEEN_BLOCK), tl.float32)
    for turn in range((COLUMNS - FIRST + CHOICE_PARTS * BLOCK - 1) // (CHOICE_PARTS * BLOCK)):
        column = FIRST + (turn * CHOICE_PARTS + part) * BLOCK + tl.arange(0, BLOCK)
        inside = column < COLUMNS
        g = tl.load(
            read_gradient + (member * ROWS + r[:, None]) * COLUMNS + column[None, :],
            mask=(r[:, None] < ROWS) & inside[None, :], other=0.0,
        )  # fmt: skip
        place = (member * VARIABLES + v[:, None]) * COLUMNS + column[None, :]
        seen = (v[:, None] < SEEN) & inside[None, :]
        x = tl.load(stream + place, mask=seen, other=0.0)
        before = tl.load(stream_gradient + place, mask=seen & (column[None, :] >= ADDED), other=0.0)
        back = tl.dot(tl.trans(weight), g, input_precision=PRECISION)
        tl.store(stream_gradient + place, before + back, mask=seen)
        total += tl.dot(g, tl.trans(x), input_precision=PRECISION)
    tl.store(table_parts + part * table_size + at, total, mask=known)


@triton.jit
def bend(x, boundary: tl.constexpr):
    """f of a boundary: 0 up to the one before it, rising from there."""
    return tl.maximum(x - (boundary - 1), 0.0)


@triton.jit
def bends(x, BOUNDARIES: tl.constexpr):
    """(boundary, place): all functions f of some places, 0 beyond the last boundary."""
    boundary = tl.arange(0, 16)[:, None]
    found = tl.where(boundary == 0, 1.0, tl.maximum(x[None, :] - (boundary - 1.0), 0.0))
    return tl.where(boundary < BOUNDARIES, found, 0.0)


@once_for_all
def answer(
    reads, factors, answers, shown, low, scale, base, first_head, HEADS, ALL_HEADS, VARIABLES, LENGTH,
    BATCH, BOUNDARIES: tl.constexpr, PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """What keys answer to each function of a query: a score is their sum, weighted by these functions.

    `answers` have the layout (member, head, position, boundary, batch).
    """
    member, own = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    if tl.load(shown + member * VARIABLES + base + own) == 0:
        return
    start = tl.program_id(1) * BLOCK
    position, sequence = start // BATCH, start % BATCH + tl.arange(0, BLOCK)
    a, b = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    head = member * ALL_HEADS + first_head + own
    at = head * BOUNDARIES * BOUNDARIES + a * BOUNDARIES + b
    factor = tl.load(factors + at, mask=(a < BOUNDARIES) & (b < BOUNDARIES), other=0.0)
    k = tl.load(reads + ((member * 3 * HEADS + 3 * own + 1) * LENGTH + position) * BATCH + sequence)
    k = tl.minimum(tl.maximum((k - low) * scale, 0.0), BOUNDARIES - 1.0)
    out = tl.dot(factor, bends(k, BOUNDARIES), input_precision=PRECISION)
    row = ((member * HEADS + own) * LENGTH + position) * BOUNDARIES
    tl.store(answers + (row + a) * BATCH + sequence[None, :], out, mask=a < BOUNDARIES)


@triton.jit
def keys_of(KEYS: tl.constexpr, REST: tl.constexpr):
    """The positions of the keys that a program holds: those of its first tile, and those after them."""
    keys = (tl.arange(0, KEYS),)
    if REST > 0:
        keys = keys + (KEYS + tl.arange(0, REST),)  # noqa: RUF005
    return keys


@triton.jit
def tiles_of(place, keys, lane, STRIDE, LENGTH, SEQUENCES, COUNT: tl.constexpr, TILES: tl.constexpr):
    """What lies at `place` for every key and sequence, a tile for each of COUNT rows of a key."""
    found = ()
    for t in tl.static_range(TILES):
        known = (keys[t] < LENGTH)[:, None] & (lane >= 0)[None, :]
        at = keys[t][:, None] * STRIDE + lane[None, :]
        for a in tl.static_range(COUNT):
            found = found + (tl.load(place + a * SEQUENCES + at, mask=known, other=0.0),)  # noqa: RUF005
    return found


@triton.jit
def attend_one(
    i, q, keys, answer, values, bias, empty, cold, alpha, noise, key, stream, scores, nulls, shares,
    thresholds, first_query, lane, LENGTH, SEQUENCES, WINDOW, BOUNDARIES: tl.constexpr, FAST: tl.constexpr,
    TILES: tl.constexpr,
):  # fmt: skip
    """The output of one query of every sequence."""
    slot = (first_query + i) * (LENGTH + 1)
    nothing = empty + noise * gumbel((slot + LENGTH) * SEQUENCES + lane, key, FAST)
    peak, noisy = nothing, ()
    for t in tl.static_range(TILES):
        j = keys[t]
        score = answer[t * BOUNDARIES]
        for a in tl.static_range(1, BOUNDARIES):
            score += answer[t * BOUNDARIES + a] * bend(q, a)[None, :]
        relative = tl.load(bias + tl.minimum(i - j, WINDOW - 1), mask=j <= i, other=0.0)
        z = (score + relative[:, None]) * cold
        z += noise * gumbel((slot + j[:, None]) * SEQUENCES + lane[None, :], key, FAST)
        z = tl.where((j <= i)[:, None], z, NEVER)
        peak = tl.maximum(peak, tl.max(z, 0))
        noisy = noisy + (z,)  # noqa: RUF005
    nothing = nothing - peak
    total, soft, shifted = tl.exp(nothing), tl.zeros_like(peak), ()
    for t in tl.static_range(TILES):
        z = noisy[t] - peak[None, :]
        e = tl.exp(z)
        total += tl.sum(e, 0)
        soft += tl.sum(e * values[t], 0)
        shifted = shifted + (z,)  # noqa: RUF005
    threshold = tl.zeros_like(peak) - 1.0
    rising = 1
    while rising > 0:
        held = nothing > threshold
        inside, count = tl.where(held, nothing, 0.0) - 1.0, held.to(tl.float32)
        for t in tl.static_range(TILES):
            above = shifted[t] > threshold[None, :]
            inside += tl.sum(tl.where(above, shifted[t], 0.0), 0)
            count += tl.sum(above.to(tl.float32), 0)
        higher = inside / count
        rising = tl.max((higher > threshold).to(tl.int32), 0)
        threshold = tl.maximum(threshold, higher)
    sparse = tl.zeros_like(peak)
    for t in tl.static_range(TILES):
        sparse += tl.sum(tl.maximum(shifted[t] - threshold[None, :], 0.0) * values[t], 0)
        visible = (keys[t] <= i)[:, None] & (lane >= 0)[None, :]
        kept = ((first_query + i) * LENGTH + keys[t][:, None]) * SEQUENCES + lane[None, :]
        tl.store(scores + kept, shifted[t], mask=visible)
    share = 1.0 / total
    soft = soft * share
    tl.store(stream + i * SEQUENCES + lane, soft + alpha * (sparse - soft))
    saved = (first_query + i) * SEQUENCES + lane
    tl.store(nulls + saved, nothing)
    tl.store(shares + saved, share)
    tl.store(thresholds + saved, threshold)


@once_for_all
def attend(
    reads, stream, answers, relative_bias, null_score, scores, nulls, shares, thresholds, shown, step,
    schedule, salt, low, scale, base, first_head, HEADS, ALL_HEADS, VARIABLES, LENGTH, SEQUENCES, WINDOW,
    BEGIN, BOUNDARIES: tl.constexpr, KEYS: tl.constexpr, REST: tl.constexpr, FAST: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """The outputs of one layer's pointer heads from position BEGIN on.

    Noisy scores less their maximum are kept for the way back, those of the null slot apart.
    """
    member, own = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    variable = member * VARIABLES + base + own
    if tl.load(shown + variable) == 0:
        return
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    TILES: tl.constexpr = 1 if REST == 0 else 2
    keys = keys_of(KEYS, REST)
    now = tl.load(step)
    numbers = numbers_of(schedule, now)
    cold, alpha, noise = tl.load(numbers + COLDNESS), tl.load(numbers + ALPHA), tl.load(numbers + NOISE)
    queries = reads + (member * 3 * HEADS + 3 * own) * LENGTH * SEQUENCES
    first_query = (member * HEADS + own) * LENGTH
    stride = BOUNDARIES * SEQUENCES
    answer = tiles_of(
        answers + first_query * stride, keys, lane, stride, LENGTH, SEQUENCES, BOUNDARIES, TILES
    )
    values = tiles_of(
        queries + 2 * LENGTH * SEQUENCES, keys, lane, SEQUENCES, LENGTH, SEQUENCES, 1, TILES
    )  # fmt: skip
    head = member * ALL_HEADS + first_head + own
    empty = tl.load(null_score + head) * cold
    key = noise_key(now, salt)
    for tile in tl.static_range(TILES):  # early queries look at the first tile of keys alone
        end = tl.minimum(LENGTH, KEYS) if tile == 0 else LENGTH
        for i in range(tl.maximum(BEGIN, tile * KEYS), end):
            q = (tl.load(queries + i * SEQUENCES + lane) - low) * scale
            attend_one(
                i, tl.minimum(tl.maximum(q, 0.0), BOUNDARIES - 1.0), keys, answer, values,
                relative_bias + head * WINDOW, empty, cold, alpha, noise, key,
                stream + variable * LENGTH * SEQUENCES, scores, nulls, shares, thresholds, first_query, lane,
                LENGTH, SEQUENCES, WINDOW, BOUNDARIES, FAST, tile + 1,
            )  # fmt: skip


@triton.jit
def kept_of(
    i, keys, scores, nulls, shares, thresholds, queries, gradients, first_query, lane, LENGTH, SEQUENCES,
    TILES: tl.constexpr,
):  # fmt: skip
    """What is known of a query on the way back: null score, share, threshold, query, gradient, scores."""
    saved = (first_query + i) * SEQUENCES + lane
    found = (
        tl.load(nulls + saved), tl.load(shares + saved), tl.load(thresholds + saved),
        tl.load(queries + i * SEQUENCES + lane), tl.load(gradients + i * SEQUENCES + lane),
    )  # fmt: skip
    for t in tl.static_range(TILES):
        visible = (keys[t] <= i)[:, None] & (lane >= 0)[None, :]
        kept = ((first_query + i) * LENGTH + keys[t][:, None]) * SEQUENCES + lane[None, :]
        found = found + (tl.load(scores + kept, mask=visible, other=NEVER),)  # noqa: RUF005
    return found


@triton.jit
def attend_one_backward(
    i, kept, totals, keys, answer, values, scores, nulls, query_gradient, cold, alpha, low, scale,
    first_query, lane, LENGTH, SEQUENCES, BOUNDARIES: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """What one query of every sequence adds to the totals of keys: for each tile that of values, and those of
    the answers."""
    nothing, share, threshold, g = kept[0], kept[1], kept[2], kept[4]
    raw = (kept[3] - low) * scale
    q = tl.minimum(tl.maximum(raw, 0.0), BOUNDARIES - 1.0)
    # what each slot's weight is asked for is g times its value, nothing for the null slot
    held_nothing = nothing > threshold
    mean, average, count = tl.zeros_like(g), tl.zeros_like(g), held_nothing.to(tl.float32)
    for t in tl.static_range(TILES):
        wish = values[t] * g[None, :]
        held = kept[5 + t] > threshold[None, :]
        mean += tl.sum(tl.where(held, wish, 0.0), 0)
        count += tl.sum(held.to(tl.float32), 0)
        average += tl.sum(tl.exp(kept[5 + t]) * wish, 0)
    mean, average = mean / count, average * share
    query_change, more = tl.zeros_like(g), ()
    for t in tl.static_range(TILES):
        z, wish = kept[5 + t], values[t] * g[None, :]
        soft = tl.exp(z) * share[None, :]
        sparse = tl.maximum(z - threshold[None, :], 0.0)
        from_soft = soft * (wish - average[None, :])
        from_sparse = tl.where(sparse > 0.0, wish - mean[None, :], 0.0)
        change = (from_soft + alpha * (from_sparse - from_soft)) * cold
        visible = (keys[t] <= i)[:, None] & (lane >= 0)[None, :]
        place = ((first_query + i) * LENGTH + keys[t][:, None]) * SEQUENCES + lane[None, :]
        tl.store(scores + place, change, mask=visible)
        rise = tl.zeros_like(z)
        more = more + (totals[t * (BOUNDARIES + 1)] + (soft + alpha * (sparse - soft)) * g[None, :],)  # noqa: RUF005
        more = more + (totals[t * (BOUNDARIES + 1) + 1] + change,)  # noqa: RUF005
        for a in tl.static_range(1, BOUNDARIES):
            rise += tl.where(q > a - 1, 1.0, 0.0)[None, :] * answer[t * BOUNDARIES + a]
            more = more + (totals[t * (BOUNDARIES + 1) + 1 + a] + change * bend(q, a)[None, :],)  # noqa: RUF005
        query_change += tl.sum(change * rise, 0)
    null_soft = -tl.exp(nothing) * share * average
    null_sparse = tl.where(held_nothing, -mean, 0.0)
    saved = (first_query + i) * SEQUENCES + lane
    tl.store(nulls + saved, (null_soft + alpha * (null_sparse - null_soft)) * cold)
    within = (raw > 0.0) & (raw < BOUNDARIES - 1.0)
    tl.store(query_gradient + i * SEQUENCES + lane, tl.where(within, query_change * scale, 0.0))
    return more


@once_for_all
def attend_backward(
    reads, stream_gradient, answers, scores, nulls, shares, thresholds, read_gradient, answer_gradient,
    shown, step, schedule, low, scale, base, HEADS, VARIABLES, LENGTH, SEQUENCES, BEGIN,
    BOUNDARIES: tl.constexpr, KEYS: tl.constexpr, REST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of queries, answers and values; scores and null scores are replaced by their gradients."""
    member, own = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    variable = member * VARIABLES + base + own
    if tl.load(shown + variable) == 0:
        return
    lane = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    TILES: tl.constexpr = 1 if REST == 0 else 2
    keys = keys_of(KEYS, REST)
    numbers = numbers_of(schedule, tl.load(step))
    cold, alpha = tl.load(numbers + COLDNESS), tl.load(numbers + ALPHA)
    row = (member * 3 * HEADS + 3 * own) * LENGTH * SEQUENCES
    queries, gradients = reads + row, stream_gradient + variable * LENGTH * SEQUENCES
    first_query = (member * HEADS + own) * LENGTH
    stride = BOUNDARIES * SEQUENCES
    answer = tiles_of(
        answers + first_query * stride, keys, lane, stride, LENGTH, SEQUENCES, BOUNDARIES, TILES
    )
    values = tiles_of(
        queries + 2 * LENGTH * SEQUENCES, keys, lane, SEQUENCES, LENGTH, SEQUENCES, 1, TILES
    )  # fmt: skip
    totals = ()
    for tile in tl.static_range(TILES):
        for _ in tl.static_range(BOUNDARIES + 1):
            totals = totals + (tl.zeros_like(values[tile]),)  # noqa: RUF005
        first = tl.maximum(BEGIN, tile * KEYS)
        last = (tl.minimum(LENGTH, KEYS) if tile == 0 else LENGTH) - 1
        # what the next query needs is on its way while one is worked at
        ahead = kept_of(
            tl.minimum(first, last), keys, scores, nulls, shares, thresholds, queries, gradients, first_query,
            lane, LENGTH, SEQUENCES, tile + 1,
        )  # fmt: skip
        for i in range(first, last + 1):
            kept = ahead
            ahead = kept_of(
                tl.minimum(i + 1, last), keys, scores, nulls, shares, thresholds, queries, gradients,
                first_query, lane, LENGTH, SEQUENCES, tile + 1,
            )  # fmt: skip
            totals = attend_one_backward(
                i, kept, totals, keys, answer, values, scores, nulls, read_gradient + row, cold, alpha, low,
                scale, first_query, lane, LENGTH, SEQUENCES, BOUNDARIES, tile + 1,
            )  # fmt: skip
    for t in tl.static_range(TILES):
        known = (keys[t] < LENGTH)[:, None] & (lane >= 0)[None, :]
        at = keys[t][:, None] * SEQUENCES + lane[None, :]
        tl.store(read_gradient + row + 2 * LENGTH * SEQUENCES + at, totals[t * (BOUNDARIES + 1)], mask=known)
        own_answer = keys[t][:, None] * stride + lane[None, :]
        for a in tl.static_range(BOUNDARIES):
            place = answer_gradient + first_query * stride + a * SEQUENCES + own_answer
            tl.store(place, totals[t * (BOUNDARIES + 1) + 1 + a], mask=known)


@once_for_all
def bias_backward(
    scores, nulls, relative_bias_parts, null_score_parts, shown, base, first_head, HEADS, ALL_HEADS,
    VARIABLES, LENGTH, BATCH, WINDOW, BEGIN, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of a head's biases, one program for each distance, and of its null score, by the last one."""
    member, own = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    if tl.load(shown + member * VARIABLES + base + own) == 0:
        return
    distance = tl.program_id(1)
    lane = tl.arange(0, BLOCK)
    head = member * ALL_HEADS + first_head + own
    first_query = (member * HEADS + own) * LENGTH
    total = tl.zeros((BLOCK,), tl.float32)
    if distance == WINDOW:
        for i in range(BEGIN, LENGTH):
            for start in range(0, BATCH, BLOCK):
                at = (first_query + i) * BATCH + start + lane
                total += tl.load(nulls + at, mask=start + lane < BATCH, other=0.0)
        tl.store(null_score_parts + head, tl.sum(total, 0))
    else:
        # the last distance stands for all that are farther
        for i in range(tl.maximum(BEGIN, distance), LENGTH):
            first_key = tl.where(distance == WINDOW - 1, 0, i - distance)
            for key in range(first_key, i - distance + 1):
                for start in range(0, BATCH, BLOCK):
                    at = ((first_query + i) * LENGTH + key) * BATCH + start + lane
                    total += tl.load(scores + at, mask=start + lane < BATCH, other=0.0)
        tl.store(relative_bias_parts + head * WINDOW + distance, tl.sum(total, 0))


@once_for_all
def answer_backward(
    reads, factors, answer_gradient, read_gradient, factor_parts, factors_size, shown, low, scale, base,
    first_head, HEADS, ALL_HEADS, VARIABLES, LENGTH, BATCH, PARTS, BOUNDARIES: tl.constexpr,
    PRECISION: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of keys and the parts of the gradient of the factors, from what answers were asked for."""
    member, own = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    if tl.load(shown + member * VARIABLES + base + own) == 0:
        return
    part = tl.program_id(1)
    boundary = tl.arange(0, 16)[:, None]
    known = boundary < BOUNDARIES
    row = (member * 3 * HEADS + 3 * own + 1) * LENGTH
    first_key = (member * HEADS + own) * LENGTH
    total = tl.zeros((16, 16), tl.float32)
    lane = tl.arange(0, BLOCK)
    head = member * ALL_HEADS + first_head + own
    both = known & (tl.arange(0, 16)[None, :] < BOUNDARIES)
    at = head * BOUNDARIES * BOUNDARIES + boundary * BOUNDARIES + tl.arange(0, 16)[None, :]
    factor = tl.load(factors + at, mask=both, other=0.0)
    for turn in range((LENGTH * BATCH + PARTS * BLOCK - 1) // (PARTS * BLOCK)):
        start = (turn * PARTS + part) * BLOCK
        position, sequence = start // BATCH, start % BATCH + lane
        inside = start + lane < LENGTH * BATCH
        asked = tl.load(reads + (row + position) * BATCH + sequence, mask=inside, other=0.0)
        asked = (asked - low) * scale
        k = tl.minimum(tl.maximum(asked, 0.0), BOUNDARIES - 1.0)
        pull = tl.load(
            answer_gradient + ((first_key + position) * BOUNDARIES + boundary) * BATCH + sequence[None, :],
            mask=known & inside[None, :], other=0.0,
        )  # fmt: skip
        total += tl.dot(pull, tl.trans(bends(k, BOUNDARIES)), input_precision=PRECISION)
        rising = (boundary > 0) & (k[None, :] > boundary - 1.0)
        steep = tl.where(rising, tl.dot(tl.trans(factor), pull, input_precision=PRECISION), 0.0)
        within = (asked > 0.0) & (asked < BOUNDARIES - 1.0)
        key_total = tl.where(within, tl.sum(steep, 0) * scale, 0.0)
        tl.store(read_gradient + (row + position) * BATCH + sequence, key_total, mask=inside)
    tl.store(factor_parts + part * factors_size + at, total, mask=both)


@once_for_all
def operate(
    operands, stream, hidden_weight, hidden_bias, output_weight, output_bias, shown, step, schedule,
    first_submlp, layer, LAYERS, SUBMLPS, HIDDEN, VARIABLES, FIRST, COLUMNS, ARITY: tl.constexpr,
    HIDDEN_BLOCK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Outputs of a layer's sub-MLPs from their operands; hidden units stay in registers."""
    member, own = tl.program_id(0) // SUBMLPS, tl.program_id(0) % SUBMLPS
    if tl.load(shown + member * VARIABLES + first_submlp + own) == 0:
        return
    column = FIRST + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < COLUMNS
    leak = tl.load(numbers_of(schedule, tl.load(step)) + LEAK)
    h = tl.arange(0, HIDDEN_BLOCK)
    mlp = (member * LAYERS + layer) * SUBMLPS + own
    pre = tl.load(hidden_bias + mlp * HIDDEN + h, mask=h < HIDDEN, other=0.0)[:, None]
    pre = pre + tl.zeros((HIDDEN_BLOCK, BLOCK), tl.float32)
    for k in tl.static_range(ARITY):
        weight = tl.load(hidden_weight + (mlp * HIDDEN + h) * ARITY + k, mask=h < HIDDEN, other=0.0)
        row = (member * SUBMLPS + own) * ARITY + k
        u = tl.load(operands + row * COLUMNS + column, mask=inside, other=0.0)
        pre += weight[:, None] * u[None, :]
    active = tl.where(pre > 0.0, pre, leak * pre)
    weight = tl.load(output_weight + mlp * HIDDEN + h, mask=h < HIDDEN, other=0.0)
    out = tl.sum(weight[:, None] * active, 0) + tl.load(output_bias + mlp)
    tl.store(stream + (member * VARIABLES + first_submlp + own) * COLUMNS + column, out, mask=inside)


@once_for_all
def operate_backward(
    operands, stream_gradient, hidden_weight, hidden_bias, output_weight, operand_gradient,
    hidden_weight_parts, hidden_bias_parts, output_weight_parts, output_bias_parts, weights_size, shown,
    step, schedule, first_submlp, layer, PARTS, LAYERS, SUBMLPS, HIDDEN, VARIABLES, FIRST, COLUMNS,
    ARITY: tl.constexpr, HIDDEN_BLOCK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of operands and weights; hidden units are computed again."""
    member, own = tl.program_id(0) // SUBMLPS, tl.program_id(0) % SUBMLPS
    if tl.load(shown + member * VARIABLES + first_submlp + own) == 0:
        return
    part = tl.program_id(1)
    leak = tl.load(numbers_of(schedule, tl.load(step)) + LEAK)
    h = tl.arange(0, HIDDEN_BLOCK)
    known = h < HIDDEN
    mlp = (member * LAYERS + layer) * SUBMLPS + own
    bias = tl.load(hidden_bias + mlp * HIDDEN + h, mask=known, other=0.0)
    out_weight = tl.load(output_weight + mlp * HIDDEN + h, mask=known, other=0.0)
    bias_total = tl.zeros((HIDDEN_BLOCK, BLOCK), tl.float32)
    outer_total = tl.zeros((HIDDEN_BLOCK, BLOCK), tl.float32)
    totals = ()  # of the weights of each operand
    for _ in tl.static_range(ARITY):
        totals = totals + (tl.zeros((HIDDEN_BLOCK, BLOCK), tl.float32),)  # noqa: RUF005
    last_total = tl.zeros((BLOCK,), tl.float32)
    gradient = stream_gradient + (member * VARIABLES + first_submlp + own) * COLUMNS
    rows = (member * SUBMLPS + own) * ARITY
    for turn in range((COLUMNS - FIRST + PARTS * BLOCK - 1) // (PARTS * BLOCK)):
        column = FIRST + (turn * PARTS + part) * BLOCK + tl.arange(0, BLOCK)
        inside = column < COLUMNS
        pre = bias[:, None] + tl.zeros((HIDDEN_BLOCK, BLOCK), tl.float32)
        for k in tl.static_range(ARITY):
            weight = tl.load(hidden_weight + (mlp * HIDDEN + h) * ARITY + k, mask=known, other=0.0)
            u = tl.load(operands + (rows + k) * COLUMNS + column, mask=inside, other=0.0)
            pre += weight[:, None] * u[None, :]
        g = tl.load(gradient + column, mask=inside, other=0.0)
        outer_total += tl.where(pre > 0.0, pre, leak * pre) * g[None, :]
        change = tl.where(pre > 0.0, 1.0, leak) * out_weight[:, None] * g[None, :]
        bias_total += change
        last_total += g
        more = ()
        for k in tl.static_range(ARITY):
            weight = tl.load(hidden_weight + (mlp * HIDDEN + h) * ARITY + k, mask=known, other=0.0)
            back = tl.sum(change * weight[:, None], 0)
            tl.store(operand_gradient + (rows + k) * COLUMNS + column, back, mask=inside)
            u = tl.load(operands + (rows + k) * COLUMNS + column, mask=inside, other=0.0)
            more = more + (totals[k] + change * u[None, :],)  # noqa: RUF005
        totals = more
    at = part * weights_size
    tl.store(hidden_bias_parts + at + mlp * HIDDEN + h, tl.sum(bias_total, 1), mask=known)
    tl.store(output_weight_parts + at + mlp * HIDDEN + h, tl.sum(outer_total, 1), mask=known)
    tl.store(output_bias_parts + at + mlp, tl.sum(last_total, 0))
    for k in tl.static_range(ARITY):
        place = hidden_weight_parts + at + (mlp * HIDDEN + h) * ARITY + k
        tl.store(place, tl.sum(totals[k], 1), mask=known)


@once_for_all
def predict(
    stream, stream_gradient, goals, head, shown, head_parts, losses, weights_size, loss_weights, VARIABLES,
    FIRST, COLUMNS, MEMBERS, PARTS, OUTPUTS: tl.constexpr, VARIABLE_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """The linear head, its loss, and the gradients of the head and of the stream.

    `weights` hold for every output one over its variance and the number of scored values.
    """
    member, part = tl.program_id(0), tl.program_id(1)
    v = tl.arange(0, VARIABLE_BLOCK)
    known = v < VARIABLES
    seen = tl.load(shown + member * VARIABLES + v, mask=known, other=0) != 0
    loss = tl.zeros((BLOCK,), tl.float32)
    for o in tl.static_range(OUTPUTS):
        row = (member * OUTPUTS + o) * (VARIABLES + 1)
        weight = tl.where(seen, tl.load(head + row + v, mask=known, other=0.0), 0.0)
        intercept = tl.load(head + row + VARIABLES)
        size = tl.load(loss_weights + o)
        total = tl.zeros((VARIABLE_BLOCK, BLOCK), tl.float32)
        last = tl.zeros((BLOCK,), tl.float32)
        for turn in range((COLUMNS - FIRST + PARTS * BLOCK - 1) // (PARTS * BLOCK)):
            column = FIRST + (turn * PARTS + part) * BLOCK + tl.arange(0, BLOCK)
            inside = column < COLUMNS
            both = known[:, None] & inside[None, :]
            at = (member * VARIABLES + v[:, None]) * COLUMNS + column[None, :]
            x = tl.load(stream + at, mask=both, other=0.0)
            goal = tl.load(goals + o * COLUMNS + column, mask=inside, other=0.0)
            error = tl.where(inside, tl.sum(weight[:, None] * x, 0) + intercept - goal, 0.0)
            loss += size * error * error
            g = 2.0 * size * error
            back = weight[:, None] * g[None, :]
            if o > 0:
                back += tl.load(stream_gradient + at, mask=both, other=0.0)
            tl.store(stream_gradient + at, back, mask=both)
            total += x * g[None, :]
            last += g
        own_head = head_parts + part * weights_size + row
        tl.store(own_head + v, tl.where(seen, tl.sum(total, 1), 0.0), mask=known)
        tl.store(own_head + VARIABLES, tl.sum(last, 0))
    own = losses + part * MEMBERS + member
    tl.store(own, tl.load(own) + tl.sum(loss, 0))


@once_for_all
def update(
    weights, parts, first, second, penalty, step, schedule, weights_size, PARTS, PART_BLOCK: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """AdamW on all weights at once, from the parts of their gradient."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < weights_size
    numbers = numbers_of(schedule, tl.load(step))
    part = tl.arange(0, PART_BLOCK)
    at = parts + part[:, None] * weights_size + place[None, :]
    there = (part < PARTS)[:, None] & inside[None, :]
    g = tl.sum(tl.load(at, mask=there, other=0.0), 0)
    w = tl.load(weights + place, mask=inside, other=0.0)
    sign = tl.where(w > 0.0, 1.0, tl.where(w < 0.0, -1.0, 0.0))
    g += tl.load(penalty + place, mask=inside, other=0.0) * sign
    g = tl.where(g == g, g, 0.0)
    g = tl.where(tl.abs(g) < 1e30, g, tl.where(g > 0.0, 100.0, -100.0))
    m = 0.9 * tl.load(first + place, mask=inside, other=0.0) + 0.1 * g
    s = 0.999 * tl.load(second + place, mask=inside, other=0.0) + 0.001 * g * g
    w = w * tl.load(numbers + SHRINKING)
    size = tl.sqrt(s / tl.load(numbers + SECOND_MOMENT)) + 1e-8
    w = w - tl.load(numbers + RATE) * (m / tl.load(numbers + FIRST_MOMENT)) / size
    tl.store(first + place, m, mask=inside)
    tl.store(second + place, s, mask=inside)
    tl.store(weights + place, w, mask=inside)
