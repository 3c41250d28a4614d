package report

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	_ "embed"

	"github.com/unravel-ml/unravel/metrics"
)

// Page is the content of the page about a run.
type Page struct {
	Title   string
	Summary []Fact // facts in a line: model, data set, time, ...
	Config  string // the resolved config, YAML
	Metrics []metrics.Result
	Figures []Figure // in order
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a picture with its caption.
type Figure struct {
	Caption string
	PNG     []byte
}

// maxListed is the number of values of a part that the page shows.
const maxListed = 24

//go:embed report.html.tmpl
var reportText string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"number":   Number,
	"interval": Interval,
	"list":     func(p metrics.Part) string { return listed(p, maxListed) },
	"image": func(png []byte) template.URL {
		return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(png))
	},
}).Parse(reportText))

// WritePage writes one HTML page that needs no other file: figures are inside,
// and there is no script.
func WritePage(w io.Writer, p Page) error {
	if err := reportPage.Execute(w, p); err != nil {
		return fmt.Errorf("report: write report: %w", err)
	}
	return nil
}
