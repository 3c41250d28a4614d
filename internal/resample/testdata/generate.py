#!/usr/bin/env python3
"""Writes pillow.csv: hashes of what Pillow's resize and thumbnail make of images that resample_test.go makes too."""
import hashlib

import numpy as np
from PIL import Image

FILTERS = ["box", "bilinear", "hamming", "bicubic", "lanczos"]
# height, width -> height, width: (height, width) of a thumbnail is the box it must fit in
RESIZED = [(96, 96, 64, 64), (128, 128, 64, 64), (218, 178, 64, 64), (64, 64, 128, 128), (7, 5, 11, 3), (1, 1, 4, 4), (3, 300, 3, 7), (64, 64, 32, 64),
           (64, 64, 64, 32), (37, 31, 64, 64), (33, 47, 33, 48), (45, 1, 9, 1), (100, 99, 1, 1), (9, 9, 9, 9), (13, 201, 65, 63), (200, 11, 17, 130)]
THUMBNAILS = [(128, 128, 64, 64), (96, 96, 64, 64), (218, 178, 64, 64), (300, 300, 64, 64), (301, 203, 31, 30), (515, 40, 64, 9), (40, 515, 9, 64), (257, 259, 64, 64),
              (130, 131, 32, 32), (195, 194, 32, 32), (401, 399, 31, 33), (77, 1000, 20, 20), (10, 10, 64, 64), (600, 33, 50, 8), (19, 400, 300, 20), (50, 60, 61, 20)]


def pixels(n, seed, steps):
    h = (np.arange(n, dtype=np.uint64) * np.uint64(2654435761) + np.uint64(seed)) & np.uint64(0xFFFFFFFF)
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & np.uint64(0xFFFFFFFF)
    v = (h >> np.uint64(24)).astype(np.uint8)
    return np.where(v > 127, 255, 0).astype(np.uint8) if steps else v


def apply(picture, work):
    if picture.ndim == 3 and picture.shape[2] == 2:  # Pillow's modes of two channels have opacity
        return np.stack([work(Image.fromarray(np.ascontiguousarray(picture[:, :, c]))) for c in range(2)], 2)
    mode = {2: "L", 3: "RGB"}[picture.ndim] if picture.ndim == 2 or picture.shape[2] == 3 else "CMYK"
    return work(Image.fromarray(picture, mode))


seed = 0
with open("pillow.csv", "w", newline="\n") as out:
    out.write("kind,filter,srcH,srcW,dstH,dstW,channels,seed,steps,outH,outW,sha256\n")
    for kind, sizes in (("resize", RESIZED), ("thumbnail", THUMBNAILS)):
        for name in FILTERS:
            method = getattr(Image.Resampling, name.upper())
            for i, (h, w, y, x) in enumerate(sizes):
                seed += 1
                c, steps = i % 4 + 1, seed % 2
                a = pixels(h * w * c, seed, steps).reshape((h, w) if c == 1 else (h, w, c))

                def work(m):
                    if kind == "resize":
                        return np.asarray(m.resize((x, y), method))
                    m.thumbnail((x, y), method)
                    return np.asarray(m)

                b = apply(a, work)
                out.write(f"{kind},{name},{h},{w},{y},{x},{c},{seed},{steps},{b.shape[0]},{b.shape[1]},{hashlib.sha256(b.tobytes()).hexdigest()}\n")
