// Package data has the commands of unravel data.
package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/cli/internal/export"
	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/sheet"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Command is `unravel data`.
type Command struct {
	List   listCommand   `cmd:"" default:"1" help:"List data sets, and which public ones are on this machine."`
	Fetch  fetchCommand  `cmd:"" help:"Fetch the files of a public data set and convert them."`
	Check  checkCommand  `cmd:"" help:"Check public data sets on this machine against their hashes."`
	Show   showCommand   `cmd:"" help:"Draw a contact sheet of a data set as a PNG."`
	Export exportCommand `cmd:"" help:"Write a data set as NumPy files, for PyTorch, JAX and others."`
	Ask    askCommand    `cmd:"" help:"Write the most useful questions for an annotator: do two images have the same value of a factor?"`
}

type listCommand struct {
	JSON bool `name:"json" help:"Print one JSON object on standard output."`
}

func (c *listCommand) Run(s *ui.Streams) error {
	sets, err := cache.List()
	if err != nil {
		return err
	}
	list := listedSets(sets)
	if c.JSON {
		return ui.WriteJSON(s.Out, map[string]any{"folder": cache.Root(), "datasets": list})
	}
	docs.PrintParts(s.Out, docs.PartsOf(catalog.Registry))
	fmt.Fprintf(s.Out, "\npublic data sets in %s\n", cache.Root())
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	var public []string
	for _, l := range list {
		if l.Public != nil {
			public = append(public, l.Name)
			fmt.Fprintf(w, "  %s\t%s\n", l.Name, l.Public.State)
		}
	}
	w.Flush()
	listOwn(s.Out, slices.DeleteFunc(sets, func(s cache.Listed) bool { return slices.Contains(public, s.Name) }))
	return nil
}

