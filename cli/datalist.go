package cli

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
		fmt.Fprintf(w, "  %s\t%s\n", e.Name, stateOf(e.Name, p.Origin(), sets))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return listOwn(out, sets)
}

// listOwn prints the cached sets without public ones, such as converted folders of pictures.
func listOwn(out io.Writer, sets []cache.Listed) error {
	public := publicNames()
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
func stateOf(name string, o datasets.Origin, sets []cache.Listed) string {
	cached := int64(0)
	for _, s := range sets {
		switch {
		case s.Name != name:
		case errors.Is(s.Err, cache.ErrTouched):
			return fmt.Sprintf("written to since it was made; want `unravel data check %s`", name)
		case s.Err != nil:
			return fmt.Sprintf("broken: %v; want `unravel data fetch %s`", s.Err, name)
		case s.Version != o.Version:
			return fmt.Sprintf("made by another version of unravel; want `unravel data fetch %s`", name)
		default:
			cached += s.Bytes
		}
	}
	here, size, known := int64(0), int64(0), true
	for _, f := range o.Needed() {
		size += f.Size
		known = known && f.Size > 0
	}
	for _, f := range o.Files {
		if info, err := os.Stat(filepath.Join(cache.Downloads(name), f.Name)); err == nil {
			here += info.Size()
		}
	}
	download := "download of unknown size"
	if known {
		download = "download of " + memory.Text(float64(size))
	}
	switch {
	case cached > 0:
		return fmt.Sprintf("here: %s converted, %s of downloads", memory.Text(float64(cached)), memory.Text(float64(here)))
	case here > 0:
		return fmt.Sprintf("fetched (%s), not converted (%s)", memory.Text(float64(here)), memory.Text(float64(o.Bytes)))
	}
	return fmt.Sprintf("not here: %s, %s on disk", download, memory.Text(float64(o.Bytes)))
}
