package conformance_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// faultyLoss is a loss with a fault: the mean over rows of sum_j power |a_j - b_j|^2 of codes a and samples b.
type faultyLoss struct {
	Weight losses.Weight `yaml:"weight" doc:"factor in the total"`
	Power  float64       `yaml:"power" doc:"factor of squares"`
	Again  int           `yaml:"again" doc:"how often to add the squares again"`
	Half   bool          `yaml:"half" doc:"halve the squares"`
	Inner  innerOptions  `yaml:"inner" doc:"options below an option"`
	Fault  string        `yaml:"fault" doc:"what is wrong"`
}

type innerOptions struct {
	Scale float64 `yaml:"scale" doc:"1 is added to this factor of squares"`
}

func (l *faultyLoss) Validate() error {
	if l.Again < 0 {
		return errors.New("again: want 0 or more")
	}
	return nil
}

// factor is the factor of the squares.
func (l *faultyLoss) factor() float64 {
	f := l.Power * float64(1+l.Again) * (1 + l.Inner.Scale)
	if l.Half {
		f /= 2
	}
	return f
}

func (l *faultyLoss) Weighting() losses.Weight {
	if l.Fault == "a weight of its own" {
		return losses.Constant(3)
	}
	return l.Weight
}

func (l *faultyLoss) Optimum(x *losses.Example) bool {
	copy(x.Codes, x.Sample)
	if l.Fault == "another optimum" {
		x.Codes[0]++
	}
	return true
}