// listOwn prints cached sets of the user, such as converted folders of pictures.
func listOwn(out io.Writer, sets []cache.Listed) {
	if len(sets) == 0 {
		return
	}
	fmt.Fprintf(out, "\nother converted sets in %s; they are converted again when needed\n",
		filepath.Join(cache.Root(), "sets"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range sets {
		state := memory.Text(float64(s.Bytes))
		if s.Err != nil {
			state = s.Err.Error()
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", filepath.Base(s.Dir()), state, s.Options)
	}
	w.Flush()
}

// namedSet is the arguments of commands for a data set.
type namedSet struct {
	Name    string   `arg:"" help:"Name of the data set (see unravel data list)."`
	Options []string `arg:"" optional:"" help:"Options of the data set, such as size=32."`
}

func (n namedSet) build(ctx context.Context, seed uint64, s *ui.Streams) (choice catalog.Choice, d datasets.Dataset, err error) {
	if err = ui.Once(n.Options); err != nil {
		return choice, nil, err
	}
	if choice, err = inputs.ChooseData(n.Name, n.Options); err == nil {
		d, err = inputs.Build(ctx, choice, seed, s.Log)
	}
	return choice, d, err
}

type showCommand struct {
	namedSet
	Out     string         `default:"" placeholder:"FILE" writes:".png" help:"PNG file to write (default: NAME.png)."`
	Rows    string         `placeholder:"FACTOR" help:"Factor that changes from row to row (default: the first)." detail:"With more than two factors, the default is the first categorical factor."`
	Columns string         `placeholder:"FACTOR" help:"Factor that changes from column to column (default: the second)." detail:"With more than two factors, the default is the first circular factor, or otherwise the factor with the most levels."`
	Count   int            `default:"8" help:"Number of levels of each factor to show."`
	Fixed   map[string]int `placeholder:"FACTOR=LEVEL" help:"Levels of the other factors." detail:"The default is the middle level of an ordinal factor, and level 0 of any other."`
	Scale   int            `default:"0" help:"Scale of the images in the PNG; 0: automatic, by the size of the sheet."`
	Augment augmentFlag    `placeholder:"PIPELINE" help:"Show augmented views of random images instead of factors, by a pipeline or a list such as [flip,crop]." detail:"unravel list pipelines lists the pipelines. The default is the pipeline of Cao et al. 2022."`
	Groups  string         `placeholder:"SUPERVISION" help:"Show groups of images of a supervision instead of factors, such as changes or {changes: {k: 1}}."`
}

type augmentFlag struct{ pipeline augment.Pipeline } // flag --augment with an optional value

// Decode reads the next word if it is a pipeline.
func (a *augmentFlag) Decode(ctx *kong.DecodeContext) error {
	text := "negative-free"
	if t := ctx.Scan.Peek(); t.Type == kong.FlagValueToken || t.Type == kong.UntypedToken && a.Takes(fmt.Sprint(t.Value)) {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	var settings struct {
		Pipeline augment.Pipeline `yaml:"augment"`
	}
	err := config.Load("--augment", []byte("augment: "+text), &settings)
	a.pipeline = settings.Pipeline
	return err
}

// Takes reports whether the word after the flag is the flag's value.
func (*augmentFlag) Takes(text string) bool {
	return strings.HasPrefix(text, "[") || slices.Contains(augment.Presets.Names(), text)
}

func (c *showCommand) Run(ctx context.Context, s *ui.Streams) error {
	if c.Count < 1 || c.Scale < 0 {
		return ui.Usagef("--count %d, --scale %d: want a count of 1 or more and a scale of 0 or more", c.Count, c.Scale)
	}
	_, d, err := c.build(ctx, 0, s)
	if err != nil {
		return err
	}
	sheet, err := c.draw(d)
	if err != nil {
		return ui.Usage(err)
	}
	c.Out = cmp.Or(c.Out, c.Name+".png")
	if err := ui.WriteFile(c.Out, func(w io.Writer) error { return raster.WritePNG(w, sheet) }); err != nil {
		return err
	}
	h, w, channels := d.ImageShape()
	fmt.Fprintf(s.Log, "%s: %s of %dx%dx%d\n", c.Name, wording.Count(d.Len(), "image"), h, w, channels)
	missing := datasets.Missing(d)
	for i, f := range d.Factors() {
		unknown := ""
		if missing != nil && missing[i] > 0 {
			unknown = fmt.Sprintf(", unknown of %s", wording.Count(missing[i], "image"))
		}
		kind := f.Kind.String()
		if turn := f.FullTurn(); turn > 0 {
			kind += fmt.Sprintf(" with a full turn of %.6g", turn)
		}
		if n := len(f.Angles); n > 0 {
			kind += fmt.Sprintf(", from %.3g to %.3g of a turn", f.Angles[0]/(2*math.Pi), f.Angles[n-1]/(2*math.Pi))
		}
		fmt.Fprintf(s.Log, "  %s: %s, %s%s\n", f.Name, wording.Count(f.Size, "level"), kind, unknown)
	}
	fmt.Fprintln(s.Out, c.Out)
	return nil
}

func (c *showCommand) draw(d datasets.Dataset) (image.Image, error) {
	o := sheet.Options{Row: c.Rows, Column: c.Columns, Rows: c.Count, Columns: c.Count, Fixed: c.Fixed, Scale: c.Scale}
	if c.Augment.pipeline == nil && c.Groups == "" {
		return sheet.Contact(d, o)
	}
	switch {
	case c.Rows != "" || c.Columns != "" || len(c.Fixed) > 0:
		return nil, errors.New("--rows, --columns and --fixed choose images by their factors; --augment and --groups show random ones")
	case c.Groups == "":
		return sheet.Views(d, c.Augment.pipeline, o)
	case c.Augment.pipeline != nil:
		return nil, errors.New("--augment shows views and --groups groups; want only one of them")
	}
	var settings struct {
		Supervision supervision.Choices `yaml:"supervision"`
	}
	if err := config.Load("--groups", []byte("supervision: "+c.Groups), &settings); err != nil {
		return nil, err
	}
	split, err := settings.Supervision.Split(d, 0)
	if err != nil {
		return nil, err
	}
	return sheet.Groups(d, split, o)
}

type exportCommand struct {
	namedSet
	Out   string `required:"" placeholder:"DIR" writes:"folder" help:"Folder to write: images.npy, factors.npy, levels.npy, sizes.npy, set.json and README.md." detail:"Images are uint8 if every pixel is a multiple of 1/255, and float32 otherwise. The README has a config that reads the folder again, bit for bit."`
	Seed  uint64 `default:"0" help:"Seed of a data set with random images."`
	Shard int64  `default:"2048" placeholder:"2048" help:"Maximum size of an image file in MiB; larger sets are split into images-000.npy and so on."`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output: the content of set.json."`
}

func (c *exportCommand) Run(ctx context.Context, s *ui.Streams) error {
	if c.Shard < 1 || c.Shard > 1<<30 {
		return ui.Usagef("--shard %d is out of range; want 1 or more MiB", c.Shard)
	}
	choice, d, err := c.build(ctx, c.Seed, s)
	if err != nil {
		return err
	}
	if err := disk.MakeDir(c.Out); err != nil {
		return err
	}
	from := export.Source{Dataset: c.Name, Options: c.Options, Seed: c.Seed}
	if p, ok := choice.Value.(datasets.Public); ok {
		o := p.Origin()
		from.Licence, from.Citation, from.Terms = o.Licence, o.Citation, o.Terms
	}
	shown := s.Activity()
	shown.Begin("exporting "+c.Name, d.Len())
	set, err := export.Write(ctx, c.Out, d, from, c.Shard<<20, func(done int) { shown.Step(done, "") })
	shown.End()
	if err != nil {
		return err
	}
	for _, l := range set.Lost {
		fmt.Fprintf(s.Log, "note: %s\n", l)
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, set)
	}
	n, shape := set.Shape[0], set.Shape[1:]
	fmt.Fprintf(s.Log, "%s of %d x %d x %d, %s, in %s\n",
		wording.Count(n, "image"), shape[0], shape[1], shape[2], set.Type, c.Out)
	fmt.Fprintf(s.Out, "dataset: %s\n", set.Config(c.Out))
	return nil
}

// downloadState reports whether a public set is on this machine, and its sizes on disk and for download.
func downloadState(name string, o datasets.Origin, sets []cache.Listed) *publicState {
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
		if info, err := os.Stat(filepath.Join(cache.Downloads(name), f.Name)); err == nil {
			p.Downloaded += info.Size()
		}
	}
	for _, s := range sets {
		switch {
		case s.Name != name:
			continue
		case errors.Is(s.Err, cache.ErrTouched):
			p.State = fmt.Sprintf("modified since the conversion; want `unravel data check %s`", name)
		case s.Err != nil:
			p.State = fmt.Sprintf("broken: %v; want `unravel data fetch %s`", s.Err, name)
		case s.Version != o.Version:
			p.State = fmt.Sprintf("converted by another version of unravel; want `unravel data fetch %s`", name)
		default:
			p.Converted += s.Bytes
			continue
		}
		return p
	}
	downloaded, size := memory.Text(float64(p.Downloaded)), memory.Text(float64(o.Bytes))
	switch p.Ready = p.Converted > 0; {
	case p.Ready:
		p.State = fmt.Sprintf("here: %s converted, %s of downloads", memory.Text(float64(p.Converted)), downloaded)
	case p.Downloaded > 0:
		p.State = fmt.Sprintf("fetched (%s), not converted (%s)", downloaded, size)
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

// publicState describes how much of a public set is on this machine. Sizes are in bytes.
type publicState struct {
	Ready      bool   `json:"ready"` // converted and intact
	State      string `json:"state"` // the state in words, with a remedy
	Converted  int64  `json:"converted"`
	Downloaded int64  `json:"downloaded"`
	Download   int64  `json:"download"` // bytes of all files; 0: unknown
}

func listedSets(sets []cache.Listed) (list []ListedSet) {
	for _, e := range catalog.Registry.All() {
		l := ListedSet{Name: e.Name, Doc: e.Doc}
		if p, ok := e.New().(datasets.Public); ok {
			l.Public = downloadState(e.Name, p.Origin(), sets)
		}
		list = append(list, l)
	}
	return list
}
