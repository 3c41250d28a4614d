package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/internal/choices"
	"github.com/unravel-ml/unravel/train/internal/figures"
	"github.com/unravel-ml/unravel/train/internal/fit"
)

// Final lists the metrics at the end of training: the config's, and of a learned hierarchy (purity, coverage, H-error).
func (e *Experiment) Final() []metrics.Choice {
	list := slices.Clone(e.Config.Metrics.Final)
	if e.Learned == nil {
		return list
	}
	in := e.Input(matrix.Matrix{Rows: e.Data.Len(), Cols: e.Coder.Width()})
	for _, name := range []string{"purity", "coverage", "h-error"} {
		c, err := metrics.Named(name)
		if err == nil && !choices.Has(list, c) && metrics.Suits(in, []metrics.Choice{c}) == nil {
			list = append(list, c)
		}
	}
	return list
}

// suits returns an error if a metric does not suit the data set, which may be a sample of total images.
func (e *Experiment) suits(choices []metrics.Choice, total int) error {
	note := ""
	if n := e.Data.Len(); n < total {
		note = fmt.Sprintf(" (on %d of %d images; metrics.sample sets the number)", n, total)
	}
	in := e.Input(matrix.Matrix{Rows: e.Data.Len(), Cols: e.Coder.Width()})
	return e.Config.suit(in, choices, "metrics.final", note)
}

// suit returns an error, with a note, for the first metric in the list of a key that does not suit an input.
func (c *Config) suit(in *metrics.Input, list []metrics.Choice, key, note string) error {
	for i, choice := range list {
		if err := metrics.Suits(in, list[i:i+1]); err != nil {
			return c.mistake(fmt.Sprintf("%s.%d.%s", key, i, choice.Name), withoutFactors(fmt.Errorf("%w%s", err, note)))
		}
	}
	return nil
}

// withoutFactors adds a remedy to the error of a metric that needs factors.
func withoutFactors(err error) error {
	if errors.Is(err, metrics.MissingFactors) {
		return fmt.Errorf("%w; want metrics of codes alone, such as mutual-information, or metrics: []", err)
	}
	return err
}

// Evaluate measures codes for the whole data set. If the context ends, it returns ErrStopped.
func (e *Experiment) Evaluate(ctx context.Context, codes matrix.Matrix, choices []metrics.Choice) ([]metrics.Result, error) {
	e.Progress.Begin("measuring", len(choices))
	defer e.Progress.End()
	in := e.Input(codes)
	results, err := metrics.EvaluateWatched(ctx, in, e.Config.Seed, choices,
		func(i int, name string) { e.Progress.Step(i, name) })
	if err == nil {
		s := metrics.Chances{Shuffles: metrics.DefaultShuffles, Watch: func(name string, done, total int) {
			e.Progress.Step(len(choices)-1, fmt.Sprintf("chance level of %s, %d of %d", name, done, total))
		}}
		err = s.Add(ctx, in, e.Config.Seed, choices, results)
	}
	if percent := e.Config.Metrics.Interval; err == nil && percent > 0 {
		s := metrics.Intervals{Percent: percent, Watch: func(name string, done, total int) {
			e.Progress.Step(len(choices)-1, fmt.Sprintf("interval of %s, %d of %d", name, done, total))
		}}
		err = s.Add(ctx, in, e.Config.Seed, choices, results)
	}
	return results, stopped(ctx, err)
}

// stopped replaces an error by ErrStopped if the context has ended.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ErrStopped
	}
	return err
}

