package data

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/internal/memory"
)

// listPublic prints the public data sets, and whether this machine has them.
func listPublic(out io.Writer) error {
	sets, err := cache.List()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\npublic data sets in %s\n", cache.Root())
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, e := range catalog.Registry.All() {
		p, ok := e.New().(datasets.Public)
		if !ok {
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\n", e.Name, stateOf(e.Name, p.Origin(), sets).State)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return listOwn(out, sets)
}

// listOwn prints the cached sets without public ones, such as converted folders of pictures.
func listOwn(out io.Writer, sets []cache.Listed) error {
	public := PublicNames()
	sets = slices.DeleteFunc(sets, func(s cache.Listed) bool { return slices.Contains(public, s.Name) })
	if len(sets) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nother converted sets in %s; they are made again when they are needed\n", filepath.Join(cache.Root(), "sets"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range sets {
		state := memory.Text(float64(s.Bytes))
		if s.Err != nil {
			state = s.Err.Error()
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", filepath.Base(s.Dir()), state, s.Options)
	}
	return w.Flush()
}

// stateOf says whether a public set exists here, and gives its sizes on disk and for download.
func stateOf(name string, o datasets.Origin, sets []cache.Listed) *publicState {
	p := &publicState{}
	known := true
	for _, f := range o.Needed() {
		p.Download += f.Size
		known = known && f.Size > 0
	}
	download := "download of " + memory.Text(float64(p.Download))
	if !known {
		p.Download, download = 0, "download of unknown size"
	}
	for _, f := range o.Files {
		p.Downloaded += fileSize(filepath.Join(cache.Downloads(name), f.Name))
	}
	for _, s := range sets {
		switch {
		case s.Name != name:
			continue
		case errors.Is(s.Err, cache.ErrTouched):
			p.State = fmt.Sprintf("written to since it was made; want `unravel data check %s`", name)
		case s.Err != nil:
			p.State = fmt.Sprintf("broken: %v; want `unravel data fetch %s`", s.Err, name)
		case s.Version != o.Version:
			p.State = fmt.Sprintf("made by another version of unravel; want `unravel data fetch %s`", name)
		default:
			p.Converted += s.Bytes
			continue
		}
		return p
	}
	here, size := memory.Text(float64(p.Downloaded)), memory.Text(float64(o.Bytes))
	switch p.Ready = p.Converted > 0; {
	case p.Ready:
		p.State = fmt.Sprintf("here: %s converted, %s of downloads", memory.Text(float64(p.Converted)), here)
	case p.Downloaded > 0:
		p.State = fmt.Sprintf("fetched (%s), not converted (%s)", here, size)
	default:
		p.State = fmt.Sprintf("not here: %s, %s on disk", download, size)
	}
	return p
}

// ListedSet is a data set in `unravel data list --json`.
type ListedSet struct {
	Name   string       `json:"name"`
	Doc    string       `json:"doc"`
	Public *publicState `json:"public,omitempty"` // of a public set
}

// publicState says how much of a public set is on this machine. Sizes are in bytes.
type publicState struct {
	Ready      bool   `json:"ready"` // whether it is converted and intact
	State      string `json:"state"` // the same in words, with the remedy
	Converted  int64  `json:"converted"`
	Downloaded int64  `json:"downloaded"`
	Download   int64  `json:"download"` // of all files; 0: unknown
}

// listedSets returns all data sets with the state of the public ones.
func listedSets() ([]ListedSet, error) {
	sets, err := cache.List()
	if err != nil {
		return nil, err
	}
	var list []ListedSet
	for _, e := range catalog.Registry.All() {
		l := ListedSet{Name: e.Name, Doc: e.Doc}
		if p, ok := e.New().(datasets.Public); ok {
			l.Public = stateOf(e.Name, p.Origin(), sets)
		}
		list = append(list, l)
	}
	return list, nil
}

// fileSize returns the size of a file, or 0 without such a file.
func fileSize(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}
