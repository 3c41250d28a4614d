package losses

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/losses/internal/total"
)

// Shape is the shape of a [Ramp] between its two values.
type Shape uint8

// The shapes, as functions of the fraction p = step / steps of the ramp.
const (
	Linear Shape = iota // p
	Cosine              // half a cosine: (1 - cos(pi p)) / 2
)

func (s Shape) MarshalText() ([]byte, error) { return []byte([]string{"linear", "cosine"}[s]), nil }

func (s *Shape) UnmarshalText(text []byte) error {
	switch string(text) {
	case "linear":
		*s = Linear
	case "cosine":
		*s = Cosine
	default:
		return fmt.Errorf("unknown shape %q; known: linear, cosine; a geometric decay has no shape: {from: 1, to: 0, decay: 0.995}", text)
	}
	return nil
}

// Ramp is a number that changes with the steps of training. A step is an update of the parameters: with accumulated
// gradients, all batches of one update have the same value. In step t = 0, 1, ... it is
//
//	from + (to - from) f(t' / steps) before step t' = steps, and to from there on,
//
// with t' = t mod cycle, or t if cycle is 0, and f of [Shape]. Step 0 and the first step of each cycle have the value
// From. A decay replaces steps: each step multiplies the distance to the end by a factor, so it never becomes 0:
//
//	to + (from - to) decay^t'
//
// Source: Bowman et al. 2016 (a ramp); Fu et al. 2019, equations 6 and 7 (cycles: their R is steps / cycle, their M the
// steps of training / cycle).
type Ramp struct {
	From  float64 `yaml:"from" doc:"value in the first step, and in the first step of a cycle"`
	To    float64 `yaml:"to" doc:"value at the end of the ramp"`
	Steps int     `yaml:"steps" doc:"number of steps (updates) of the ramp; 0 uses to from the start"`
	Shape Shape   `yaml:"shape,omitempty" doc:"shape of the ramp: linear or cosine"`
	Cycle int     `yaml:"cycle,omitempty" doc:"number of steps before the ramp restarts; 0: never"`
	Decay float64 `yaml:"decay,omitempty" doc:"instead of steps: factor that shrinks the distance to the end value in each step, below 1"`
}

func (r *Ramp) Validate() error {
	for _, f := range []struct {
		key   string
		value float64
	}{{"from", r.From}, {"to", r.To}} {
		if err := validNumber(f.value); err != nil {
			return config.Invalid(f.key, "%w", err)
		}
	}
	switch {
	case r.Steps < 0:
		return config.Invalid("steps", "want 0 or more, got %d", r.Steps)
	case r.Cycle < 0:
		return config.Invalid("cycle", "want 0 or more, got %d", r.Cycle)
	case r.Cycle > 0 && r.Cycle < r.Steps:
		return config.Invalid("cycle", "want at least the %d steps of the ramp, got %d", r.Steps, r.Cycle)
	case !(r.Decay >= 0 && r.Decay < 1):
		return config.Invalid("decay", "want a factor above 0 and below 1, got %v", r.Decay)
	case r.Decay > 0 && r.Steps > 0:
		return config.Invalid("decay", "want steps or decay, got both")
	case r.Decay > 0 && r.Shape == Cosine:
		return config.Invalid("shape", "a decay has none; want steps instead of decay")
	}
	return nil
}

// Constant reports whether the ramp has the value To in all steps.
func (r *Ramp) Constant() bool { return r.Steps == 0 && r.Decay == 0 }

// At returns the value in a step; the first is step 0.
func (r *Ramp) At(step int) float64 {
	if r.Cycle > 0 {
		step %= r.Cycle
	}
	switch {
	case r.Decay > 0:
		return r.To + (r.From-r.To)*math.Pow(r.Decay, float64(step))
	case step >= r.Steps:
		return r.To
	case r.Shape == Cosine:
		return r.From + (r.To-r.From)*(1-math.Cos(math.Pi*float64(step)/float64(r.Steps)))/2
	}
	return r.From + (r.To-r.From)*float64(step)/float64(r.Steps)
}

// Weight is the weight of a loss in the total: a number, or a [Ramp] over the training steps. The zero value is 0.
type Weight struct{ Ramp }

// Constant returns a weight with the same value in all steps.
func Constant(w float64) Weight { return Weight{Ramp{To: w}} }

