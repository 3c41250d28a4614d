package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// decodeKinds are the kinds of sheets, in the order of their making.
var decodeKinds = []string{"samples", "traversals", "grid", "interpolation"}

// Bounds of the flags' values.
const (
	maxSamples = 1 << 20
	maxSteps   = 100
	maxChosen  = 64
)

// decodeCommand is `unravel decode --run DIR`.
type decodeCommand struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	weightsFlags
	What    []string `placeholder:"KIND,..." help:"samples (of the prior), traversals (of every part of a code), grid (one part against objects, images or another part) and interpolation (between images and objects); if absent, all that the model can do."`
	Out     string   `placeholder:"DIR" writes:"folder" help:"Folder of the files, which take the place of older ones of the same names; if absent, decoded in the run's folder (decoded-best, decoded-average). Every sheet is NAME.png, NAME.gif if it moves, NAME.npy (images, float32 [n, height, width, channels], row by row) and NAME-codes.npy ([n, d])."`
	Samples int      `default:"20" help:"Number of samples of the prior."`
	Images  []int    `placeholder:"N,..." help:"Images of the data set, from 0, to start from; if absent, three at random."`
	Seed    uint64   `default:"0" help:"Seed of the samples and of the images."`
	Steps   int      `default:"12" help:"Steps of a traversal, of the columns of a grid, and of an interpolation."`
	Columns string   `placeholder:"PART" help:"Part of the code that moves along the columns of a grid: circle1, sphere1.x, spheres.x, z0, a0 and so on; if absent, the first circle, or else the first sphere, or the coordinate that varies most."`
	Rows    string   `placeholder:"ROWS" help:"Rows of a grid: objects (mean codes of their images), images, prior (samples), or a part of the code; if absent, objects where a circle or a sphere moves and there are some, or else another part."`
	Factor  string   `placeholder:"NAME" help:"Factor that tells objects apart; if absent, the first categorical one."`
	Objects []int    `placeholder:"N,..." help:"Objects of a grid, from 0, and those between which codes are interpolated, each and the next; if absent, eight and four of them."`
	Codes   string   `placeholder:"FILE" help:"Decode the codes of a .npy, .npz or .csv file, too, into decoded.npy; without --what, these alone. Points that are not on the spheres of the model are projected to them."`
	GIF     bool     `name:"gif" default:"true" negatable:"" help:"Write animations."`
	Scale   int      `default:"0" help:"Side of a pixel in sheets and animations; 0: chosen by the size of the images."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output: what was written, with the labels of rows and columns."`
}

// decoded is the output of --json.
type decoded struct {
	Run     string         `json:"run"`
	Files   []decodedSheet `json:"sheets"`
	LeftOut []leftOut      `json:"left_out"`
}

// decodedSheet is a sheet and its files. Codes and images are row by row.
type decodedSheet struct {
	Name      string       `json:"name"`
	PNG       string       `json:"png"`
	GIF       string       `json:"gif,omitempty"`
	Images    string       `json:"images"`
	Codes     string       `json:"codes"`
	Shape     []int        `json:"shape"` // shape of the images
	Columns   []string     `json:"columns,omitempty"`
	Rows      []decodedRow `json:"rows"` // rows of the picture
	Projected int          `json:"projected,omitempty"`
}

type decodedRow struct {
	Label string `json:"label"`
	Count int    `json:"count"`
}

// leftOut is a kind of sheet that does not suit the model.
type leftOut struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// Run decodes.
func (c *decodeCommand) Run(ctx context.Context, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	e, err := c.open(ctx, c.Dir, s)
	if err != nil {
		return err
	}
	if !e.Coder.Decodes() {
		return fmt.Errorf("%s: the model %s has no decoder; want a run of a model with one, such as vae, lsbd-vae or cofhae", c.Dir, e.Config.Model.Name)
	}
	e.Progress = train.NewActivity(s.log)
	if c.Out == "" {
		c.Out = filepath.Join(c.Dir, c.name("decoded"))
	}
	d := &decoding{decodeCommand: c, e: e, log: s.log, result: decoded{Run: c.Dir, Files: []decodedSheet{}, LeftOut: []leftOut{}}}
	if err := d.all(ctx); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(d.result)
	}
	return nil
}

// check returns an error for flags that no run can accept.
func (c *decodeCommand) check() error {
	for _, what := range c.What {
		if !slices.Contains(decodeKinds, what) {
			return usagef("--what: there is no %q; want some of %s", what, strings.Join(decodeKinds, ", "))
		}
	}
	for _, f := range []struct {
		flag             string
		value, low, high int
	}{{"samples", c.Samples, 1, maxSamples}, {"steps", c.Steps, 2, maxSteps}, {"scale", c.Scale, 0, 64}} {
		if f.value < f.low || f.value > f.high {
			return usagef("--%s: %d is out of range; want %d to %d", f.flag, f.value, f.low, f.high)
		}
	}
	for _, f := range []struct {
		flag string
		list []int
	}{{"images", c.Images}, {"objects", c.Objects}} {
		if len(f.list) > maxChosen {
			return usagef("--%s: %d numbers; want at most %d", f.flag, len(f.list), maxChosen)
		}
	}
	return nil
}

// all makes the requested sheets. A sheet that does not suit the model is an error if a flag names it, and is
// otherwise left out.
func (d *decoding) all(ctx context.Context) error {
	if err := d.checkImages(); err != nil {
		return err
	}
	var foreign metrics.Matrix
	if d.Codes != "" {
		var err error
		if foreign, err = d.readCodes(); err != nil {
			return err
		}
	}
	if err := disk.MakeDir(d.Out); err != nil {
		return err
	}
	kinds := d.What
	if kinds == nil && d.Codes == "" {
		kinds = decodeKinds
	}
	for _, kind := range decodeKinds {
		if !slices.Contains(kinds, kind) {
			continue
		}
		sheets := map[string]func(context.Context) error{"samples": d.samples, "traversals": d.traversals, "grid": d.grid, "interpolation": d.interpolation}[kind]
		err := sheets(ctx)
		if reason, ok := err.(unsuitable); ok && d.What == nil {
			fmt.Fprintf(d.log, "no %s: %s\n", kind, reason)
			d.result.LeftOut = append(d.result.LeftOut, leftOut{kind, string(reason)})
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	if d.Codes == "" {
		return nil
	}
	return d.foreign(ctx, foreign)
}

// unsuitable is the reason why a model has no sheets of a kind.
type unsuitable string

func (u unsuitable) Error() string { return string(u) }

// checkImages checks the numbers of images, or draws three.
func (d *decoding) checkImages() error {
	n := d.e.Data.Len()
	for _, i := range d.Images {
		if i < 0 || i >= n {
			return usagef("--images: there is no image %d; want 0 to %d", i, n-1)
		}
	}
	if d.Images == nil {
		d.Images = d.drawn(3)
	}
	return nil
}

// readCodes reads the codes of a file.
func (d *decoding) readCodes() (metrics.Matrix, error) {
	t, err := readCodes(d.Codes, d.log)
	if err != nil {
		return metrics.Matrix{}, err
	}
	if mine, err := os.Stat(filepath.Join(d.Out, "decoded-codes.npy")); err == nil {
		if theirs, err := os.Stat(d.Codes); err == nil && os.SameFile(mine, theirs) {
			return metrics.Matrix{}, usagef("--codes %s: it would be replaced; want another --out", d.Codes)
		}
	}
	return metrics.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}, nil
}
