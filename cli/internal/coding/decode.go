package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
)

// DecodeKinds are the kinds of sheets, in drawing order.
var DecodeKinds = []string{"samples", "traversals", "grid", "interpolation"}

// Limits of flag values.
const (
	maxSamples = 1 << 20
	maxSteps   = 100
	maxChosen  = 64
)

// Decode is `unravel decode --run DIR`.
type Decode struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	inputs.WeightFlags
	inputs.DeviceFlags
	inputs.OtherData
	What    []string `placeholder:"KIND" help:"Kinds of pictures: samples, traversals, grid and interpolation (default: all that the model supports)." detail:"Samples come from the prior. Traversals vary each part of a code. A grid varies one part for objects, images or values of another part. Interpolations go from image to image and from object to object."`
	Out     string   `placeholder:"DIR" writes:"folder" help:"Folder of the files (default: decoded in the run's folder)." detail:"With --best or --average, the default is decoded-best or decoded-average. New files replace older ones of the same names. Every sheet is NAME.png, NAME.npy (images, float32 [n, height, width, channels], row by row) and NAME-codes.npy ([n, d]). An animated sheet is also NAME.gif."`
	Samples int      `default:"20" help:"Number of samples of the prior."`
	Images  []int    `placeholder:"N" help:"Images of the data set to start from, counted from 0 (default: three random images)."`
	Seed    uint64   `default:"0" help:"Seed of the samples and of the random images."`
	Steps   int      `default:"12" help:"Number of steps of a traversal, of a grid's columns and of an interpolation."`
	Columns string   `placeholder:"PART" help:"Part of the code that changes along the columns of a grid, such as circle1, sphere1.x, spheres.x, z0 or a0." detail:"The default is the first circle, otherwise the first sphere, and otherwise the coordinate that varies most."`
	Rows    string   `placeholder:"ROWS" help:"Rows of a grid: objects, images, prior or a part of the code." detail:"Objects have the mean codes of their images. The prior gives samples. By default the rows are objects if a circle or a sphere varies and the data set has objects, and otherwise another part."`
	Factor  string   `placeholder:"NAME" help:"Factor that distinguishes objects (default: the first categorical factor)."`
	Objects []int    `placeholder:"N" help:"Objects of a grid and of interpolations, counted from 0 (default: eight for a grid, four for interpolations)." detail:"Interpolations lead from each object to the next."`
	Codes   string   `placeholder:"FILE" help:"File of codes (.npy, .npz, .h5, .mat or .csv) to decode into decoded.npy." detail:"Without --what, the command decodes these codes alone. Points off the model's spheres are projected to the spheres."`
	GIF     bool     `name:"gif" default:"true" negatable:"" help:"Write animations."`
	Scale   int      `default:"0" help:"Scale of the images in sheets and animations; 0: automatic, by the size of the images."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output: the written files, with labels of rows and columns."`
}

// Decoded is the output of --json.
type Decoded struct {
	Run     string         `json:"run"`
	Files   []decodedSheet `json:"sheets"`
	LeftOut []leftOut      `json:"left_out"`
}

// decodedSheet is a sheet and its files. Codes and images are in row-major order.
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

type leftOut struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

func (c *Decode) Run(ctx context.Context, s *ui.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	e, err := c.OpenData(ctx, c.Dir, &c.OtherData, c.DeviceFlags, s)
	if err != nil {
		return err
	}
	if !e.Coder.Decodes() {
		return fmt.Errorf("%s: the model %s has no decoder; want a run of a model with one, such as vae, lsbd-vae or cofhae",
			c.Dir, e.Config.Model.Name)
	}
	c.Out = cmp.Or(c.Out, filepath.Join(c.Dir, c.FileName("decoded")))
	d := &decoding{Decode: c, e: e, log: s.Log, result: Decoded{Run: c.Dir, Files: []decodedSheet{}, LeftOut: []leftOut{}}}
	if err := d.all(ctx); err != nil {
		return err
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, d.result)
	}
	return nil
}

func (c *Decode) check() error {
	for _, output := range c.What {
		if !slices.Contains(DecodeKinds, output) {
			return ui.Usagef("--what: there is no %q; want some of %s", output, strings.Join(DecodeKinds, ", "))
		}
	}
	for _, f := range []struct {
		flag             string
		value, low, high int
	}{{"samples", c.Samples, 1, maxSamples}, {"steps", c.Steps, 2, maxSteps}, {"scale", c.Scale, 0, 64}} {
		if f.value < f.low || f.value > f.high {
			return ui.Usagef("--%s: %d is out of range; want %d to %d", f.flag, f.value, f.low, f.high)
		}
	}
	for _, f := range []struct {
		flag string
		list []int
	}{{"images", c.Images}, {"objects", c.Objects}} {
		if len(f.list) > maxChosen {
			return ui.Usagef("--%s: %s; want at most %d", f.flag, wording.Count(len(f.list), "number"), maxChosen)
		}
	}
	return nil
}

