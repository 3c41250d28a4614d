package report

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
)

// gridWords says in words what the matrix of a metric shows.
type gridWords struct {
	title         string // what is shown
	unit          string
	rows, columns string
	signed        bool
}

// gridTexts are the words about matrices, by name; those of one metric alone have its name in front.
var gridTexts = map[string]gridWords{
	"mutual_information":                    {"mutual information of code columns and factors", "mutual information, nats", codeColumn, aFactor, false},
	"mutual-information/mutual_information": {"mutual information of pairs of code columns", "mutual information, nats", codeColumn, codeColumn, false},
	"importance":                            {"importance of code columns where factors are predicted", "importance", codeColumn, aFactor, false},
	"R":                                     {"mutual information of code columns and factors, as shares of each factor's sum (R)", "share of the factor's sum, R", codeColumn, aFactor, false},
	"score":                                 {"how well each code column alone predicts a factor", "score", codeColumn, aFactor, false},
	"correlation":                           {"correlation of code columns", "correlation", codeColumn, codeColumn, true},
	"covariance":                            {"covariance of code columns", "covariance", codeColumn, codeColumn, true},
	"co_occurrence":                         {"how much factors share their code columns", "cosine", aFactor, aFactor, false},
	"accuracy":                              {"accuracy of predicted factors by the number of training rows", "accuracy", "training rows", aFactor, false},
	"irs":                                   {"interventional robustness of code columns by factor", "robustness", codeColumn, aFactor, false},
	"votes":                                 {"votes of the least varying column where one factor is fixed", "votes", codeColumn, aFactor, false},
	"r2":                                    {"R² of code columns and factors, both ways", "R²", codeColumn, aFactor, false},
	"r2_from_factor":                        {"R² of code columns predicted from factors", "R²", codeColumn, aFactor, false},
	"r2_from_code":                          {"R² of factors predicted from code columns", "R²", codeColumn, aFactor, false},
	"rows":                                  {"images in which both are active", "images", codeColumn, aFactor, false},
	"purity/rows":                           {"images of each component by true path", "images", "component", "path of the true hierarchy", false},
	"manipulation":                          {"variance of code columns while one factor moves", "variance", codeColumn, aFactor, false},
}

const (
	codeColumn = "code column"
	aFactor    = "factor"
)

// GridHeat returns the heatmap of a matrix that a metric returned: its title and axes in words, signed numbers around 0, and
// code columns sorted by the factor that they follow.
func GridHeat(metric string, g metrics.Grid) *Heat {
	words, ok := gridTexts[metric+"/"+g.Name]
	if !ok {
		words, ok = gridTexts[g.Name]
	}
	switch {
	case !ok:
		words = gridWords{title: strings.ReplaceAll(g.Name, "_", " "), unit: strings.ReplaceAll(g.Name, "_", " ")}
	case words.columns == aFactor && fmt.Sprint(g.Rows) == fmt.Sprint(g.Columns): // of pairs, in another metric
		words.columns = words.rows
	}
	h := &Heat{Title: metric + ": " + words.title, Rows: g.Rows, Columns: g.Columns, Values: g.Values,
		RowTitle: words.rows, ColumnTitle: words.columns, Unit: words.unit, Signed: words.signed}
	h.Sort = words.rows == codeColumn && words.columns == aFactor
	return h
}

// SelectedHeat returns the heatmap of the matrix R of med with frames around the columns that it selects.
func SelectedHeat(g metrics.Grid, selected []int) *Heat {
	h := GridHeat("med", g)
	h.Framed = selected
	h.Title = fmt.Sprintf("MED map: mutual information of code columns and factors; framed: the %d columns selected", len(selected))
	return h
}
