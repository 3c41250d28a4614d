package tfevents

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// clock returns a clock that advances by one second per call, from a fixed time.
func clock() func() time.Time {
	t := time.Unix(1_700_000_000, 250_000_000)
	return func() time.Time { t = t.Add(time.Second); return t }
}

func readAll(t *testing.T, path string) []Event {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	var all []Event
	for r := NewReader(f); ; {
		e, err := r.Next()
		if err == io.EOF {
			return all
		}
		must.OK(t, err)
		all = append(all, *e)
	}
}

func TestChecksum(t *testing.T) {
	// the check value of CRC-32C, and the record that every event file begins with
	must.Equal(t, crc32.Checksum([]byte("123456789"), castagnoli), 0xe3069283, "CRC-32C is")
	must.Equal(t, maskedCRC([]byte{24, 0, 0, 0, 0, 0, 0, 0}), 0x224b7fa3, "masked CRC is")
}

// The bytes of the Protocol Buffers wire format, written by hand.
func TestBytes(t *testing.T) {
	for _, test := range []struct {
		e    Event
		want string
	}{
		{Event{WallTime: 1, FileVersion: fileVersion}, "09 000000000000f03f 1a0d 627261696e2e4576656e743a32"},
		{Event{WallTime: 1, Step: 300, Values: []Value{{Tag: "ab", Scalar: 1}}}, "09 000000000000f03f 10ac02 2a0b 0a09 0a026162 150000803f"},
	} {
		want := must.Get(hex.DecodeString(strings.ReplaceAll(test.want, " ", "")))(t)
		if got := test.e.marshal(); !bytes.Equal(got, want) {
			t.Errorf("%+v:\n got %x\nwant %x", test.e, got, want)
		}
		if got, err := unmarshal(want); err != nil || !reflect.DeepEqual(*got, test.e) {
			t.Errorf("read %+v, %v, want %+v", got, err, test.e)
		}
	}
}

func TestWriteAndRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.out.tfevents.x")
	w, err := Create(path, clock())
	must.OK(t, err)
	err = errors.Join(
		w.Scalar("loss/kl", 1, 0.5),
		w.Write(2, Value{Tag: "a", Scalar: float32(math.Inf(-1))}, Value{Tag: "b", Scalar: -1}),
		w.Scalar("late", math.MaxInt64, 2),
		w.Scalar("negative", -5, 0),
		w.Close())
	must.OK(t, err)
	got := readAll(t, path)
	if len(got) != 5 || got[0].FileVersion != "brain.Event:2" || got[0].WallTime != 1_700_000_001.25 || got[4].WallTime != 1_700_000_005.25 {
		t.Fatalf("got %+v", got)
	}
	must.Equal(t, got[0].Time(), time.UnixMicro(1_700_000_001_250_000), "time")
	for i, want := range []Event{
		{Step: 1, Values: []Value{{Tag: "loss/kl", Scalar: 0.5}}},
		{Step: 2, Values: []Value{{Tag: "a", Scalar: float32(math.Inf(-1))}, {Tag: "b", Scalar: -1}}},
		{Step: math.MaxInt64, Values: []Value{{Tag: "late", Scalar: 2}}},
		{Step: -5, Values: []Value{{Tag: "negative"}}},
	} {
		e := got[i+1]
		want.WallTime = e.WallTime
		if !reflect.DeepEqual(e, want) {
			t.Errorf("event %d: got %+v, want %+v", i, e, want)
		}
	}
	if err := w.Scalar("late", 3, 1); err != nil {
		t.Errorf("buffered: %v", err)
	}
	must.Error(t, w.Flush(), "writing "+path)
	if err := w.Scalar("later", 3, 1); err == nil {
		t.Error("the error did not stay")
	}
}

// steps writes one scalar for each step and returns the file.
func steps(t *testing.T, path string, list ...int64) []byte {
	t.Helper()
	w := must.Get(Create(path, clock()))(t)
	for _, s := range list {
		must.OK(t, w.Scalar("x", s, float32(s)))
	}
	must.OK(t, w.Close())
	return must.Read(t, path)
}

func stepsOf(events []Event) (all []int64) {
	for _, e := range events {
		if e.FileVersion == "" {
			all = append(all, e.Step)
		}
	}
	return all
}

func TestResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	for _, test := range []struct {
		written []int64
		step    int64
		want    []int64
	}{
		{[]int64{1, 2, 3}, 3, []int64{1, 2, 3, 99}},
		{[]int64{1, 2, 3}, 2, []int64{1, 2, 99}},
		{[]int64{1, 2, 3}, 0, []int64{99}},
		{[]int64{1, 2, 3}, -1, []int64{99}},
		{[]int64{1, 5, 2, 6, 3, 7}, 3, []int64{1, 2, 3, 99}},
		{nil, 3, []int64{99}},
	} {
		steps(t, path, test.written...)
		w := must.Get(Resume(path, test.step, clock(), nil))(t)
		must.OK(t, errors.Join(w.Scalar("x", 99, 1), w.Close()))
		events := readAll(t, path)
		if got := stepsOf(events); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v resumed at %d: %v, want %v", test.written, test.step, got, test.want)
		}
		if versions := len(events) - len(test.want); versions != 1 || events[0].FileVersion == "" {
			t.Errorf("%v resumed at %d: %d version records", test.written, test.step, versions)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("a temporary file stays: %v, %v", entries, err)
	}
}

