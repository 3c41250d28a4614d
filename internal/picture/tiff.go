package picture

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"maps"
	"slices"

	"golang.org/x/image/tiff"
)

// The TIFF tags that this package reads.
const (
	tagBits         = 0x0102
	tagCompression  = 0x0103
	tagPhotometric  = 0x0106
	tagStripOffsets = 0x0111
	tagOrientation  = 0x0112
	tagSamples      = 0x0115
	tagStripCounts  = 0x0117
	tagPlanar       = 0x011c
	tagTileOffsets  = 0x0144
	tagTileCounts   = 0x0145
	tagExtra        = 0x0152
)

// Values of the tag photometric.
const (
	tiffBlackIsZero = 1
	tiffRGB         = 2
	tiffCMYK        = 5
)

type directory struct {
	data    []byte // the file
	order   binary.AppendByteOrder
	entries map[uint16][]byte // entries of 12 bytes: tag, type, count, and the values or their offset
}

// readDirectory reads the first directory; it is empty if the file has none.
func readDirectory(data []byte) *directory {
	d := &directory{data, binary.LittleEndian, map[uint16][]byte{}}
	if len(data) < 8 {
		return d
	}
	switch string(data[:4]) {
	case "II*\x00":
	case "MM\x00*":
		d.order = binary.BigEndian
	default:
		return d
	}
	at := uint64(d.uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return d
	}
	entries := data[at+2:]
	for range d.uint16(data[at:]) {
		if len(entries) < 12 {
			break
		}
		d.entries[d.uint16(entries)] = entries[:12]
		entries = entries[12:]
	}
	return d
}

func (d *directory) uint16(b []byte) uint16 { return d.order.(binary.ByteOrder).Uint16(b) }
func (d *directory) uint32(b []byte) uint32 { return d.order.(binary.ByteOrder).Uint32(b) }

// numbers returns the values of a tag with 8, 16 or 32 bits, or nil if the tag is missing.
func (d *directory) numbers(tag uint16) (numbers []uint32) {
	entry, ok := d.entries[tag]
	if !ok {
		return nil
	}
	size := map[uint16]uint64{1: 1, 3: 2, 4: 4}[d.uint16(entry[2:])]
	n, values := uint64(d.uint32(entry[4:])), entry[8:]
	if n*size > 4 {
		at := uint64(d.uint32(values))
		if at+n*size > uint64(len(d.data)) {
			return nil
		}
		values = d.data[at:]
	}
	for i := range n {
		switch size {
		case 1:
			numbers = append(numbers, uint32(values[i]))
		case 2:
			numbers = append(numbers, uint32(d.uint16(values[2*i:])))
		case 4:
			numbers = append(numbers, d.uint32(values[4*i:]))
		default:
			return nil
		}
	}
	return numbers
}

// first returns the first value of a tag, or a default.
func (d *directory) first(tag uint16, otherwise uint32) uint32 {
	if n := d.numbers(tag); len(n) > 0 {
		return n[0]
	}
	return otherwise
}

// with returns the file with changed values of some tags (nil removes a tag), in a new directory at its end.
func (d *directory) with(changes map[uint16][]uint32) []byte {
	out := append(bytes.Clone(d.data), make([]byte, len(d.data)&1)...)
	entries := maps.Clone(d.entries)
	for tag, numbers := range changes {
		delete(entries, tag)
		if numbers == nil {
			continue
		}
		entry := d.order.AppendUint32(d.order.AppendUint16(d.order.AppendUint16(nil, tag), 4), uint32(len(numbers)))
		if len(numbers) == 1 {
			entry = d.order.AppendUint32(entry, numbers[0])
		} else {
			entry = d.order.AppendUint32(entry, uint32(len(out)))
			for _, v := range numbers {
				out = d.order.AppendUint32(out, v)
			}
		}
		entries[tag] = entry
	}
	d.order.(binary.ByteOrder).PutUint32(out[4:], uint32(len(out)))
	out = d.order.AppendUint16(out, uint16(len(entries)))
	for _, tag := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, entries[tag]...)
	}
	return d.order.AppendUint32(out, 0) // no further directory
}

// configTIFF reads the header. The library does not support CMYK, so configTIFF presents CMYK as RGB and alpha.
func configTIFF(r io.Reader) (image.Config, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return image.Config{}, err
	}
	d := readDirectory(data)
	c, err := tiff.DecodeConfig(bytes.NewReader(d.asRGB()))
	return c, d.explain(err)
}

