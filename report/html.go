package report

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	_ "embed"

	"github.com/unravel-ml/unravel/metrics"
)

// Report is what the page about a run shows.
type Report struct {
	Title   string
	Summary []Fact         // facts in a line: model, data set, time, ...
	Config  string         // the resolved config, YAML
	Metrics []ReportMetric // in order
	Figures []ReportFigure // in order
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// ReportMetric is a row of the table of metrics.
type ReportMetric struct {
	Name   string
	Value  float64
	Better string // "lower" or "higher"
	Parts  []metrics.Part
	Notes  []string
}

// ReportFigure is a picture with its caption.
type ReportFigure struct {
	Caption string
	PNG     []byte
}

// maxListed is the number of values of a part that the page shows.
const maxListed = 24

//go:embed report.html.tmpl
var reportText string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"number": metrics.Number,
	"list":   func(p metrics.Part) string { return p.List(maxListed) },
	"image": func(png []byte) template.URL {
		return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
	},
}).Parse(reportText))

// WriteReport writes one HTML page that needs no other file: figures are inside,
// and there is no script.
func WriteReport(w io.Writer, r Report) error {
	if err := reportPage.Execute(w, r); err != nil {
		return fmt.Errorf("figures: write report: %w", err)
	}
	return nil
}
