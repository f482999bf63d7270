"""Writes golden.json: weights after every step of PyTorch's optimizers, and norms of its clipping (made with PyTorch 1.13).

python3 golden.py > golden.json

Two weights, "w" of 4x5 with weight decay and "b" of 3 without. The rate changes from step to step.
"""
import json
import sys

import torch

STEPS = 8
generator = torch.Generator().manual_seed(1)


def draw(*shape):
    return torch.randn(*shape, generator=generator)


def floats(t):
    return [float("%.9g" % x) for x in t.flatten()]  # nine digits tell all float32s apart


def run(name, settings, make, b_rate=1.0):
    w, b = draw(4, 5).requires_grad_(), draw(3).requires_grad_()
    case = {"optimizer": name, "settings": settings, "b_rate": b_rate, "w": floats(w), "b": floats(b), "steps": []}
    decay = settings.get("weight_decay", 0.0)
    groups = [{"params": [w], "weight_decay": decay}, {"params": [b], "weight_decay": 0.0}]
    opt = make(groups, {k: v for k, v in settings.items() if k != "weight_decay"})
    for step in range(STEPS):
        rate = 0.05 * (1 - step / (2 * STEPS))
        opt.param_groups[0]["lr"] = rate
        opt.param_groups[1]["lr"] = rate * b_rate
        w.grad, b.grad = draw(4, 5), draw(3) * 1e-3
        gradients = {"gw": floats(w.grad), "gb": floats(b.grad)}
        opt.step()
        case["steps"].append({"rate": rate, **gradients, "w": floats(w), "b": floats(b)})
    return case


def sgd(groups, s):
    return torch.optim.SGD(groups, lr=0.1, momentum=s.get("momentum", 0.0), nesterov=s.get("nesterov", False))


def adam(kind):
    def make(groups, s):
        betas = (s.get("beta1", 0.9), s.get("beta2", 0.999))
        return kind(groups, lr=0.1, betas=betas, eps=s.get("epsilon", 1e-8))

    return make


def clip(maximum):
    w, b = draw(4, 5).requires_grad_(), draw(3).requires_grad_()
    w.grad, b.grad = draw(4, 5), draw(3)
    case = {"max": maximum, "gw": floats(w.grad), "gb": floats(b.grad)}
    case["norm"] = float(torch.nn.utils.clip_grad_norm_([w, b], maximum))
    case["clipped_gw"], case["clipped_gb"] = floats(w.grad), floats(b.grad)
    return case


out = {
    "optimizers": [
        run("sgd", {}, sgd),
        run("sgd", {"weight_decay": 0.1}, sgd),
        run("sgd", {"momentum": 0.9}, sgd),
        run("sgd", {"momentum": 0.9, "weight_decay": 0.1}, sgd),
        run("sgd", {"momentum": 0.9, "nesterov": True}, sgd),
        run("sgd", {"momentum": 0.8, "nesterov": True, "weight_decay": 0.1}, sgd),
        run("sgd", {"momentum": 0.8, "nesterov": True, "weight_decay": 0.1}, sgd, b_rate=0.25),
        run("adam", {}, adam(torch.optim.Adam)),
        run("adam", {"weight_decay": 0.1}, adam(torch.optim.Adam)),
        run("adam", {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3, "weight_decay": 0.1}, adam(torch.optim.Adam)),
        run("adamw", {}, adam(torch.optim.AdamW)),
        run("adamw", {"weight_decay": 0.1}, adam(torch.optim.AdamW)),
        run("adamw", {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-3, "weight_decay": 0.1}, adam(torch.optim.AdamW), b_rate=4.0),
    ],
    "clips": [clip(1.0), clip(100.0)],
}
json.dump(out, sys.stdout, indent=None, separators=(",", ":"))
print()
