"""Writes the files of this folder (NumPy 1.24.2, SciPy 1.10.1, h5py 3.7.0): the same arrays in every format. Element i of an array, in C order, is i mod 251."""
import os

import h5py
import numpy as np
import scipy.io

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def ramp(shape, dtype="u1"):
    return (np.arange(int(np.prod(shape))) % 251).astype(dtype).reshape(shape)


arrays = {
    "images": ramp((7, 4, 5, 3)), "words": ramp((6, 5, 4), ">u2"), "vector": ramp((9,), "f4"), "scalar": np.float64(0), "none": ramp((0, 3)),
    "fortran": np.asfortranarray(ramp((7, 4, 5, 3))), "fortran_words": np.asfortranarray(ramp((6, 5, 4), ">u2")),
}
np.savez("stored.npz", **arrays, object=np.array([{}, None]))
np.savez_compressed("packed.npz", **arrays, object=np.array([{}, None]))
os.makedirs("folder", exist_ok=True)
for name in "images", "fortran":
    np.save(f"folder/{name}.npy", arrays[name])
with h5py.File("arrays.h5", "w") as f:
    for name, a in arrays.items():
        if not name.startswith("fortran"):
            f.create_dataset("in/" + name, data=a)
            if a.size > 1:
                f.create_dataset("in/packed_" + name, data=a, compression="gzip", chunks=tuple(max(1, s // 2) for s in a.shape))
    f["in/text"] = "no array of numbers"
for name, packed in dict(plain=False, packed=True).items():
    scipy.io.savemat(name + ".mat", dict(images=arrays["images"], words=arrays["words"], none=arrays["none"], text="no array of numbers"), do_compression=packed)
# MATLAB 7.3 is HDF5 behind a block of text, with dimensions in reverse.
with h5py.File("matlab73.mat", "w", userblock_size=512) as f:
    f.create_dataset("images", data=arrays["images"].T, compression="gzip", chunks=(2, 3, 2, 7))
    f["vector"] = arrays["vector"].reshape(-1, 1).T
with open("matlab73.mat", "r+b") as f:
    f.write(b"MATLAB 7.3 MAT-file, Platform: none, Created on: never, HDF5 schema 1.00 .".ljust(116) + bytes(8) + b"\x00\x02IM")
