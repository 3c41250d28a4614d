package latent

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
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/losses"
)

// Discrete is implemented by spaces that may be a choice among options. Their coordinates are weights of the options.
// In a code, the space has one column: the number of the likeliest option. In a list, such spaces come first.
type Discrete interface {
	Choices() int // number of options; 0: the space is not discrete
}

// Annealed is implemented by spaces with samples that depend on a changing number, such as a temperature. The number
// may change with the updates of training.
type Annealed interface {
	// Annealing returns the number as a function of the updates so far, or nil if the number is constant. Sample then
	// uses the constant.
	Annealing() func(update int) float64

	// SampleAt is Sample with the number as a node of shape (1).
	SampleAt(location, scale, noise, number *gorgonia.Node) (*gorgonia.Node, error)
}

// Categorical is a choice among Options options with the probabilities alpha and a uniform prior. alpha is a softmax
// of linear maps of the features. Samples are relaxed choices, [RelaxedChoice]; at low temperatures they are near the
// corners of the simplex. KL is the divergence of the choice itself, losses.KLCategorical. The location is alpha, the
// scale log alpha, [batch, Options] each.
//
// Only the identity acts: a labelled group shares the mean of its samples.
//
// Source: Jang et al. 2017; Maddison et al. 2017; Dupont 2018 (JointVAE).
type Categorical struct {
	Options     int         `yaml:"options" doc:"number of options to choose from"`
	Temperature Temperature `yaml:"temperature" doc:"temperature of the relaxed choice: a number above 0, or a ramp over the updates of training, such as {from: 1, to: 0.5, steps: 20000, shape: exponential}"`
	identityOnly
}

// NewCategorical returns the default settings: ten options at the temperature 0.67.
func NewCategorical() *Categorical {
	return &Categorical{Options: 10, Temperature: NewTemperature(JointTemperature)}
}

// maxOptions limits the options of a space. A hierarchy has at most twice as many dimensions and options.
const maxOptions = 2048

// ValidOptions checks a number of options.
func ValidOptions(n int) error {
	if n < 2 || n > maxOptions {
		return fmt.Errorf("%d options; want 2 to %d", n, maxOptions)
	}
	return nil
}

func (c *Categorical) Validate() error {
	if err := ValidOptions(c.Options); err != nil {
		return config.Invalid("options", "%w", err)
	}
	if err := c.Temperature.Validate(); err != nil {
		return config.Invalid("temperature", "%w", err)
	}
	return nil
}

func (c *Categorical) Choices() int { return c.Options }
func (c *Categorical) Width() int   { return c.Options }

func (c *Categorical) Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error) {
	logits, err := nn.Dense(g, features, name+"/loc", c.Options, graph.Linear)
	if err != nil {
		return nil, nil, err
	}
	if location, err = graph.SoftmaxRows(logits); err != nil {
		return nil, nil, err
	}
	scale, err = graph.LogSoftmaxRows(logits)
	return location, scale, err
}

func (c *Categorical) NoiseShape(batch int) []int { return []int{batch, c.Options} }

// Sample implements [Space], at the final temperature of a schedule.
func (c *Categorical) Sample(_, scale, noise *gorgonia.Node) (*gorgonia.Node, error) {
	u, err := Uniform(noise)
	if err != nil {
		return nil, err
	}
	return relaxed(c.Temperature.To, scale, u)
}

func (c *Categorical) Annealing() func(update int) float64 {
	if c.Temperature.Constant() {
		return nil
	}
	return c.Temperature.At
}

func (c *Categorical) SampleAt(_, scale, noise, temperature *gorgonia.Node) (*gorgonia.Node, error) {
	u, err := Uniform(noise)
	if err != nil {
		return nil, err
	}
	return RelaxedChoice(scale, u, temperature)
}

func (c *Categorical) KL(location, scale *gorgonia.Node) (*gorgonia.Node, error) {
	return losses.KLCategorical(location, scale)
}

// Prior implements [Space]: a corner of the simplex.
func (c *Categorical) Prior(r *rng.Stream, dst []float32) {
	clear(dst)
	dst[r.IntN(c.Options)] = 1
}

// Distance implements [Embedded]: the distance of weights from the simplex.
func (c *Categorical) Distance(point []float64) float64 {
	sum, below := -1.0, 0.0
	for _, w := range point {
		sum += w
		below = max(below, -w)
	}
	return max(sum, -sum, below)
}

