package index

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// File is the name of the list in a folder of runs: a line with the format's version, a checksum, and a [stored] as
// gob.
const File = "runs.index"

// The start of the file. A file of another version is rebuilt, and a file with another mark belongs to another program.
const (
	mark   = "unravel list of runs "
	header = mark + "1\n"
)

// errForeign is the error of [List] if the file belongs to another program.
var errForeign = errors.New("another program has made this file, so it stays unchanged; move it away, or name another folder")

var errDamaged = errors.New("the list of runs is damaged")

// stored is the content of the file. Runs share most of their settings and names, so the file has them only once. Runs
// refer to shared values by their positions, from 1 on. Position 0 means none.
type stored struct {
	Texts    []string
	Names    [][]int // positions of texts
	Kinds    []storedKind
	Machines []machine
	Runs     []storedRun
}

type storedKind struct {
	Names  int
	Values []int // positions of texts
}

type machine struct {
	Version string
	rundir.Machine
}

type storedRun struct {
	Dir                                string
	Changed                            int64
	Kind, Results, Machine             int // positions of a kind, names and a machine
	Numbers                            []float64
	Stamp, Problem, Hash, Begun, Ended string
	State                              sweep.State
	Name, Seed                         string
	Seconds                            float64
	Epochs, Steps                      int
}

// load returns the runs in the file, or none if it is missing. The error is errForeign, errDamaged, or the reason why
// the file cannot be read.
func load(path string) ([]entry, error) {
	f, err := disk.Open(path)
	if err != nil {
		info, statErr := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case statErr == nil && !info.Mode().IsRegular():
			return nil, fmt.Errorf("%w: %w", err, errForeign)
		}
		return nil, err
	}
	defer f.Close() // only read
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	entries, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// save replaces the file. Several processes may save at the same time: each one writes to a folder of its own first.
func save(dir string, entries []entry) error {
	text, err := encode(entries)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(dir, "."+File+"-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) // an empty folder that stays does no harm
	return disk.WriteFileBy(folder, filepath.Join(dir, File),
		func(w io.Writer) error { _, err := w.Write(text); return err }, false)
}

func encode(entries []entry) ([]byte, error) {
	var s stored
	texts, machines := map[string]int{}, map[machine]int{}
	lists, kinds := map[*names]int{nil: 0}, map[*kind]int{nil: 0}
	textsOf := func(list []string) []int {
		positions := make([]int, len(list))
		for i, text := range list {
			positions[i] = position(texts, text, &s.Texts, func() string { return text })
		}
		return positions
	}
	namesOf := func(n *names) int {
		return position(lists, n, &s.Names, func() []int { return textsOf(n.list) })
	}
	for _, e := range entries {
		k, m := e.Settings.kind, machine{e.Version, e.Machine}
		s.Runs = append(s.Runs, storedRun{Dir: e.Dir, Changed: e.changed,
			Kind:    position(kinds, k, &s.Kinds, func() storedKind { return storedKind{namesOf(k.names), textsOf(k.values)} }),
			Results: namesOf(e.Results.names), Numbers: e.Results.numbers,
			Machine: position(machines, m, &s.Machines, func() machine { return m }),
			Stamp:   e.Stamp, State: e.State, Problem: e.Problem, Hash: e.Hash, Begun: e.Begun, Ended: e.Ended,
			Name: e.Settings.name, Seed: e.Settings.seed, Seconds: e.Seconds, Epochs: e.Epochs, Steps: e.Steps})
	}
	b := bytes.NewBufferString(header + "sum.")
	if err := gob.NewEncoder(b).Encode(s); err != nil {
		return nil, err
	}
	text := b.Bytes()
	sum := crc32.ChecksumIEEE(text[len(header)+4:])
	binary.LittleEndian.PutUint32(text[len(header):], sum)
	return text, nil
}

// position returns the position of a value in a list, from 1 on. It appends the value if its key is new.
func position[K comparable, V any](positions map[K]int, key K, list *[]V, value func() V) int {
	p, ok := positions[key]
	if !ok {
		*list = append(*list, value())
		p = len(*list)
		positions[key] = p
	}
	return p
}

// decode returns the runs in the text of a file.
func decode(text []byte) ([]entry, error) {
	body, ours := bytes.CutPrefix(text, []byte(header))
	switch {
	case !ours && len(text) > 0 && !bytes.HasPrefix(text, []byte(mark)):
		return nil, errForeign
	case !ours || len(body) < 4 || binary.LittleEndian.Uint32(body) != crc32.ChecksumIEEE(body[4:]):
		return nil, errDamaged
	}
	var s stored
	if err := gob.NewDecoder(bytes.NewReader(body[4:])).Decode(&s); err != nil {
		return nil, errors.Join(errDamaged, err)
	}
	texts, lists, kinds, machines := append([]string{""}, s.Texts...), []*names{nil}, []*kind{nil},
		append([]machine{{}}, s.Machines...)
	sound := true
	textsAt := func(positions []int) []string {
		list := make([]string, len(positions))
		for i, p := range positions {
			list[i] = valueAt(texts, p, &sound)
		}
		return list
	}
	for _, positions := range s.Names {
		lists = append(lists, newNames(textsAt(positions)))
	}
	for _, k := range s.Kinds {
		keys, values := valueAt(lists, k.Names, &sound), textsAt(k.Values)
		sound = sound && keys != nil && len(keys.list) == len(values)
		kinds = append(kinds, &kind{keys, values})
	}
	entries := make([]entry, len(s.Runs))
	runs := make([]Run, len(s.Runs))
	for i, r := range s.Runs {
		m := valueAt(machines, r.Machine, &sound)
		runs[i] = Run{Dir: r.Dir, State: r.State, Problem: r.Problem, Hash: r.Hash, Begun: r.Begun, Ended: r.Ended,
			Seconds: r.Seconds, Epochs: r.Epochs, Steps: r.Steps, Version: m.Version, Machine: m.Machine, Stamp: r.Stamp,
			Settings: Settings{valueAt(kinds, r.Kind, &sound), r.Name, r.Seed},
			Results:  Results{valueAt(lists, r.Results, &sound), r.Numbers}}
		sound = sound && runs[i].Results.Len() == len(r.Numbers)
		entries[i] = entry{&runs[i], r.Changed}
	}
	if !sound {
		return nil, errDamaged
	}
	return entries, nil
}

// valueAt returns the value at a position. If there is none, it sets sound to false.
func valueAt[T any](list []T, position int, sound *bool) (value T) {
	if position < 0 || position >= len(list) {
		*sound = false
		return value
	}
	return list[position]
}
