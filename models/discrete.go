package models

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/models/latent"
)

// Categoricals are the discrete codes of a model. Each number of options adds a categorical latent space
// (latent.Categorical) to the continuous codes.
type Categoricals struct {
	Categorical []int              `yaml:"categorical" doc:"numbers of options of the categorical codes next to the continuous codes, such as [3, 2]; []: no categorical codes"`
	Temperature latent.Temperature `yaml:"temperature" doc:"temperature of the categorical codes' relaxed samples (Gumbel-softmax): a number above 0, or a ramp over the updates of training, such as {from: 1, to: 0.5, steps: 20000, shape: exponential}"`
}

// noCategoricals returns the settings of a model without discrete codes.
func noCategoricals() Categoricals {
	return Categoricals{Temperature: latent.NewTemperature(latent.JointTemperature)}
}

// validate checks the settings; a model's Validate calls it.
func (c *Categoricals) validate() error {
	for i, n := range c.Categorical {
		if err := latent.ValidOptions(n); err != nil {
			return config.Invalid(fmt.Sprintf("categorical.%d", i), "%w", err)
		}
	}
	if err := c.Temperature.Validate(); err != nil && len(c.Categorical) > 0 {
		return config.Invalid("temperature", "%w", err)
	}
	return nil
}

func (c *Categoricals) spaces() latent.List {
	var list []latent.Space
	for _, n := range c.Categorical {
		list = append(list, &latent.Categorical{Options: n, Temperature: c.Temperature})
	}
	return latent.Of(list...)
}

// choices lists the number of options of each discrete space at the beginning of a list.
func choices(l latent.List) (sizes []int) {
	for _, c := range l {
		if n := latent.ChoicesOf(c.Value); n > 0 {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// mixed is an autoencoder with a code of categories followed by width continuous columns.
type mixed struct {
	autoencoder
	sizes []int // numbers of options of the categories
}

func (m *mixed) Spaces() []Space {
	return append(discreteSpaces(m.sizes), Space{Name: "euclidean", First: len(m.sizes), Width: m.width})
}

// Prior implements Generative with N(0, I), and uniform choices.
func (m *mixed) Prior(r *rng.Stream, code []float32) {
	drawOptions(r, m.sizes, code)
	r.Normals(code[len(m.sizes):])
}

func (m *mixed) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	points, err := withOneHotOptions(codes, m.sizes)
	if err != nil {
		return nil, err
	}
	return m.autoencoder.Decode(g, points)
}

// discreteSpaces lists the categorical parts of codes.
func discreteSpaces(sizes []int) (list []Space) {
	for i, n := range sizes {
		list = append(list, Space{Name: "categorical", First: i, Width: 1, Options: n})
	}
	return list
}

// drawOptions draws uniform options and writes their numbers into the first columns of a code.
func drawOptions(r *rng.Stream, sizes []int, code []float32) {
	for i, n := range sizes {
		code[i] = float32(1 + r.IntN(n))
	}
}

// withOptionNumbers returns codes for metrics, [rows, blocks + n]. Each block of weights becomes the number of its most
// probable option. The values [rows, n] follow if they are not nil.
func withOptionNumbers(weights, values *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
	if len(sizes) == 0 {
		return values, nil
	}
	numbers, err := likeliest(weights, sizes)
	if err != nil || values == nil {
		return numbers, err
	}
	return graph.ConcatColumns(numbers, values)
}

// withOneHotOptions inverts withOptionNumbers: it returns one-hot options, then the values. A number without an
// option gives zeros.
func withOneHotOptions(codes *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
	if len(sizes) == 0 {
		return codes, nil
	}
	parents, places := slices.Repeat([]int{-1}, len(sizes)), slices.Repeat([]int{-1}, codes.Shape()[1]-len(sizes))
	return readOptions(codes, optionBlocks{Sizes: sizes, Parents: parents}, places)
}

// likeliest returns 1 + the option with the largest weight for every block of weights [rows, K]: [rows, blocks]. sizes
// holds the widths of the blocks. Of equal weights, the first wins. The node has no gradient.
func likeliest(weights *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "likeliest options",
		Key:        graph.Key(sizes),
		Attributes: map[string]any{"sizes": sizes},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, k, err := graph.Matrix("weights", in[0])
			if err == nil && k != (optionBlocks{Sizes: sizes}).columns() {
				err = graph.Wanted(fmt.Sprintf("blocks of %d columns in all", k), sizes)
			}
			return tensor.Shape{rows, len(sizes)}, err
		},
		New:  graph.Bodies(likeliestFunc[float32](sizes), likeliestFunc[float64](sizes)),
		Diff: []bool{false},
	}, weights)
}

func likeliestFunc[T graph.Float](sizes []int) func([]tensor.Shape) forward[T] {
	return func([]tensor.Shape) forward[T] {
		return func(in [][]T, out []T) {
			weights := in[0]
			for i := range out { // by row and block
				n, best := sizes[i%len(sizes)], 0
				for j, w := range weights[:n] {
					if w > weights[best] {
						best = j
					}
				}
				out[i], weights = T(1+best), weights[n:]
			}
		}
	}
}

