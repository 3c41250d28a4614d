package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/progress"
)

// made makes a set and closes it.
func made(t *testing.T, k Key) (hash string) {
	t.Helper()
	s := must.Get(Ensure(t.Context(), k, convert))(t)
	closeSet(t, s)
	return s.Hash
}

// Open finds a fault in a set, and Ensure then makes the set again.
func TestBroken(t *testing.T) {
	long.NotShort(t)
	rewrite := func(name string, change func([]byte) []byte) func(*testing.T, Key) {
		return func(t *testing.T, k Key) {
			path := filepath.Join(k.Dir(), name)
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, change(b), 0o666)
			}
			must.OK(t, err)
		}
	}
	flip := rewrite(ImagesFile, func(b []byte) []byte { b[len(b)-1]++; return b })
	for name, c := range map[string]struct {
		words string
		harm  func(*testing.T, Key)
	}{
		"truncated":       {"it has 100 bytes; want 2528", rewrite(ImagesFile, func(b []byte) []byte { return b[:100] })},
		"longer":          {"it has 2529 bytes; want 2528", rewrite(ImagesFile, func(b []byte) []byte { return append(b, 0) })},
		"empty":           {"it has 0 bytes", rewrite(FactorsFile, func([]byte) []byte { return nil })},
		"changed":         {"a file was written", flip},
		"changed levels":  {"a file was written", rewrite(FactorsFile, func(b []byte) []byte { b[len(b)-1]++; return b })},
		"a file missing":  {"the file is missing", func(t *testing.T, k Key) { remove(t, k, FactorsFile) }},
		"no description":  {"it has no set.json", func(t *testing.T, k Key) { remove(t, k, recordFile) }},
		"garbage":         {"set.json", rewrite(recordFile, func([]byte) []byte { return []byte("{") })},
		"another version": {"it was converted by version 4; want version 3", rewrite(recordFile, swap(`"version": 3`, `"version": 4`))},
		"another format":  {"format 9", rewrite(recordFile, swap(`"format": 1`, `"format": 9`))},
		"other options":   {`with the options "size=4"`, rewrite(recordFile, swap(`size=2`, `size=4`))},
		"another size":    {"want uint8 of shape [100 4 3 3]", rewrite(recordFile, swap(`"channels": 2`, `"channels": 3`))},
		"no images":       {"0 images", rewrite(recordFile, swap(`"count": 100`, `"count": 0`))},
		"too many":        {"too many", rewrite(recordFile, swap(`"count": 100`, `"count": 4611686018427387904`))},
		"no factor": {"no factors", rewrite(recordFile, func(b []byte) []byte {
			at, end := strings.Index(string(b), `"factors": [`), strings.Index(string(b), `"hash"`)
			return []byte(string(b[:at]) + `"factors": [], ` + string(b[end:]))
		})},
	} {
		t.Run(name, func(t *testing.T) {
			k := testKey(t)
			hash := made(t, k)
			c.harm(t, k)
			if _, err := Open(t.Context(), k); !errors.Is(err, errBroken) || errors.Is(err, ErrAbsent) ||
				!strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), k.Dir()) {
				t.Errorf("Open: %v; want %q", err, c.words)
			}
			if err := Check(t.Context(), k); !errors.Is(err, errBroken) {
				t.Errorf("Check: %v", err)
			}
			if list, err := List(); err != nil || len(list) != 1 || list[0].Err == nil && name != "another version" { // only a conversion knows the current version
				t.Errorf("List: %+v, %v", list, err)
			}
			gone := errors.New("the source is gone")
			if _, err := Ensure(t.Context(), k, func(context.Context, *Writer) error { return gone }); !errors.Is(err, gone) ||
				!errors.Is(err, errBroken) {
				t.Errorf("Ensure without a source: %v", err)
			}
			s := must.Get(Ensure(t.Context(), k, convert))(t)
			checkTest(t, s)
			must.Equal(t, s.Hash, hash, "the hash differs")
			closeSet(t, s)
		})
	}
}

