package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/wording"
)

type fetchCommand struct {
	Name    string   `arg:"" help:"Name of the public data set (see unravel data list)."`
	Options []string `arg:"" optional:"" name:"option=value" help:"Options of the data set; they select the files to fetch and their conversion."`
	From    string   `placeholder:"FILE|DIR|URL" help:"File, folder or mirror URL of the files (default: the original source)." detail:"A URL names a file, or a folder if it ends with /."`
	Trust   bool     `help:"Accept files of any size and hash, such as a subset of the data."`
	Again   bool     `help:"Fetch files again even if they exist."`
	File    []string `placeholder:"NAME" help:"Fetch only these files of the data set, which may be optional files." detail:"The command converts the set if these files suffice."`
}

func (c *fetchCommand) Run(ctx context.Context, s *ui.Streams) error {
	choice, err := inputs.ChooseData(c.Name, c.Options)
	if err != nil {
		return err
	}
	set, ok := choice.Value.(datasets.Public)
	if !ok {
		return ui.Usagef("dataset %s has no published files; want one of %s", c.Name, strings.Join(PublicNames(), ", "))
	}
	if v, ok := choice.Value.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return ui.Usage(fmt.Errorf("dataset %s: %w", c.Name, err))
		}
	}
	ui.Allow(ctx, ui.SavePatience)
	origin := set.Origin()
	if len(c.File) == 0 && c.From == "" && !c.Again && set.Prepare(cache.WithoutMaking(ctx), nil) == nil {
		fmt.Fprintf(s.Out, "%s is here already\n", c.Name)
		return describeSet(ctx, s, choice, origin)
	}
	files, err := c.files(origin)
	if err != nil {
		return err
	}
	t := ui.NewTransfer(s.Log)
	defer t.End()
	err = c.fetch(cache.WithProgress(ctx, t.Report), files, origin, t)
	if err == nil {
		err = set.Prepare(ctx, t.Report)
		if errors.Is(err, datasets.ErrNotFetched) && len(c.File) > 0 { // the user will fetch the other files later
			fmt.Fprintln(t, err)
			return nil
		}
	}
	t.End()
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintf(s.Log, "downloaded files stay in %s; the same command continues\n", cache.Downloads(c.Name))
		return ctx.Err()
	case err != nil:
		return err
	}
	return describeSet(ctx, s, choice, origin)
}

func (c *fetchCommand) files(o datasets.Origin) ([]source.File, error) {
	if len(c.File) > 0 {
		var list []source.File
		var names []string
		for _, f := range o.Files {
			names = append(names, f.Name)
		}
		for _, name := range c.File {
			i := slices.Index(names, name)
			if i < 0 {
				return nil, ui.Usagef("--file %s: the set has no such file; want one of %s", name, strings.Join(names, ", "))
			}
			list = append(list, o.Files[i])
		}
		return list, nil
	}
	if f, ok := replacement(o.Files, c.From); ok {
		return []source.File{f}, nil
	}
	return o.Needed(), nil
}

// replacement returns the file that a source can replace: the file with its name, or the only file with its extension.
func replacement(files []source.File, from string) (f source.File, ok bool) {
	base := path.Base(filepath.ToSlash(from))
	for _, same := range []func(name string) bool{
		func(name string) bool { return name == base },
		func(name string) bool { return path.Ext(name) == path.Ext(base) },
	} {
		var matches []source.File
		for _, f := range files {
			if same(f.Name) {
				matches = append(matches, f)
			}
		}
		if len(matches) > 0 {
			return matches[0], len(matches) == 1 && matches[0].Instead != ""
		}
	}
	return f, false
}

