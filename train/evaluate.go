package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/internal/choices"
)

// Final lists the metrics at the end: the config's, and for a learned hierarchy purity, coverage and H-error if they
// can be computed.
func (e *Experiment) Final() []metrics.Choice {
	list := slices.Clone(e.Config.Metrics.Final)
	if e.Learned == nil {
		return list
	}
	in := e.Input(matrix.Matrix{Rows: e.Data.Len(), Cols: e.Coder.Width()})
	for _, name := range []string{"purity", "coverage", "h-error"} {
		e, _ := metrics.Registry.Lookup(name)
		c := metrics.Choice{Name: name, Value: e.New()}
		if !choices.Has(list, c) && metrics.Suits(in, []metrics.Choice{c}) == nil {
			list = append(list, c)
		}
	}
	return list
}

// suits returns an error before training for metrics that do not suit the data set. The data set may be a sample with
// a number of images.
func (e *Experiment) suits(choices []metrics.Choice, of int) error {
	in := e.Input(matrix.Matrix{Rows: e.Data.Len(), Cols: e.Coder.Width()})
	for i, choice := range choices {
		if err := metrics.Suits(in, choices[i:i+1]); err != nil {
			if n := e.Data.Len(); n < of {
				err = fmt.Errorf("%w (on %d of %d images; metrics.sample says how many)", err, n, of)
			}
			err = withoutFactors(err)
			return e.Config.mistake(fmt.Sprintf("metrics.final.%d.%s", i, choice.Name), err)
		}
	}
	return nil
}

// withoutFactors completes the error of a metric that needs factors with the remedy.
func withoutFactors(err error) error {
	if errors.Is(err, metrics.MissingFactors) {
		return fmt.Errorf("%w; want metrics of codes alone, such as mutual-information, or metrics: []", err)
	}
	return err
}

// Evaluate measures codes of the whole data set. If the context ends, it returns ErrStopped.
func (e *Experiment) Evaluate(ctx context.Context, codes matrix.Matrix, choices []metrics.Choice) ([]metrics.Result, error) {
	e.Progress.Begin("measuring", len(choices))
	defer e.Progress.End()
	in := e.Input(codes)
	results, err := metrics.EvaluateWatched(ctx, in, e.Config.Seed, choices, func(i int, name string) { e.Progress.Step(i, name) })
	if err == nil {
		s := metrics.Chances{Shuffles: metrics.DefaultShuffles, Watch: func(name string, done, of int) {
			e.Progress.Step(len(choices)-1, fmt.Sprintf("chance level of %s, %d of %d", name, done, of))
		}}
		err = s.Add(ctx, in, e.Config.Seed, choices, results)
	}
	if percent := e.Config.Metrics.Interval; err == nil && percent > 0 {
		s := metrics.Intervals{Percent: percent, Watch: func(name string, done, of int) {
			e.Progress.Step(len(choices)-1, fmt.Sprintf("interval of %s, %d of %d", name, done, of))
		}}
		err = s.Add(ctx, in, e.Config.Seed, choices, results)
	}
	return results, stopped(ctx, err)
}

// stopped replaces an error by ErrStopped if the context has ended.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ErrStopped
	}
	return err
}

// Input returns the input of final metrics for codes of the whole data set: all rows, or the held-out rows.
func (e *Experiment) Input(codes matrix.Matrix) *metrics.Input {
	if e.HeldOut == nil {
		return e.InputOf(codes, all(e.Data))
	}
	some := matrix.Matrix{Rows: len(e.HeldOut), Cols: codes.Cols}
	if codes.Data != nil {
		for _, i := range e.HeldOut {
			some.Data = append(some.Data, codes.Row(i)...)
		}
	}
	return e.InputOf(some, e.HeldOut)
}

// InputOf returns the input of metrics for codes of some images.
func (e *Experiment) InputOf(codes matrix.Matrix, images []int) *metrics.Input {
	in := InputOf(e.Data, codes, images)
	in.Spaces, in.Explored = spacesOf(e.Model), e.explored
	if h := models.HierarchyOf(e.Model); h != nil {
		in.Hierarchy = h
	}
	return in
}

// InputOf returns the input of metrics for codes of some images of a data set, made by any encoder.
func InputOf(d datasets.Dataset, codes matrix.Matrix, images []int) *metrics.Input {
	k := len(d.Factors())
	in := &metrics.Input{Codes: codes, Factors: d.Factors(), Levels: make([]int, len(images)*k)}
	for row, i := range images {
		d.FactorsAt(i, in.Levels[row*k:(row+1)*k])
	}
	if d, ok := d.(datasets.Hierarchical); ok {
		in.TrueHierarchy, in.Exact = d.Hierarchy(), datasets.Exact(d, images)
		in.Paths, _ = datasets.PathsOf(d, images)
		if in.TrueHierarchy != nil {
			in.Hierarchy = make(hierarchy.Hierarchy, codes.Cols) // a code without options is a group of dimensions
		}
	}
	return in
}

// spacesOf lists the columns of a model's latent spaces.
func spacesOf(m models.Model) (spaces [][]int) {
	for _, s := range m.Spaces() {
		var columns []int
		for c := range s.Width {
			columns = append(columns, s.First+c)
		}
		spaces = append(spaces, columns)
	}
	return spaces
}
