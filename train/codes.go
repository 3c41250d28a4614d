package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Encode is the number of images whose codes a run stores. The zero value stores the codes of the measured images, or
// without metrics of at most mostKept images.
type Encode int

// Encode can also be a number of images from 1 on.
const (
	EncodeAll  Encode = math.MaxInt // all images, or the sample
	EncodeNone Encode = -1
)

// mostKept is the number of images encoded at the end if no metric asks for more.
const mostKept = 10000

// mostNumbers is the largest number of elements, 1 GiB, in the codes measured at the end. metrics.sample or
// metrics.encode can ask for more. If all images have more elements, a random sample of this size is measured.
const mostNumbers = 1 << 27

// DecodeConfig reads true, false or a number.
func (e *Encode) DecodeConfig(n *config.Node) error {
	var all bool
	var count int
	switch {
	case n.IsNull():
		*e = 0
	case n.IsScalar() && n.Decode(&all) == nil:
		if *e = EncodeNone; all {
			*e = EncodeAll
		}
	case n.IsScalar() && n.Decode(&count) == nil && count > 0:
		*e = Encode(count)
	default:
		return n.Errorf("want true (all images), false (none) or a number of images from 1 on")
	}
	return nil
}

// EncodeConfig is the reverse of DecodeConfig.
func (e Encode) EncodeConfig() (any, error) {
	switch e {
	case 0:
		return nil, nil
	case EncodeAll, EncodeNone:
		return e == EncodeAll, nil
	}
	return int(e), nil
}

// ConfigForms implements config.Former.
func (Encode) ConfigForms() []any { return []any{true, 0, nil} }

// ConfigType describes the accepted values.
func (e Encode) ConfigType() string { return "true, false or a number" }

// validEncode checks the number of kept codes against the measured ones.
func (m *Measures) validEncode() error {
	switch {
	case m.Encode < EncodeNone:
		return config.Invalid("metrics.encode", "%d is out of range; want 1 or more, or true or false", m.Encode)
	case m.Encode <= 0 || m.Encode == EncodeAll:
		return nil
	case len(m.Final) > 0:
		return config.Invalid("metrics.encode", "metrics are measured at the end, and their images are encoded; want true or false, or metrics.sample=%d", m.Encode)
	case m.Sample > 0:
		return config.Invalid("metrics.encode", "metrics.sample says how many images are encoded, too; want only one")
	}
	return nil
}

// Sample returns the experiment on the images that metrics measure at the end. metrics.sample sets their number.
// Without it these are all images, or as many as have codes of mostNumbers elements.
func (e *Experiment) Sample() *Experiment {
	return e.sampleOf(e.Config.Metrics.most(e.Coder.Width()), e.Config.Seed)
}

// most returns the largest number of images measured at the end, for codes of a width; 0 means all.
func (m *Measures) most(width int) int {
	if m.Sample == 0 && m.Encode != EncodeAll {
		return max(1, mostNumbers/width)
	}
	return m.Sample
}

// encoded returns the experiment on the images encoded at the end; nil for none. If metrics or the config ask for the
// sample, these are its images. Otherwise all seeds take the same images, because users compare the runs.
func (e *Experiment) encoded() *Experiment {
	m := &e.Config.Metrics
	switch {
	case len(m.Final) > 0 || m.Encode == EncodeAll || m.Encode == 0 && m.Sample > 0:
		return e.Sample()
	case m.Encode == EncodeNone:
		return nil
	case m.Encode > 0:
		return e.sampleOf(int(m.Encode), 0)
	}
	return e.sampleOf(mostKept, 0)
}

// Some returns the experiment on at most count of its images, drawn by the seed of the config; a count of 0 takes all.
func (e *Experiment) Some(count int) *Experiment { return e.sampleOf(count, e.Config.Seed) }

// SampledImages draws count of n images, in ascending order.
func SampledImages(n, count int, seed uint64) []int {
	images := rng.New(seed, "dataset/sample").Perm(n)[:count]
	slices.Sort(images)
	return images
}

