#!/usr/bin/env python3
"""Writes small pictures in the formats that picture decodes, and expected.csv: their upright RGB pixels over black, as Pillow sees them."""
import io
import struct
import zlib

import numpy as np
import tifffile
from PIL import Image, ImageOps

H, W = 10, 13
y, x = np.mgrid[:H, :W]
RGB = np.stack([40 + 15 * x, 30 + 20 * y, 200 - 6 * x - 8 * y], 2).astype(np.uint8)
ALPHA = np.where((x + y) % 3 == 0, 0, np.where(x > 6, 255, 40 + 12 * x)).astype(np.uint8)
L = Image.fromarray(RGB).convert("L")
rows = []


def over_black(m):
    m = ImageOps.exif_transpose(m)
    if m.mode in ("RGBA", "LA", "PA") or "transparency" in m.info:
        a = np.asarray(m.convert("RGBA")).astype(int)
        return (a[:, :, :3] * a[:, :, 3:] + 127) // 255
    if m.mode.startswith("I"):
        a = np.asarray(m).astype(int) >> 8
        return np.stack([a, a, a], 2)
    return np.asarray(m.convert("RGB")).astype(int)


def add(name, m, tolerance=0, expect=None, **options):
    """JPEG and lossy WebP need a tolerance for other decoders."""
    m.save(name, **options)
    a = over_black(Image.open(name)) if expect is None else expect
    rows.append(f"{name},{a.shape[0]},{a.shape[1]},{tolerance},{a.astype(np.uint8).tobytes().hex()}\n")


rgb = Image.fromarray(RGB)
rgba = Image.fromarray(np.dstack([RGB, ALPHA]))
add("rgb.png", rgb, 0)
add("grey.png", L, 0)
add("bits.png", L.point(lambda v: 255 * (v > 120)).convert("1"), 0)
add("rgba.png", rgba)
add("greyalpha.png", rgba.convert("LA"))
add("palette.png", rgb.quantize(16), 0)
add("palettealpha.png", rgb.quantize(16), 0, transparency=bytes([0, 255, 100]))
add("colourkey.png", Image.fromarray((RGB // 64 * 64).astype(np.uint8)), 0, transparency=(0, 0, 0))
add("grey16.png", Image.fromarray((RGB[:, :, 0].astype(np.uint16) * 257 + 5).astype(np.uint16)), 0)
add("rgb.jpg", rgb, 3, quality=95, subsampling=0)
add("rgb420.jpg", rgb, 3, quality=95, subsampling=2)
add("rgb422.jpg", rgb, 3, quality=95, subsampling=1)
add("progressive.jpg", rgb, 3, quality=95, subsampling=0, progressive=True)
add("grey.jpg", L, 2, quality=95)
add("cmyk.jpg", rgb.convert("CMYK"), 4, quality=97)
for o in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = o
    add(f"orientation{o}.jpg", L, 2, quality=97, exif=exif)
exif = Image.Exif()
exif[0x0112] = 6
add("orientation6.png", rgb, 0, exif=exif)
add("orientation6.webp", rgb, 0, exif=exif.tobytes(), lossless=True)
add("orientation6.tif", rgb, 0, tiffinfo={0x0112: 6}, expect=np.asarray(rgb.transpose(Image.Transpose.ROTATE_270)).astype(int))
add("rgb.gif", rgb.quantize(32), 0)
add("transparent.gif", rgb.quantize(16), 0, transparency=3)
add("frames.gif", rgb.quantize(16), 0, save_all=True, append_images=[L.quantize(8)])
add("rgb.webp", rgb, 0, lossless=True)
add("lossy.webp", rgb, 4, quality=95)
add("rgba.webp", rgba, 0, lossless=True, exact=True)
add("rgb.bmp", rgb, 0)
add("grey.bmp", L, 0)
add("palette.bmp", rgb.quantize(16), 0)
add("rgb.tif", rgb, 0)
add("grey.tif", L, 0)
add("palette.tif", rgb.quantize(16), 0)
add("bits.tif", L.point(lambda v: 255 * (v > 120)).convert("1"), 0)
add("grey16.tif", Image.fromarray((RGB[:, :, 0].astype(np.uint16) * 257 + 5).astype(np.uint16)), 0)
add("rgba.tif", rgba, 0)
for c in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "group4"):
    m = rgb if c != "group4" else L.point(lambda v: 255 * (v > 120)).convert("1")
    add(f"{c}.tif", m, 0, compression=c)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


deep = (np.dstack([RGB, ALPHA]).astype(">u2") * 256 + 77).astype(">u2")  # 16-bit RGBA, which Pillow does not write
body = b"".join(b"\0" + deep[i].tobytes() for i in range(H))
with open("rgba16.png", "wb") as f:
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 16, 6, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))
d = deep.astype(int) >> 8
a = (d[:, :, :3] * d[:, :, 3:] + 127) // 255
rows.append(f"rgba16.png,{H},{W},0,{a.astype(np.uint8).tobytes().hex()}\n")


