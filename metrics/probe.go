package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
)

// Probe is the quality of linear probes of the codes (Alain and Bengio 2017), one for each factor, 0 to 1, the mean
// over factors. Codes are standardised by the train rows. A factor with levels has the accuracy, on the test rows, of
// multinomial logistic regression (as in Cao et al. 2022, appendix G); a continuous factor the R^2 of ridge regression
// of its values, or 0 if that is negative. Both minimise C times a sum over rows plus the penalty |W|^2/2. The sum is
// of cross-entropies for levels, and of half the squared errors for values.
//
// Factors with one level are left out.
type Probe struct {
	eachLevel
	share

	C          float64 `yaml:"c" doc:"inverse L2 strength (scikit-learn's C, and 1/alpha of its Ridge)"`
	Iterations int     `yaml:"iterations" doc:"largest number of iterations of a fit"`
	Apart      `yaml:",inline"`
}

// newProbe returns the defaults: C = 1 and at most 1000 iterations; a quarter of the rows tests.
func newProbe() *Probe { return &Probe{C: 1, Iterations: 1000, Apart: quarterApart()} }

// Validate checks the settings.
func (m *Probe) Validate() error {
	return cmp.Or(
		positive("c", m.C),
		rule(m.Iterations >= 1, "iterations", "%d is too few; want at least 1", m.Iterations),
		m.Apart.validate(),
	)
}

// Suits implements Selective.
func (m *Probe) Suits(in *Input) error { return m.Apart.suits(in) }

// Compute returns the parts per_factor, majority (the accuracy of the most frequent train level) and r2. The part r2
// covers ordinal and circular factors too: it is the R^2 of ridge regression of the level, or of the cosine and sine of
// the angle. It shows order in the codes that accuracy does not see.
func (m *Probe) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	train, test, err := m.Apart.rows(in)
	if err != nil {
		return Result{}, err
	}
	x, y := predict.Standardise(in.Codes, train, test)
	fits, err := predict.Ridge(ctx, in.table(), in.Exact, x, y, in.Codes.Cols, train, test, m.C)
	if err != nil {
		return Result{}, err
	}
	inputs, err := linear.NewInputs(x, in.Codes.Cols)
	if err != nil {
		return Result{}, err
	}
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	scores, r2 := newFactorScores(), Part{Name: "r2"}
	scores.basis.fitted(train, test)
	for j, f := range in.Factors {
		if !scores.varies(f, fit[j], check[j]) {
			continue
		}
		if f.Kind != factor.Categorical {
			r2.Labels, r2.Values = append(r2.Labels, f.Name), append(r2.Values, fits[j])
		}
		if in.continuous(j) {
			scores.add(f, max(fits[j], 0), fit[j], check[j])
			continue
		}
		predicted, converged, err := m.classify(ctx, inputs, fit[j], y, in.Codes.Cols)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		if !converged {
			scores.notes = append(scores.notes, fmt.Sprintf("the regression of %s has not converged", f.Name))
		}
		scores.add(f, predict.Accuracy(predicted, check[j]), fit[j], check[j])
	}
	r := scores.result()
	if len(r2.Values) > 0 {
		r.Parts = append(r.Parts, r2)
	}
	return r, nil
}

// classify predicts the levels of rows y by logistic regression of the levels of train rows.
func (m *Probe) classify(
	ctx context.Context, inputs *linear.Inputs, levels []int, y []float64, columns int,
) (predicted []int, converged bool, err error) {
	if !predict.Vary(levels) {
		return slices.Repeat(levels[:1], len(y)/columns), true, nil
	}
	model, err := inputs.Fit(ctx, levels, m.C, m.Iterations)
	if err != nil {
		return nil, false, err
	}
	predicted, err = predict.Labels(ctx, model, y, columns)
	return predicted, model.Converged, err
}

// continuous reports whether a factor has exact values.
func (in *Input) continuous(j int) bool { return in.Exact != nil && in.Exact[j] != nil }
