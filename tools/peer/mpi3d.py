#!/usr/bin/env python3
"""Writes a stand-in for an .npz file of MPI3D (images of 64 x 64 x 3, deflated), of so many rows, and times reading it with NumPy.

    python3 tools/peer/mpi3d.py mpi3d_toy.npz [--rows 115200] [--read]
"""
import argparse
import time
import zipfile

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--rows", type=int, default=115200)
parser.add_argument("--read", action="store_true")
arguments = parser.parse_args()


def write():
    """Smooth pictures with a disc that moves and the noise of a camera, in half of them none: they pack to a third."""
    y, x = np.mgrid[0:64, 0:64].astype(np.float32)
    noise = np.random.default_rng(0).integers(0, 4, 64 * 64 * 3 * 300, dtype=np.uint8)
    with zipfile.ZipFile(arguments.file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as z, z.open("images.npy", "w", force_zip64=True) as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "|u1", "fortran_order": False, "shape": (arguments.rows, 64, 64, 3)})
        for i in range(arguments.rows):
            disc = ((x - i % 40 - 12)**2 + (y - i // 40 % 40 - 12)**2 < 60)[..., None]
            picture = np.where(disc, [40, 200, 90], (60 + x + 0.7 * y)[..., None] + [0, 8, 20]).astype(np.uint8)
            if i % 2:
                at = i * 7919 % (noise.size - picture.size)
                picture += noise[at:at + picture.size].reshape(picture.shape)
            f.write(picture.tobytes())


def read():
    start = time.perf_counter()
    with np.load(arguments.file) as z:
        images = z["images"]
    seconds = time.perf_counter() - start
    print(f"NumPy: {len(images)} images in {seconds:.1f} s, {images.nbytes / seconds / 1e6:.0f} MB/s of pixels")


if not arguments.read:
    write()
read()