// The complete records remain, wherever the writer was killed.
func TestResumeTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	data := steps(t, path, 1, 2, 3)
	size := (len(data) - 40) / 3
	for cut := range len(data) + 1 {
		must.Write(t, path, data[:cut])
		w := must.Get(Resume(path, 10, clock(), nil))(t)
		must.OK(t, errors.Join(w.Scalar("x", 99, 1), w.Close()))
		complete := max(cut-40, 0) / size
		want := append([]int64{1, 2, 3}[:complete:complete], 99)
		if got := stepsOf(readAll(t, path)); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d: %v, want %v", cut, got, want)
		}
	}
}

func TestResumeMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	w := must.Get(Resume(path, 3, clock(), nil))(t)
	must.OK(t, w.Close())
	if got := readAll(t, path); len(got) != 1 || got[0].FileVersion == "" {
		t.Errorf("got %+v", got)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(filepath.Join(dir, "no", "x"), clock()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	if _, err := Create(dir, clock()); err == nil {
		t.Error("a folder: no error")
	}
	must.ErrorOf(Resume(dir, 1, clock(), nil))(t, dir)
}

// Write rejects values that could not be read again.
func TestTooLong(t *testing.T) {
	long.NotShort(t)
	path := filepath.Join(t.TempDir(), "events")
	w := must.Get(Create(path, clock()))(t)
	must.Error(t, w.Write(1, Value{Tag: strings.Repeat("x", maxRecord)}), "at most 67108864 are read again")
	must.OK(t, errors.Join(w.Scalar("x", 2, 1), w.Close()))
	if got := stepsOf(readAll(t, path)); !reflect.DeepEqual(got, []int64{2}) {
		t.Errorf("steps %v", got)
	}
}

func TestDamage(t *testing.T) {
	data := steps(t, filepath.Join(t.TempDir(), "x"), 1, 2)
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x10
		r := NewReader(bytes.NewReader(damaged))
		var err error
		n := 0
		for ; err == nil; n++ {
			_, err = r.Next()
		}
		if !errors.Is(err, ErrTorn) || n > 3 || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d: ", r.Offset())) {
			t.Errorf("byte %d: %d events, %v", i, n, err)
		}
	}
	for what, record := range map[string][]byte{
		"too long":     appendRecord(nil, nil)[:8],
		"no message":   appendRecord(nil, []byte{0xff}),
		"field 0":      appendRecord(nil, []byte{0, 0}),
		"a group":      appendRecord(nil, []byte{0x0b}),
		"cut off":      appendRecord(nil, []byte{0x09, 1}),
		"cut off 32":   appendRecord(nil, []byte{0x0d, 1}),
		"cut off text": appendRecord(nil, []byte{0x1a, 5, 1}),
		"no length":    appendRecord(nil, []byte{0x1a}),
	} {
		if _, err := NewReader(bytes.NewReader(record)).Next(); !errors.Is(err, ErrTorn) {
			t.Errorf("%s: %v", what, err)
		}
	}
	huge := []byte{0, 0, 0, 0, 0, 0, 0, 0x7f}
	crc := maskedCRC(huge)
	huge = append(huge, byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24))
	must.ErrorOf(NewReader(bytes.NewReader(huge)).Next())(t, "at most")
}

// FuzzReader tests that no input causes a panic, and that writing and reading events does not change them.
func FuzzReader(f *testing.F) {
	e := Event{WallTime: 1, Step: 3, Values: []Value{{Tag: "a", Scalar: 1}, {Tag: "b", Scalar: 2}}}
	f.Add(e.marshal())
	f.Add((&Event{WallTime: 1, FileVersion: fileVersion}).marshal())
	f.Add((&Event{Values: []Value{SessionStart([]Setting{{"a", 1.0}}, time.Unix(1, 0)),
		{Tag: "i", Image: &Image{1, 2, true, []byte("png")}}}}).marshal())
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range [][]byte{data, appendRecord(nil, data)} {
			r := NewReader(bytes.NewReader(file))
			for {
				e, err := r.Next()
				if err != nil {
					if err != io.EOF && !errors.Is(err, ErrTorn) {
						t.Fatal(err)
					}
					break
				}
				again, err := unmarshal(e.marshal())
				if err != nil || !bytes.Equal(again.marshal(), e.marshal()) {
					t.Fatalf("%v: got %+v, want %+v", err, again, e)
				}
			}
			if r.Offset() > int64(len(file)) {
				t.Fatalf("offset %d of %d", r.Offset(), len(file))
			}
		}
	})
}

func BenchmarkScalar(b *testing.B) {
	w := must.Get(Create(filepath.Join(b.TempDir(), "x"), func() time.Time { return time.Unix(0, 0) }))(b)
	defer w.Close()
	for b.Loop() {
		must.OK(b, w.Scalar("loss/total", 3, 1))
	}
}
