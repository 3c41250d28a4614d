"""Writes matlab_earliest.h5 and matlab_latest.h5 with libhdf5 (1.10.8, by its name below): arrays with the attributes of MATLAB 7.3."""
import ctypes

lib = ctypes.CDLL("libhdf5_serial.so.103")
lib.H5open()
for name in "H5Fcreate H5Pcreate H5Screate H5Screate_simple H5Dcreate2 H5Acreate2 H5Tcopy".split():
    getattr(lib, name).restype = ctypes.c_int64


def known(name):
    return ctypes.c_int64(ctypes.c_int64.in_dll(lib, name).value)


def attribute(of, name, kind, data):
    space = lib.H5Screate(ctypes.c_int(0))
    a = lib.H5Acreate2(ctypes.c_int64(of), name, kind, ctypes.c_int64(space), ctypes.c_int64(0), ctypes.c_int64(0))
    assert lib.H5Awrite(ctypes.c_int64(a), kind, data) >= 0 and lib.H5Aclose(ctypes.c_int64(a)) >= 0


for late in False, True:
    access = lib.H5Pcreate(known("H5P_CLS_FILE_ACCESS_ID_g"))
    if late:
        lib.H5Pset_libver_bounds(ctypes.c_int64(access), ctypes.c_int(2), ctypes.c_int(2))
    path = b"matlab_latest.h5" if late else b"matlab_earliest.h5"
    file = ctypes.c_int64(lib.H5Fcreate(path, ctypes.c_uint(2), ctypes.c_int64(0), ctypes.c_int64(access)))
    for name, kind, values, text, empty in (
        (b"numbers", "H5T_STD_U16LE_g", [3, 1, 2], b"uint16", False),
        (b"truth", "H5T_STD_U8LE_g", [1, 0, 1], b"logical", False),
        (b"text", "H5T_STD_U16LE_g", [72, 105, 33], b"char", False),
        (b"none", "H5T_STD_U64LE_g", [0, 5], b"double", True),
    ):
        space = lib.H5Screate_simple(ctypes.c_int(1), (ctypes.c_uint64 * 1)(len(values)), None)
        kind = known(kind)
        d = lib.H5Dcreate2(file, name, kind, ctypes.c_int64(space), *[ctypes.c_int64(0)] * 3)
        size = {b"uint16": ctypes.c_uint16, b"char": ctypes.c_uint16, b"logical": ctypes.c_uint8, b"double": ctypes.c_uint64}[text]
        assert lib.H5Dwrite(ctypes.c_int64(d), kind, *[ctypes.c_int64(0)] * 3, (size * len(values))(*values)) >= 0
        string = ctypes.c_int64(lib.H5Tcopy(known("H5T_C_S1_g")))
        lib.H5Tset_size(string, ctypes.c_size_t(len(text)))
        attribute(d, b"MATLAB_class", string, text)
        if empty:
            attribute(d, b"MATLAB_empty", known("H5T_STD_U8LE_g"), b"\1")
        if text == b"char":
            attribute(d, b"MATLAB_int_decode", known("H5T_STD_I32LE_g"), b"\2\0\0\0")
        lib.H5Dclose(ctypes.c_int64(d))
    lib.H5Fclose(file)
