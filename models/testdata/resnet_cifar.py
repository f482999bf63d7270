#!/usr/bin/python3
"""Writes resnet8.json or resnet20.json: what PyTorch computes for a ResNet for CIFAR.

Weights and inputs come from a formula that the Go test has too. They are float32 values;
PyTorch computes in float64, so that the differences seen are those of our float32.
Of every gradient there are its norm and its product with numbers of the formula.
Where the input of a ReLU is so close to 0 that float32 may see it on the other side, gradients jump.
So the batch is the one of 300 that keeps all of them furthest from 0 ("margin" in the file).
Made with PyTorch 1.13.0:  /usr/bin/python3 resnet_cifar.py 8; /usr/bin/python3 resnet_cifar.py 20
"""
import json
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from formula import formula, start

ROWS = {8: 4, 20: 2}  # fewer rows keep the deeper net's more ReLUs as far from 0
BATCHES, STEPS, RATE = 300, 5, 0.05


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.relu2 = nn.ReLU()
        self.stride, self.pad = stride, (o - i) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu1(self.bn1(self.conv1(x)))))
        x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.pad, self.pad))
        return self.relu2(y + x)


class ResNet(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU()
        more = range((depth - 2) // 6 - 1)
        self.layer1 = nn.Sequential(Block(16, 16, 1), *[Block(16, 16, 1) for _ in more])
        self.layer2 = nn.Sequential(Block(16, 32, 2), *[Block(32, 32, 1) for _ in more])
        self.layer3 = nn.Sequential(Block(32, 64, 2), *[Block(64, 64, 1) for _ in more])
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        return self.fc(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


def new_model(depth):
    model = ResNet(depth).double()
    with torch.no_grad():
        for name, t in model.state_dict().items():
            if not name.endswith("num_batches_tracked"):
                t.copy_(start(name, t))
    return model


def pictures(name, rows):
    return (1.5 * formula(name, rows * 3 * 32 * 32)).float().double().reshape(rows, 3, 32, 32)


def best_batch(depth):
    """Returns the margin and the name of the batch whose ReLUs are furthest from 0."""
    model, margins = new_model(depth), []
    for m in model.modules():
        if isinstance(m, nn.ReLU):
            m.register_forward_pre_hook(lambda _, x: margins.append(x[0].abs().min().item()))
    best = (0.0, "")
    for i in range(BATCHES):
        margins.clear()
        with torch.no_grad():
            model(pictures(f"input {i}", ROWS[depth]))
        best = max(best, (min(margins), f"input {i}"))
    return best


def gold(depth):
    margin, batch = best_batch(depth)
    rows = ROWS[depth]
    model, x = new_model(depth), pictures(batch, rows)
    y = torch.tensor([(3 * i + 1) % 10 for i in range(rows)])
    out = {"torch": torch.__version__, "input": batch, "rows": rows, "margin": margin}
    opt = torch.optim.SGD(model.parameters(), RATE, momentum=0.9, weight_decay=5e-4, nesterov=True)
    losses = []
    for step in range(STEPS + 1):
        opt.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            out["logits"] = logits.flatten().tolist()
            out["grad_norms"], out["grad_products"] = {}, {}
            for n, p in model.named_parameters():
                g = p.grad.flatten()
                out["grad_norms"][n] = g.norm().item()
                out["grad_products"][n] = g.dot(formula("gradient of " + n, g.numel())).item()
        if step < STEPS:
            opt.step()
    out["losses"] = losses
    model.eval()
    out["eval_logits"] = model(x).flatten().tolist()
    out["running_mean_bn1"] = model.bn1.running_mean.tolist()
    out["running_var_bn1"] = model.bn1.running_var.tolist()
    text = ",\n".join(json.dumps(k) + ": " + json.dumps(v, separators=(",", ":")) for k, v in out.items())
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), f"resnet{depth}.json"), "w") as f:
        f.write("{" + text + "}\n")


gold(int(sys.argv[1]))
