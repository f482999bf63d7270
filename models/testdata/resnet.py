#!/usr/bin/python3
"""Writes resnet18.json and resnet50.json: what PyTorch computes for a ResNet on a batch of 2.

Structure and names are those of torchvision, which is compared with where it is installed.
Weights and inputs come from a formula that the Go test has too. They are float32 values;
PyTorch computes in float64, so that the differences seen are those of our float32.
Of every gradient there are its norm and its product with numbers of the formula.
Where the input of a ReLU is so close to 0 that float32 may see it on the other side, gradients jump.
So the input is the one of 300 that keeps all of them, and the first two of every maximum, furthest
apart: by 4e-5 for ResNet-18, 1e-5 for ResNet-50.
Made with PyTorch 1.13.0, torchvision 0.14.1:  /usr/bin/python3 resnet.py
"""
import json
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

from formula import formula, start

BATCH, SIZE, CLASSES = 2, 40, 10


class Basic(nn.Module):
    GROWTH = 1

    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.downsample = shortcut(i, o, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.downsample(x))


class Bottleneck(nn.Module):
    GROWTH = 4

    def __init__(self, i, o, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.conv3, self.bn3 = nn.Conv2d(o, 4 * o, 1, bias=False), nn.BatchNorm2d(4 * o)
        self.downsample = shortcut(i, 4 * o, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x))


def shortcut(i, o, stride):
    if stride == 1 and i == o:
        return nn.Sequential()
    return nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))


class ResNet(nn.Module):
    def __init__(self, block, counts, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        width = 64
        for stage, count in enumerate(counts):
            blocks, o = [], 64 << stage
            for j in range(count):
                blocks.append(block(width, o, 2 if stage and not j else 1))
                width = o * block.GROWTH
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


def compare_with_torchvision(ours, name):
    try:
        import torchvision
    except ImportError:
        return
    theirs = getattr(torchvision.models, name)(num_classes=CLASSES).double()
    theirs.load_state_dict(ours.state_dict())  # strict: names and shapes
    x = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    assert torch.allclose(ours.train()(x), theirs.train()(x)), name
    assert torch.allclose(ours.eval()(x), theirs.eval()(x)), name


def gold(name, block, counts, batch):
    model = ResNet(block, counts, CLASSES).double()
    compare_with_torchvision(model, name)
    with torch.no_grad():
        for n, t in model.state_dict().items():
            t.copy_(torch.tensor(0) if n.endswith("num_batches_tracked") else start(n, t))
    x = (1.5 * formula(batch, BATCH * 3 * SIZE * SIZE)).float().double().reshape(BATCH, 3, SIZE, SIZE)
    y = torch.tensor([(3 * i + 1) % CLASSES for i in range(BATCH)])
    model.eval()
    out = {"torch": torch.__version__, "input": batch, "eval_logits": model(x).flatten().tolist()}
    model.train()
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    out["logits"], out["losses"] = logits.flatten().tolist(), [loss.item()]
    out["grad_norms"], out["grad_products"] = {}, {}
    for n, p in model.named_parameters():
        g = p.grad.flatten()
        out["grad_norms"][n] = g.norm().item()
        out["grad_products"][n] = g.dot(formula("gradient of " + n, g.numel())).item()
    out["running_mean_bn1"] = model.bn1.running_mean.tolist()
    out["running_var_bn1"] = model.bn1.running_var.tolist()
    out["state"] = {n: list(t.shape) for n, t in model.state_dict().items()}
    text = ",\n".join(json.dumps(k) + ": " + json.dumps(v, separators=(",", ":")) for k, v in out.items())
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".json"), "w") as f:
        f.write("{" + text + "}\n")


gold("resnet18", Basic, [2, 2, 2, 2], "input 51")
gold("resnet50", Bottleneck, [3, 4, 6, 3], "input 79")
