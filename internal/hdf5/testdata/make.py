"""Writes the files of this folder (h5py 3.7.0 with HDF5 1.10.8, NumPy 1.24.2).

Element i of an array is (7 i + 3) mod 127, plus .5 in arrays of floats and mod 2 in those of booleans, unless the test says otherwise.
"""
import os
import struct

import h5py
import numpy as np

os.chdir(os.path.dirname(os.path.abspath(__file__)))
SHAPE = (13, 5, 6, 3)


def ramp(shape, dtype="u1"):
    n = (7 * np.arange(int(np.prod(shape))) + 3) % 127
    if np.dtype(dtype).kind == "f":
        n = n + .5
    if np.dtype(dtype).kind == "b":
        n = n % 2
    return n.astype(dtype).reshape(shape)


def low(group, name, dtype, data, prepare, maxshape=None):
    """A data set of h5py's low level."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    prepare(plist)
    space = h5py.h5s.create_simple(data.shape, maxshape)
    d = h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype), logical=True), space, plist)
    if data.dtype != object:
        d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data))
    return d


def arrays(f):
    for order in "<>":
        for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
            f[("le_" if order == "<" else "be_") + kind] = ramp((2, 3), order + kind)
    f["bool"] = ramp((2, 3), "?")
    f.create_dataset("be_chunked", data=ramp(SHAPE, ">i2"), chunks=(4, 2, 4, 3), shuffle=True, compression="gzip")
    f.create_dataset("enum", data=ramp((2, 3), "i2"), dtype=h5py.enum_dtype({"A": 3, "B": 10, "C": 17, "D": 24, "E": 31, "F": 38}, "i2"))
    f["scalar"] = np.uint8(3)
    f.create_dataset("none", shape=(0, 4), dtype="u1", chunks=(1, 4), maxshape=(None, 4))
    f["named_type"] = np.dtype("i4")
    f.create_dataset("named", data=ramp((2, 3), "i4"), dtype=f["named_type"])
    f["contiguous"] = ramp(SHAPE)
    low(f, "compact", "u1", ramp((4, 6)), lambda p: p.set_layout(h5py.h5d.COMPACT))
    many = dict(plain={}, gzip=dict(compression="gzip"), lzf=dict(compression="lzf"), shuffle=dict(shuffle=True), fletcher=dict(fletcher32=True),
                every=dict(compression="gzip", shuffle=True, fletcher32=True), lzf_shuffle=dict(compression="lzf", shuffle=True, fletcher32=True))
    for name, options in many.items():
        f.create_dataset("chunks_" + name, data=ramp(SHAPE), chunks=(4, 2, 4, 1), **options)
        f.create_dataset("wide_" + name, data=ramp((9, 40), "f8"), chunks=(4, 40), **options)
    f.create_dataset("one_chunk", data=ramp(SHAPE), chunks=SHAPE, compression="gzip")
    f.create_dataset("one_plain", data=ramp(SHAPE), chunks=SHAPE)
    f.create_dataset("big_chunk", data=ramp((3, 5)), chunks=(8, 8), maxshape=(8, 8), compression="gzip")
    low(f, "implicit", "u1", ramp(SHAPE), lambda p: (p.set_chunk((4, 2, 4, 3)), p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)))
    low(f, "implicit_grown", "u1", ramp((5, 6)), lambda p: (p.set_chunk((2, 2)), p.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)), (9, 20))
    f.create_dataset("bounded", data=ramp(SHAPE), chunks=(4, 2, 4, 3), maxshape=(20, 9, 6, 7))
    f.create_dataset("bounded_gzip", data=ramp(SHAPE), chunks=(4, 2, 4, 3), maxshape=(20, 9, 6, 7), compression="gzip")
    for axis in range(4):
        longest = [20, 9, 6, 7]
        longest[axis] = None
        f.create_dataset(f"grows_{axis}", data=ramp(SHAPE), chunks=(1, 2, 2, 1), maxshape=longest, compression="gzip" if axis % 2 else None)
    f.create_dataset("grows_twice", data=ramp(SHAPE), chunks=(1, 2, 4, 1), maxshape=(None, None, 6, 3), compression="gzip")
    if f.filename.startswith("latest"):
        f.create_dataset("grows_always", data=ramp((60, 50)), chunks=(1, 1), maxshape=(None, None))
    # Chunks that were never written have the fill value.
    for name, options in dict(fixed={}, extensible=dict(maxshape=(None,))).items():
        d = f.create_dataset("sparse_" + name, shape=(200000 if options else 5000,), dtype="u2", chunks=(1 if options else 2,), fillvalue=517, **options)
        d[3], d[1040], d[4998] = 1, 2, 3
        if options:
            d[135000], d[139999], d[199999] = 4, 5, 6
    f.create_dataset("never", shape=(3, 4), dtype=">f4", fillvalue=2.5)
    f.create_dataset("never_chunked", shape=(3, 4), dtype="f4", chunks=(2, 2), fillvalue=2.5)
    f.create_dataset("never_single", shape=(3, 4), dtype="f4", chunks=(3, 4), compression="gzip", fillvalue=2.5)
    # A chunk that skipped its filter.
    d = f.create_dataset("skipped", shape=(4, 10), dtype="u1", chunks=(2, 10), compression="gzip")
    d[2:] = ramp((4, 10))[2:]
    d.id.write_direct_chunk((0, 0), ramp((4, 10))[:2].tobytes(), 1)
    group = f.create_group("some/where")
    group["deep"] = ramp((2, 3))
    group["hard"] = f["contiguous"]
    group["soft"] = h5py.SoftLink("deep")
    f["soft"] = h5py.SoftLink("/some/where/soft")
    f["circle"] = h5py.SoftLink("circle")
    f["dangling"] = h5py.SoftLink("nowhere")
    f["outside"] = h5py.ExternalLink("other.h5", "x")


def refused(f):
    f["strings"] = ["a", "bc"]
    f["fixed_strings"] = np.array([b"a", b"bc"])
    f["complex"] = np.ones((2, 3), "c8")
    f["compound"] = np.zeros(2, "i4,f4")
    f["reference"] = np.array([f.ref], h5py.ref_dtype)
    f.create_dataset("ragged", shape=(2,), dtype=h5py.vlen_dtype("i4"))
    f["opaque"] = np.zeros(2, "V5")
    f.create_dataset("vectors", shape=(2,), dtype=np.dtype(("i4", (3,))))
    f["empty"] = h5py.Empty("f4")
    f["long"] = np.zeros(2, np.longdouble)
    f.create_dataset("scaleoffset", data=ramp((4, 10)), chunks=(2, 10), scaleoffset=0)
    low(f, "external", "u1", np.zeros(2, object), lambda p: p.set_external(b"other.raw", 0, 2))
    source = h5py.VirtualSource("other.h5", "x", shape=(4,))
    layout = h5py.VirtualLayout(shape=(4,), dtype="u1")
    layout[:] = source
    f.create_virtual_dataset("virtual", layout)
    bits = h5py.h5t.IEEE_F32LE.copy()
    bits.set_fields(15, 7, 8, 0, 7)
    bits.set_precision(16)
    bits.set_size(2)
    h5py.h5d.create(f.id, b"bfloat16", bits, h5py.h5s.create_simple((2,)))
    odd = h5py.h5t.STD_I16LE.copy()
    odd.set_precision(12)
    h5py.h5d.create(f.id, b"twelve_bits", odd, h5py.h5s.create_simple((2,)))
    h5py.h5d.create(f.id, b"bits", h5py.h5t.STD_B8LE, h5py.h5s.create_simple((2,)))
    low(f, "unknown", "u1", np.zeros((4, 10), object), lambda p: (p.set_chunk((2, 10)), p.set_filter(305, 1, (1, 2, 3))))


def orders(f):
    """Filters in any order, several times: the names have a letter for each."""
    steps = dict(g=lambda p: p.set_deflate(4), s=lambda p: p.set_shuffle(), f=lambda p: p.set_fletcher32())
    for kind in ["u1", "i4"]:
        for order in ["gg", "ggg", "sgg", "gsg", "ggs", "gs", "fg", "gf", "sfg", "gfs", "fgf", "gfgf", "fsgf", "gsgsg"]:
            low(f, f"{order}_{kind}", kind, ramp((6, 10), kind), lambda p: (p.set_chunk((2, 10)), [steps[c](p) for c in order]))


def old_layout(path, chunks):
    """Gives the array of a file a layout message of version 1, as HDF5 before 1.6 wrote it, in a header at the end of the file."""
    with h5py.File(path, "w", libver="earliest") as f:
        f.create_dataset("x", data=ramp(SHAPE), chunks=chunks)
        addr = h5py.h5o.get_info(f["x"].id).addr
    b = bytearray(open(path, "rb").read())
    count, size = struct.unpack_from("<H", b, addr + 2)[0], struct.unpack_from("<I", b, addr + 8)[0]
    assert b.count(struct.pack("<Q", addr)) == 1
    at, out = addr + 16, b""
    while at < addr + 16 + size:
        kind, n = struct.unpack_from("<HH", b, at)
        data = bytes(b[at + 8:at + 8 + n])
        if kind == 8:
            where = struct.unpack_from("<Q", data, 3 if chunks else 2)[0]
            rank = len(SHAPE) + (1 if chunks else 0)
            dims = list(chunks) + [1] if chunks else SHAPE
            data = struct.pack("<BBB5xQ", 1, rank, 2 if chunks else 1, where) + struct.pack(f"<{rank}I", *dims)
            data += bytes(-len(data) % 8)
        out += struct.pack("<HHB3x", kind, len(data), b[at + 4]) + data
        at += 8 + n
    where = b.index(struct.pack("<Q", addr))
    b += bytes(-len(b) % 8)
    b[where:where + 8] = struct.pack("<Q", len(b))
    b += struct.pack("<BBHII4x", 1, 0, count, 1, len(out)) + out
    b[40:48] = struct.pack("<Q", len(b))
    open(path, "wb").write(b)
    with h5py.File(path) as f:
        assert (f["x"][:] == ramp(SHAPE)).all()


for name, options in dict(earliest=dict(libver="earliest"), latest=dict(libver="latest")).items():
    with h5py.File(name + ".h5", "w", **options) as f:
        arrays(f)
with h5py.File("refused.h5", "w") as f:
    refused(f)
with h5py.File("filters.h5", "w", libver="latest") as f:
    orders(f)
with h5py.File("userblock.h5", "w", userblock_size=1024) as f:
    f.create_dataset("x", data=ramp(SHAPE), chunks=(4, 2, 4, 3), compression="gzip")
    f["y"] = ramp(SHAPE)
old_layout("old_contiguous.h5", None)
old_layout("old_chunked.h5", (4, 2, 4, 3))
