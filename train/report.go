package train

import "github.com/unravel-ml/unravel/models"

// Hook is told what happens in training. A nil function is not called; an error ends training.
type Hook struct {
	Name  string
	Step  func(*StepReport) error
	Epoch func(*EpochReport) error
}

// StepReport is a finished step. It is valid until the next one.
type StepReport struct {
	Epoch, Step   int // the epoch under way and the step, from 1
	InEpoch, Of   int // the step within the epoch, and how many it has
	Objective     string
	Images        int
	Names         []string  // "loss", then its parts
	Values        []float64 // weighted sum, then the parts without weights
	GradientNorm  float64
	LearningScale float64 // what the learning rate was multiplied with
}

// EpochReport is a finished epoch.
type EpochReport struct {
	Epoch, Of, Step int
	Images          int
	Seconds         float64
	Losses          []ObjectiveLoss
}

// ObjectiveLoss are the means over an epoch of the losses of an objective.
type ObjectiveLoss struct {
	Objective string
	Names     []string
	Values    []float64
}

// lossSum adds up the losses of an objective over an epoch, weighted by images.
type lossSum struct {
	Names  []string  `json:"names"`
	Sums   []float64 `json:"sums"`
	Images int       `json:"images"`
}

func (t *Trainer) addLosses(p *program, images int) {
	s := t.sums[p.objective.Name]
	if s == nil {
		s = &lossSum{Names: t.lossNames(p.objective), Sums: make([]float64, len(p.values))}
		t.sums[p.objective.Name] = s
	}
	for i, v := range p.values {
		s.Sums[i] += v * float64(images)
	}
	s.Images += images
}

// means returns the mean losses of the epoch under way.
func (t *Trainer) means() []ObjectiveLoss {
	var list []ObjectiveLoss
	for _, o := range t.plan.objectives() {
		s := t.sums[o.Name]
		if s == nil {
			continue
		}
		l := ObjectiveLoss{Objective: o.Name, Names: s.Names, Values: make([]float64, len(s.Sums))}
		for i, v := range s.Sums {
			l.Values[i] = v / float64(s.Images)
		}
		list = append(list, l)
	}
	return list
}

// lossNames lists what an objective's losses are called: their sum first, then the parts in the config's order.
func (t *Trainer) lossNames(o models.Objective) []string {
	if s := t.optimizers[o.Name]; s != nil {
		return s.losses
	}
	return nil
}
