"""Writes the files of this folder (SciPy 1.10.1, NumPy 1.24.2), and reads those that it packs by hand back with SciPy.

Element i of an array, the first index fastest, is i mod 113, or odd in logical arrays.
"""
import os
import struct
import zlib

import numpy as np
import scipy.io
import scipy.sparse

os.chdir(os.path.dirname(os.path.abspath(__file__)))


def ramp(shape, dtype="u1"):
    n = np.arange(int(np.prod(shape))) % 113
    return (n % 2 if np.dtype(dtype).kind == "b" else n).astype(dtype).reshape(shape, order="F")


arrays = {"x_" + t: ramp((3, 4, 5), t) for t in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "?"]}
arrays.update(im=ramp((16, 16, 3, 6, 4)), k=np.uint8([[0]]), wide=ramp((1, 7)), tall=ramp((7, 1)), three=np.uint8([[0, 1, 2]]), none=np.zeros((0, 3)),
              a_name_that_is_longer_than_others=ramp((2, 2)))
arrays.update(text="some text", cell=np.array([np.ones(2), "x"], object), struct={"a": 1, "b": "two"}, sparse=scipy.sparse.eye(3).tocsc(), z=np.ones((2, 2)) * 1j)
scipy.io.savemat("plain.mat", arrays)
scipy.io.savemat("packed.mat", arrays, do_compression=True)
scipy.io.savemat("version4.mat", {"x": np.ones((2, 2))}, format="4")

CLASS = {"f8": 6, "f4": 7, "i1": 8, "u1": 9, "i2": 10, "u2": 11, "i4": 12, "u4": 13, "i8": 14, "u8": 15}
STORED = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9, "i8": 12, "u8": 13}


def part(order, kind, data):
    if 0 < len(data) <= 4:
        return struct.pack(order + "HH" if order == "<" else ">HH", *((kind, len(data)) if order == "<" else (len(data), kind))) + data.ljust(4, b"\0")
    return struct.pack(order + "II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(order, name, data, klass, stored):
    """An array of a class, its numbers stored in a type."""
    body = part(order, 6, struct.pack(order + "II", CLASS[klass], 0)) + part(order, 5, struct.pack(order + f"{data.ndim}i", *data.shape))
    body += part(order, 1, name.encode()) + part(order, STORED[stored], data.astype(order + stored).tobytes(order="F"))
    return struct.pack(order + "II", 14, len(body)) + body


def file(name, order, packed):
    text = b"MATLAB 5.0 MAT-file, packed by hand".ljust(124) + (b"\x00\x01IM" if order == "<" else b"\x01\x00MI")
    arrays = {}
    for klass in CLASS:
        for stored in ["i1", "u1", "i2", "u2", "i4", klass]:
            arrays[f"{klass}_as_{stored}"] = (ramp((3, 5)), klass, stored)
    arrays["few"] = (np.array([[7, 9]]), "f8", "u1")
    for key, (data, klass, stored) in arrays.items():
        m = matrix(order, key, data, klass, stored)
        if packed:
            m = zlib.compress(m)
            m = struct.pack(order + "II", 15, len(m)) + m
        text += m
    with open(name, "wb") as f:
        f.write(text)
    read = scipy.io.loadmat(name, mat_dtype=True)
    for key, (data, klass, _) in arrays.items():
        assert (read[key] == data).all() and read[key].dtype.newbyteorder('=') == np.dtype(klass), key


file("smaller.mat", "<", False)
file("smaller_packed.mat", "<", True)
file("big_endian.mat", ">", False)
file("big_endian_packed.mat", ">", True)
