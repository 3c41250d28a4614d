"""Writes the files of this folder (NumPy 1.24.2, SciPy 1.10.1, h5py 3.7.0): the same six images of 9 x 8 x 3 with two factors in every format.

Number i of the images, rows and channels last, is 7 i mod 256.
"""
import os

import h5py
import numpy as np
import scipy.io

os.chdir(os.path.dirname(os.path.abspath(__file__)))
images = (7 * np.arange(6 * 9 * 8 * 3) % 256).astype("u1").reshape(6, 9, 8, 3)
levels = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])
first = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
meta = np.array({"made": "by hand"}, object)

np.savez_compressed("packed.npz", imgs=images, latents_classes=levels, metadata=meta)
np.savez("stored.npz", imgs=np.asfortranarray(images), latents_classes=np.asfortranarray(levels.astype(">i4")), metadata=meta)
np.savez_compressed("first.npz", imgs=first, latents_classes=levels)
np.save("alone.npy", images)
np.savez_compressed("words.npz", imgs=images.astype(">u2") * 257, latents_classes=levels)
np.savez_compressed("floats.npz", imgs=images.astype("f8"), latents_classes=levels)
np.savez_compressed("halves.npz", imgs=(images / 255).astype("f2"), latents_classes=levels)
np.savez_compressed("long.npz", imgs=images.astype("i8"), latents_classes=levels)
with h5py.File("arrays.h5", "w") as f:
    f.create_dataset("imgs", data=images, compression="gzip", chunks=(4, 4, 4, 1), shuffle=True)
    f["latents/classes"] = levels
    f["about"] = "text"
with h5py.File("arrays.hdf5", "w", libver="latest") as f:
    f.create_dataset("imgs", data=first, compression="lzf", chunks=(4, 1, 9, 4), maxshape=(None, 3, 9, 8))
    f["latents/classes"] = levels.astype("f4")
scipy.io.savemat("rows.mat", dict(imgs=images, latents_classes=levels.astype("f8"), about="text", sizes=np.array([[2, 3]])), do_compression=True)
scipy.io.savemat("last.mat", dict(imgs=images.transpose(1, 2, 3, 0), latents_classes=levels.astype("u1")))
# MATLAB 7.3 is HDF5 behind a block of text, with dimensions in reverse.
with h5py.File("matlab73.mat", "w", userblock_size=512) as f:
    f.create_dataset("imgs", data=images.transpose(1, 2, 3, 0).T, compression="gzip", chunks=(2, 3, 4, 9))
    f.create_dataset("latents_classes", data=levels.T.astype("f8"))
with open("matlab73.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, Platform: none, Created on: never, HDF5 schema 1.00 .".ljust(116) + bytes(8) + b"\x00\x02IM")