// gumbelFloor is added to both arguments of a logarithm in Gumbel noise, as in public code of JointVAE.
const gumbelFloor = 1e-12

// leastUniform is the smallest uniform number, and the distance of the largest from 1: the float32 resolution near 1.
const leastUniform = 1.0 / (1 << 24)

// Uniform applies the normal distribution function to standard normal numbers, element by element. The results are
// independent and uniform on [2^-24, 1 - 2^-24]. They have no gradient.
func Uniform(normal *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:  "normal distribution",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil },
		New: graph.Bodies(
			func([]tensor.Shape) graph.Body[float32] { return normalDistribution[float32]{} },
			func([]tensor.Shape) graph.Body[float64] { return normalDistribution[float64]{} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n := in[0].TotalSize()
			return graph.Recording{Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.NormalDistribution(t, in[0], out, n)
			}}, nil
		},
		Diff: []bool{false},
	}, normal)
}

type normalDistribution[T graph.Float] struct{}

func (normalDistribution[T]) Forward(in [][]T, out []T) {
	for i, x := range in[0] {
		u := math.Erfc(-float64(x)/math.Sqrt2) / 2
		out[i] = T(min(max(u, leastUniform), 1-leastUniform))
	}
}

func (normalDistribution[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

// RelaxedChoice returns a relaxed sample of a categorical distribution over K options, a point of the simplex for every
// row:
//
//	softmax((log alpha + g)/tau),  g = -log(-log(u + 1e-12) + 1e-12)
//
// logarithms holds log alpha, [rows, K], for the probabilities alpha of the options. uniform holds u, [rows, K], which
// is uniform on (0, 1). The temperature tau > 0 is a node with one number. As tau goes to 0, the sample becomes one-hot
// at the largest log alpha + g, which is a sample of alpha. The result has a gradient in log alpha, but none in u and
// tau.
//
// Source: Jang et al. 2017, equation 2; Maddison et al. 2017.
func RelaxedChoice(logarithms, uniform, tau *gorgonia.Node) (*gorgonia.Node, error) {
	return relaxed(0, logarithms, uniform, tau)
}

// relaxed is RelaxedChoice at the temperature tau, or with the third input as its temperature.
func relaxed(tau float64, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "relaxed choice",
		Key:  graph.Key(tau),
		Shape: func(s []tensor.Shape) (tensor.Shape, error) {
			if !slices.Equal(s[0], s[1]) || len(s) == 3 && s[2].TotalSize() != 1 {
				return nil, graph.Wanted("log probabilities and uniform numbers of one shape, and one temperature", s)
			}
			_, _, err := graph.Matrix("log probabilities", s[0])
			return s[0].Clone(), err
		},
		New: graph.Bodies(newRelaxedChoice[float32](tau), newRelaxedChoice[float64](tau)),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.RelaxedChoice(t, in[0], in[1], temperatureOf(in), out, tau, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.RelaxedChoiceGradient(t, out, dout, temperatureOf(in), din[0], tau, rows, columns)
				},
			}, nil
		},
		Diff: []bool{true, false, false}[:len(in)],
	}, in...)
}

// temperatureOf returns the input with the temperature, or none.
func temperatureOf(in []vulkan.Buffer) vulkan.Buffer {
	if len(in) < 3 {
		return vulkan.Buffer{}
	}
	return in[2]
}

type relaxedChoice[T graph.Float] struct {
	columns int
	tau     float64 // 0: the third input is the temperature
	row     []float64
}

func newRelaxedChoice[T graph.Float](tau float64) func([]tensor.Shape) relaxedChoice[T] {
	return func(in []tensor.Shape) relaxedChoice[T] {
		columns := in[0][1]
		return relaxedChoice[T]{columns, tau, make([]float64, columns)}
	}
}

func (f relaxedChoice[T]) temperature(in [][]T) float64 {
	if f.tau > 0 {
		return f.tau
	}
	return float64(in[2][0])
}

func (f relaxedChoice[T]) Forward(in [][]T, out []T) {
	tau := f.temperature(in)
	for at := 0; at < len(out); at += f.columns {
		for j := range f.row {
			f.row[j] = float64(in[0][at+j]) - math.Log(-math.Log(float64(in[1][at+j])+gumbelFloor)+gumbelFloor)
		}
		most, sum := slices.Max(f.row), 0.0
		for j, v := range f.row {
			f.row[j] = math.Exp((v - most) / tau)
			sum += f.row[j]
		}
		for j, e := range f.row {
			out[at+j] = T(e / sum)
		}
	}
}

