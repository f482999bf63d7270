#!/usr/bin/python3
"""Writes transformer_*.json and vit.json: what PyTorch computes for small transformers.

Weights and inputs come from a formula that the Go test has too. They are float32 values; PyTorch computes in float64, so that the
differences seen are those of our float32. Of every gradient there are its norm and its product with numbers of the formula.
The language model is written with the names of models.Transformer, the vision transformer with those of torchvision 0.13, which is
not needed. Made with PyTorch 1.13.0:  /usr/bin/python3 transformer.py
"""
import json
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

from formula import formula, start

STEPS, RATE = 10, 0.02


class Block(nn.Module):
    def __init__(self, width, heads, norm, activation):
        super().__init__()
        self.heads, self.norm, self.activation = heads, norm, activation
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        n, t, w = x.shape
        q, k, v = (z.view(n, t, self.heads, w // self.heads).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        mask = torch.full((t, t), float("-inf"), dtype=x.dtype).triu(1)
        a = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(w // self.heads) + mask, -1) @ v
        return self.proj(a.transpose(1, 2).reshape(n, t, w))

    def feed(self, x):
        return self.down(self.activation(self.up(x)))

    def forward(self, x):
        if self.norm == "post":
            x = self.ln1(x + self.attend(x))
            return self.ln2(x + self.feed(x))
        x = x + self.attend(self.ln1(x))
        return x + self.feed(self.ln2(x))


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, context, vocabulary, norm, positions, activation, tied):
        super().__init__()
        self.tok = nn.Embedding(vocabulary, width)
        if positions == "learned":
            self.pos = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, norm, activation) for _ in range(layers))
        if norm == "pre":
            self.ln = nn.LayerNorm(width)
        if not tied:
            self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, x):
        t = x.shape[1]
        h = self.tok(x)
        if hasattr(self, "pos"):
            h = h + self.pos.weight[:t]
        else:
            w = h.shape[2]
            angle = torch.arange(t).double()[:, None] / 10000 ** (torch.arange(0, w, 2).double() / w)
            h = h + torch.stack([angle.sin(), angle.cos()], -1).reshape(t, w)
        for b in self.blocks:
            h = b(h)
        if hasattr(self, "ln"):
            h = self.ln(h)
        return self.head(h) if hasattr(self, "head") else h @ self.tok.weight.T


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0), nn.Linear(4 * width, width), nn.Dropout(0))

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    def __init__(self, size, patch, layers, width, heads, classes):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.encoder.layers = nn.Module()
        for i in range(layers):
            self.encoder.layers.add_module(f"encoder_layer_{i}", EncoderLayer(width, heads))
        self.encoder.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.Module()
        self.heads.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], 1) + self.encoder.pos_embedding
        for b in self.encoder.layers.children():
            x = b(x)
        return self.heads.head(self.encoder.ln(x)[:, 0])


def gold(file, model, x, y, weights):
    model = model.double()
    with torch.no_grad():
        for name, t in model.state_dict().items():
            t.copy_(start(name, t))
    out = {"torch": torch.__version__, "state": {n: list(t.shape) for n, t in model.state_dict().items()}}
    opt = torch.optim.SGD(model.parameters(), RATE)
    losses = []
    for step in range(STEPS + 1):
        opt.zero_grad()
        logits = model(x)
        loss = (F.cross_entropy(logits.flatten(0, -2), y.flatten(), reduction="none") * weights.flatten()).sum() / weights.sum()
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
    text = ",\n".join(json.dumps(k) + ": " + json.dumps(v, separators=(",", ":")) for k, v in out.items())
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), file), "w") as f:
        f.write("{" + text + "}\n")


def language(name, **options):
    rows, tokens, vocabulary = 2, 6, 11
    i = torch.arange(rows * tokens).reshape(rows, tokens)
    settings = dict(layers=2, width=12, heads=3, context=8, vocabulary=vocabulary, norm="pre", positions="learned", activation=F.gelu, tied=False)
    weights = (i % 5 != 4).double()  # some of the tokens are padding
    gold(f"transformer_{name}.json", Transformer(**{**settings, **options}), i * i * 7 % vocabulary, (3 * i + 1) % vocabulary, weights)


language("pre")
language("post", norm="post", positions="sinusoidal", activation=F.relu)
language("tied", tied=True)
rows = 3
pictures = (1.5 * formula("input", rows * 3 * 16 * 16)).float().double().reshape(rows, 3, 16, 16)
gold("vit.json", ViT(16, 4, 2, 12, 3, 10), pictures, torch.tensor([(3 * i + 1) % 10 for i in range(rows)]), torch.ones(rows))
