package train

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// MeasuredOn are metrics of the end on another data set, such as a labelled one for a model that trained without
// labels. The names of their results end in -on- and the name of the data set.
type MeasuredOn struct {
	Dataset catalog.Choice   `yaml:"dataset" doc:"data set with images of the shape of the run's images"`
	Metrics []metrics.Choice `yaml:"metrics" doc:"metrics of its codes; if absent, the final metrics"`
	Sample  int              `yaml:"sample" doc:"number of its images, chosen at random; 0: all"`
}

// Validate checks the settings.
func (m *MeasuredOn) Validate() error {
	switch {
	case m.Dataset.Value == nil:
		return config.Invalid("dataset", "is missing; want the name of a data set")
	case m.Sample < 0:
		return config.Invalid("sample", "%d is out of range; want 0 (all) or more", m.Sample)
	}
	return nil
}

// openOthers builds the data sets of metrics.on, and checks that their metrics suit them.
func (e *Experiment) openOthers() error {
	e.others = nil
	seen := map[string]bool{}
	for i, m := range e.Config.Metrics.On {
		key := fmt.Sprintf("metrics.on.%d", i)
		if seen[m.Dataset.Name] {
			return e.Config.mistake(key+".dataset", fmt.Errorf("%s is in the list twice; want one entry with all its metrics", m.Dataset.Name))
		}
		seen[m.Dataset.Name] = true
		d, err := m.Dataset.Build(e.Config.Seed)
		if err != nil {
			return e.Config.mistake(key+".dataset."+m.Dataset.Name, err)
		}
		other, err := e.On(m.Dataset, d)
		if err != nil {
			return e.Config.mistake(key+".dataset", err)
		}
		other = other.Some(m.Sample)
		in := other.Input(matrix.Matrix{Rows: other.Data.Len(), Cols: e.Coder.Width()})
		for j, choice := range m.Metrics {
			if err := metrics.Suits(in, m.Metrics[j:j+1]); err != nil {
				return e.Config.mistake(fmt.Sprintf("%s.metrics.%d.%s", key, j, choice.Name), withoutFactors(err))
			}
		}
		e.others = append(e.others, other)
	}
	return nil
}

// measureOthers measures the model on the data sets of metrics.on.
func (s *session) measureOthers(ctx context.Context) (all []metrics.Result, err error) {
	for i, e := range s.experiment.others {
		m := s.experiment.Config.Metrics.On[i]
		e.Progress = s.experiment.Progress
		codes, err := e.Codes(ctx)
		if err != nil {
			return nil, err
		}
		results, err := e.Evaluate(ctx, codes, m.Metrics)
		if err != nil {
			return nil, fmt.Errorf("on %s: %w", m.Dataset.Name, err)
		}
		for _, r := range results {
			r.Name += "-on-" + m.Dataset.Name
			all = append(all, r)
		}
	}
	return all, nil
}
