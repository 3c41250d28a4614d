package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/dtype"
	"github.com/unravel-ml/unravel/internal/must"
)

func sample() *File {
	return &File{
		Metadata: map[string]string{"step": "12", "a \"quoted\" key": "line\nbreak <>&", "": ""},
		Tensors: []Tensor{
			{"weights", []int{2, 3}, []float32{0, 1, -1, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(1))}},
			{"rng", []int{3}, []uint8{1, 2, 255}},
			{"losses", []int{2}, []float64{math.Pi, math.Copysign(0, -1)}},
			{"step", []int{}, []int64{math.MinInt64}},
			{"empty", []int{0, 5}, []float32{}},
			{"épsilon/bias", []int{1}, []float32{7}},
		},
	}
}

func encode(t testing.TB, f *File) []byte {
	t.Helper()
	return must.Get(Encode(f))(t)
}

func TestRoundTrip(t *testing.T) {
	data := encode(t, sample())
	path := must.Write(t, filepath.Join(t.TempDir(), "x.safetensors"), data)
	for _, read := range []func(string) (*File, error){ReadFile, ReadForeign} {
		got := must.Get(read(path))(t)
		want := sample()
		if !reflect.DeepEqual(got.Metadata, want.Metadata) || len(got.Tensors) != len(want.Tensors) {
			t.Errorf("got %+v", got)
		}
		for _, w := range want.Tensors {
			if g, ok := got.Get(w.Name); !ok || !reflect.DeepEqual(g, w) {
				t.Errorf("%s: got %+v, want %+v", w.Name, g, w)
			}
		}
		if !bytes.Equal(encode(t, got), data) {
			t.Error("written again, the bytes differ")
		}
	}
	swapped := sample()
	swapped.Tensors[0], swapped.Tensors[5] = swapped.Tensors[5], swapped.Tensors[0]
	if !bytes.Equal(encode(t, swapped), data) {
		t.Error("the order of the tensors changes the bytes")
	}
	if !bytes.Equal(encode(t, &File{}), encode(t, &File{Metadata: map[string]string{}})) {
		t.Error("empty files differ")
	}
}

// The layout follows the format's description, with the data aligned.
func TestLayout(t *testing.T) {
	data := encode(t, &File{Tensors: []Tensor{{"a", []int{1}, []float32{1}}, {"b", []int{}, []float64{2}}}})
	n := binary.LittleEndian.Uint64(data)
	if n%8 != 0 || len(data) != 8+int(n)+12 {
		t.Fatalf("header of %d bytes, file of %d", n, len(data))
	}
	head := string(data[8 : 8+n])
	at := strings.Index(head, `"},`)
	want := `"},"b":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`
	if at < 0 || strings.TrimRight(head[at:], " ") != want || !strings.HasPrefix(head, `{"__metadata__":{"unravel.sha256":"`) {
		t.Errorf("header %s", head)
	}
	if body := data[8+n:]; !bytes.Equal(body, []byte{0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0x80, 0x3f}) {
		t.Errorf("body %x", body)
	}
}

// foreign builds a file around a header, as other programs write them.
func foreign(head string, body int) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), make([]byte, body)...)
}

