package figures

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	_ "embed"
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
	Parts  []ReportPart
	Notes  []string
}

// ReportPart is a list of numbers behind a metric, each with its label.
type ReportPart struct {
	Name   string
	Labels []string // empty, or one per value
	Values []float64
}

// ReportFigure is a picture with its caption.
type ReportFigure struct {
	Caption string
	PNG     []byte
}

//go:embed report.html.tmpl
var reportText string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"number": number,
	"list":   func(p ReportPart) string { return p.list() },
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

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// maxListed is the number of values of a part that the page shows.
const maxListed = 24

// list writes the values of a part in a line.
func (p ReportPart) list() string {
	var b strings.Builder
	for i, v := range p.Values {
		if i == maxListed {
			fmt.Fprintf(&b, ", and %d more", len(p.Values)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if i < len(p.Labels) {
			b.WriteString(p.Labels[i] + " ")
		}
		b.WriteString(number(v))
	}
	return b.String()
}