def expect(name, a, tolerance):
    rows.append(f"{name},{a.shape[0]},{a.shape[1]},{tolerance},{a.astype(np.uint8).tobytes().hex()}\n")


def read(name, tolerance):
    expect(name, over_black(Image.open(name)), tolerance)


add("animated.webp", rgb, 0, save_all=True, append_images=[rgb.transpose(Image.Transpose.ROTATE_180), L.convert("RGB")], lossless=True)


def riff(kind, data):
    return kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def u24(v):
    return struct.pack("<I", v)[:3]


def part_webp(name, frame, x, y, tolerance, **options):
    """An animation whose first frame is a part of its canvas, which Pillow does not write."""
    b = io.BytesIO()
    frame.save(b, "webp", **options)
    chunks = b.getvalue()[12:]
    if chunks[:4] == b"VP8X":
        chunks = chunks[18:]
    first = riff(b"ANMF", u24(x // 2) + u24(y // 2) + u24(frame.width - 1) + u24(frame.height - 1) + u24(100) + b"\0" + chunks)
    head = riff(b"VP8X", bytes([0x12, 0, 0, 0]) + u24(W - 1) + u24(H - 1)) + riff(b"ANIM", bytes([9, 200, 7, 255, 0, 0]))
    with open(name, "wb") as f:
        f.write(riff(b"RIFF", b"WEBP" + head + first * 2))
    read(name, tolerance)


part_webp("part.webp", rgba.crop((2, 1, 9, 7)), 4, 2, 0, lossless=True, exact=True)
part_webp("partlossy.webp", rgba.crop((2, 1, 9, 7)), 6, 4, 4, quality=95)


def part_gif(name, transparent):
    """A frame of 3 x 2 pixels on a canvas of 6 x 5."""
    codes, acc, n = [4, 1, 2, 4, 3, 3, 4, 2, 0, 5], 0, 0  # 4 begins again, 5 ends
    for c in codes:
        acc, n = acc | c << n, n + 3
    packed = acc.to_bytes((n + 7) // 8, "little")
    control = b"" if transparent is None else b"\x21\xf9\x04" + struct.pack("<BHB", 1, 0, transparent) + b"\0"
    with open(name, "wb") as f:
        f.write(b"GIF89a" + struct.pack("<HHBBB", 6, 5, 0xF1, 1, 0) + bytes([200, 10, 30, 10, 220, 40, 30, 50, 240, 250, 250, 10]) + control
                + b"\x2c" + struct.pack("<HHHHB", 2, 1, 3, 2, 0) + bytes([2, len(packed)]) + packed + b"\0;")
    read(name, 0)


part_gif("part.gif", None)
part_gif("parttransparent.gif", 3)
add("cmyk.tif", rgb.convert("CMYK").rotate(180), 0)
add("cmyklzw.tif", rgb.convert("CMYK"), 0, compression="tiff_lzw")
channels = np.moveaxis(RGB, 2, 0)
tifffile.imwrite("planar.tif", channels, photometric="rgb", planarconfig="separate", rowsperstrip=4)
read("planar.tif", 0)
tifffile.imwrite("planarbig.tif", channels, photometric="rgb", planarconfig="separate", byteorder=">", compression="zlib")
read("planarbig.tif", 0)
tifffile.imwrite("planaralpha.tif", np.moveaxis(np.dstack([RGB, ALPHA]), 2, 0), photometric="rgb", planarconfig="separate", extrasamples=["unassalpha"], tile=(16, 16))
expect("planaralpha.tif", over_black(rgba), 0)  # Pillow does not read this one
tifffile.imwrite("planar16.tif", channels.astype(np.uint16) * 256 + 77, photometric="rgb", planarconfig="separate")
expect("planar16.tif", RGB, 0)
tifffile.imwrite("cmyk16.tif", np.asarray(rgb.convert("CMYK")).astype(np.uint16) * 256 + 77, photometric="separated")
expect("cmyk16.tif", over_black(rgb.convert("CMYK")), 0)
with open("expected.csv", "w", newline="\n") as f:
    f.write("file,height,width,tolerance,rgb\n" + "".join(rows))
