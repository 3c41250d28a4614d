package picture

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// TestPillow compares with Pillow in colour and in grey, with one Decoder for all files.
func TestPillow(t *testing.T) {
	f := must.Get(os.Open("testdata/expected.csv"))(t)
	defer f.Close()
	lines := must.Get(csv.NewReader(f).ReadAll())(t)
	var d Decoder
	for _, line := range lines[1:] {
		data := must.Read(t, filepath.Join("testdata", line[0]))
		h, _ := strconv.Atoi(line[1])
		w, _ := strconv.Atoi(line[2])
		tolerance := must.Get(strconv.Atoi(line[3]))(t)
		want := must.Get(hex.DecodeString(line[4]))(t)
		pixels, info, err := d.Decode(data, 3)
		if err != nil || info.H != h || info.W != w || len(pixels) != len(want) {
			t.Errorf("%s: %+v, %v", line[0], info, err)
			continue
		}
		if at, worst := farthest(pixels, want); worst > tolerance {
			t.Errorf("%s: value %d is off by %d", line[0], at, worst)
		}
		grey := make([]uint8, h*w)
		for i := range grey {
			grey[i] = luma(pixels[3*i:])
		}
		pixels, _, err = d.Decode(data, 1)
		if err != nil || !bytes.Equal(pixels, grey) {
			t.Errorf("%s: another grey, %v", line[0], err)
		}
	}
	if files, err := filepath.Glob("testdata/*.*"); err != nil || len(files) != len(lines)+2 {
		t.Errorf("%d files and %d lines", len(files), len(lines))
	}
}

func luma(p []uint8) uint8 {
	return uint8((int(p[0])*19595 + int(p[1])*38470 + int(p[2])*7471 + 32768) / 65536)
}

func farthest(a, b []uint8) (at, worst int) {
	for i := range a {
		if d := max(int(a[i])-int(b[i]), int(b[i])-int(a[i])); d > worst {
			at, worst = i, d
		}
	}
	return at, worst
}

// TestColourModels compares with the conversions of the colour models, with rounded products.
func TestColourModels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	bounds := image.Rect(0, 0, 9, 7)
	palette := color.Palette{color.NRGBA{200, 10, 30, 100}, color.Gray{77}, color.RGBA{1, 2, 3, 255}}
	for name, m := range map[string]interface {
		image.Image
		Set(x, y int, c color.Color)
	}{
		"grey": image.NewGray(bounds), "grey16": image.NewGray16(bounds), "rgba": image.NewRGBA(bounds), "nrgba": image.NewNRGBA(bounds),
		"rgba64": image.NewRGBA64(bounds), "nrgba64": image.NewNRGBA64(bounds), "cmyk": image.NewCMYK(bounds), "palette": image.NewPaletted(bounds, palette),
	} {
		var want []uint8
		for y := range 7 {
			for x := range 9 {
				m.Set(x, y, color.NRGBA64{uint16(random.Uint32()), uint16(random.Uint32()), uint16(random.Uint32()), uint16(random.Uint32())})
				times := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) * float64(b) / 255)) }
				switch c := m.At(x, y).(type) {
				case color.NRGBA:
					want = append(want, times(c.R, c.A), times(c.G, c.A), times(c.B, c.A))
				case color.NRGBA64:
					a := uint8(c.A >> 8)
					want = append(want, times(uint8(c.R>>8), a), times(uint8(c.G>>8), a), times(uint8(c.B>>8), a))
				case color.CMYK:
					want = append(want, times(^c.C, ^c.K), times(^c.M, ^c.K), times(^c.Y, ^c.K))
				default:
					r, g, b, _ := c.RGBA()
					want = append(want, uint8(r>>8), uint8(g>>8), uint8(b>>8))
				}
			}
		}
		var d Decoder
		d.convert(m, 7, 9, 3)
		if !bytes.Equal(d.pixels, want) {
			t.Errorf("%s: other pixels", name)
		}
	}
}

func encoded(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, png.Encode(&b, m))
	return b.Bytes()
}

func TestBroken(t *testing.T) {
	small := encoded(t, image.NewGray(image.Rect(0, 0, 4, 4)))
	huge := bytes.Clone(small)
	copy(huge[16:], []byte{0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60}) // 60000 x 60000
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	whole := must.Read(t, "testdata/rgb.jpg")
	moving := must.Read(t, "testdata/part.webp")
	outside, still, packed := bytes.Clone(moving), bytes.Clone(moving[:62]), make([]byte, 60)
	outside[bytes.Index(moving, []byte("ANMF"))+8] = 5 // at column 10
	binary.LittleEndian.PutUint32(still[4:], uint32(len(still)-8))
	copy(packed, "BM")
	for at, v := range map[int]uint32{14: 40, 18: 2, 22: 2, 26: 8<<16 | 1, 30: 1} {
		binary.LittleEndian.PutUint32(packed[at:], v)
	}
	planar := must.Read(t, "testdata/planar.tif")
	lab := readDirectory(planar).with(map[uint16][]uint32{tagPhotometric: {8}})
	zstd := readDirectory(planar).with(map[uint16][]uint32{tagCompression: {50000}})
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"half an animation", moving[:80], "ends early: its first frame is not complete"},
		{"an animation without frames", still, "ends early: its first frame is not complete"},
		{"a frame outside", outside, "its first frame has 7 x 6 pixels at 10, 2; want it inside the canvas of 13 x 10"},
		{"a packed BMP", packed, "an unsupported feature: bmp: unsupported BMP image (8 bits, compression RLE8); want a PNG file"},
		{"Lab", lab, "colour model 8 (CIELab)"},
		{"Zstandard", zstd, "compression 50000 (Zstandard)"},
		{"half a planar TIFF", planar[:len(planar)-200], "early"},
		{"empty", nil, "empty"},
		{"text", []byte("this is a text"), "no picture"},
		{"heic", []byte("\x00\x00\x00\x18ftypheic and so on"), "HEIC"},
		{"svg", []byte("<svg width=\"3\">"), "SVG"},
		{"pixels missing", small[:len(small)-20], "early"},
		{"header missing", small[:20], "early"},
		{"half a jpeg", whole[:len(whole)/2], "early"},
		{"checksum", append(bytes.Clone(small[:45]), append([]byte{small[45] ^ 1}, small[46:]...)...), "broken"},
	} {
		var d Decoder
		if _, _, err := d.Decode(c.data, 3); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	must.ErrorOf(Read(huge))(t, "it is 60000 x 60000 pixels (width x height); want 1 x 1 or more, and at most 134217728 pixels")
}

