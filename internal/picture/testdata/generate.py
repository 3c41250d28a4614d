#!/usr/bin/env python3
"""Writes small pictures in the formats that picture decodes, and expected.csv: their upright RGB pixels over black, as Pillow sees them."""
import struct
import zlib

import numpy as np
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
        return a[:, :, :3] * a[:, :, 3:] // 255
    if m.mode.startswith("I"):
        a = np.asarray(m).astype(int) >> 8
        return np.stack([a, a, a], 2)
    return np.asarray(m.convert("RGB")).astype(int)


def add(name, m, tolerance=1, expect=None, **options):
    """Tolerance of transparent pictures is 1 for the rounding of the product; that of JPEG and lossy WebP for other decoders."""
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
add("palettealpha.png", rgb.quantize(16), 1, transparency=bytes([0, 255, 100]))
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
add("rgba.webp", rgba, 1, lossless=True, exact=True)
add("rgb.bmp", rgb, 0)
add("grey.bmp", L, 0)
add("palette.bmp", rgb.quantize(16), 0)
add("rgb.tif", rgb, 0)
add("grey.tif", L, 0)
add("palette.tif", rgb.quantize(16), 0)
add("bits.tif", L.point(lambda v: 255 * (v > 120)).convert("1"), 0)
add("grey16.tif", Image.fromarray((RGB[:, :, 0].astype(np.uint16) * 257 + 5).astype(np.uint16)), 0)
add("rgba.tif", rgba, 1)
for c in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "group4"):
    m = rgb if c != "group4" else L.point(lambda v: 255 * (v > 120)).convert("1")
    add(f"{c}.tif", m, 0, compression=c)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


deep = (np.dstack([RGB, ALPHA]).astype(">u2") * 256 + 77).astype(">u2")  # 16-bit RGBA, which Pillow does not write
body = b"".join(b"\0" + deep[i].tobytes() for i in range(H))
with open("rgba16.png", "wb") as f:
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", W, H, 16, 6, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b""))
d = deep.astype(int)
a = d[:, :, :3] * d[:, :, 3:] // 65535 >> 8
rows.append(f"rgba16.png,{H},{W},1,{a.astype(np.uint8).tobytes().hex()}\n")
with open("expected.csv", "w", newline="\n") as f:
    f.write("file,height,width,tolerance,rgb\n" + "".join(rows))