// fetch fetches files, and prints the hashes of files without a known hash.
func (c *fetchCommand) fetch(ctx context.Context, files []source.File, o datasets.Origin, t *ui.Transfer) error {
	dir := cache.Downloads(c.Name)
	if c.From == "" { // files from elsewhere may be smaller; copying and converting check the sizes
		var missing int64
		for _, f := range files {
			if _, err := os.Stat(filepath.Join(dir, f.Name)); err != nil || c.Again {
				missing += f.Size
			}
		}
		if missing > 0 {
			if err := disk.CheckFree(dir, missing+o.Bytes); err != nil {
				return err
			}
		}
	}
	results, err := fetch.Files(ctx, dir, files,
		fetch.Options{From: c.From, Trust: c.Trust, Again: c.Again, Log: plain.Logger(t)})
	for _, r := range results {
		size := memory.Text(float64(r.Found.Size))
		switch {
		case r.Already:
			fmt.Fprintf(t, "%s is here already\n", r.Name)
		case r.Found.Trusted:
			fmt.Fprintf(t, "%s: %s, SHA-256 %s, which differs from the known hash\n", r.Name, size, r.Found.SHA256)
		case r.File.SHA256 == "" && r.File.MD5 == "":
			fmt.Fprintf(t, "%s: %s, SHA-256 %s; no published hash is known to compare it with\n", r.Name, size, r.Found.SHA256)
		default:
			fmt.Fprintf(t, "%s: %s, with the published hash\n", r.Name, size)
		}
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	f, size := files[len(results)], ""
	if f.Size > 0 {
		size = fmt.Sprintf(" (%d bytes)", f.Size)
	}
	return fmt.Errorf("dataset %s: %w; want the file %s%s from %s, in the folder %s or named by --from",
		c.Name, err, f.Name, size, f.URL, dir)
}

func describeSet(ctx context.Context, s *ui.Streams, choice catalog.Choice, o datasets.Origin) error {
	d, err := inputs.Build(ctx, choice, 0, s.Log)
	if err != nil {
		return err
	}
	h, w, c := d.ImageShape()
	fmt.Fprintf(s.Out, "%s: %s of %dx%dx%d in %s\n",
		choice.Name, wording.Count(d.Len(), "image"), h, w, c, filepath.Join(cache.Root(), "sets"))
	for _, line := range []struct{ what, text string }{{"licence", o.Licence}, {"terms", o.Terms}, {"cite", o.Citation}} {
		if line.text != "" {
			fmt.Fprintf(s.Out, "  %s: %s\n", line.what, line.text)
		}
	}
	return nil
}

func PublicNames() []string {
	var names []string
	for _, e := range catalog.Registry.All() {
		if _, ok := e.New().(datasets.Public); ok {
			names = append(names, e.Name)
		}
	}
	return names
}

type checkCommand struct {
	Name string `arg:"" optional:"" help:"Name of a data set (default: all data sets on this machine)."`
}

func (c *checkCommand) Run(ctx context.Context, s *ui.Streams) error {
	t := ui.NewTransfer(s.Log)
	defer t.End()
	ctx = cache.WithProgress(ctx, t.Report)
	found, broken := 0, 0
	say := func(name, what string, err error) {
		t.End()
		found++
		if err == nil {
			fmt.Fprintf(s.Out, "%s: %s: whole\n", name, what)
			return
		}
		broken++
		fmt.Fprintf(s.Out, "%s: %s: %v; %s\n", name, what, err, remedy(name))
	}
	if err := c.converted(ctx, say); err != nil {
		return err
	}
	if err := c.downloads(ctx, say); err != nil {
		return err
	}
	switch {
	case found == 0 && c.Name != "":
		return fmt.Errorf("dataset %s is not in %s; want `unravel data fetch %s`", c.Name, cache.Root(), c.Name)
	case found == 0:
		fmt.Fprintf(s.Log, "there are no data sets in %s\n", cache.Root())
	case broken > 0:
		return fmt.Errorf("%d of %d are broken", broken, found)
	}
	return nil
}

// converted checks the converted sets, and calls say for each.
func (c *checkCommand) converted(ctx context.Context, say func(name, what string, err error)) error {
	sets, err := cache.List()
	if err != nil {
		return err
	}
	for _, l := range sets {
		if c.Name != "" && l.Name != c.Name {
			continue
		}
		err := l.Err
		if err == nil || errors.Is(err, cache.ErrTouched) {
			err = cache.Check(ctx, l.Key)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		what := "converted"
		if l.Options != "" {
			what += " with " + l.Options
		}
		if l.Bytes > 0 {
			what += ", " + memory.Text(float64(l.Bytes))
		}
		say(l.Name, what, err)
	}
	return nil
}

// downloads checks the downloaded files of public sets, and calls say for each file on this machine.
func (c *checkCommand) downloads(ctx context.Context, say func(name, what string, err error)) error {
	for _, e := range catalog.Registry.All() {
		p, ok := e.New().(datasets.Public)
		if !ok || c.Name != "" && e.Name != c.Name {
			continue
		}
		for _, f := range p.Origin().Files {
			_, err := source.Check(ctx, cache.Downloads(e.Name), f)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !errors.Is(err, source.ErrAbsent) {
				say(e.Name, f.Name, err)
			}
		}
	}
	return nil
}

func remedy(name string) string {
	if slices.Contains(PublicNames(), name) {
		return fmt.Sprintf("want `unravel data fetch %s`", name)
	}
	return "the next command that uses it makes it again"
}
