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
	"github.com/unravel-ml/unravel/metrics/matrix"
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
	deviceFlags
	otherData
	What    []string `placeholder:"KIND,..." help:"Kinds of pictures: samples, traversals, grid and interpolation (default: all that the model can do)." detail:"Samples come from the prior. Traversals move every part of a code. A grid moves one part against objects, images or another part. Interpolations lead from image to image and from object to object."`
	Out     string   `placeholder:"DIR" writes:"folder" help:"Folder of the files (default: decoded in the run's folder)." detail:"With --best or --average, the default is decoded-best or decoded-average. New files replace older ones of the same names. Every sheet is NAME.png, NAME.npy (images, float32 [n, height, width, channels], row by row) and NAME-codes.npy ([n, d]). A sheet that moves is NAME.gif, too."`
	Samples int      `default:"20" help:"Number of samples of the prior."`
	Images  []int    `placeholder:"N,..." help:"Images of the data set to start from, counted from 0 (default: three random ones)."`
	Seed    uint64   `default:"0" help:"Seed of the samples and of the random images."`
	Steps   int      `default:"12" help:"Number of steps of a traversal, of a grid's columns and of an interpolation."`
	Columns string   `placeholder:"PART" help:"Part of the code that moves along the columns of a grid, such as circle1, sphere1.x, spheres.x, z0 or a0." detail:"The default is the first circle, otherwise the first sphere, and otherwise the coordinate that varies most."`
	Rows    string   `placeholder:"ROWS" help:"Rows of a grid: objects, images, prior or a part of the code." detail:"Objects have the mean codes of their images. The prior gives samples. By default the rows are objects where a circle or a sphere moves and the data set has objects, and otherwise another part."`
	Factor  string   `placeholder:"NAME" help:"Factor that tells objects apart (default: the first categorical one)."`
	Objects []int    `placeholder:"N,..." help:"Objects of a grid and of interpolations, counted from 0 (default: eight and four of them)." detail:"Interpolations lead from each object to the next."`
	Codes   string   `placeholder:"FILE" help:"File of codes (.npy, .npz or .csv) to decode into decoded.npy." detail:"Without --what, the command decodes these codes alone. Points off the model's spheres are projected to the spheres."`
	GIF     bool     `name:"gif" default:"true" negatable:"" help:"Write animations."`
	Scale   int      `default:"0" help:"Side of a pixel in sheets and animations; 0 chooses by the size of the images."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output: the written files, with labels of rows and columns."`
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
	e, err := c.openData(ctx, c.Dir, &c.otherData, s)
	if err != nil {
		return err
	}
	if !e.Coder.Decodes() {
		return fmt.Errorf("%s: the model %s has no decoder; want a run of a model with one, such as vae, lsbd-vae or cofhae", c.Dir, e.Config.Model.Name)
	}
	if err := c.use(e); err != nil {
		return err
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
	var foreign matrix.Matrix
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
func (d *decoding) readCodes() (matrix.Matrix, error) {
	t, err := readCodes(d.Codes, d.log)
	if err != nil {
		return matrix.Matrix{}, err
	}
	if mine, err := os.Stat(filepath.Join(d.Out, "decoded-codes.npy")); err == nil {
		if theirs, err := os.Stat(d.Codes); err == nil && os.SameFile(mine, theirs) {
			return matrix.Matrix{}, usagef("--codes %s: it would be replaced; want another --out", d.Codes)
		}
	}
	return matrix.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}, nil
}