// DecodeConfig reads a number or the keys of a [Ramp]. A ramp without an end value ends at the default weight.
func (w *Weight) DecodeConfig(n *config.Node) error {
	switch {
	case n.IsScalar():
		*w = Weight{}
		return n.Decode(&w.To)
	case !n.IsMap():
		return n.Errorf("want a number, or {from: 0, to: 1, steps: 10000}")
	}
	r := Ramp{To: w.To}
	if err := n.Decode(&r); err != nil {
		return err
	}
	if n.Get("steps") == nil && n.Get("decay") == nil {
		return n.Errorf("want the number of steps of the change, or a decay, such as {from: 0, to: 1, steps: 10000} or {from: 1, to: 0, decay: 0.995}; or a number for all steps")
	}
	if d := n.Get("decay"); d != nil && r.Decay == 0 {
		return d.Errorf("want a factor above 0 and below 1, got 0")
	}
	w.Ramp = r
	return nil
}

func (w Weight) EncodeConfig() (any, error) {
	if w.Constant() {
		return w.To, nil
	}
	return w.Ramp, nil
}

func (w Weight) ConfigForms() []any { return []any{w.To, Ramp{To: w.To}} }
func (w Weight) ConfigType() string { return "number or ramp" }

func (w *Weight) Validate() error {
	if w.Constant() {
		return validNumber(w.To)
	}
	return w.Ramp.Validate()
}

// String returns the number, or the ramp in the form of a config.
func (w Weight) String() string {
	if w.Constant() {
		return fmt.Sprint(w.To)
	}
	s := fmt.Sprintf("{from: %v, to: %v, ", w.From, w.To)
	if w.Decay > 0 {
		s += fmt.Sprintf("decay: %v", w.Decay)
	} else {
		s += fmt.Sprintf("steps: %d", w.Steps)
	}
	if w.Shape == Cosine {
		s += ", shape: cosine"
	}
	if w.Cycle > 0 {
		s += fmt.Sprintf(", cycle: %d", w.Cycle)
	}
	return s + "}"
}

func validNumber(w float64) error {
	if !(w >= 0) || w > 1e12 {
		return fmt.Errorf("want a number from 0 to 1e12, got %v", w)
	}
	return nil
}

// HalfSquare returns half the sum of the squares of all elements of x, a scalar; its gradient is x.
func HalfSquare(x *gorgonia.Node) (*gorgonia.Node, error) { return total.HalfSquare(x) }

// WeightDecayLoss is half the sum of squares of a model's weights, without biases, as a part of the total. With Adam
// its gradient enters the moments; the weight decay of the optimiser, in contrast, is decoupled.
type WeightDecayLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewWeightDecay returns CascadeVAE's settings.
func NewWeightDecay() *WeightDecayLoss { return &WeightDecayLoss{Weight: Constant(4e-5)} }

func (l *WeightDecayLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: all weights are 0.
func (*WeightDecayLoss) Optimum(x *Example) bool {
	fill(x.Weights, 0)
	return true
}

func (*WeightDecayLoss) Add(in *Input) (*gorgonia.Node, error) {
	if len(in.Weights) == 0 {
		return nil, missing("weights that are trained")
	}
	nodes := make(gorgonia.Nodes, len(in.Weights))
	for i, w := range in.Weights {
		var err error
		if nodes[i], err = HalfSquare(w); err != nil {
			return nil, err
		}
	}
	return total.Sum(nodes...)
}

// parseName parses a setting with a fixed list of names.
func parseName[T ~string](dst *T, kind string, text []byte, names ...T) error {
	if !slices.Contains(names, T(text)) {
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(names), "[]"), " ", ", ")
		return fmt.Errorf("unknown %s %q; known: %s", kind, text, list)
	}
	*dst = T(text)
	return nil
}

func notNegative(key string, v float64) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return config.Invalid(key, "want 0 or more, got %v", v)
	}
	return nil
}

func positive(key string, v float64) error {
	if !(v > 0 && v <= 1e6) {
		return config.Invalid(key, "want more than 0 and at most 1e6, got %v", v)
	}
	return nil
}

// distinctColumns checks a list of code columns; count is the required length, or 0 for any length.
func distinctColumns(columns []int, count int) error {
	if count > 0 && len(columns) != count {
		return fmt.Errorf("%v has %s; want %d", columns, wording.Count(len(columns), "column"), count)
	}
	for i, c := range columns {
		if c < 0 || slices.Contains(columns[:i], c) {
			return fmt.Errorf("want distinct columns, numbered from 0, got %v", columns)
		}
	}
	return nil
}
