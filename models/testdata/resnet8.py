#!/usr/bin/python3
"""Writes resnet8.json: what PyTorch computes for a ResNet-8 on a batch of 4.

Weights and inputs come from a formula that the Go test has too. They are float32 values;
PyTorch computes in float64, so that the differences seen are those of our float32.
Made with PyTorch 1.13.0:  /usr/bin/python3 resnet8.py > resnet8.json
"""
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, STEPS, RATE = 4, 5, 0.05
WORD = (1 << 32) - 1


def formula(name, count):
    """count numbers in [-1, 1) that depend on name and position."""
    seed = 2166136261  # FNV-1a
    for c in name.encode():
        seed = (seed ^ c) * 16777619 & WORD
    out = []
    for i in range(count):
        u = (i * 2654435761 + seed) & WORD
        u = (u ^ u >> 15) * 2246822519 & WORD
        u ^= u >> 13
        out.append(u / (1 << 31) - 1)
    return torch.tensor(out, dtype=torch.float64)


def start(name, t):
    u = formula(name, t.numel()).reshape(t.shape)
    if name.endswith("running_var"):
        u = 1 + 0.5 * u
    elif name.endswith("running_mean") or name.endswith("bias"):
        u = 0.1 * u
    elif t.dim() == 1:
        u = 1 + 0.2 * u
    else:
        u = math.sqrt(6 / t[0].numel()) * u
    return u.float().double()


class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(o)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(o)
        self.stride, self.pad = stride, (o - i) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.pad, self.pad))
        return F.relu(y + x)


class ResNet8(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(Block(16, 16, 1))
        self.layer2 = nn.Sequential(Block(16, 32, 2))
        self.layer3 = nn.Sequential(Block(32, 64, 2))
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.fc(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


model = ResNet8().double()
with torch.no_grad():
    for name, t in model.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            t.copy_(start(name, t))
x = (1.5 * formula("input", BATCH * 3 * 32 * 32)).float().double().reshape(BATCH, 3, 32, 32)
y = torch.tensor([(3 * i + 1) % 10 for i in range(BATCH)])

gold = {"torch": torch.__version__}
opt = torch.optim.SGD(model.parameters(), RATE, momentum=0.9, weight_decay=5e-4, nesterov=True)
losses = []
for step in range(STEPS + 1):
    model.train()
    opt.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    losses.append(loss.item())
    if step == 0:
        gold["logits"] = logits.flatten().tolist()
        gold["grad_norms"] = {n: p.grad.norm().item() for n, p in model.named_parameters()}
    if step < STEPS:
        opt.step()
gold["losses"] = losses
model.eval()
gold["eval_logits"] = model(x).flatten().tolist()
gold["running_mean_bn1"] = model.bn1.running_mean.tolist()
gold["running_var_bn1"] = model.bn1.running_var.tolist()
print(json.dumps(gold, indent=1))
