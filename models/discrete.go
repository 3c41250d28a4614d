package models

import (
	"fmt"
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
	points, err := unnumbered(codes, m.sizes)
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

// numbered returns codes for metrics, [rows, blocks + n]. Each block of weights becomes the number of its most probable
// option. The values [rows, n] follow if they are not nil.
func numbered(weights, values *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
	if len(sizes) == 0 {
		return values, nil
	}
	numbers, err := likeliest(weights, sizes)
	if err != nil || values == nil {
		return numbers, err
	}
	return graph.ConcatColumns(numbers, values)
}

// unnumbered inverts numbered: it returns one-hot options, then the values. A number that is no option gives zeros.
func unnumbered(codes *gorgonia.Node, sizes []int) (*gorgonia.Node, error) {
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
		New:  graph.Bodies(likeliestOptions[float32](sizes), likeliestOptions[float64](sizes)),
		Diff: []bool{false},
	}, weights)
}

func likeliestOptions[T graph.Float](sizes []int) func([]tensor.Shape) forward[T] {
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
