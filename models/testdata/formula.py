"""Numbers that depend on a name alone, as the Go tests have them: weights, inputs, and what gradients are multiplied with."""
import math

import torch

WORD = (1 << 32) - 1


def formula(name, count):
    """count numbers in [-1, 1) that depend on name and position."""
    seed = 2166136261  # FNV-1a
    for c in name.encode():
        seed = (seed ^ c) * 16777619 & WORD
    u = torch.arange(count, dtype=torch.int64) * 2654435761 + seed & WORD
    # The product of two 32-bit numbers is taken in halves: it does not fit into int64.
    v = u ^ u >> 15
    u = (v & 0xFFFF) * 2246822519 + (((v >> 16) * 2246822519 & 0xFFFF) << 16) & WORD
    u ^= u >> 13
    return u.double() / (1 << 31) - 1


def start(name, t):
    u = formula(name, t.numel()).reshape(t.shape)
    if name.endswith("running_var"):
        u = 1 + 0.5 * u
    elif name.endswith("running_mean") or name.endswith("bias"):
        u = 0.1 * u
    elif name.endswith("bn3.weight"):
        u = 0.25 + 0.05 * u  # more would let 50 layers multiply every rounding
    elif t.dim() == 1:
        u = 1 + 0.2 * u
    else:
        u = math.sqrt(6 / t[0].numel()) * u
    return u.float().double()
