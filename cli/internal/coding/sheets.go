package coding

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
)

// maxTraversed is the largest number of rows on a sheet of traversals, and maxShown the largest number of images on a
// sheet of samples.
const (
	maxTraversed = 32
	maxShown     = 100
)

// decoding is a running decode command.
type decoding struct {
	*Decode
	e      *train.Experiment
	log    io.Writer
	result Decoded

	sample *train.Experiment // images with known codes; nil: not computed yet
	codes  *decode.Codes
}

// known returns the codes and factors of the images that metrics measure.
func (d *decoding) known(ctx context.Context) (*decode.Codes, error) {
	if d.codes != nil {
		return d.codes, nil
	}
	d.sample = d.e.Sample()
	codes, err := d.sample.Codes(ctx)
	if err != nil {
		return nil, err
	}
	d.codes = decode.Of(d.e.Model, codes)
	return d.codes, nil
}

// drawn draws indices of images.
func (d *decoding) drawn(count int) []int {
	n := d.e.Data.Len()
	return rng.New(d.Seed, "decode/images").Perm(n)[:min(count, n)]
}

// points returns the codes of the chosen images.
func (d *decoding) points(ctx context.Context) (list []decode.Point, err error) {
	codes, err := d.e.Encode(ctx, d.Images)
	if err != nil {
		return nil, err
	}
	m := metrics.NewMatrix(len(d.Images), d.e.Coder.Width(), codes)
	for row, i := range d.Images {
		list = append(list, decode.Point{Label: fmt.Sprint(i), Code: m.Row(row)})
	}
	return list, nil
}

// prior draws codes from the prior.
func (d *decoding) prior(count int) (list [][]float64, err error) {
	g, ok := d.e.Model.(models.Generative)
	if !ok {
		return nil, unsuitable(fmt.Sprintf("the model %s has no prior distribution of codes", d.e.Config.Model.Name))
	}
	r, code := rng.New(d.Seed, "decode/prior"), make([]float32, d.e.Coder.Width())
	for range count {
		g.Prior(r, code)
		row := make([]float64, len(code))
		for i, v := range code {
			row[i] = float64(v)
		}
		list = append(list, row)
	}
	return list, nil
}

// samples decodes samples of the prior (figure 9 of Tonnaer et al. 2022).
func (d *decoding) samples(ctx context.Context) error {
	codes, err := d.prior(d.Samples)
	if err != nil {
		return err
	}
	return d.table(ctx, "samples", fmt.Sprintf("Decoded images of %d samples of the prior, seed %d", d.Samples, d.Seed), codes, 0)
}

// foreign decodes codes of a file.
func (d *decoding) foreign(ctx context.Context, m matrix.Matrix) error {
	projected, err := decode.Of(d.e.Model, matrix.Matrix{}).Settle(m)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Codes, err)
	}
	if projected > 0 {
		fmt.Fprintf(d.log, "%d of %d rows of %s were not on the spheres of the model, and are projected to them\n", projected, m.Rows, d.Codes)
	}
	codes := make([][]float64, m.Rows)
	for i := range codes {
		codes[i] = m.Row(i)
	}
	return d.table(ctx, "decoded", fmt.Sprintf("%d codes", m.Rows), codes, projected)
}

// table decodes codes and shows the first ones.
func (d *decoding) table(ctx context.Context, name, title string, codes [][]float64, projected int) error {
	s := decode.Table(name, title, codes[:min(len(codes), maxShown)], 10)
	if len(codes) > maxShown {
		s.Title += fmt.Sprintf(", the first %d", maxShown)
	}
	return d.write(ctx, s, codes, projected)
}

