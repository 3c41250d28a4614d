package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"

	_ "embed"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/report/web"
)

// Page is the content of the page about a run. What is empty is left out.
type Page struct {
	Title   string
	Summary []Fact   // facts in a line: model, data set, time, ...
	Notes   []string // remarks, such as that training has not converged
	Command string   // a command line for a POSIX shell that repeats the run
	Config  string   // the resolved config, YAML
	Metrics []metrics.Result
	Figures []Figure // in order

	Explore *web.Explore // the decoder to play with; nil: none
	Curves  *web.Curves
	Codes   *web.Codes
	Heat    *web.Heat
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a picture with its caption.
type Figure struct {
	Name    string // such as losses
	Caption string
	PNG     []byte
}

// live names the widget that takes the place of a figure where scripts run.
var live = map[string]string{"losses": "curves", "torus": "codes", "spheres": "codes", "embedding": "codes", "retrieval": "codes", "traversals": "explore", "paths": "explore"}

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
	"hash": func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	},
	"js":  func(text string) template.JS { return template.JS(text) },
	"css": func(text string) template.CSS { return template.CSS(text) },
}).Parse(reportText))

// section is data of a page that a widget draws.
type section struct {
	Name string
	JSON template.JS
}

// sections lists what widgets draw, in order.
func (p *Page) sections() (list []section, err error) {
	for _, s := range []struct {
		name  string
		there bool
		data  any
	}{
		{"explore", p.Explore != nil, p.Explore}, {"curves", p.Curves != nil, p.Curves},
		{"codes", p.Codes != nil, p.Codes}, {"heat", p.Heat != nil, p.Heat},
	} {
		if !s.there {
			continue
		}
		text, err := json.Marshal(s.data) // which writes < > and & as \u003c ...
		if err != nil {
			return nil, fmt.Errorf("data of %s: %w", s.name, err)
		}
		list = append(list, section{s.name, template.JS(text)})
	}
	return list, nil
}

// WritePage writes one HTML page that needs no other file: figures, data and scripts are inside. Its text and figures are there without
// scripts, too, and it lets no other script run than its own.
func WritePage(w io.Writer, p Page) error {
	data, err := p.sections()
	if err != nil {
		return fmt.Errorf("report: write report: %w", err)
	}
	var scripts, widgets []string
	for _, s := range data {
		widgets = append(widgets, s.Name)
		if s.Name == "codes" {
			widgets = append(widgets, "neighbours")
		}
	}
	for _, name := range web.Scripts(widgets...) {
		scripts = append(scripts, web.Text(name))
	}
	shown := map[string]bool{}
	for _, s := range data {
		shown[s.Name] = true
	}
	err = reportPage.Execute(w, struct {
		Page
		Style   string
		Scripts []string
		Data    []section
		Shown   map[string]bool // widgets
		Live    map[string]string
	}{p, web.Style(), scripts, data, shown, live})
	if err != nil {
		return fmt.Errorf("report: write report: %w", err)
	}
	return nil
}

// Style returns the style sheet of pages about runs.
func Style() string { return web.Style() }
