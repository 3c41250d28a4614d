package content

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// file writes a file with a given time.
func file(t *testing.T, path, text string) {
	t.Helper()
	must.Write(t, path, text)
	fixed := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	must.OK(t, os.Chtimes(path, fixed, fixed))
}

func hash(t *testing.T, path, memory string) Sum {
	t.Helper()
	return must.Get(HashFile(t.Context(), path, memory, nil))(t)
}

// A file that is changed in place with the same size and time has another hash, even if the old hash is cached.
func TestChangedInPlace(t *testing.T) {
	long.NotShort(t)
	t.Parallel() // it waits
	dir := t.TempDir()
	path, memory := filepath.Join(dir, "data"), filepath.Join(dir, "hashes", "memory")
	for _, pause := range []time.Duration{0, settled + 100*time.Millisecond} {
		file(t, path, "one")
		time.Sleep(pause)
		must.Equal(t, hash(t, path, memory), sha256.Sum256([]byte("one")), "one after", pause)
		info := must.Get(os.Stat(path))(t)
		_, supported := identify(info)
		if _, known := Open(memory).Known(info); pause > settled && known != supported {
			t.Errorf("remembered after %v: %v; want %v", pause, known, supported)
		}
		file(t, path, "two")
		must.Equal(t, hash(t, path, memory), sha256.Sum256([]byte("two")), "two after one of", pause)
	}
}

// A memory with a flipped bit is empty.
func TestDamagedMemory(t *testing.T) {
	long.NotShort(t)
	t.Parallel() // it waits
	dir := t.TempDir()
	path, memory := filepath.Join(dir, "data"), filepath.Join(dir, "memory")
	file(t, path, "one")
	time.Sleep(settled + 100*time.Millisecond)
	hash(t, path, memory)
	text, err := os.ReadFile(memory)
	if err != nil {
		t.Skip("no identities of files here")
	}
	for _, at := range []int{0, len(heading), len(text) / 2, len(text) - 1} {
		text[at] ^= 1
		must.Write(t, memory, text)
		text[at] ^= 1
		if m := Open(memory); len(m.known) != 0 {
			t.Errorf("bit of byte %d: %v", at, m.known)
		}
	}
	for _, n := range []int{0, len(heading), len(text) - 1} {
		must.Write(t, memory, text[:n])
		if m := Open(memory); len(m.known) != 0 {
			t.Errorf("first %d bytes: %v", n, m.known)
		}
	}
}
