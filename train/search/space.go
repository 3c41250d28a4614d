// Package search implements the methods of hyperparameter search: random search, TPE and ASHA. A [Space] has the range
// of every setting. A [Method] decides from the existing trials what to run next. The package does no input or output;
// package sweep runs the trials.
package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Kind is the kind of a range.
type Kind string

// The kinds of ranges.
const (
	Linear     Kind = "linear"      // numbers from low to high, uniform
	Log        Kind = "log"         // numbers from low to high, uniform on a log scale
	Integer    Kind = "integer"     // integers from low to high, uniform
	LogInteger Kind = "log-integer" // integers from low to high: rounded numbers that are uniform on a log scale
	Choice     Kind = "choice"      // a list of values, uniform
)

var rangeKinds = []string{string(Linear), string(Log), string(Integer), string(LogInteger), string(Choice)}

// Range is the range of a setting: numbers between two inclusive bounds, or a list of values.
type Range struct {
	Key       string // path of the setting in the config
	Kind      Kind
	Low, High float64  // bounds of the numbers
	Values    []string // values of a choice, each as one line of YAML
}

// Space is the list of ranges of a search. In a config, it is a mapping from key paths to ranges,
// {train.optimizer.adam.lr: {log: [1e-4, 0.1]}}.
type Space []Range

// Point is a value for each range of a space: a number, or the index of a choice.
type Point []float64

// DecodeConfig reads a mapping.
func (s *Space) DecodeConfig(n *config.Node) error {
	*s = nil
	if !n.IsMap() {
		return n.Errorf("want a mapping from key paths to ranges, {train.optimizer.adam.lr: {log: [1e-4, 0.1]}}")
	}
	for i, item := range n.Items() {
		r := Range{Key: n.Keys()[i]}
		if err := r.decode(item); err != nil {
			return err
		}
		*s = append(*s, r)
	}
	return nil
}

// decode reads {kind: [values]}.
func (r *Range) decode(n *config.Node) error {
	if !n.IsMap() || len(n.Keys()) != 1 {
		names := strings.Join(rangeKinds, ", ")
		return n.Errorf("want a range, {KIND: [low, high]} or {choice: [values]}; kinds are %s", names)
	}
	name, list := n.Keys()[0], n.Items()[0]
	if !slices.Contains(rangeKinds, name) {
		return list.Errorf("unknown kind of range %q%s", name, registry.Suggest(name, rangeKinds))
	}
	r.Kind = Kind(name)
	if !list.IsList() {
		return list.Errorf("want a list for %s", r.Key)
	}
	if len(list.Items()) == 0 {
		return list.Errorf("the range of %s is empty; want %s", r.Key, r.Kind.wants())
	}
	if r.Kind == Choice {
		return r.decodeChoice(list)
	}
	var bounds []float64
	if err := list.Decode(&bounds); err != nil {
		return err
	}
	if len(bounds) != 2 {
		return list.Errorf("%d numbers; want %s", len(bounds), r.Kind.wants())
	}
	r.Low, r.High = bounds[0], bounds[1]
	return r.checkBounds(list)
}

func (k Kind) wants() string {
	if k == Choice {
		return "two or more values"
	}
	return "[low, high]"
}

func (r *Range) decodeChoice(list *config.Node) error {
	for _, item := range list.Items() {
		var whole *config.Node // reports unsupported YAML
		if err := item.Decode(&whole); err != nil {
			return err
		}
		text := whole.Inline()
		if slices.Contains(r.Values, text) {
			return item.Errorf("%s is in the list twice", text)
		}
		r.Values = append(r.Values, text)
	}
	if len(r.Values) == 1 {
		return list.Errorf("the choice has the one value %s; want two or more, or the value under set", r.Values[0])
	}
	return nil
}

func (r *Range) checkBounds(list *config.Node) error {
	for i, v := range []float64{r.Low, r.High} {
		item := list.Items()[i]
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			return item.Errorf("%v is not finite; want a number", v)
		case r.whole() && (v != math.Trunc(v) || math.Abs(v) > 1<<53):
			return item.Errorf("%v is no integer; want one for a range of integers", v)
		case r.logarithmic() && v <= 0:
			return item.Errorf("%v has no logarithm; want a number above 0 in a range of kind %s", v, r.Kind)
		}
	}
	if r.Low >= r.High {
		return list.Errorf("the range begins at %v and ends at %v; want low below high", r.Low, r.High)
	}
	return nil
}

