"""Writes golden.json: operations of PyTorch on small inputs, with all gradients.

Run it with Debian's python3-torch (1.13): python3 golden.py > golden.json
Tensors are float32, written in Reprise's layouts: NHWC images, HWIO weights.
"""

import json

import torch
import torch.nn.functional as F

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)

IMAGE, WEIGHTS, PLAIN = (0, 2, 3, 1), (2, 3, 1, 0), None  # from NCHW, from OIHW, as it is


def array(t, layout=None):
    t = t.detach()
    if layout is not None and t.dim() == 4:
        t = t.permute(layout)
    return {"shape": list(t.shape), "data": [float("%.9g" % v) for v in t.contiguous().flatten().tolist()]}


def case(name, f, inputs, layouts, out_layout=None, **extra):
    """f on inputs; the loss is the sum of the output times fixed weights."""
    for t in inputs:
        t.requires_grad_(True)
    y = f(*inputs)
    c = torch.randn(y.shape)
    (y * c).sum().backward()
    return {
        "name": name,
        "inputs": [array(t, l) for t, l in zip(inputs, layouts)],
        "output": array(y, out_layout),
        "outputGradient": array(c, out_layout),
        "gradients": [array(t.grad, l) for t, l in zip(inputs, layouts)],
        **extra,
    }


def conv(shape, out, kernel, stride, pad, groups=1):
    x, w = torch.randn(shape), torch.randn(out, shape[1] // groups, *kernel)
    f = lambda x, w: F.conv2d(x, w, stride=stride, padding=pad, groups=groups)
    return case("conv", f, [x, w], [IMAGE, WEIGHTS], IMAGE, stride=stride, pad=pad, groups=groups)


def norm(shape, train):
    n = torch.nn.BatchNorm2d(shape[1]) if len(shape) == 4 else torch.nn.BatchNorm1d(shape[1])
    n.running_mean.copy_(torch.randn(shape[1]))
    n.running_var.copy_(torch.rand(shape[1]) + 0.5)
    mean, var = n.running_mean.clone(), n.running_var.clone()
    n.train(train)
    x, g, b = torch.randn(shape) * 2 + 1, torch.randn(shape[1]), torch.randn(shape[1])

    def f(x, g, b):
        return F.batch_norm(x, n.running_mean, n.running_var, g, b, train, 0.1, 1e-5)

    c = case("batchNorm", f, [x, g, b], [IMAGE, PLAIN, PLAIN], IMAGE, train=train)
    c["before"], c["after"] = [array(mean), array(var)], [array(n.running_mean), array(n.running_var)]
    return c


def linear(n, i, o):
    return case("linear", F.linear, [torch.randn(n, i), torch.randn(o, i), torch.randn(o)], [PLAIN] * 3)


def max_pool(shape, kernel, stride, pad):
    return case("maxPool", lambda x: F.max_pool2d(x, kernel, stride, pad), [torch.randn(shape)], [IMAGE], IMAGE, kernel=kernel, stride=stride, pad=pad)


def option_a(shape, stride, out):
    lo = (out - shape[1]) // 2

    def f(x):
        return F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, lo, out - shape[1] - lo))

    return case("shortcut", f, [torch.randn(shape)], [IMAGE], IMAGE, stride=stride)


def cross_entropy(n, k, soft, smoothing):
    x = torch.randn(n, k) * 3
    classes = torch.randint(0, k, (n,))
    target = torch.softmax(torch.randn(n, k), 1) if soft else classes
    c = case("crossEntropy", lambda x: F.cross_entropy(x, target, label_smoothing=smoothing), [x], [PLAIN], smoothing=smoothing)
    c["outputGradient"]["shape"], c["output"]["shape"] = [], []
    if soft:
        c["soft"] = array(target)
    else:
        c["classes"] = classes.tolist()
    return c


cases = [
    conv((2, 3, 5, 6), 4, (3, 3), 1, 1),
    conv((2, 4, 6, 5), 5, (3, 3), 2, 1),
    conv((1, 5, 4, 4), 3, (1, 1), 2, 0),
    conv((1, 2, 9, 8), 3, (5, 7), 2, 3),
    norm((3, 4, 3, 2), True),
    norm((3, 4, 3, 2), False),
    norm((5, 3), True),
    linear(4, 7, 5),
    case("relu", F.relu, [torch.randn(2, 3, 4, 3)], [IMAGE], IMAGE),
    case("globalAvgPool", lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), [torch.randn(2, 3, 4, 5)], [IMAGE]),
    max_pool((2, 3, 6, 4), 2, 2, 0),
    max_pool((2, 2, 7, 5), 3, 2, 1),
    option_a((2, 3, 5, 4), 2, 8),
    cross_entropy(5, 7, False, 0.0),
    cross_entropy(5, 7, False, 0.1),
    cross_entropy(4, 6, True, 0.0),
    cross_entropy(4, 6, True, 0.2),
    conv((2, 6, 5, 4), 9, (3, 3), 1, 1, groups=3),
    conv((2, 18, 5, 4), 18, (3, 3), 2, 1, groups=18),
]
print(json.dumps({"torch": torch.__version__, "cases": cases}, separators=(",", ":")).replace('{"name"', '\n{"name"'))