// Input returns the input of the final metrics, given codes for the whole data set: all rows, or the held-out rows.
func (e *Experiment) Input(codes matrix.Matrix) *metrics.Input {
	if e.HeldOut == nil {
		return e.InputOf(codes, allImages(e.Data))
	}
	heldOut := matrix.Matrix{Rows: len(e.HeldOut), Cols: codes.Cols}
	if codes.Data != nil {
		heldOut.Data = codes.Take(e.HeldOut)
	}
	return e.InputOf(heldOut, e.HeldOut)
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

// InputOf returns the input of metrics for codes of some images of a data set, from any encoder. If an index is out of
// range, the input has no levels, and its Validate returns an error.
func InputOf(d datasets.Dataset, codes matrix.Matrix, images []int) *metrics.Input {
	k := len(d.Factors())
	in := &metrics.Input{Codes: codes, Factors: d.Factors(), Levels: make([]int, len(images)*k)}
	for row, i := range images {
		if i < 0 || i >= d.Len() {
			in.Levels = nil
			return in
		}
		d.FactorsAt(i, in.Levels[row*k:(row+1)*k])
	}
	if d, ok := d.(datasets.Hierarchical); ok {
		in.TrueHierarchy, in.Exact = d.Hierarchy(), datasets.Exact(d, images)
		in.Paths, _ = datasets.PathsOf(d, images)
		if in.TrueHierarchy != nil {
			in.Hierarchy = make(hierarchy.Hierarchy, codes.Cols) // one group of dimensions
		}
	}
	return in
}

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

const maxStored = 10000 // number of images encoded at the end if no metric needs more

// maxCodeNumbers is the maximum number of elements of the codes measured at the end: 1 GiB. metrics.sample or
// metrics.encode can raise it. If the codes of all images exceed it, a random sample is measured.
const maxCodeNumbers = 1 << 27

// Sample returns the experiment on the images that metrics measure at the end. metrics.sample sets their number.
// By default these are all images, or a random sample if their codes would have more than 2^27 elements.
func (e *Experiment) Sample() *Experiment {
	return e.sampleOf(e.Config.Metrics.maxImages(e.Coder.Width()), e.Config.Seed)
}

// maxImages returns the maximum number of images measured at the end, for codes of the given width; 0 means all.
func (m *Measures) maxImages(width int) int {
	if m.Sample == 0 && m.Encode != EncodeAll {
		return max(1, maxCodeNumbers/width)
	}
	return m.Sample
}

// encoded returns the experiment on the images encoded at the end; nil for none. If metrics or the config request the
// sample, it returns the sample. Otherwise all seeds use the same images, because users compare the runs.
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
	return e.sampleOf(maxStored, 0)
}

// Some returns the experiment on at most count of its images, drawn by the seed of the config; a count of 0 takes all.
func (e *Experiment) Some(count int) *Experiment { return e.sampleOf(count, e.Config.Seed) }

// SampledImages draws at most count of n images, in ascending order.
func SampledImages(n, count int, seed uint64) []int {
	images := rng.New(seed, "dataset/sample").Perm(n)[:min(max(count, 0), n)]
	slices.Sort(images)
	return images
}

// sampleOf returns the experiment on count of its images, drawn by a seed; a count of 0 takes all.
func (e *Experiment) sampleOf(count int, seed uint64) *Experiment {
	n := e.Data.Len()
	if count <= 0 || count >= n {
		return e
	}
	images := SampledImages(n, count, seed)
	sample := *e
	sample.Data, sample.HeldOut, sample.images = datasets.Sample(e.Data, images), nil, figures.Gather(e.images, images)
	sample.Split = &supervision.Split{}
	*sample.Split = *e.Split
	sample.Split.Groups, sample.Split.Drawn, sample.Split.GroupActions = nil, nil, nil
	sample.Split.Unlabelled, sample.Split.Known = nil, nil
	for row, i := range images {
		if _, isHeldOut := slices.BinarySearch(e.HeldOut, i); isHeldOut {
			sample.HeldOut = append(sample.HeldOut, row)
		} else {
			sample.Split.Unlabelled = append(sample.Split.Unlabelled, row)
		}
	}
	return &sample
}

// Codes encodes the whole data set, in row-major order.
func (e *Experiment) Codes(ctx context.Context) (matrix.Matrix, error) {
	codes, err := e.Encode(ctx, allImages(e.Data))
	return metrics.NewMatrix(e.Data.Len(), e.Coder.Width(), codes), err
}

// Encode returns the codes of images in row-major order, and shows its progress.
func (e *Experiment) Encode(ctx context.Context, images []int) ([]float32, error) {
	e.Progress.Begin("encoding", len(images))
	defer e.Progress.End()
	return e.Coder.encode(ctx, e.Data, images, func(done int) { e.Progress.Step(done, "images") })
}

// Fit measures how well a decoder reconstructs the images, from the codes that metrics use.
type Fit struct {
	Images         int      `json:"images"`               // number of training images used
	Reconstruction float64  `json:"reconstruction"`       // mean squared error of a pixel
	Variance       float64  `json:"variance"`             // variance of a pixel, which is the error of the mean image
	HeldOut        *float64 `json:"held_out,omitempty"`   // mean squared error of held-out images
	Assignment     *float64 `json:"assignment,omitempty"` // assignment loss of the chosen options
	Square         float64  `json:"square,omitempty"`     // mean square of a pixel; 0: unknown, or the pixels are real-valued
	Decoded        float64  `json:"decoded,omitempty"`    // mean square of a pixel of the reconstructions, if Square is known
	Converged      bool     `json:"converged"`            // the values above are good enough
	Why            string   `json:"why,omitempty"`        // why training has not converged
}