// EncodeConfig writes the mapping.
func (s Space) EncodeConfig() (any, error) {
	m := yaml.MapSlice{}
	for _, r := range s {
		n, err := config.Parse("", []byte(r.list()))
		if err != nil {
			return nil, err
		}
		m = append(m, yaml.MapItem{Key: r.Key, Value: yaml.MapSlice{{Key: string(r.Kind), Value: n}}})
	}
	return m, nil
}

// ConfigForms implements config.Former.
func (Space) ConfigForms() []any { return []any{map[string]rangeForm{}} }

// rangeForm has one key per kind of range. A range uses exactly one of them.
type rangeForm struct {
	Linear     []float64 `yaml:"linear" doc:"lowest and highest number"`
	Log        []float64 `yaml:"log" doc:"lowest and highest number above 0, on a log scale"`
	Integer    []int     `yaml:"integer" doc:"lowest and highest integer"`
	LogInteger []int     `yaml:"log-integer" doc:"lowest and highest integer above 0, on a log scale"`
	Choice     []any     `yaml:"choice" doc:"two or more values"`
}

// ConfigType implements config.Typer.
func (s Space) ConfigType() string { return "mapping of key paths to ranges" }

func (r Range) list() string {
	if r.Kind == Choice {
		return "[" + strings.Join(r.Values, ", ") + "]"
	}
	return fmt.Sprintf("[%s, %s]", formatNumber(r.Low), formatNumber(r.High))
}

// String returns the range in config format.
func (r Range) String() string { return fmt.Sprintf("%s: {%s: %s}", r.Key, r.Kind, r.list()) }

func (r Range) whole() bool       { return r.Kind == Integer || r.Kind == LogInteger }
func (r Range) logarithmic() bool { return r.Kind == Log || r.Kind == LogInteger }

// digits is the number of significant digits of a drawn number: precise enough for a setting, and short in a table.
const digits = 6

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Text returns a value of the range as one line of YAML.
func (r Range) Text(v float64) string {
	switch {
	case r.Kind == Choice:
		return r.Values[int(v)]
	case r.whole():
		return strconv.FormatInt(int64(v), 10)
	}
	return formatNumber(v)
}

// Parse is the inverse of Text. It returns false if the text is not a value of the range.
func (r Range) Parse(text string) (v float64, ok bool) {
	if r.Kind == Choice {
		i := slices.Index(r.Values, text)
		return float64(i), i >= 0
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && r.Low <= v && v <= r.High && (!r.whole() || v == math.Trunc(v))
}

// interval returns the ends of a range where it is uniform. An integer n stands for n - 1/2 to n + 1/2.
func (r Range) interval() (low, high float64) {
	low, high = r.Low, r.High
	if r.whole() {
		low, high = low-0.5, high+0.5
	}
	return r.scale(low), r.scale(high)
}

// scale returns x, or log x in a logarithmic range.
func (r Range) scale(x float64) float64 {
	if r.logarithmic() {
		return math.Log(x)
	}
	return x
}

// value returns the value of the range at a position in the interval.
func (r Range) value(x float64) float64 {
	if r.logarithmic() {
		x = math.Exp(x)
	}
	if r.whole() {
		x = math.Round(x)
	} else {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64) // the text is a number
	}
	return min(max(x, r.Low), r.High)
}

func (r Range) draw(random *rand.Rand) float64 {
	if r.Kind == Choice {
		return float64(random.IntN(len(r.Values)))
	}
	low, high := r.interval()
	return r.value(low + (high-low)*random.Float64())
}

const maxDraws = 1000 // maximum number of draws to find a new point

// Draw returns the random point of the k-th trial. If all earlier trials are random, it only depends on the seed and k.
// Draw draws again if an earlier trial has the same point. It returns nil if every draw gives an earlier point, because
// the space has only a few points.
func (s Space) Draw(seed uint64, k int, trials []Trial) Point {
	random := stream(seed, k, 0)
	for range maxDraws {
		p := make(Point, len(s))
		for i, r := range s {
			p[i] = r.draw(random)
		}
		if !isRepeated(trials, p) {
			return p
		}
	}
	return nil
}

// stream returns the random numbers of a trial for a particular use.
func stream(seed uint64, k int, use uint64) *rand.Rand {
	p := rng.Numbered(seed, uint64(k), use)
	return rand.New(&p)
}

func isRepeated(trials []Trial, p Point) bool {
	return slices.ContainsFunc(trials, func(t Trial) bool { return slices.Equal(t.Point, p) })
}
