#!/usr/bin/python3
"""Writes golden.json: JPEG files, and what PIL makes of a crop of each, resized. Made with Pillow 9.4.0: ./golden.py > golden.json"""
import base64, io, json, math
from PIL import Image

W, H = 120, 90
photo = Image.new("RGB", (W, H))
for y in range(H):
    for x in range(W):
        v = 128 + 60 * math.sin(x / 9 + math.sin(y / 7)) + 40 * math.cos(y / 5)
        photo.putpixel((x, y), (int(v) % 256, int(40 + x * 1.5 + 20 * math.sin(y / 3)) % 256, int(200 - y - (50 if (x - 60) ** 2 + (y - 40) ** 2 < 500 else 0))))

def text(b):
    return base64.b64encode(b).decode()

cases = []
for mode, subsampling in [("RGB", 2), ("RGB", 1), ("RGB", 0), ("L", 0)]:
    b = io.BytesIO()
    photo.convert(mode).save(b, "JPEG", quality=90, subsampling=subsampling)
    for box, size in [((0, 0, W, H), (40, 30)), ((13, 7, 101, 80), (32, 32)), ((30, 21, 47, 40), (24, 20)), ((5, 8, 45, 48), (40, 40))]:
        m = Image.open(io.BytesIO(b.getvalue())).convert("RGB").crop(box).resize(size, Image.BILINEAR)
        cases.append({"box": box, "size": size, "file": text(b.getvalue()) if box[0] == 0 else "", "pixels": text(m.tobytes())})
print(json.dumps(cases, separators=(",", ":")))
