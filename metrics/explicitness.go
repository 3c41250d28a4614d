package metrics

import (
	"cmp"
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
)

// Explicitness is the explicitness score of Ridgeway and Mozer 2018, section 2, as disentanglement_lib computes it, 0
// to 1. It is the mean over factors and their levels of the area under the ROC curve on the test rows. The score of a
// level is its probability by multinomial logistic regression on all code columns. 1/2 is chance and 1 perfect. Columns
// are standardised by the train rows; constant ones are 0.
//
// Levels that lack train or test rows are left out, and so are factors with fewer than two levels in the train rows.
type Explicitness struct {
	eachLevel
	share

	C          float64 `yaml:"c" doc:"inverse L2 strength (scikit-learn's C)"`
	Iterations int     `yaml:"iterations" doc:"largest number of iterations of a fit"`
	TrainTest  `yaml:",inline"`
}

// Validate checks the settings.
func (m *Explicitness) Validate() error {
	return cmp.Or(
		positive("c", m.C),
		rule(m.Iterations >= 1, "iterations", "%d is too few; want at least 1", m.Iterations),
		m.TrainTest.validate(),
	)
}

// Suits implements Selective.
func (m *Explicitness) Suits(in *Input) error {
	if err := m.TrainTest.suits(in); err != nil {
		return err
	}
	if m.TestShare > 0 && m.TrainRows == 0 && m.tested(in) < 2 {
		return fmt.Errorf("%d of %d rows test; want two test rows with different levels, or train_rows", m.tested(in), in.Codes.Rows)
	}
	return m.wantVarying(in)
}

// Compute returns the parts per_factor (areas on the test rows) and train (areas on the train rows).
func (m *Explicitness) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	train, test, err := m.TrainTest.rows(in)
	if err != nil {
		return Result{}, err
	}
	var r Result
	r.Basis.fitted(train, test)
	x, y := predict.Standardise(in.Codes, train, test)
	inputs, err := linear.NewInputs(x, in.Codes.Cols)
	if err != nil {
		return Result{}, err
	}
	fit, check := in.table().ByFactor(train), in.table().ByFactor(test)
	tested, trained := Part{Name: "per_factor"}, Part{Name: "train"}
	for j, f := range in.Factors {
		if !predict.Vary(fit[j]) {
			r.Notes = append(r.Notes, fmt.Sprintf("factor %s has only one level and is left out", f.Name))
			continue
		}
		model, err := inputs.Fit(ctx, fit[j], m.C, m.Iterations)
		if err != nil {
			return Result{}, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		if !model.Converged {
			r.Notes = append(r.Notes, fmt.Sprintf("the regression of %s has not converged", f.Name))
		}
		area, levels, err := predict.ROCAreas(ctx, model, y, check[j])
		if err != nil {
			return Result{}, err
		}
		if levels == 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("factor %s has no two levels in the test rows and is left out", f.Name))
			continue
		}
		if levels < len(model.Classes) {
			r.Notes = append(r.Notes, fmt.Sprintf("%d of %d levels of %s are not in the test rows", len(model.Classes)-levels, len(model.Classes), f.Name))
		}
		tested.Labels, tested.Values = append(tested.Labels, f.Name), append(tested.Values, area)
		if area, _, err = predict.ROCAreas(ctx, model, x, fit[j]); err != nil {
			return Result{}, err
		}
		trained.Values = append(trained.Values, area)
	}
	if len(tested.Values) == 0 {
		return Result{}, fmt.Errorf("no factor has two levels both in the train rows and in the test rows; want a factor that varies")
	}
	trained.Labels = tested.Labels
	r.Value, r.Parts = factor.Mean.Of(tested.Values), []Part{tested, trained}
	return r, nil
}
