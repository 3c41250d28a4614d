package engine

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
)

// Part sets options of the optimiser for parameters with matching names. If several parts match a parameter, the last
// one that sets an option wins; nil does not change the option.
type Part struct {
	Match Patterns `yaml:"match" doc:"pattern of parameter names, or a list of patterns; * stands for any characters"`
	LR    *float64 `yaml:"lr" doc:"optimiser option lr for these parameters"`
	Decay *float64 `yaml:"decay" doc:"optimiser option decay for these parameters"`
}

// Validate checks that the part sets an option.
func (p *Part) Validate() error {
	switch {
	case len(p.Match) == 0:
		return config.Invalid("match", "there is no pattern; want one, such as predictor/*, or a list of them")
	case p.LR == nil && p.Decay == nil:
		return config.Invalid("lr", "neither lr nor decay is given; want at least one")
	}
	return nil
}

func (p *Part) fits(name string) bool {
	return slices.ContainsFunc(p.Match, func(pattern string) bool { return nn.Match(pattern, name) })
}

// Patterns are patterns of names, see [nn.Match]. In a config a single pattern needs no list.
type Patterns []string

// DecodeConfig reads a pattern or a list.
func (p *Patterns) DecodeConfig(n *config.Node) error {
	if n.IsScalar() {
		*p = make(Patterns, 1)
		return n.Decode(&(*p)[0])
	}
	*p = nil
	return n.Decode((*[]string)(p))
}

// EncodeConfig writes a single pattern without a list.
func (p Patterns) EncodeConfig() (any, error) {
	if len(p) == 1 {
		return p[0], nil
	}
	return []string(p), nil
}

// ConfigForms implements config.Former.
func (Patterns) ConfigForms() []any { return []any{"", []string{}} }

// ConfigType describes the accepted values.
func (p Patterns) ConfigType() string { return "a pattern or a list of patterns" }

func checkParts(parts []Part, params *nn.Params) error {
	for i, p := range parts {
		for _, pattern := range p.Match {
			names, err := params.Matching(pattern)
			if err == nil && !slices.ContainsFunc(names, func(name string) bool { return !params.IsState(name) }) {
				err = fmt.Errorf("%q fits only states, such as %s, which no optimizer changes", pattern, names[0])
			}
			if err != nil {
				return &Error{fmt.Sprintf("train.parts.%d.match", i), err}
			}
		}
	}
	return nil
}

// optionParts holds the index of the part that sets each option of a parameter, or -1.
type optionParts struct{ lr, decay int }

func optionPartsOf(parts []Part, name string) optionParts {
	o := optionParts{-1, -1}
	for i, p := range parts {
		if !p.fits(name) {
			continue
		}
		if p.LR != nil {
			o.lr = i
		}
		if p.Decay != nil {
			o.decay = i
		}
	}
	return o
}

// newOptimizer creates the optimiser for parameters. Parts may give some parameters other options.
func (s *Settings) newOptimizer(parameters []Parameter) (Optimizer, error) {
	groups := map[optionParts][]int{}
	var order []optionParts
	for i, p := range parameters {
		o := optionPartsOf(s.Parts, p.Name)
		if groups[o] == nil {
			order = append(order, o)
		}
		groups[o] = append(groups[o], i)
	}
	if len(order) == 1 && order[0] == (optionParts{-1, -1}) || len(order) == 0 {
		return s.Optimizer.New(parameters), nil
	}
	g := &grouped{}
	for _, o := range order {
		settings, err := s.with(o)
		if err != nil {
			return nil, err
		}
		m := member{indices: groups[o], gradients: make([][]float32, len(groups[o]))}
		var list []Parameter
		for _, i := range m.indices {
			list = append(list, parameters[i])
		}
		m.Optimizer = settings.New(list)
		_, tensors := m.State()
		g.members, g.tensors = append(g.members, m), append(g.tensors, tensors...)
	}
	return g, nil
}

func (s *Settings) with(o optionParts) (OptimizerSettings, error) {
	settings := s.Optimizer
	for _, option := range []struct {
		key  string
		part int
	}{{"lr", o.lr}, {"decay", o.decay}} {
		if option.part < 0 {
			continue
		}
		value := s.Parts[option.part].LR
		if option.key == "decay" {
			value = s.Parts[option.part].Decay
		}
		var err error
		if settings, err = withOption(settings, option.key, *value); err != nil {
			return nil, &Error{fmt.Sprintf("train.parts.%d.%s", option.part, option.key), err}
		}
	}
	return settings, nil
}

func withOption(s OptimizerSettings, key string, value float64) (OptimizerSettings, error) {
	node, err := optionsOf(s)
	if err != nil {
		return nil, err
	}
	if node.Get(key) == nil {
		return nil, fmt.Errorf("the optimizer has no option %s", key)
	}
	if err := node.Override(fmt.Sprintf("%s=%v", key, value)); err != nil {
		return nil, err
	}
	changed := reflect.New(reflect.TypeOf(s).Elem()).Interface().(OptimizerSettings)
	if err := node.Decode(changed); err != nil {
		var configErr *config.Error
		if errors.As(err, &configErr) {
			err = configErr.Err // without the position, which is not in a file
		}
		return nil, err
	}
	return changed, nil
}

func optionsOf(s OptimizerSettings) (*config.Node, error) {
	if t := reflect.TypeOf(s); t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("the optimizer's settings are a %T; want a pointer to a struct for options by part", s)
	}
	text, err := config.Encode(s)
	if err != nil {
		return nil, err
	}
	return config.Parse("", text)
}

// LearningRate returns the option lr of an optimiser's settings; a [Schedule] multiplies it.
func LearningRate(s OptimizerSettings) (float64, error) {
	node, err := optionsOf(s)
	if err != nil {
		return 0, err
	}
	var lr float64
	if option := node.Get("lr"); option == nil || option.Decode(&lr) != nil || !(lr > 0) {
		return 0, errors.New("the optimizer has no option lr, a number above 0")
	}
	return lr, nil
}

// grouped is an optimiser for groups of parameters with different settings.
type grouped struct {
	members []member
	tensors []Parameter
	steps   int
}

type member struct {
	Optimizer
	indices   []int // indices of the group's parameters
	gradients [][]float32
}

func (m *member) take(gradients [][]float32) [][]float32 {
	for i, index := range m.indices {
		m.gradients[i] = gradients[index]
	}
	return m.gradients
}

func (g *grouped) Norm(gradients [][]float32) float64 {
	var square float64
	for i := range g.members {
		m := &g.members[i]
		norm := m.Norm(m.take(gradients))
		square += norm * norm
	}
	return math.Sqrt(square)
}

func (g *grouped) Update(gradients [][]float32, rate, clip float64) {
	for i := range g.members {
		m := &g.members[i]
		steps, _ := m.State()
		*steps = g.steps
		m.Update(m.take(gradients), rate, clip)
	}
	g.steps++
}

func (g *grouped) State() (*int, []Parameter) { return &g.steps, g.tensors }