func (l *faultyLoss) Add(in *losses.Input) (*gorgonia.Node, error) {
	switch l.Fault {
	case "needs more":
		return nil, errors.New("it needs an ear, which this model does not have")
	case "no scalar":
		return in.Codes, nil
	case "of nothing":
		return graph.Scale(1, gorgonia.NewScalar(in.Codes.Graph(), in.Codes.Dtype(), gorgonia.WithName("x"),
			gorgonia.WithValue(one(in.Codes.Dtype()))))
	}
	key := graph.Key(l.Power, l.Again, l.Half, l.Inner.Scale, l.Fault)
	switch l.Fault {
	case "a key without a parameter":
		key = graph.Key(l.Again, l.Half)
	case "a key without a count":
		key = graph.Key(l.Power, l.Half)
	case "a key without a choice":
		key = graph.Key(l.Power, l.Again)
	case "a key without an inner option":
		key = graph.Key(l.Power, l.Again, l.Half)
	}
	a, b := in.Codes, in.Sample
	columns := 1
	if l.Fault == "panics" {
		columns = a.Shape()[1]
	}
	return graph.Apply(graph.Spec{
		Name: "faulty",
		Key:  key,
		Shape: func(s []tensor.Shape) (tensor.Shape, error) {
			if l.Fault != "any shape" && (!slices.Equal(s[0], s[1]) || columns < 1) {
				return nil, fmt.Errorf("shapes %v; want equal ones", s)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(s []tensor.Shape) faultyBody[float32] { return faultyBody[float32]{l, s[0][0], true} },
			func(s []tensor.Shape) faultyBody[float64] { return faultyBody[float64]{l, s[0][0], false} }),
	}, a, b)
}

func one(dt tensor.Dtype) any {
	if dt == tensor.Float32 {
		return float32(1)
	}
	return 1.0
}

type faultyBody[T graph.Float] struct {
	*faultyLoss
	rows   int
	single bool
}

func (f faultyBody[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, x := range in[0][:min(len(in[0]), len(in[1]))] {
		d := float64(x - in[1][i])
		sum += f.factor() * d * d
	}
	switch {
	case f.Fault == "another value in float32" && f.single:
		sum *= 1.01
	case f.Fault == "below 0":
		sum = -sum
	case f.Fault == "not a number at 0":
		sum = math.Abs(sum) * math.Log(sum) / math.Log(sum)
	case f.Fault == "changes its input":
		in[0][0] = 0
	}
	out[0] = T(sum / float64(f.rows))
}

func (f faultyBody[T]) Backward(in [][]T, out, dout []T, din [][]T) {
	scale := 2 * f.factor() / float64(f.rows) * float64(dout[0])
	switch {
	case f.Fault == "a gradient 17 times too large":
		scale *= 17
	case f.Fault == "a gradient of the other sign":
		scale = -scale
	case f.Fault == "another gradient in float32" && f.single:
		scale *= 1.01
	case f.Fault == "below 0":
		scale = -scale
	}
	for k, d := range din {
		for i := range d {
			d[i] = T(scale * float64(in[k][i]-in[1-k][i]))
		}
	}
	if f.Fault == "adds to gradients" && din[0] != nil {
		din[0][0] += T(out[0])
	}
}

func TestLossesFindFaults(t *testing.T) {
	long.NotShort(t)
	for fault, want := range map[string]string{
		"":                              "",
		"needs more":                    "it cannot be added to an example: it needs an ear",
		"no scalar":                     "want a scalar node",
		"of nothing":                    "it depends on nothing that a model makes",
		"a gradient 17 times too large": "central differences give",
		"a gradient of the other sign":  "central differences give",
		"adds to gradients":             "central differences give",
		"another gradient in float32":   "in float32",
		"another value in float32":      "in float32",
		"a key without a parameter":     "with another power: its value is",
		"a key without a count":         "with another again: its value is",
		"a key without an inner option": "with another inner.scale: its value is",
		"a key without a choice":        "nodes of two settings are merged; want every parameter in the Key",
		"panics":                        "it panics if codes have the shape [16]",
		"any shape":                     "codes of shape [20 6] beside others of 16 rows are no error",
		"another optimum":               "its value at the optimum is",
		"below 0":                       "want 0 or more, as Optimum says",
		"not a number at 0":             "at all outputs zero in float64: element 0 of the value is NaN",
		"a weight of its own":           "Weighting is 3 with the weight 2.5",
		"changes its input":             "a run changed element 0 of input 0",
	} {
		err := conformance.CheckLoss(registry.Entry[losses.Loss]{Name: "faulty", Doc: "a squared distance",
			New: func() losses.Loss { return &faultyLoss{Weight: losses.Constant(1), Power: 1, Fault: fault} }})
		must.Error(t, err, want, fault)
	}
}

// fixedWeight is a loss with a weight that cannot change during training.
type fixedWeight struct {
	faultyLoss `yaml:"-"`
	Factor     float64 `yaml:"weight" doc:"factor in the total"`
}

func TestWeightsCanChange(t *testing.T) {
	err := conformance.CheckLoss(registry.Entry[losses.Loss]{Name: "fixed", Doc: "a squared distance",
		New: func() losses.Loss { return &fixedWeight{faultyLoss{Weight: losses.Constant(1), Power: 1}, 1} }})
	must.Error(t, err, "its weight is a float64; want a losses.Weight")
}

// The defaults of logic are not valid settings, so CheckLoss checks its variants.
func TestLogicIsTested(t *testing.T) {
	long.NotShort(t)
	e := must.Get(losses.Registry.Lookup("logic"))(t)
	must.Equal(t, len(e.New().(losses.Varied).Variants()), 9, "variants")
	if err := conformance.CheckLoss(e); err != nil {
		t.Error(err)
	}
}

// secondFault is a loss with a fault in one variant only.
type secondFault struct{ faultyLoss }

func (*secondFault) Variants() []losses.Loss {
	return []losses.Loss{&secondFault{},
		&secondFault{faultyLoss{Weight: losses.Constant(1), Power: 2, Fault: "a gradient 17 times too large"}}}
}

func TestVariantsOfLosses(t *testing.T) {
	err := conformance.CheckLoss(registry.Entry[losses.Loss]{Name: "second", Doc: "a squared distance",
		New: func() losses.Loss { return &secondFault{faultyLoss{Weight: losses.Constant(1), Power: 1}} }})
	must.Error(t, err, "loss second: variant 2: ")
}