const fitImages = 5000 // largest number of images for Fit

// A model has not converged if the unexplained fraction of the variance exceeds maxUnexplained, or the fraction of
// wrong assignments maxMisassigned. A decoder with less than minDecoded of the images' mean square is black: its error
// is at least 81 % of that mean square, (1 - sqrt(minDecoded))^2.
const (
	maxUnexplained = 0.5
	maxMisassigned = 0.1
	minDecoded     = 0.01
)

// Black reports whether the decoder is black: the mean square of its pixels is less than 1 % of the images' mean
// square.
func (f *Fit) Black() bool { return f.Decoded < minDecoded*f.Square }

// WithoutSquares returns the fit without the fields Square and Decoded, as earlier versions recorded it.
func (f *Fit) WithoutSquares() *Fit {
	g := *f
	g.Square, g.Decoded, g.Why = 0, 0, ""
	g.decide()
	return &g
}

// fit measures how well the model reconstructs its images; nil without a decoder.
func (e *Experiment) fit(ctx context.Context, codes matrix.Matrix) (*Fit, error) {
	trained := e.trainingSample()
	if !e.Coder.Decodes() || len(trained) == 0 { // a small sample may contain only held-out images
		return nil, nil
	}
	f := &Fit{Images: len(trained)}
	measured := fit.Decoded{Data: e.Data, Codes: codes, Decode: e.Coder.Decode,
		Watch: func(done int) { e.Progress.Step(done, "images") }}
	e.Progress.Begin("decoding", len(trained))
	defer e.Progress.End()
	p, err := measured.Pixels(ctx, trained)
	if err != nil {
		return nil, err
	}
	f.Reconstruction, f.Variance = p.Error, p.Variance
	if !datasets.RealValued(e.Data) {
		f.Square, f.Decoded = p.Square, p.Decoded
	}
	if e.HeldOut != nil {
		images := sampled(e.HeldOut, fitImages, e.Config.Seed, "fit")
		e.Progress.Begin("decoding", len(images))
		heldOut, err := measured.Pixels(ctx, images)
		if err != nil {
			return nil, err
		}
		f.HeldOut = &heldOut.Error
	}
	f.Assignment = e.assignmentError(codes, trained)
	f.decide()
	return f, nil
}

func (f *Fit) decide() {
	f.Converged = false
	switch {
	case f.Black():
		f.Why = fmt.Sprintf("the decoder is black: the mean square of its pixels is %.1g of the images'", f.Decoded/f.Square)
	case f.Variance == 0 && f.Reconstruction > 0:
		f.Why = "all measured images are the same, so their error shows nothing"
	case f.Reconstruction > maxUnexplained*f.Variance:
		f.Why = fmt.Sprintf("reconstructions leave %.6g %% of the variance of the images",
			math.Round(100*f.Reconstruction/f.Variance))
	case f.Assignment != nil && *f.Assignment > maxMisassigned:
		f.Why = fmt.Sprintf("the model chooses other options than the labels assign: the assignment error is %.2g",
			*f.Assignment)
	default:
		f.Converged = true
	}
}

func (e *Experiment) trainingSample() []int {
	list := append(slices.Concat(e.Split.Groups...), e.Split.Unlabelled...)
	if len(list) == 0 && e.Split.Drawn != nil { // every epoch draws its groups from all images
		list = allImages(e.Data)
	}
	return sampled(list, fitImages, e.Config.Seed, "fit")
}

// sampled draws at most count elements of a list with the named random stream.
func sampled(list []int, count int, seed uint64, stream string) []int {
	if len(list) <= count {
		return list
	}
	return figures.Gather(list, rng.New(seed, stream).Perm(len(list))[:count])
}

// assignmentError returns the assignment loss of the chosen options; nil if the config has no loss of assignments.
func (e *Experiment) assignmentError(codes matrix.Matrix, images []int) *float64 {
	h := models.HierarchyOf(e.Model)
	known := e.Split.Known
	if h == nil || known == nil || !known.KnowsLevels() {
		return nil
	}
	assigns := func(l losses.Choice) bool {
		_, is := l.Value.(*losses.AssignmentLoss)
		return is
	}
	if !slices.ContainsFunc(e.Config.Losses, assigns) {
		return nil
	}
	return fit.Misassigned(known, len(h.Categoricals()), codes, images)
}