func (f relaxedChoice[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	tau := f.temperature(in)
	for at := 0; at < len(out); at += f.columns {
		var mean float64
		for j := at; j < at+f.columns; j++ {
			mean += float64(out[j]) * float64(dout[j])
		}
		for j := at; j < at+f.columns; j++ {
			din[0][j] = T(float64(out[j]) * (float64(dout[j]) - mean) / tau)
		}
	}
}

// Temperature is the temperature of relaxed samples: a number, or a ramp over the updates of training. In a config it
// is `0.67` or `{from: 1, to: 0.5, steps: 20000, shape: exponential}`.
type Temperature struct {
	From, To float64
	Steps    int // updates of the ramp; 0: the temperature is To
	Shape    TemperatureShape
}

// TemperatureShape is the shape of a temperature ramp between its two values.
type TemperatureShape string

// The shapes are from + (to - from) p and from (to/from)^p, where p is the completed fraction of the ramp.
const (
	linearTemperature      TemperatureShape = "linear"
	exponentialTemperature TemperatureShape = "exponential"
)

func (s *TemperatureShape) UnmarshalText(text []byte) error {
	if *s = TemperatureShape(text); *s != linearTemperature && *s != exponentialTemperature {
		return fmt.Errorf("unknown shape %q; known: linear, exponential", text)
	}
	return nil
}

// JointTemperature is the temperature of JointVAE's public code.
const JointTemperature = 0.67

// NewTemperature returns a constant temperature.
func NewTemperature(tau float64) Temperature { return Temperature{To: tau} }

// Constant reports whether the temperature is To in all steps.
func (t Temperature) Constant() bool { return t.Steps == 0 }

// At returns the temperature of the step after the given number of updates.
func (t Temperature) At(update int) float64 {
	part := float64(update) / float64(max(t.Steps, 1))
	switch {
	case update >= t.Steps:
		return t.To
	case t.Shape == exponentialTemperature:
		return t.From * math.Pow(t.To/t.From, part)
	}
	return t.From + (t.To-t.From)*part
}

// Validate checks that the values are between 0.001 and 1e6.
func (t Temperature) Validate() error {
	at := []float64{t.To}
	if !t.Constant() {
		at = append(at, t.From)
	}
	for _, tau := range at {
		if !(tau >= 1e-3 && tau <= 1e6) {
			return fmt.Errorf("a temperature of %v; want 0.001 to 1e6, at the start and at the end", tau)
		}
	}
	return nil
}

// temperatureKeys holds the keys of a ramp in a config.
type temperatureKeys struct {
	From  float64          `yaml:"from" doc:"temperature in the first step"`
	To    float64          `yaml:"to" doc:"temperature at the end of the ramp"`
	Steps int              `yaml:"steps" doc:"number of updates of the ramp"`
	Shape TemperatureShape `yaml:"shape" doc:"linear or exponential: equal differences or equal factors from step to step"`
}

func (k *temperatureKeys) Validate() error {
	if k.Steps < 1 || k.Steps > math.MaxInt32 {
		return config.Invalid("steps", "want 1 to %d, got %d", math.MaxInt32, k.Steps)
	}
	return nil
}

// DecodeConfig reads a number or the keys of a ramp.
func (t *Temperature) DecodeConfig(n *config.Node) error {
	switch {
	case n.IsScalar():
		*t = Temperature{}
		if err := n.Decode(&t.To); err != nil {
			return err
		}
	case n.IsMap():
		keys := temperatureKeys{From: 1, To: t.To, Shape: linearTemperature}
		if err := n.Decode(&keys); err != nil {
			return err
		}
		*t = Temperature(keys)
	default:
		return n.Errorf("want %s", t.ConfigType())
	}
	if err := t.Validate(); err != nil {
		return n.Errorf("%w", err)
	}
	return nil
}

func (t Temperature) EncodeConfig() (any, error) {
	if t.Constant() {
		return t.To, nil
	}
	return temperatureKeys(t), nil
}

func (t Temperature) ConfigForms() []any {
	return []any{t.To, temperatureKeys{From: 1, To: t.To, Shape: linearTemperature}}
}

func (t Temperature) ConfigType() string {
	return "a temperature, or {from: 1, to: 0.5, steps: N, shape: exponential}"
}
