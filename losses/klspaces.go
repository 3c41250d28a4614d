package losses

import (
	"fmt"
	"math"
)

// Spaces names the latent spaces that kl includes in its sum.
type Spaces string

// The choices of spaces.
const (
	AllSpaces         Spaces = "all"
	ContinuousSpaces  Spaces = "continuous"
	CategoricalSpaces Spaces = "categorical"
)

// UnmarshalText accepts a known name.
func (s *Spaces) UnmarshalText(text []byte) error {
	if *s = Spaces(text); *s != AllSpaces && *s != ContinuousSpaces && *s != CategoricalSpaces {
		return fmt.Errorf("unknown spaces %q; known: all, continuous, categorical", text)
	}
	return nil
}

// OptionsPosterior is implemented by posteriors that may be choices among options. Their divergence from the uniform
// prior is at most the logarithm of the number of options.
type OptionsPosterior interface {
	Posterior
	Options() int // 0: it is no such choice
}

// options returns the number of options of a posterior, 0 for a continuous one.
func optionsOf(p Posterior) int {
	if d, ok := p.(OptionsPosterior); ok {
		return d.Options()
	}
	return 0
}

// of lists the chosen ones among posteriors.
func (s Spaces) of(all []Posterior) ([]Posterior, error) {
	if len(all) == 0 {
		return nil, missing("posteriors of the codes")
	}
	if s == AllSpaces || s == "" {
		return all, nil
	}
	var some []Posterior
	for _, p := range all {
		if (optionsOf(p) > 0) == (s == CategoricalSpaces) {
			some = append(some, p)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("it is of %s spaces, and the model has none; want spaces: all, or a model that has, such as joint-vae", s)
	}
	return some, nil
}

// largest returns the largest divergence of posteriors: sum log K if all are choices among options, otherwise infinity.
func largest(posteriors []Posterior) (most float64) {
	for _, p := range posteriors {
		n := optionsOf(p)
		if n == 0 {
			return math.Inf(1)
		}
		most += math.Log(float64(n))
	}
	return most
}