// traversals moves every part of the codes of images.
func (d *decoding) traversals(ctx context.Context) error {
	codes, err := d.known(ctx)
	if err != nil {
		return err
	}
	points, err := d.points(ctx)
	if err != nil {
		return err
	}
	dropped := 0
	for _, p := range points {
		var s *decode.Sheet
		if s, dropped = codes.Traversals(p, d.Steps, maxTraversed); len(s.Rows) == 0 {
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

// grid moves one part of several codes (figure 10).
func (d *decoding) grid(ctx context.Context) error {
	codes, err := d.known(ctx)
	if err != nil {
		return err
	}
	column, err := d.column(codes)
	if err != nil {
		return err
	}
	rows, what, err := d.gridRows(ctx, codes, column)
	if err != nil {
		return err
	}
	s := codes.Grid(rows, column, d.Steps)
	s.Title = fmt.Sprintf("Decoded images: %s in rows, %s in columns", what, column.Name)
	return d.write(ctx, s, nil, 0)
}

// column returns the part that moves along columns.
func (d *decoding) column(codes *decode.Codes) (decode.Part, error) {
	if d.Columns != "" {
		p, err := codes.Part(d.Columns)
		if err != nil {
			err = ui.Usage(fmt.Errorf("--columns: %w", err))
		}
		return p, err
	}
	p, _ := codes.Liveliest()
	return p, nil
}

// gridRows returns the codes for the rows of a grid, with a description.
func (d *decoding) gridRows(ctx context.Context, codes *decode.Codes, column decode.Part) (rows []decode.Point, what string, err error) {
	switch d.Rows {
	case "objects":
		rows, err = d.objects(codes, 8)
		return rows, "objects", err
	case "images":
		rows, err = d.points(ctx)
		return rows, "images", err
	case "prior":
		list, err := d.prior(8)
		for i, code := range list {
			rows = append(rows, decode.Point{Label: fmt.Sprint("sample ", i), Code: code})
		}
		return rows, "samples of the prior", err
	}
	part, ok := codes.Liveliest(column)
	if d.Rows != "" {
		if part, err = codes.Part(d.Rows); err != nil {
			return nil, "", ui.Usage(fmt.Errorf("--rows: %w; or objects, images or prior", err))
		}
	} else if column.Round() && d.objectFactor() >= 0 {
		rows, err = d.objects(codes, 8)
		return rows, "objects", err
	} else if !ok {
		rows, err = d.points(ctx)
		return rows, "images", err
	}
	points, err := d.points(ctx)
	if err != nil {
		return nil, "", err
	}
	return codes.Steps(points[0].Code, part, d.Steps), part.Name, nil
}

// objectFactor returns the factor that distinguishes objects; -1 without one.
func (d *decoding) objectFactor() int {
	return slices.IndexFunc(d.e.Data.Factors(), func(f factor.Factor) bool {
		return f.Name == d.Factor || d.Factor == "" && f.Kind == factor.Categorical && f.Rotations == nil && f.Size > 1
	})
}

// objects returns the mean codes of the requested objects. Without a request it takes at most a number of them,
// evenly spaced.
func (d *decoding) objects(codes *decode.Codes, most int) (list []decode.Point, err error) {
	k, factors := d.objectFactor(), d.e.Data.Factors()
	if k < 0 && d.Factor != "" {
		return nil, ui.Usagef("--factor: there is no factor %q%s", d.Factor, registry.Suggest(d.Factor, factor.Names(factors)))
	}
	if k < 0 {
		return nil, unsuitable(fmt.Sprintf("the data set %s has no categorical factor that tells objects apart", d.e.Data.Name()))
	}
	wanted, size := d.Objects, factors[k].Size
	if wanted == nil {
		for i := range min(most, size) {
			wanted = append(wanted, i*size/min(most, size))
		}
	}
	of := map[int][][]float64{}
	levels := make([]int, len(factors))
	for i := range codes.Known.Rows {
		d.sample.Data.FactorsAt(i, levels)
		of[levels[k]] = append(of[levels[k]], codes.Known.Row(i))
	}
	for _, o := range wanted {
		if o < 0 || o >= size {
			return nil, ui.Usagef("--objects: %s has no level %d; want 0 to %d", factors[k].Name, o, size-1)
		}
		if of[o] == nil {
			return nil, fmt.Errorf("no image with level %d of %s is among the encoded images", o, factors[k].Name)
		}
		list = append(list, decode.Point{Label: fmt.Sprint(o), Code: codes.Mean(of[o])})
	}
	return list, nil
}

// interpolation goes from each image to the next. If a circle moves, it goes from object to object (figures 11 and
// 12).
func (d *decoding) interpolation(ctx context.Context) error {
	codes, err := d.known(ctx)
	if err != nil {
		return err
	}
	column, err := d.column(codes)
	if err != nil {
		return err
	}
	points, err := d.points(ctx)
	if err != nil {
		return err
	}
	if len(points) < 2 && d.objectFactor() < 0 {
		return unsuitable("one image alone; want two or more in --images")
	}
	if len(points) > 1 {
		s := codes.BetweenImages(points, d.Steps)
		s.Title = "Decoded images on the way between the codes of images"
		if err := d.write(ctx, s, nil, 0); err != nil {
			return err
		}
	}
	if !column.Turns() || d.objectFactor() < 0 {
		return nil
	}
	objects, err := d.objects(codes, 4)
	if err != nil {
		return err
	}
	for i := range len(objects) - 1 {
		s := codes.BetweenObjects(objects[i], objects[i+1], column, min(6, d.Steps), d.Steps)
		s.Title = fmt.Sprintf("Decoded images on the way from object %s to object %s at every angle", objects[i].Label, objects[i+1].Label)
		if err := d.write(ctx, s, nil, 0); err != nil {
			return err
		}
	}
	return nil
}
