"""Writes golden.json: what torchvision and PIL make of a small picture.

Run with torchvision 0.14 and Pillow 9.4:  python3 golden.py > golden.json
"""

import base64
import json

import numpy as np
import PIL
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode, autoaugment

W, H = 13, 10
rng = np.random.default_rng(5)
ramp = np.stack(np.meshgrid(np.linspace(30, 200, W), np.linspace(90, 10, H)), -1).sum(-1)[..., None]
pixels = np.clip(ramp + rng.normal(0, 35, (H, W, 3)), 0, 255).astype(np.uint8)
# Large enough that equalize has steps above 0, and of few values.
wide = np.clip(rng.normal(120, 40, (24, 40, 3)), 0, 255).astype(np.uint8)


def text(a):
    return base64.b64encode(a.tobytes()).decode()


def table(space):
    return {name: {"values": m.double().reshape(-1).tolist(), "signed": s} for name, (m, s) in space.items()}


rand = autoaugment.RandAugment()._augmentation_space(31, (H, W))
trivial = autoaugment.TrivialAugmentWide()._augmentation_space(31)
cases = []
for a in (pixels, wide):
    for name, (values, signed) in trivial.items():
        bins = (9, 20, 30) if values.ndim else (None,)
        for b in bins:
            for sign in (1, -1) if signed else (1,):
                m = sign * float(values[b]) if values.ndim else 0.0
                if a is wide and name not in ("AutoContrast", "Equalize", "Rotate"):
                    continue
                out = autoaugment._apply_op(Image.fromarray(a), name, m, InterpolationMode.NEAREST, [9, 8, 7])
                cases.append({
                    "op": name, "magnitude": m, "width": a.shape[1], "height": a.shape[0],
                    "from": "wide" if a is wide else "small", "want": text(np.asarray(out)),
                })
print(json.dumps({
    "made with": f"torchvision {torchvision.__version__}, Pillow {PIL.__version__}",
    "pictures": {"small": text(pixels), "wide": text(wide)},
    "size": [W, H],
    "RandAugment": table(rand),
    "TrivialAugmentWide": table(trivial),
    "cases": cases,
}, indent=0))
