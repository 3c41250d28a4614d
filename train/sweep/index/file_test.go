package index

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"hash/crc32"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// FuzzDecode checks that a file with a right checksum but any content is either damaged or decodes into complete runs.
func FuzzDecode(f *testing.F) {
	add := func(s stored) {
		var b bytes.Buffer
		must.OK(f, gob.NewEncoder(&b).Encode(s))
		f.Add(b.Bytes())
	}
	texts := []string{"mig", "seed", "1"}
	add(stored{})
	add(stored{Texts: texts, Names: [][]int{{1}, {2}}, Kinds: []storedKind{{2, []int{3}}}, Machines: []machine{{Version: "v1"}},
		Runs: []storedRun{{Dir: "a", Kind: 1, Results: 1, Machine: 1, Numbers: []float64{.5}}}})
	add(stored{Texts: texts, Names: [][]int{{4}}})
	add(stored{Texts: texts, Names: [][]int{{1}}, Kinds: []storedKind{{1, nil}}})
	add(stored{Texts: texts, Names: [][]int{{1}}, Runs: []storedRun{{Results: 1}}})
	add(stored{Runs: []storedRun{{Machine: -1}}})
	add(stored{Runs: []storedRun{{Kind: 1}}})
	f.Fuzz(func(t *testing.T, content []byte) {
		text := binary.LittleEndian.AppendUint32([]byte(header), crc32.ChecksumIEEE(content))
		entries, err := decode(append(text, content...))
		if (err == nil) != (entries != nil) {
			t.Fatalf("%v, %v", entries, err)
		}
		for _, e := range entries {
			for range e.Settings.All() {
			}
			for range e.Results.All() {
			}
		}
	})
}
