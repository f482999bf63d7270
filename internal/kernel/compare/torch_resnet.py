#!/usr/bin/python3
"""Times the training step of a CIFAR ResNet in PyTorch, as `reprise bench step` times ours.

The network of He et al. (2015), section 4.2, with option A shortcuts, channels last in memory; SGD with
Nesterov momentum 0.9 and weight decay 1e-4; one batch of noise; three steps before those measured.

Set-up: apt-get install -y --no-install-recommends python3-torch libopenblas0-pthread
Run:    OPENBLAS_CORETYPE=SkylakeX /usr/bin/python3 torch_resnet.py --depth 20 --batch 128 --threads 2 --seconds 5
OPENBLAS_CORETYPE is for processors with AVX-512 that Debian's OpenBLAS does not know: it takes slow kernels there.
"""
import argparse
import json
import platform
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Unit(nn.Module):
    """Two 3x3 convolutions and a shortcut without weights."""

    def __init__(self, inputs, width):
        super().__init__()
        self.grows = width != inputs
        self.conv1 = nn.Conv2d(inputs, width, 3, stride=2 if self.grows else 1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.grows:
            extra = (y.shape[1] - x.shape[1]) // 2
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, extra, extra))
        return F.relu(y + x)


def network(depth):
    widths = [16] + [w for w in (16, 32, 64) for _ in range((depth - 2) // 6)]
    stem = [nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    units = [Unit(i, o) for i, o in zip(widths, widths[1:])]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*stem, *units, *head).to(memory_format=torch.channels_last)


def version():
    """That of Debian's package, or what PyTorch says of itself."""
    try:
        v = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "python3-torch"], capture_output=True, text=True, check=True)
        return v.stdout.split("+")[0] + ", " + platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, subprocess.CalledProcessError):
        return torch.__version__


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--depth", type=int, default=20)
    args.add_argument("--batch", type=int, default=128)
    args.add_argument("--threads", type=int, default=2)
    args.add_argument("--seconds", type=float, default=5)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    with open("/proc/self/maps") as maps:
        if "openblas" not in maps.read():
            sys.exit("PyTorch runs on another BLAS than OpenBLAS, which may be far slower: see the set-up at the top")

    model = network(args.depth)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
    pictures = torch.randn(args.batch, 3, 32, 32).to(memory_format=torch.channels_last)
    classes = torch.randint(10, (args.batch,))

    def step():
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(model(pictures), classes).backward()
        optimizer.step()
        return time.perf_counter() - start

    for _ in range(3):
        step()
    times, end = [], time.perf_counter() + args.seconds
    while not times or time.perf_counter() < end:
        times.append(step())
    times.sort()
    best, median = times[0], times[len(times) // 2]
    print(json.dumps({
        "peer": "PyTorch " + version(), "model": f"resnet_cifar:depth={args.depth}", "batch": args.batch, "threads": args.threads,
        "step_seconds": {"min": best, "median": median},
        "examples_per_second": args.batch / median, "examples_per_second_best": args.batch / best,
    }))


main()
