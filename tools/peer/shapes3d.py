#!/usr/bin/env python3
"""Writes a stand-in for 3dshapes.h5, with the layout and the size of the real one: images (480000, 64, 64, 3) in deflated chunks of
(15000, 4, 4, 1) and labels (480000, 6), as h5py cuts them. It packs like the real one too (268 MB for 5.9 GB). Then it reads it in h5py, for
the time that takes.

    python3 tools/peer/shapes3d.py 3dshapes.h5 [--hues 10] [--read]

With fewer hues of floor, walls and object there are 480 * hues^3 images, in the same chunks. --read reads an existing file only.
"""
import argparse
import colorsys
import time

import h5py
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--hues", type=int, default=10)
parser.add_argument("--read", action="store_true")
arguments = parser.parse_args()
hues = arguments.hues
N = 480 * hues**3


def drawings():
    """What is seen at each pixel of the 480 pictures without hues (0 floor, 1 wall, 2 object), and how bright it is."""
    y, x = np.mgrid[0:64, 0:64].astype(np.float32)
    what, light = np.zeros((480, 64, 64), np.uint8), np.zeros((480, 64, 64), np.float32)
    n = 0
    for scale in np.linspace(0.75, 1.25, 8):
        for shape in range(4):
            for angle in np.linspace(-30, 30, 15):
                corner = 32 + 40 * np.tan(np.radians(angle)) / 2
                horizon = 34 + 0.12 * np.abs(x - corner)
                wall = y < horizon
                bright = np.where(wall, 1 - 0.35 * (x < corner) - 0.004 * np.abs(x - corner), 0.75 + 0.004 * y)
                dx, dy = (x - 32) / (13 * scale), (y - 40) / (13 * scale)
                inside = [np.maximum(abs(dx), abs(dy)) < 0.9, (abs(dx) < 0.8) & (abs(dy) < 1), dx**2 + dy**2 < 1,
                          (dx**2 + np.maximum(abs(dy) - 0.4, 0)**2) < 0.6][shape]
                shade = 0.95 - 0.3 * (dx * np.cos(np.radians(angle)) + dy + 0.5)**2 / 2
                what[n] = np.where(inside, 2, wall)
                light[n] = np.clip(np.where(inside, shade, bright), 0.1, 1)
                n += 1
    return what, light


def write():
    what, light = drawings()
    colours = np.array([colorsys.hsv_to_rgb(h / hues, 1, 255) for h in range(hues)], np.float32)
    # Rounding that differs by pixel, and a few pixels of each image that are brighter, make it pack no better than real pictures.
    texture = ((np.arange(64 * 64 * 3).reshape(64, 64, 3) * 2654435761 >> 7) % 32 / 32).astype(np.float32)
    size = 480 * 64 * 64 * 3
    grain = (np.random.default_rng(0).random(2 * size) < 0.0098).astype(np.uint8)
    masks = [(what == k)[..., None] * light[..., None] for k in range(3)]
    layers = [[(m * colours[h] + (what == k)[..., None] * texture).clip(0, 254).astype(np.uint8) for h in range(hues)] for k, m in enumerate(masks)]
    scales, angles, step = np.linspace(0.75, 1.25, 8), np.linspace(-30, 30, 15), 15000
    with h5py.File(arguments.file, "w") as f:
        images = f.create_dataset("images", (N, 64, 64, 3), "u1", chunks=(15000, 4, 4, 1), compression="gzip", maxshape=None)
        rows = np.indices((hues, hues, hues, 8, 4, 15)).reshape(6, -1).T
        labels = np.column_stack([rows[:, 0] / hues, rows[:, 1] / hues, rows[:, 2] / hues, scales[rows[:, 3]], rows[:, 4], angles[rows[:, 5]]])
        f.create_dataset("labels", data=labels, chunks=(7500, 1), compression="gzip")
        slab, at = np.empty((step + 480, 64, 64, 3), np.uint8), 0
        done = 0
        for i in range(hues**3):
            floor, wall, thing = i // hues**2, i // hues % hues, i % hues
            slab[at:at + 480] = layers[0][floor] + layers[1][wall] + layers[2][thing]
            offset = i * 7919 % size
            slab[at:at + 480] += grain[offset:offset + size].reshape(480, 64, 64, 3)
            at += 480
            if at >= step or i == hues**3 - 1:
                n = min(step, at)
                images[done:done + n] = slab[:n]
                done, at = done + n, at - n
                slab[:at] = slab[n:n + at].copy()
        if at:
            images[done:done + at] = slab[:at]


def read():
    start, total = time.perf_counter(), 0
    with h5py.File(arguments.file) as f:
        images = f["images"]
        buffer = np.empty((15000, 64, 64, 3), np.uint8)
        for at in range(0, len(images), 15000):
            n = min(15000, len(images) - at)
            images.read_direct(buffer, np.s_[at:at + n], np.s_[:n])
            total += n
    seconds = time.perf_counter() - start
    print(f"h5py: {total} images in {seconds:.1f} s, {total * 12288 / seconds / 1e6:.0f} MB/s of pixels")


if not arguments.read:
    write()
read()