func swap(old, with string) func([]byte) []byte {
	return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, with, 1)) }
}

func remove(t *testing.T, k Key, name string) {
	must.OK(t, os.Remove(filepath.Join(k.Dir(), name)))
}

// Ensure makes a set with a wrong bit, of equal size and time, again and logs a remark. The times of inodes reveal
// changes of large files.
func TestWrongBit(t *testing.T) {
	for _, name := range []string{ImagesFile, FactorsFile} {
		k := testKey(t)
		hash := made(t, k)
		path := filepath.Join(k.Dir(), name)
		info := must.Get(os.Stat(path))(t)
		s, err := Open(t.Context(), k)
		must.OK(t, err)
		if err := s.verify(t.Context(), k, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		closeSet(t, s)
		b := must.Read(t, path)
		b[len(b)-1] ^= 1
		must.OK(t, errors.Join(os.WriteFile(path, b, 0o666), os.Chtimes(path, info.ModTime(), info.ModTime())))
		if _, err := Open(t.Context(), k); !errors.Is(err, errBroken) ||
			!strings.Contains(err.Error(), path+": the cached set is damaged: its SHA-256 is ") {
			t.Errorf("%s: %v", name, err)
		}
		if s, err = open(k); err != nil {
			t.Fatal(err)
		}
		if err := s.verify(t.Context(), k, 0); !errors.Is(err, errBroken) {
			t.Errorf("%s, as a large file: %v", name, err)
		}
		closeSet(t, s)
		said := ""
		if s, err = Ensure(progress.WithSay(t.Context(), func(line string) { said += line }), k, convert); err != nil {
			t.Fatal(err)
		}
		checkTest(t, s)
		closeSet(t, s)
		if s.Hash != hash || !strings.Contains(said, "a cached data set is made again: "+path) {
			t.Errorf("%s: hash %s; said %q", name, s.Hash, said)
		}
	}
}

// A copied set has new times. Its hash is checked once. Rounded times do not count as a change.
func TestTouched(t *testing.T) {
	k := testKey(t)
	made(t, k)
	path := filepath.Join(k.Dir(), ImagesFile)
	info := must.Get(os.Stat(path))(t)
	never := func(context.Context, *Writer) error { return errors.New("converted again") }
	for _, unit := range []time.Duration{time.Second, 2 * time.Second} {
		must.OK(t, os.Chtimes(path, time.Time{}, info.ModTime().Truncate(unit)))
		if s, err := Open(t.Context(), k); err != nil {
			t.Errorf("rounded to %v: %v", unit, err)
		} else {
			closeSet(t, s)
		}
	}
	must.OK(t, os.Chtimes(path, time.Time{}, info.ModTime().Add(-time.Hour)))
	if _, err := Open(t.Context(), k); !errors.Is(err, ErrTouched) || !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	s, err := Ensure(t.Context(), k, never)
	must.OK(t, err)
	checkTest(t, s)
	closeSet(t, s)
	if s, err = Open(t.Context(), k); err != nil {
		t.Fatal("later:", err)
	}
	closeSet(t, s)
}

// Ensure makes an invalid set again.
func TestEnsureValid(t *testing.T) {
	k := testKey(t)
	made(t, k)
	calls := 0
	stale := func(s *Set) error {
		if s.Sources[0].SHA256 == "abc" {
			return errors.New("the source is another")
		}
		return nil
	}
	s, err := EnsureValid(t.Context(), k, stale, func(ctx context.Context, w *Writer) error {
		calls++
		err := convert(ctx, w)
		w.SetSources([]Source{{"source.bin", 9, "def"}})
		return err
	})
	if err != nil || calls != 1 {
		t.Fatal(calls, err)
	}
	defer closeSet(t, s)
	if _, err := EnsureValid(WithoutMaking(t.Context()), k, func(*Set) error { return errors.New("no") }, nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