func TestForeign(t *testing.T) {
	data := foreign(`{"x":{"shape":[1,2],"dtype":"F32","data_offsets":[4,12]},"__metadata__":{"format":"pt"},"y":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}   `, 12)
	got, err := DecodeForeign(data)
	want := &File{map[string]string{"format": "pt"}, []Tensor{{"y", []int{4}, make([]uint8, 4)}, {"x", []int{1, 2}, make([]float32, 2)}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Decode(data); !errors.Is(err, ErrNoChecksum) {
		t.Errorf("strict: %v", err)
	}
}

// Every changed bit, and every missing or added byte, is detected.
func TestIntegrity(t *testing.T) {
	data := encode(t, sample())
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			if _, err := Decode(data); err == nil {
				t.Fatalf("bit %d of byte %d flipped: no error", bit, i)
			}
			data[i] ^= 1 << bit
		}
		if _, err := Decode(data[:i]); err == nil {
			t.Fatalf("cut off after %d bytes: no error", i)
		}
	}
	if _, err := Decode(append(data, 0)); err == nil {
		t.Fatal("one more byte: no error")
	}
	must.Get(Decode(data))(t)
	data[len(data)-1]++
	if _, err := Decode(data); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if _, err := DecodeForeign(data); !errors.Is(err, ErrDamaged) {
		t.Errorf("foreign: got %v", err)
	}
	path := must.Write(t, filepath.Join(t.TempDir(), "x.safetensors"), data[:len(data)-5])
	must.ErrorOf(ReadFile(path))(t, path+": truncated: 50 bytes of data; want 55")
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestHostile(t *testing.T) {
	one := `{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	for _, test := range []struct {
		data []byte
		want string
	}{
		{nil, "only 0 bytes long"},
		{[]byte("1234567"), "only 7 bytes long"},
		{[]byte("PK\x03\x04\x14\x00\x00\x00\x08\x00"), "a ZIP archive, such as torch.save or numpy.savez writes; want a safetensors file"},
		{[]byte("\xff\xff\xff\xff\xff\xff\xff\xff{}"), "a header of 18446744073709551615 bytes"},
		{[]byte("\x09\x00\x00\x00\x00\x00\x00\x00{}"), "2 bytes of header; want 9"},
		{foreign("", 0), "want a JSON object"},
		{foreign("[]", 0), "want a JSON object"},
		{foreign("{", 0), "header"},
		{foreign("{}{}", 0), "more than one JSON object"},
		{foreign("{}", 1), "1 bytes after the last tensor"},
		{foreign(one+`,"x":{}}`, 4), `"x" is listed twice`},
		{foreign(one+`,"__metadata__":{"a":1}}`, 4), "metadata"},
		{foreign(one+`}`, 3), "truncated: 3 bytes of data; want 4"},
		{foreign(`{"x":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}}`, 2), `element type "I16" is not read`},
		{foreign(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4), "data from 0 to 4; want 8 bytes from 0 on"},
		{foreign(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8), "data from 4 to 8; want 4 bytes from 0 on"},
		{foreign(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 8), "data from 4 to 0"},
		{foreign(`{"x":{"dtype":"F32","shape":[0],"data_offsets":[-4,-4]}}`, 0), "data from -4"},
		{foreign(`{"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"y":{"dtype":"F64","shape":[1152921504606846975],"data_offsets":[8,-9223372036854775808]}}`, 8), "data from 8 to -9223372036854775808"},
		{foreign(`{"x":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, 4), "negative dimension"},
		{foreign(`{"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, 4), "too many elements"},
		{foreign(`{"x":{"dtype":"F32","shape":[1e3],"data_offsets":[0,4]}}`, 4), `tensor "x"`},
		{foreign(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"more":1}}`, 4), "more"},
		{foreign(`{"__metadata__":{"unravel.sha256":"00"}}`, 0), "checksum"},
	} {
		must.ErrorOf(DecodeForeign(test.data))(t, test.want, test.data)
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, test := range []struct {
		f    File
		want string
	}{
		{File{Tensors: []Tensor{{"x", []int{2}, []float32{1}}}}, `tensor "x": 1 elements for shape [2]; want 2`},
		{File{Tensors: []Tensor{{"x", []int{1}, []int{1}}}}, "elements of type []int; want []float32"},
		{File{Tensors: []Tensor{{"x", nil, nil}}}, "elements of type <nil>"},
		{File{Tensors: []Tensor{{"x", []int{-1, -1}, []uint8{1}}}}, "negative dimension"},
		{File{Tensors: []Tensor{{"x", nil, []uint8{1}}, {"x", nil, []uint8{1}}}}, "the name is taken"},
		{File{Tensors: []Tensor{{"__metadata__", nil, []uint8{1}}}}, "the name is taken"},
		{File{Tensors: []Tensor{{"\xff", nil, []uint8{1}}}}, "not UTF-8"},
		{File{Metadata: map[string]string{"unravel.sha256": "x"}}, "reserved for the checksum"},
		{File{Metadata: map[string]string{"x": "\xff"}}, "not UTF-8"},
	} {
		must.Error(t, Write(io.Discard, &test.f), test.want)
	}
}

func TestAccess(t *testing.T) {
	f := sample()
	w, err := f.Float32s("weights", 2, 3)
	if err != nil || len(w) != 6 {
		t.Errorf("%v, %v", w, err)
	}
	if _, err := elements[float64](f, "losses", []int{2}); err != nil {
		t.Error(err)
	}
	if _, err := elements[int64](f, "step", nil); err != nil {
		t.Error(err)
	}
	if _, err := elements[uint8](f, "rng", []int{3}); err != nil {
		t.Error(err)
	}
	for want, err := range map[string]error{
		`no tensor "x"`: second(f.Float32s("x")),
		`tensor "weights" is []float32 of shape [2 3]; want []float32 of shape [3 2]`: second(f.Float32s("weights", 3, 2)),
		`tensor "weights" is []float32 of shape [2 3]; want []int64 of shape [2 3]`:   second(elements[int64](f, "weights", []int{2, 3})),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// FuzzDecode tests that nothing panics, and that a decoded file is encoded and decoded to the same file.
func FuzzDecode(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(encode(f, &File{}))
	f.Add(foreign(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"a":"b"}}`, 4))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := DecodeForeign(data)
		if err != nil {
			return
		}
		text := must.Get(Encode(got))(t)
		again, err := Decode(text)
		if err != nil || len(again.Tensors) != len(got.Tensors) || len(again.Metadata) != len(got.Metadata) {
			t.Fatalf("%v: got %v, want %v", err, again, got)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	f := &File{Tensors: []Tensor{{"w", []int{1 << 20}, make([]float32, 1<<20)}}}
	b.SetBytes(4 << 20)
	for b.Loop() {
		must.Get(Encode(f))(b)
	}
}

// Floats of 16 bits are read as float32, exactly.
func TestHalves(t *testing.T) {
	for dtype, cases := range map[string]map[uint16]float32{
		"F16": {0: 0, 0x8000: float32(math.Copysign(0, -1)), 0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x7bff: 65504,
			0x0001: 1.0 / (1 << 24), 0x83ff: -1023.0 / (1 << 24), 0x0400: 1.0 / (1 << 14), 0x7c00: float32(math.Inf(1)),
			0xfc00: float32(math.Inf(-1))},
		"BF16": {0: 0, 0x8000: float32(math.Copysign(0, -1)), 0x3f80: 1, 0xc049: -3.140625, 0x7f80: float32(math.Inf(1)), 0x0001: 9.18354961579912e-41},
	} {
		for bits, want := range cases {
			data := foreign(`{"x":{"dtype":"`+dtype+`","shape":[1],"data_offsets":[0,2]}}`, 2)
			binary.LittleEndian.PutUint16(data[len(data)-2:], bits)
			f := must.Get(DecodeForeign(data))(t)
			got, err := f.Float32s("x", 1)
			if err != nil || math.Float32bits(got[0]) != math.Float32bits(want) {
				t.Errorf("%s %#04x: got %v, %v, want %v", dtype, bits, got, err, want)
			}
		}
	}
}

// TestWritesHalves compares the rounding of every float16, of the midpoints and of their neighbours with the nearest float16 by distance.
func TestWritesHalves(t *testing.T) {
	for bits := range uint16(0x7bff) { // below the largest
		low, high := dtype.Half(bits), dtype.Half(bits+1)
		middle := (low + high) / 2 // exact in float32
		even := bits + bits&1
		for x, want := range map[float32]uint16{
			low: bits, high: bits + 1, middle: even,
			math.Nextafter32(middle, 0): bits, math.Nextafter32(middle, 1e9): bits + 1,
		} {
			if got := halfBits(x); got != want {
				t.Fatalf("%v: got %#04x, want %#04x", x, got, want)
			}
			if got := halfBits(-x); x != 0 && got != want|0x8000 {
				t.Fatalf("%v: got %#04x, want %#04x", -x, got, want|0x8000)
			}
		}
	}
	f := &File{Tensors: []Tensor{{"w", []int{3}, Half{1.0 / 3, -65519, 1e-9}}, {"b", []int{1}, []float32{1.0 / 3}}}}
	text := must.Get(Encode(f))(t)
	back := must.Get(Decode(text))(t)
	must.EqualSlices(t, must.Get(back.Float32s("w", 3))(t), []float32{0.333251953125, -65504, 0})
	for _, wrong := range []float32{65520, -1e9, float32(math.Inf(1)), float32(math.NaN())} {
		must.ErrorOf(Encode(&File{Tensors: []Tensor{{"w", []int{2}, Half{0, wrong}}}}))(t, `tensor "w": element 1 is`, wrong)
	}
}
