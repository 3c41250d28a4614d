"""Makes the arrays of this folder with NumPy (1.24.2 was used): python3 make.py"""
import numpy as np
from numpy.lib import format

values = [[0, 1, 2], [3, 100, 127]]
arrays = {}
for t in "?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8":
    for order in "<>":
        a = np.array(values).astype(order + t)
        arrays[("be_" if order == ">" else "le_") + t.replace("?", "b1")] = a
arrays["fortran"] = np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4))
arrays["half"] = np.array([0.5, -2, 65504, 6e-8, np.inf, -np.inf, -0.0], "f2")
arrays["limits"] = np.array([-2**63, 2**63 - 1], "i8")
arrays["unsigned"] = np.array([0, 2**64 - 1], "u8")
np.savez("stored.npz", **arrays)
np.savez_compressed("compressed.npz", **arrays)

np.save("images.npy", np.arange(5 * 4 * 4, dtype="u1").reshape(5, 4, 4))
np.save("fortran.npy", arrays["fortran"])
np.save("fortran_be.npy", np.asfortranarray(np.arange(6).reshape(2, 3).astype(">i4")))
np.save("scalar.npy", np.float64(2.5))
np.save("empty.npy", np.zeros((0, 3), "f4"))
np.save("object.npy", np.array([None, "x"], dtype=object), allow_pickle=True)
np.save("structured.npy", np.zeros(2, dtype=[("a", "f4"), ("b", "i4")]))
np.save("text.npy", np.array(["ab", "c"]))
np.save("complex.npy", np.array([1j]))
for version in (1, 0), (2, 0), (3, 0):
    with open("version%d.npy" % version[0], "wb") as f:
        format.write_array(f, np.arange(3, dtype="f8"), version=version)
