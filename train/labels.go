package train

import (
	"errors"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/nn"
	"github.com/unravel-ml/unravel/losses"
)

// labelInputs are the inputs of a program that say what is known about the
// factors of a batch. Those that no loss asks for do not exist.
type labelInputs struct {
	known          *datasets.Labels
	groups, values *gorgonia.Node
	scaled         [][]float32 // the values, by factor and level
}

func newLabelInputs(known *datasets.Labels) *labelInputs {
	l := &labelInputs{known: known}
	for _, f := range known.Factors {
		scaled := make([]float32, f.Size)
		for level := range scaled {
			scaled[level] = float32(f.Scaled(level))
		}
		l.scaled = append(l.scaled, scaled)
	}
	return l
}

// offer is what losses may ask for.
func (l *labelInputs) offer(g *nn.Graph, images int) *losses.Labels {
	k := len(l.known.Factors)
	input := func(n **gorgonia.Node, name string) (*gorgonia.Node, error) {
		var err error
		if *n == nil {
			*n, err = g.Input(name, images, k)
		}
		return *n, err
	}
	return &losses.Labels{
		Factors: l.known.Factors,
		Groups:  func() (*gorgonia.Node, error) { return input(&l.groups, "labels/groups") },
		Values: func() (*gorgonia.Node, error) {
			if l.known.Pairs != nil {
				return nil, errors.New("it needs values of the factors, and the supervision knows only similarities; want {labels: ...}")
			}
			return input(&l.values, "labels/values")
		},
	}
}

// fill writes what is known about a batch, image by image.
func (l *labelInputs) fill(levels []int32) {
	if l.groups != nil {
		groups := nn.Data(l.groups)
		for i := range groups {
			groups[i] = -1
		}
		for i, level := range levels {
			groups[i] = float32(level)
		}
	}
	if l.values != nil {
		values, k := nn.Data(l.values), len(l.scaled)
		clear(values)
		for i, level := range levels {
			if level >= 0 {
				values[i] = l.scaled[i%k][level]
			}
		}
	}
}

// untrained lists the parameters of a model that none of its programs trains.
func untrained(m *nn.Params, trained []string) []string {
	var list []string
	for _, name := range m.Names() {
		if !slices.Contains(trained, name) {
			list = append(list, name)
		}
	}
	return list
}