// optionBlocks describes the columns of option weights [rows, K]. Each categorical dimension has a block with a column
// for each option; Sizes holds the widths. A block may belong to an option of an earlier block. Parents holds the
// column of that option, or -1 for an outermost block.
type optionBlocks struct{ Sizes, Parents []int }

func (o optionBlocks) columns() (k int) {
	for _, n := range o.Sizes {
		k += n
	}
	return k
}

func (o optionBlocks) check() error {
	if len(o.Parents) != len(o.Sizes) {
		return graph.Wanted("a parent for each block", o)
	}
	first := 0
	for b, n := range o.Sizes {
		if n < 1 || o.Parents[b] < -1 || o.Parents[b] >= first {
			return graph.Wanted("blocks of one column or more, under a column before them or -1", o)
		}
		first += n
	}
	return nil
}

// weighOptions returns the weights of the options of categorical dimensions, [rows, K]. Within a block this is the
// softmax of logits/tau, times the weight of the block's parent option. As tau goes to 0, the weights become 0 or 1, or
// equal fractions at equal logits.
func weighOptions(logits *gorgonia.Node, o optionBlocks, tau float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "option weights",
		Key:        graph.Key(o, tau),
		Attributes: map[string]any{"sizes": o.Sizes, "parents": o.Parents, "tau": tau},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, columns, err := graph.Matrix("logits", in[0])
			switch {
			case err != nil:
				return nil, err
			case o.check() != nil:
				return nil, o.check()
			case columns != o.columns():
				return nil, graph.Wanted(fmt.Sprintf("%d columns of logits", o.columns()), in[0])
			case !(tau > 0) || math.IsInf(tau, 0):
				return nil, graph.Wanted("a positive tau", tau)
			}
			return in[0].Clone(), nil
		},
		New: graph.Bodies(newOptionWeights[float32](o, tau), newOptionWeights[float64](o, tau)),
	}, logits)
}

type optionWeights[T graph.Float] struct {
	optionBlocks
	tau          T
	columns      int
	softmax, sum []T // of a row: softmaxes, and gradients of the weights
}

func newOptionWeights[T graph.Float](o optionBlocks, tau float64) func([]tensor.Shape) *optionWeights[T] {
	return func(in []tensor.Shape) *optionWeights[T] {
		columns := in[0][1]
		return &optionWeights[T]{o, T(tau), columns, make([]T, columns), make([]T, columns)}
	}
}

// softmaxes computes the softmaxes of a row's blocks.
func (f *optionWeights[T]) softmaxes(logits []T) {
	first := 0
	for _, n := range f.Sizes {
		x, s := logits[first:first+n], f.softmax[first:first+n]
		largest, sum := slices.Max(x), T(0)
		for j, v := range x {
			s[j] = T(math.Exp(float64((v - largest) / f.tau)))
			sum += s[j]
		}
		for j := range s {
			s[j] /= sum
		}
		first += n
	}
}

func (f *optionWeights[T]) Forward(in [][]T, out []T) {
	for offset := 0; offset < len(out); offset += f.columns {
		f.softmaxes(in[0][offset : offset+f.columns])
		row, first := out[offset:offset+f.columns], 0
		for b, n := range f.Sizes {
			parentWeight := T(1)
			if p := f.Parents[b]; p >= 0 {
				parentWeight = row[p]
			}
			for j := first; j < first+n; j++ {
				row[j] = f.softmax[j] * parentWeight
			}
			first += n
		}
	}
}

func (f *optionWeights[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	for offset := 0; offset < len(out); offset += f.columns {
		f.softmaxes(in[0][offset : offset+f.columns])
		copy(f.sum, dout[offset:offset+f.columns])
		first := f.columns
		for b := len(f.Sizes) - 1; b >= 0; b-- { // child blocks come after their parents
			n := f.Sizes[b]
			first -= n
			var mean T // mean of the gradients
			for j := first; j < first+n; j++ {
				mean += f.softmax[j] * f.sum[j]
			}
			parentWeight := T(1)
			if p := f.Parents[b]; p >= 0 {
				parentWeight = out[offset+p]
				f.sum[p] += mean
			}
			for j := first; j < first+n; j++ {
				din[0][offset+j] = f.softmax[j] * (f.sum[j] - mean) * parentWeight / f.tau
			}
		}
	}
}

// gateValues multiplies values [rows, n] by weights [rows, K]: column c of the values by column columns[c] of the
// weights, or by 1 for -1.
func gateValues(values, weights *gorgonia.Node, columns []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "gate",
		Key:        graph.Key(columns),
		Attributes: map[string]any{"columns": columns},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, n, err := graph.Matrix("values", in[0])
			if err != nil {
				return nil, err
			}
			others, k, err := graph.Matrix("weights", in[1])
			switch {
			case err != nil:
				return nil, err
			case others != rows:
				return nil, graph.Wanted(fmt.Sprintf("%d rows of weights", rows), in[1])
			case len(columns) != n || slices.Min(columns) < -1 || slices.Max(columns) >= k:
				return nil, graph.Wanted(fmt.Sprintf("%d columns of weights from -1 to %d", n, k-1), columns)
			}
			return in[0].Clone(), nil
		},
		New: graph.Bodies(newGate[float32](columns), newGate[float64](columns)),
	}, values, weights)
}

