"""Makes the WebP files here, and prints the mean colours that PIL decodes them to."""

import numpy as np
from PIL import Image

y, x = np.mgrid[0:24, 0:32]
a = np.stack([x * 255 // 31, y * 255 // 23, 255 - x * 4 - y * 4], -1).astype(np.uint8)
Image.fromarray(a).save("lossy.webp", quality=90)
Image.fromarray(a).save("lossless.webp", lossless=True)
alpha = np.dstack([a, (x * 8).astype(np.uint8)])
Image.fromarray(alpha, "RGBA").save("alpha.webp", quality=90)
for name in ["lossy", "lossless", "alpha"]:
    b = np.asarray(Image.open(name + ".webp").convert("RGB"))
    print(name, b.reshape(-1, 3).mean(0))