// asRGB returns the file with CMYK declared as RGB and alpha.
func (d *directory) asRGB() []byte {
	if d.first(tagPhotometric, 0) != tiffCMYK || len(d.numbers(tagBits)) != 4 {
		return d.data
	}
	return d.with(map[uint16][]uint32{tagPhotometric: {tiffRGB}, tagExtra: {2}}) // 2: unassociated alpha
}

// decodeTIFF decodes the formats of the library, CMYK, and planar colours.
func decodeTIFF(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	d := readDirectory(data)
	var m image.Image
	if d.first(tagPlanar, 1) == 2 && d.first(tagSamples, 1) > 1 {
		m, err = d.decodePlanes()
	} else {
		m, err = tiff.Decode(bytes.NewReader(d.asRGB()))
	}
	if err != nil {
		return nil, d.explain(err)
	}
	if d.first(tagPhotometric, 0) != tiffCMYK {
		return m, nil
	}
	inks := &image.CMYK{Stride: 4 * m.Bounds().Dx(), Rect: m.Bounds()}
	switch m := m.(type) {
	case *image.NRGBA:
		inks.Pix = m.Pix
	case *image.NRGBA64:
		for i := 0; i < len(m.Pix); i += 2 {
			inks.Pix = append(inks.Pix, m.Pix[i])
		}
	default:
		return nil, d.explain(tiff.UnsupportedError("CMYK with other than 4 samples"))
	}
	return inks, nil
}

// decodePlanes decodes each plane as a grey picture. The result is RGB, or RGB and alpha, which also represents CMYK.
func (d *directory) decodePlanes() (image.Image, error) {
	photometric, samples := d.first(tagPhotometric, 0), int(d.first(tagSamples, 1))
	if !(photometric == tiffRGB && samples == 3 || samples == 4 && (photometric == tiffRGB || photometric == tiffCMYK)) {
		return nil, tiff.UnsupportedError(fmt.Sprintf("%d planes of colour model %d", samples, photometric))
	}
	var whole *image.NRGBA
	for p := range samples {
		changes := map[uint16][]uint32{tagBits: {d.first(tagBits, 1)}, tagPhotometric: {tiffBlackIsZero}, tagSamples: {1},
			tagPlanar: nil, tagExtra: nil}
		for _, tag := range []uint16{tagStripOffsets, tagStripCounts, tagTileOffsets, tagTileCounts} {
			if all := d.numbers(tag); len(all) > 0 {
				changes[tag] = all[p*len(all)/samples : (p+1)*len(all)/samples]
			}
		}
		m, err := tiff.Decode(bytes.NewReader(d.with(changes)))
		if err != nil {
			return nil, err
		}
		if whole == nil {
			whole = image.NewNRGBA(m.Bounds())
		}
		switch m := m.(type) {
		case *image.Gray:
			for i, v := range m.Pix {
				whole.Pix[4*i+p] = v
			}
		case *image.Gray16: // big-endian: the upper 8 bits come first
			for i := 0; i < len(m.Pix); i += 2 {
				whole.Pix[2*i+p] = m.Pix[i]
			}
		}
	}
	for i := 3; samples == 3 && i < len(whole.Pix); i += 4 {
		whole.Pix[i] = 0xff
	}
	return whole, nil
}

// The names of colour models and compressions, for errors.
var (
	tiffModels = map[uint32]string{0: "grey", 1: "grey", 2: "RGB", 3: "palette", 4: "mask", 5: "CMYK", 6: "YCbCr",
		8: "CIELab"}
	tiffPacked = map[uint32]string{1: "none", 2: "CCITT", 3: "fax", 4: "fax", 5: "LZW", 6: "JPEG", 7: "JPEG", 8: "deflate",
		32773: "PackBits", 32946: "deflate",
		34712: "JPEG 2000", 34887: "LERC", 34925: "LZMA", 50000: "Zstandard", 50001: "WebP"}
)

// explain adds the kind of picture in the directory to an error.
func (d *directory) explain(err error) error {
	if err == nil {
		return nil
	}
	model, packed := d.first(tagPhotometric, 0), d.first(tagCompression, 1)
	return fmt.Errorf("%w (a TIFF file with colour model %d (%s), compression %d (%s) and samples of %v bits)",
		err, model, cmp.Or(tiffModels[model], "unknown"), packed, cmp.Or(tiffPacked[packed], "unknown"), d.numbers(tagBits))
}