type gate[T graph.Float] struct {
	columns []int
	k       int
}

func newGate[T graph.Float](columns []int) func([]tensor.Shape) gate[T] {
	return func(in []tensor.Shape) gate[T] { return gate[T]{columns, in[1][1]} }
}

func (f gate[T]) Forward(in [][]T, out []T) {
	n := len(f.columns)
	for i, v := range in[0] {
		if c := f.columns[i%n]; c >= 0 {
			v *= in[1][i/n*f.k+c]
		}
		out[i] = v
	}
}

func (f gate[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	n := len(f.columns)
	if din[1] != nil {
		clear(din[1])
	}
	for i, d := range dout {
		c := f.columns[i%n]
		weight := i/n*f.k + c
		if din[0] != nil {
			din[0][i] = d
			if c >= 0 {
				din[0][i] = d * in[1][weight]
			}
		}
		if din[1] != nil && c >= 0 {
			din[1][weight] += d * in[0][i]
		}
	}
}

// numberOptions returns hierarchical codes in the layout for metrics, [rows, blocks + n]. Every block of weights, which
// are 0 or 1, becomes 1 + the chosen option, or 0 for none. The values [rows, n] follow. It has no gradient.
func numberOptions(weights, values *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "option numbers",
		Key:        graph.Key(sizes),
		Attributes: map[string]any{"sizes": sizes},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, k, err := graph.Matrix("weights", in[0])
			if err != nil {
				return nil, err
			}
			others, n, err := graph.Matrix("values", in[1])
			switch {
			case err != nil:
				return nil, err
			case others != rows || k != (optionBlocks{Sizes: sizes}).columns():
				return nil, graph.Wanted(fmt.Sprintf("%d rows, and blocks of %d columns", rows, k), []any{in[1], sizes})
			}
			return tensor.Shape{rows, len(sizes) + n}, nil
		},
		New:  graph.Bodies(optionNumbers[float32](sizes), optionNumbers[float64](sizes)),
		Diff: []bool{false, false},
	}, weights, values)
}

func optionNumbers[T graph.Float](sizes []int) func([]tensor.Shape) forward[T] {
	return func(s []tensor.Shape) forward[T] {
		width := len(sizes) + s[1][1]
		return func(in [][]T, out []T) {
			weights, values := in[0], in[1]
			for row := range slices.Chunk(out, width) {
				for b, n := range sizes {
					row[b] = 0
					for j, w := range weights[:n] {
						row[b] += T(1+j) * w
					}
					weights = weights[n:]
				}
				values = values[copy(row[len(sizes):], values):]
			}
		}
	}
}

// readOptions inverts numberOptions: from numbers [rows, blocks + n] it computes the input of a decoder, [rows, K + n].
// The weight is 1 for the option of the nearest whole number. It is 0 for all other options, and for all options below
// an option that is not chosen. Values are 0 if their column of the weights (see gateValues) is 0. It has no gradient.
func readOptions(numbers *gorgonia.Node, o optionBlocks, columns []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "numbered options",
		Key:        graph.Key(o, columns),
		Attributes: map[string]any{"sizes": o.Sizes, "parents": o.Parents, "columns": columns},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, d, err := graph.Matrix("numbers", in[0])
			switch {
			case err != nil:
				return nil, err
			case o.check() != nil:
				return nil, o.check()
			case d != len(o.Sizes)+len(columns):
				return nil, graph.Wanted(fmt.Sprintf("%d columns", len(o.Sizes)+len(columns)), in[0])
			}
			return tensor.Shape{rows, o.columns() + len(columns)}, nil
		},
		New:  graph.Bodies(numberedOptions[float32](o, columns), numberedOptions[float64](o, columns)),
		Diff: []bool{false},
	}, numbers)
}

func numberedOptions[T graph.Float](o optionBlocks, columns []int) func([]tensor.Shape) forward[T] {
	d, width := len(o.Sizes)+len(columns), o.columns()+len(columns)
	return func([]tensor.Shape) forward[T] {
		return func(in [][]T, out []T) {
			clear(out)
			for row := range len(out) / width {
				from, to := in[0][row*d:(row+1)*d], out[row*width:(row+1)*width]
				first := 0
				for b, n := range o.Sizes {
					choice := int(math.Round(float64(from[b]))) - 1
					if p := o.Parents[b]; choice >= 0 && choice < n && (p < 0 || to[p] > 0) {
						to[first+choice] = 1
					}
					first += n
				}
				for i, c := range columns {
					if c < 0 || to[c] > 0 {
						to[first+i] = from[len(o.Sizes)+i]
					}
				}
			}
		}
	}
}