// sampleOf returns the experiment on count of its images, drawn by a seed; a count of 0 takes all.
func (e *Experiment) sampleOf(count int, seed uint64) *Experiment {
	n := e.Data.Len()
	if count == 0 || count >= n {
		return e
	}
	images := SampledImages(n, count, seed)
	some := *e
	some.Data, some.HeldOut, some.images = datasets.Sample(e.Data, images), nil, images
	if e.images != nil { // a sample of a sample
		some.images = make([]int, count)
		for row, i := range images {
			some.images[row] = e.images[i]
		}
	}
	some.Split = &supervision.Split{}
	*some.Split = *e.Split
	some.Split.Groups, some.Split.Drawn, some.Split.GroupActions = nil, nil, nil
	some.Split.Unlabelled, some.Split.Known = nil, nil
	for row, i := range images {
		if _, held := slices.BinarySearch(e.HeldOut, i); held {
			some.HeldOut = append(some.HeldOut, row)
		} else {
			some.Split.Unlabelled = append(some.Split.Unlabelled, row)
		}
	}
	return &some
}

// encode computes and stores the codes of the kept images, and measures their fit. From then on the session uses
// these images. If no images are kept, the codes are empty, and files of an earlier end are removed.
func (s *session) encode(ctx context.Context, r *Result) (codes matrix.Matrix, err error) {
	all, e := s.experiment.Data.Len(), s.experiment.encoded()
	if e == nil {
		return codes, s.forget(rundir.CodesFile, rundir.FactorsFile, rundir.LevelsFile, rundir.FitFile)
	}
	s.experiment = e
	if n := e.Data.Len(); n < all && len(e.Config.Metrics.Final) == 0 {
		s.console.Info("codes", fmt.Sprintf("codes are kept of %d of the %d images: no metric needs more, "+
			"and metrics.encode says how many", n, all), "images", n)
	}
	if n, m := e.Data.Len(), &e.Config.Metrics; n < all && len(m.Final) > 0 && m.Sample == 0 {
		s.console.Info("codes", fmt.Sprintf("measured are %d of the %d images, with %d code columns; "+
			"metrics.sample says how many, and metrics.encode=true takes all", n, all, e.Coder.Width()), "images", n)
	}
	if codes, err = e.Codes(ctx); err != nil {
		return codes, err
	}
	if e.Config.Metrics.Encode == EncodeNone {
		err = s.forget(rundir.CodesFile, rundir.FactorsFile, rundir.LevelsFile)
	} else {
		err = s.writeCodes(codes)
	}
	if err != nil {
		return codes, err
	}
	if r.Fit, err = e.fit(ctx, codes); err != nil || r.Fit == nil {
		return codes, err
	}
	if !r.Fit.Converged {
		s.console.Note("fit", "training has not converged: "+r.Fit.Why)
	}
	return codes, s.store.Write(rundir.FitFile, rundir.JSON(r.Fit))
}

// writeCodes stores codes and the factors of their images.
func (s *session) writeCodes(codes matrix.Matrix) error {
	if err := s.store.Write(rundir.CodesFile, rundir.WriteCodes(codes)); err != nil {
		return err
	}
	for name, write := range rundir.FactorFiles(s.experiment.Data) {
		if err := s.store.Write(name, write); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) forget(files ...string) error {
	for _, name := range files {
		if err := s.store.Remove(name); err != nil {
			return fmt.Errorf("an earlier %s: %w", name, err)
		}
	}
	return nil
}

// codesOf returns the codes of the data set, with its factors, as plain rows.
func (e *Experiment) codesOf(codes matrix.Matrix) *Codes {
	list := &Codes{Factors: e.Data.Factors()}
	for i := range codes.Rows {
		levels := make([]int, len(list.Factors))
		e.Data.FactorsAt(i, levels)
		list.Codes, list.Levels = append(list.Codes, appendRow(nil, codes.Row(i))), append(list.Levels, levels)
	}
	return list
}

// Codes encodes the whole data set: the model's representation, row by row.
func (e *Experiment) Codes(ctx context.Context) (matrix.Matrix, error) {
	codes, err := e.Encode(ctx, all(e.Data))
	return metrics.NewMatrix(e.Data.Len(), e.Coder.Width(), codes), err
}

// Encode returns the codes of images, row by row, and shows its progress.
func (e *Experiment) Encode(ctx context.Context, images []int) ([]float32, error) {
	e.Progress.Begin("encoding", len(images))
	defer e.Progress.End()
	return e.Coder.encode(ctx, e.Data, images, func(done int) { e.Progress.Step(done, "images") })
}

func appendRow(dst []float32, row []float64) []float32 {
	for _, v := range row {
		dst = append(dst, float32(v))
	}
	return dst
}