// TestNoEnd reads a JPEG without its end marker, which other programs also accept.
func TestNoEnd(t *testing.T) {
	whole := must.Read(t, "testdata/rgb.jpg")
	var d, e Decoder
	want, _, err := d.Decode(whole, 3)
	must.OK(t, err)
	if got, _, err := e.Decode(whole[:len(whole)-2], 3); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v", err)
	}
}

func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	must.OK(f, err)
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil && filepath.Ext(name) != ".csv" {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := Read(data)
		if err != nil || info.H*info.W > 1<<16 {
			return
		}
		var d Decoder
		for _, channels := range []int{1, 3} {
			pixels, info, err := d.Decode(data, channels)
			if err == nil && len(pixels) != info.H*info.W*channels {
				t.Errorf("%d values of %+v", len(pixels), info)
			}
		}
	})
}

// BenchmarkDecode decodes pictures of CelebA's size.
func BenchmarkDecode(b *testing.B) {
	m := image.NewRGBA(image.Rect(0, 0, 178, 218))
	for y := range 218 {
		for x := range 178 {
			m.Set(x, y, color.RGBA{uint8(x + y), uint8(2*y ^ x), uint8(x * y / 50), 255})
		}
	}
	var packed bytes.Buffer
	must.OK(b, jpeg.Encode(&packed, m, &jpeg.Options{Quality: 90}))
	for name, data := range map[string][]byte{"jpeg": packed.Bytes(), "png": encoded(b, m)} {
		b.Run(name, func(b *testing.B) {
			var d Decoder
			for b.Loop() {
				if _, _, err := d.Decode(data, 3); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Chroma of rarer subsamplings. Between two rows, the near row has the weight 3/4.
func TestChromaRows(t *testing.T) {
	for _, c := range []struct {
		ratio image.YCbCrSubsampleRatio
		plane []uint8 // rows of 8 samples
		y, h  int
		want  []uint8
	}{
		{image.YCbCrSubsampleRatio444, []uint8{0, 40, 80, 120, 160}, 0, 1, []uint8{0, 40, 80, 120, 160}},
		{image.YCbCrSubsampleRatio440, []uint8{0, 40, 80, 120, 160, 0, 0, 0, 100, 0, 0, 0, 0}, 0, 4, []uint8{0, 40, 80, 120, 160}},
		{image.YCbCrSubsampleRatio440, []uint8{0, 40, 80, 120, 160, 0, 0, 0, 100, 0, 0, 0, 0}, 1, 4, []uint8{25, 30, 60, 90, 120}},
		{image.YCbCrSubsampleRatio440, []uint8{0, 40, 80, 120, 160, 0, 0, 0, 100, 0, 0, 0, 0}, 2, 4, []uint8{75, 10, 20, 30, 40}},
		{image.YCbCrSubsampleRatio440, []uint8{0, 40, 80, 120, 160, 0, 0, 0, 100, 0, 0, 0, 0}, 3, 4, []uint8{100, 0, 0, 0, 0}},
		{image.YCbCrSubsampleRatio411, []uint8{10, 20, 0, 0, 0, 0, 0, 0, 30, 40}, 1, 2, []uint8{30, 30, 30, 30, 40}},
		{image.YCbCrSubsampleRatio410, []uint8{10, 20, 0, 0, 0, 0, 0, 0, 30, 40}, 1, 4, []uint8{10, 10, 10, 10, 20}},
		{image.YCbCrSubsampleRatio410, []uint8{10, 20, 0, 0, 0, 0, 0, 0, 30, 40}, 2, 4, []uint8{30, 30, 30, 30, 40}},
	} {
		got := make([]uint8, 6)
		plane := append(c.plane, make([]uint8, 16)...)
		new(planes).row(got, plane, &image.YCbCr{CStride: 8, SubsampleRatio: c.ratio}, c.y, c.h, 5)
		must.EqualSlices(t, got[:5], c.want, c.ratio, "row", c.y, c.h)
	}
	for v, want := range map[int32]uint8{-1: 0, 0: 0, 255: 255, 256: 255, 1 << 20: 255, -1 << 20: 0} {
		must.Equal(t, clip(v), want, v)
	}
}
