package index

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// A flipped bit in the database does not change the shown runs.
func TestFlippedBits(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	makeRuns(t, dir, "0", "1", "2")
	path := filepath.Join(dir, File)
	list := func() string {
		x := must.Get(Open(t.Context(), dir))(t)
		defer x.Close()
		runs := must.Get(x.Runs(t.Context()))(t)
		text := must.Get(json.Marshal(runs))(t)
		return string(text)
	}
	want := list()
	sound := must.Read(t, path)
	var places []int
	for at, b := range sound {
		if b != 0 {
			places = append(places, at)
		}
	}
	const most = 150
	step := len(places)/most + 1
	var some []int
	for i := 0; i < len(places); i += step {
		some = append(some, places[i])
	}
	for _, at := range append(long.Sample(some, 80), 0, 7, 68, 71) { // also in SQLite's header and our mark
		flipped := append([]byte(nil), sound...)
		flipped[at] ^= 1 << (at % 7)
		must.Write(t, path, flipped)
		if got := list(); got != want {
			t.Fatalf("byte %d:\n%s\nwant\n%s", at, got, want)
		}
	}
}