// all creates the requested sheets. Unless a flag names the sheet, it skips a sheet that the model does not support.
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
	kinds := d.What
	if kinds == nil && d.Codes == "" {
		kinds = DecodeKinds
	}
	if slices.Contains(kinds, "grid") {
		if err := d.checkParts(ctx); err != nil {
			return fmt.Errorf("grid: %w", err)
		}
	}
	if err := disk.MakeDir(d.Out); err != nil {
		return err
	}
	for _, kind := range DecodeKinds {
		if !slices.Contains(kinds, kind) {
			continue
		}
		sheets := map[string]func(context.Context) error{"samples": d.samples, "traversals": d.traversals, "grid": d.grid,
			"interpolation": d.interpolation}[kind]
		var err error
		if kind != "samples" {
			err = d.encode(ctx)
		}
		if err == nil {
			err = sheets(ctx)
		}
		if reason, ok := err.(unsuitableError); ok && d.What == nil {
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
	return d.fromOtherData(ctx, foreign)
}

type unsuitableError string // reason why a model does not support a kind of sheet

func (u unsuitableError) Error() string { return string(u) }

// checkImages checks the numbers of images. If there are none, it draws three.
func (d *decoding) checkImages() error {
	n := d.e.Data.Len()
	for _, i := range d.Images {
		if i < 0 || i >= n {
			return ui.Usagef("--images: there is no image %d; want 0 to %d", i, n-1)
		}
	}
	if d.Images == nil {
		d.Images = rng.New(d.Seed, "decode/images").Perm(n)[:min(3, n)]
	}
	return nil
}

// checkParts finds mistakes in --columns and --rows before anything is written.
func (d *decoding) checkParts(ctx context.Context) error {
	if d.Columns == "" && d.Rows == "" {
		return nil
	}
	if err := d.encode(ctx); err != nil {
		return err
	}
	column, err := d.column()
	if err == nil {
		_, _, err = d.gridRows(column)
	}
	if errors.As(err, new(ui.UsageError)) {
		return err
	}
	return nil // grid reports other errors
}

// readCodes reads the codes of a file.
func (d *decoding) readCodes() (matrix.Matrix, error) {
	t, err := inputs.ReadCodes(d.Codes, d.log)
	if err != nil {
		return matrix.Matrix{}, err
	}
	if output, err := os.Stat(filepath.Join(d.Out, "decoded-codes.npy")); err == nil {
		if input, err := os.Stat(d.Codes); err == nil && os.SameFile(output, input) {
			return matrix.Matrix{}, ui.Usagef("--codes %s: it would be replaced; want another --out", d.Codes)
		}
	}
	return matrix.Matrix{Rows: t.Rows, Cols: t.Cols, Data: t.Data}, nil
}

const decodedAtOnce = 512 // number of codes decoded between two checks of the context

// write decodes the codes in all, or the codes of the sheet if all is nil, and writes the files of the sheet.
func (d *decoding) write(ctx context.Context, s *decode.Sheet, all [][]float64, projected int) error {
	h, w, channels := d.e.Data.ImageShape()
	flat, n := s.Codes(), s.Count()
	if all != nil {
		flat, n = (&decode.Sheet{Rows: []decode.Row{{Codes: all}}}).Codes(), len(all)
	}
	path := func(name string) string { return filepath.Join(d.Out, name) }
	r := decodedSheet{Name: s.Name, PNG: path(s.Name + ".png"), Images: path(s.Name + ".npy"),
		Codes: path(s.Name + "-codes.npy"), Shape: []int{n, h, w, channels}, Columns: s.Columns, Projected: projected}
	for _, row := range s.Rows {
		r.Rows = append(r.Rows, decodedRow{row.Label, len(row.Codes)})
	}
	width := d.e.Coder.Width()
	if err := ui.WriteFile(r.Codes, func(out io.Writer) error { return npy.Write(out, []int{n, width}, flat) }); err != nil {
		return err
	}
	shown := make([]float32, 0, s.Count()*h*w*channels)
	if err := ui.WriteFile(r.Images, func(out io.Writer) error {
		if err := npy.WriteHeader[float32](out, r.Shape); err != nil {
			return err
		}
		for from := 0; from < n; from += decodedAtOnce {
			if ctx.Err() != nil {
				return train.ErrStopped
			}
			images, err := d.e.Coder.Decode(flat[from*width : min(from+decodedAtOnce, n)*width])
			if err != nil {
				return err
			}
			shown = append(shown, images[:min(len(images), cap(shown)-len(shown))]...)
			if err := npy.WriteElements(out, images); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	pictures := &report.Decoded{Sheet: s, Images: shown, Height: h, Width: w, Channels: channels, Scale: d.Scale}
	if err := ui.WriteFile(r.PNG, pictures.WritePNG); err != nil {
		return err
	}
	if s.Moves && d.GIF {
		r.GIF = path(s.Name + ".gif")
		if err := ui.WriteFile(r.GIF, pictures.WriteGIF); err != nil {
			return err
		}
	}
	d.result.Files = append(d.result.Files, r)
	fmt.Fprintf(d.log, "%s: %s of %d x %d x %d\n", r.PNG, wording.Count(n, "image"), h, w, channels)
	return nil
}

// maxTraversed is the maximum number of rows on a sheet of traversals, and maxShown the maximum number of images on a
// sheet of samples.
const maxTraversed, maxShown = 32, 100

type decoding struct {
	*Decode
	e      *train.Experiment
	log    io.Writer
	result Decoded

	sample *train.Experiment // the images that metrics measure
	codes  *decode.Codes     // codes of the sample; nil: not computed yet
	points []decode.Point    // codes of the chosen images
}

// encode computes the codes of the sample and of the chosen images, once.
func (d *decoding) encode(ctx context.Context) error {
	if d.codes != nil {
		return nil
	}
	d.sample = d.e.Sample()
	codes, err := d.sample.Codes(ctx)
	if err != nil {
		return err
	}
	selected, err := d.e.Encode(ctx, d.Images)
	if err != nil {
		return err
	}
	m := metrics.NewMatrix(len(d.Images), d.e.Coder.Width(), selected)
	for row, i := range d.Images {
		d.points = append(d.points, decode.Point{Label: fmt.Sprint(i), Code: m.Row(row)})
	}
	d.codes = decode.Of(d.e.Model, codes)
	return nil
}

func (d *decoding) prior(count int) (list [][]float64, err error) {
	g, ok := d.e.Model.(models.Generative)
	if !ok {
		return nil, unsuitableError(fmt.Sprintf("the model %s has no prior distribution of codes", d.e.Config.Model.Name))
	}
	r, code := rng.New(d.Seed, "decode/prior"), make([]float32, d.e.Coder.Width())
	for range count {
		g.Prior(r, code)
		list = append(list, numeric.Convert[float64](code))
	}
	return list, nil
}

// samples decodes samples from the prior (figure 9 of Tonnaer et al. 2022).
func (d *decoding) samples(ctx context.Context) error {
	codes, err := d.prior(d.Samples)
	if err != nil {
		return err
	}
	return d.table(ctx, "samples", fmt.Sprintf("Decoded images of %d samples of the prior, seed %d", d.Samples, d.Seed),
		codes, 0)
}

// fromOtherData decodes codes of a file.
func (d *decoding) fromOtherData(ctx context.Context, m matrix.Matrix) error {
	projected, err := decode.Of(d.e.Model, matrix.Matrix{}).Settle(m)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Codes, err)
	}
	if projected > 0 {
		fmt.Fprintf(d.log, "%d of %d rows of %s were not on the spheres of the model, and are projected to them\n",
			projected, m.Rows, d.Codes)
	}
	codes := make([][]float64, m.Rows)
	for i := range codes {
		codes[i] = m.Row(i)
	}
	return d.table(ctx, "decoded", wording.Count(m.Rows, "code"), codes, projected)
}

// table decodes codes and shows the first of them.
func (d *decoding) table(ctx context.Context, name, title string, codes [][]float64, projected int) error {
	s := decode.Table(name, title, codes[:min(len(codes), maxShown)], 10)
	if len(codes) > maxShown {
		s.Title += fmt.Sprintf(", the first %d", maxShown)
	}
	return d.write(ctx, s, codes, projected)
}

func (d *decoding) traversals(ctx context.Context) error {
	dropped := 0
	for _, p := range d.points {
		var s *decode.Sheet
		if s, dropped = d.codes.Traversals(p, d.Steps, maxTraversed); len(s.Rows) == 0 {
			continue
		}
		if err := d.write(ctx, s, nil, 0); err != nil {
			return err
		}
	}
	if dropped > 0 {
		fmt.Fprintf(d.log, "traversals: the first %d parts of %d\n", maxTraversed, maxTraversed+dropped)
	}
	return nil
}

// grid varies one part of several codes (figure 10).
func (d *decoding) grid(ctx context.Context) error {
	column, err := d.column()
	if err != nil {
		return err
	}
	rows, title, err := d.gridRows(column)
	if err != nil {
		return err
	}
	var unused []string
	for _, r := range rows {
		if !d.codes.UsesPart(r.Code, column) {
			unused = append(unused, r.Label)
		}
	}
	if len(unused) > 0 {
		fmt.Fprintf(d.log, "grid: %s does not move in rows that do not use it: %s\n", column.Name, ui.Some(unused, 6))
	}
	s := d.codes.Grid(rows, column, d.Steps)
	s.Title = fmt.Sprintf("Decoded images: %s in rows, %s in columns", title, column.Name)
	return d.write(ctx, s, nil, 0)
}

func (d *decoding) column() (decode.Part, error) {
	if d.Columns == "" {
		p, _ := d.codes.Liveliest(d.points[0].Code)
		return p, nil
	}
	p, err := d.codes.Part(d.Columns)
	if err != nil {
		err = ui.Usage(fmt.Errorf("--columns: %w", err))
	}
	return p, err
}

func (d *decoding) gridRows(column decode.Part) (rows []decode.Point, title string, err error) {
	from := d.points[0]
	part, ok := d.codes.Liveliest(from.Code, column)
	switch {
	case d.Rows == "objects" || d.Rows == "" && column.Round() && d.objectFactor() >= 0:
		rows, err = d.objects(8)
		return rows, "objects", err
	case d.Rows == "images" || d.Rows == "" && !ok:
		return d.points, "images", nil
	case d.Rows == "prior":
		list, err := d.prior(8)
		for i, code := range list {
			rows = append(rows, decode.Point{Label: fmt.Sprint("sample ", i), Code: code})
		}
		return rows, "samples of the prior", err
	case d.Rows != "":
		if part, err = d.codes.Part(d.Rows); err != nil {
			return nil, "", ui.Usage(fmt.Errorf("--rows: %w (other rows: objects, images, prior)", err))
		}
		if !d.codes.UsesPart(from.Code, part) {
			return nil, "", ui.Usagef("--rows: the options of image %s close %s; name another image first in --images",
				from.Label, part.Name)
		}
	}
	return d.codes.Steps(from.Code, part, d.Steps), part.Name, nil
}

// objectFactor returns the factor that distinguishes objects, or -1 if there is none.
func (d *decoding) objectFactor() int {
	return slices.IndexFunc(d.e.Data.Factors(), func(f factor.Factor) bool {
		return f.Name == d.Factor || d.Factor == "" && f.Kind == factor.Categorical && f.Rotations == nil && f.Size > 1
	})
}

// objects returns the mean codes of the requested objects, or otherwise of at most limit evenly spaced objects.
func (d *decoding) objects(limit int) (list []decode.Point, err error) {
	k, factors := d.objectFactor(), d.e.Data.Factors()
	if k < 0 && d.Factor != "" {
		return nil, ui.Usagef("--factor: there is no factor %q%s",
			d.Factor, registry.Suggest(d.Factor, factor.Names(factors)))
	}
	if k < 0 {
		return nil, unsuitableError(fmt.Sprintf("the data set %s has no categorical factor that distinguishes objects",
			d.e.Data.Name()))
	}
	objects, size := d.Objects, factors[k].Size
	if objects == nil {
		for i := range min(limit, size) {
			objects = append(objects, i*size/min(limit, size))
		}
	}
	codesOf := map[int][][]float64{}
	levels := make([]int, len(factors))
	for i := range d.codes.Known.Rows {
		d.sample.Data.FactorsAt(i, levels)
		codesOf[levels[k]] = append(codesOf[levels[k]], d.codes.Known.Row(i))
	}
	for _, o := range objects {
		if o < 0 || o >= size {
			return nil, ui.Usagef("--objects: %s has no level %d; want 0 to %d", factors[k].Name, o, size-1)
		}
		if codesOf[o] == nil {
			return nil, fmt.Errorf("no image with level %d of %s is among the encoded images", o, factors[k].Name)
		}
		list = append(list, decode.Point{Label: fmt.Sprint(o), Code: d.codes.Mean(codesOf[o])})
	}
	return list, nil
}

// interpolation interpolates from each image to the next, or from object to object (figures 11 and 12).
func (d *decoding) interpolation(ctx context.Context) error {
	column, err := d.column()
	if err != nil {
		return err
	}
	if len(d.points) < 2 && d.objectFactor() < 0 {
		return unsuitableError("one image alone; want two or more in --images")
	}
	if len(d.points) > 1 {
		s := d.codes.BetweenImages(d.points, d.Steps)
		s.Title = "Decoded images on the way between the codes of images"
		if err := d.write(ctx, s, nil, 0); err != nil {
			return err
		}
	}
	if !column.Turns() || d.objectFactor() < 0 {
		return nil
	}
	objects, err := d.objects(4)
	if err != nil {
		return err
	}
	for i := range len(objects) - 1 {
		s := d.codes.BetweenObjects(objects[i], objects[i+1], column, min(6, d.Steps), d.Steps)
		s.Title = fmt.Sprintf("Decoded images on the way from object %s to object %s at every angle",
			objects[i].Label, objects[i+1].Label)
		if err := d.write(ctx, s, nil, 0); err != nil {
			return err
		}
	}
	return nil
}
