// Package picture decodes picture files to 8-bit pixels: PNG, JPEG, GIF and WebP (the first frame), BMP and TIFF.
//
// Pictures are rotated to the orientation in their EXIF data. Transparent pixels are blended with black. 16-bit
// channels are reduced to their upper 8 bits; palettes and CMYK become RGB. Colour profiles and gamma are ignored.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// MaxPixels is the maximum of height times width of a picture.
const MaxPixels = 1 << 27

// bytesPerPixel is the maximum memory of decoding: coefficients of a progressive JPEG, its planes, and RGB twice.
const bytesPerPixel = 28

// Info describes a picture, from its header.
type Info struct {
	Format      string // png, jpeg, gif, webp, bmp or tiff
	H, W        int    // size of the upright picture
	Orientation int    // EXIF orientation of the stored picture, 1 (upright) to 8
	Dim         bool   // of Decode: 16-bit values up to 255, so the pixels are black, but not all values are 0
}

// Cost returns the approximate memory of decoding in bytes.
func (i Info) Cost() int64 { return int64(i.H) * int64(i.W) * bytesPerPixel }

type format struct {
	name   string
	magic  string // ? matches any byte
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var formats = []format{
	{"png", "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
	{"jpeg", "\xff\xd8", jpeg.DecodeConfig, jpeg.Decode},
	{"gif", "GIF8?a", gif.DecodeConfig, decodeGIF},
	{"webp", "RIFF????WEBP", webp.DecodeConfig, decodeWebP},
	{"bmp", "BM", configBMP, bmp.Decode},
	{"tiff", "II*\x00", configTIFF, decodeTIFF},
	{"tiff", "MM\x00*", configTIFF, decodeTIFF},
}

// others are formats that Read only recognises to name them in errors.
var others = []format{
	{name: "a HEIC or AVIF picture", magic: "????ftyp"}, {name: "a BigTIFF picture", magic: "II+\x00"},
	{name: "a BigTIFF picture", magic: "MM\x00+"},
	{name: "a JPEG 2000 picture", magic: "\x00\x00\x00\x0cjP"}, {name: "a JPEG XL picture", magic: "\xff\x0a"},
	{name: "a Photoshop file", magic: "8BPS"},
	{name: "a PDF file", magic: "%PDF"}, {name: "an SVG picture", magic: "<svg"},
	{name: "an XML or SVG file", magic: "<?xml"}, {name: "an HTML page", magic: "<!DOCTYPE"},
}

// Formats names the formats that Decode reads.
const Formats = "PNG, JPEG, GIF, WebP, BMP or TIFF"

func sniff(data []byte) (format, error) {
	matches := func(magic string) bool {
		if len(data) < len(magic) {
			return false
		}
		for i := range len(magic) {
			if magic[i] != '?' && magic[i] != data[i] {
				return false
			}
		}
		return true
	}
	for _, f := range formats {
		if matches(f.magic) {
			return f, nil
		}
	}
	if len(data) == 0 {
		return format{}, fmt.Errorf("the file is empty; want %s", Formats)
	}
	for _, f := range others {
		if matches(f.magic) {
			return format{}, fmt.Errorf("it is %s; want %s", f.name, Formats)
		}
	}
	return format{}, fmt.Errorf("it is no picture; want %s", Formats)
}

// Read returns the header of a picture without decoding the pixels. It returns an error for another format, a broken
// header, and more than [MaxPixels].
func Read(data []byte) (info Info, err error) {
	defer rescue(&err)
	f, err := sniff(data)
	if err != nil {
		return Info{}, err
	}
	c, err := f.config(bytes.NewReader(data))
	if err != nil {
		return Info{}, explain(err)
	}
	if c.Width < 1 || c.Height < 1 || c.Width > MaxPixels/c.Height {
		return Info{}, fmt.Errorf("it is %d x %d pixels (width x height); want 1 x 1 or more, and at most %d pixels",
			c.Width, c.Height, MaxPixels)
	}
	info = Info{Format: f.name, H: c.Height, W: c.Width, Orientation: orientation(f.name, data)}
	if info.Orientation > 4 {
		info.H, info.W = info.W, info.H
	}
	return info, nil
}

// Decoder decodes pictures one after another and reuses its memory. Its zero value is ready to use. It is not safe for
// concurrent use.
type Decoder struct {
	canvas image.RGBA
	pixels []uint8
	colour []uint8 // the pixels before conversion to grey
	turned []uint8
	planes planes
	narrow bool // planes has the narrow range
}

// Decode returns a picture with 1 channel (grey) or 3 channels (red, green, blue) as [info.H, info.W, channels]. The
// pixels are valid until the next call. Grey is (19595 R + 38470 G + 7471 B) / 65536, with Pillow's rounding. Decode
// returns the errors of [Read] and errors for broken files. It does not panic.
func (d *Decoder) Decode(data []byte, channels int) (pixels []uint8, info Info, err error) {
	defer rescue(&err)
	info, err = Read(data)
	if err != nil {
		return nil, info, err
	}
	f, err := sniff(data)
	if err != nil {
		return nil, info, err
	}
	m, err := f.decode(bytes.NewReader(data))
	if err != nil && f.name == "jpeg" { // some programs omit the end marker
		if whole, err2 := f.decode(io.MultiReader(bytes.NewReader(data), bytes.NewReader([]byte{0xff, 0xd9}))); err2 == nil {
			m, err = whole, nil
		}
	}
	if err != nil {
		return nil, info, explain(err)
	}
	h, w := info.H, info.W
	if info.Orientation > 4 {
		h, w = w, h
	}
	b := m.Bounds()
	if f.name != "webp" && (b.Dx() != w || b.Dy() != h) {
		return nil, info, fmt.Errorf("it has %d x %d pixels, and its header says %d x %d", b.Dx(), b.Dy(), w, h)
	}
	d.narrow, info.Dim = f.name == "webp", dim(m)
	d.convert(m, b.Dy(), b.Dx(), channels)
	if b.Dx() != w || b.Dy() != h {
		d.place(b, h, w, channels)
	}
	if f.name == "tiff" && faxInverted(data) {
		for i := range d.pixels {
			d.pixels[i] = ^d.pixels[i]
		}
	}
	if info.Orientation > 1 {
		d.turned = grown(d.turned, len(d.pixels))
		turn(d.turned, d.pixels, h, w, channels, info.Orientation)
		d.pixels, d.turned = d.turned, d.pixels
	}
	return d.pixels, info, nil
}

// dim computes [Info.Dim].
func dim(m image.Image) bool {
	var pixels []uint8 // big-endian
	alpha := 6         // its place among 8 bytes
	switch m := m.(type) {
	case *image.Gray16:
		pixels, alpha = m.Pix, -1
	case *image.RGBA64:
		pixels = m.Pix
	case *image.NRGBA64:
		pixels = m.Pix
	}
	seen := false
	for i := 0; i < len(pixels); i += 2 {
		if i%8 != alpha && pixels[i] != 0 {
			return false
		}
		seen = seen || i%8 != alpha && pixels[i+1] != 0
	}
	return seen
}

func (d *Decoder) convert(m image.Image, h, w, channels int) {
	d.pixels = grown(d.pixels, h*w*channels)
	if g, ok := m.(*image.Gray); ok {
		for y := range h {
			spread(d.pixels[y*w*channels:][:w*channels], g.Pix[y*g.Stride:][:w], channels)
		}
		return
	}
	colour := d.pixels
	if channels == 1 {
		d.colour = grown(d.colour, h*w*3)
		colour = d.colour
	}
	switch m := m.(type) {
	case *image.YCbCr:
		d.planes.rgb(colour, m, h, w, d.narrow, nil, 0)
	case *image.NYCbCrA:
		d.planes.rgb(colour, &m.YCbCr, h, w, d.narrow, m.A, m.AStride)
	default:
		d.draw(colour, m, h, w)
	}
	if channels == 1 {
		for i := range d.pixels {
			p := colour[3*i:][:3]
			d.pixels[i] = uint8((uint32(p[0])*19595 + uint32(p[1])*38470 + uint32(p[2])*7471 + 1<<15) >> 16)
		}
	}
}

// draw converts other colour models to RGB. Blends with black and inks are rounded; [draw.Draw] would cut them off.
func (d *Decoder) draw(dst []uint8, m image.Image, h, w int) {
	var colour func(x, y int) [3]uint8
	switch m := m.(type) {
	case *image.NRGBA:
		colour = func(x, y int) [3]uint8 { return over(m.NRGBAAt(x, y).RGBA()) }
	case *image.NRGBA64:
		colour = func(x, y int) [3]uint8 {
			c := m.NRGBA64At(x, y)
			return over(color.NRGBA{uint8(c.R >> 8), uint8(c.G >> 8), uint8(c.B >> 8), uint8(c.A >> 8)}.RGBA())
		}
	case *image.CMYK:
		colour = func(x, y int) [3]uint8 {
			r, g, b, _ := m.CMYKAt(x, y).RGBA()
			return over(r, g, b, 0)
		}
	case *image.Paletted:
		var palette [256][3]uint8
		for i, c := range m.Palette {
			palette[i] = over(c.RGBA())
		}
		colour = func(x, y int) [3]uint8 { return palette[m.ColorIndexAt(x, y)] }
	default:
		d.canvas = image.RGBA{Pix: grown(d.canvas.Pix, h*w*4), Stride: w * 4, Rect: image.Rect(0, 0, w, h)}
		draw.Draw(&d.canvas, d.canvas.Rect, m, m.Bounds().Min, draw.Src)
		for from := d.canvas.Pix; len(from) > 0; dst, from = dst[3:], from[4:] {
			copy(dst[:3], from)
		}
		return
	}
	from := m.Bounds().Min
	for y := range h {
		for x := range w {
			c := colour(from.X+x, from.Y+y)
			copy(dst[3*(y*w+x):], c[:])
		}
	}
}

// over reduces a colour of [color.Color.RGBA] to 8 bits. Products with alpha are rounded. Opaque colours keep their upper 8
// bits.
func over(r, g, b, a uint32) [3]uint8 {
	if a == 0xffff {
		return [3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}
	}
	return [3]uint8{uint8((r + 128) / 257), uint8((g + 128) / 257), uint8((b + 128) / 257)}
}

// place copies the pixels of a frame to its position on a black canvas of h x w pixels.
func (d *Decoder) place(at image.Rectangle, h, w, channels int) {
	d.turned = grown(d.turned, h*w*channels)
	clear(d.turned)
	row := at.Dx() * channels
	for y := range at.Dy() {
		copy(d.turned[((at.Min.Y+y)*w+at.Min.X)*channels:][:row], d.pixels[y*row:])
	}
	d.pixels, d.turned = d.turned, d.pixels
}

// spread copies grey values to each channel.
func spread(dst, grey []uint8, channels int) {
	if channels == 1 {
		copy(dst, grey)
		return
	}
	for x, v := range grey {
		dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
	}
}

// turn makes a stored picture of h x w pixels upright. For each orientation, steps has the position of the first pixel
// in the upright picture, the step to the next pixel in a row, and the step to the next row.
func turn(dst, src []uint8, h, w, channels, orientation int) {
	steps := [...][3]int{
		1: {0, 1, w}, 2: {w - 1, -1, w}, 3: {h*w - 1, -1, -w}, 4: {(h - 1) * w, 1, -w},
		5: {0, w, 1}, 6: {(h - 1) * w, -w, 1}, 7: {h*w - 1, -w, -1}, 8: {w - 1, w, -1},
	}[orientation]
	if orientation > 4 {
		h, w = w, h // of dst
	}
	to := 0
	for y := range h {
		from := (steps[0] + y*steps[2]) * channels
		for range w {
			copy(dst[to:to+channels], src[from:])
			to += channels
			from += steps[1] * channels
		}
	}
}

// rescue converts a panic of a decoder to an error.
func rescue(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the file is broken: its decoder fails with %v", p)
	}
}

// configBMP reads the header. Errors name unsupported features.
func configBMP(r io.Reader) (image.Config, error) {
	var header [34]byte
	n, _ := io.ReadFull(r, header[:]) // DecodeConfig reports a shorter file
	c, err := bmp.DecodeConfig(io.MultiReader(bytes.NewReader(header[:n]), r))
	if !errors.Is(err, bmp.ErrUnsupported) || n < len(header) {
		return c, err
	}
	length, bits, compression := binary.LittleEndian.Uint32(header[14:]), binary.LittleEndian.Uint16(header[28:]),
		binary.LittleEndian.Uint32(header[30:])
	names := []string{"none", "RLE8", "RLE4", "bit fields", "JPEG", "PNG", "bit fields"}
	switch {
	case length < 40:
		return c, fmt.Errorf("%w (a header of OS/2, %d bytes)", err, length)
	case int(compression) < len(names):
		return c, fmt.Errorf("%w (%d bits, compression %s)", err, bits, names[compression])
	}
	return c, fmt.Errorf("%w (%d bits, compression %d)", err, bits, compression)
}

// explain replaces EOF by an error about the early end of the file.
func explain(err error) error {
	early := func(words string) bool { return strings.Contains(err.Error(), words) } // some decoders do not wrap the errors of the reader
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || early("unexpected EOF") ||
		early("not enough pixel data") {
		return fmt.Errorf("the file ends early: %w", err)
	}
	if strings.Contains(err.Error(), "unsupported") { // the decoders have no common error type for it
		return fmt.Errorf("it has an unsupported feature: %w; want a PNG file, for example converted by ImageMagick", err)
	}
	return fmt.Errorf("the file is broken: %w", err)
}

func grown(s []uint8, n int) []uint8 { return slices.Grow(s[:0], n)[:n] }
