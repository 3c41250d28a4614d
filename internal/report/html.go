package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"

	_ "embed"

	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
)

// Page is the content of the page about a run. Empty parts are left out.
type Page struct {
	Title   string
	Summary []Fact   // facts in one line: model, data set, time, ...
	Notes   []string // remarks, for example that training has not converged
	Command string   // POSIX shell command that repeats the run
	Config  string   // the resolved config, YAML
	Metrics []metrics.Result
	Figures []Figure // in display order

	Explore *web.Explore // the interactive decoder; nil: none
	Curves  *web.Curves
	Codes   *web.Codes
	Heat    *web.Heat
}

// Fact is a name and its value.
type Fact struct{ Name, Value string }

// Figure is a picture with its caption.
type Figure struct {
	Name    string // name, such as losses
	Caption string
	PNG     []byte
}

// figureWidgets maps figures to the widgets that replace them if scripts run.
var figureWidgets = map[string]string{
	"losses": "curves", "torus": "codes", "spheres": "codes", "embedding": "codes", "retrieval": "codes",
	"traversals": "explore", "paths": "explore",
}

const maxListed = 24 // maximum number of values of a part on the page

//go:embed report.html.tmpl
var reportText string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"number":   Number,
	"interval": func(r metrics.Result) string { return intervalLine(&r) },
	"basis":    func(r metrics.Result) string { return r.Basis.String() },
	"chance":   func(r metrics.Result) string { return chanceLine(&r) },
	"list":     func(p metrics.Part) string { return partLine(p, maxListed) },
	"image":    func(png []byte) template.URL { return template.URL(web.PNG(png)) },
	"hash": func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	},
	"js":  func(text string) template.JS { return template.JS(text) },
	"css": func(text string) template.CSS { return template.CSS(text) },
}).Parse(reportText))

type section struct {
	Name string
	JSON template.JS
}

func (p *Page) sections() (list []section, err error) {
	for _, s := range []struct {
		name string
		data any
	}{{"explore", p.Explore}, {"curves", p.Curves}, {"codes", p.Codes}, {"heat", p.Heat}} {
		text, err := json.Marshal(s.data) // Marshal escapes < > and & as \u003c ...
		if err != nil {
			return nil, fmt.Errorf("data of %s: %w", s.name, err)
		}
		if string(text) != "null" { // the page has this widget
			list = append(list, section{s.name, template.JS(text)})
		}
	}
	return list, nil
}

// WritePage writes a single HTML page with all figures, data and scripts. Without scripts, text and figures still work.
func WritePage(w io.Writer, p Page) error {
	data, err := p.sections()
	if err != nil {
		return fmt.Errorf("report: write report: %w", err)
	}
	var scripts, widgets []string
	shown, used := map[string]bool{}, 0
	for _, s := range data {
		shown[s.Name], used, widgets = true, used+len(s.JSON), append(widgets, s.Name)
		if s.Name == "codes" {
			widgets = append(widgets, "neighbours")
		}
	}
	for _, name := range web.Scripts(widgets...) {
		scripts = append(scripts, web.Text(name))
	}
	replaced := func(f Figure) bool { return shown[figureWidgets[f.Name]] }
	err = reportPage.Execute(w, struct {
		Page
		Style   string
		Scripts []string
		Data    []section
		Shown   map[string]bool // widgets on the page
		Live    map[string]string
		Large   map[int]bool // omitted figures
	}{p, web.Style(), scripts, data, shown, figureWidgets, droppedFigures(p.Figures, replaced, max(pageBytes-used, figureBytes))})
	if err != nil {
		return fmt.Errorf("report: write report: %w", err)
	}
	return nil
}

// Maximum size of a page in bytes: with all its data, and for figures if the data take more.
const pageBytes, figureBytes = 5_500_000, 2_000_000

// droppedFigures returns the indices of figures to drop: first figures that a widget replaces, and larger figures
// first.
func droppedFigures(figures []Figure, replaced func(Figure) bool, room int) map[int]bool {
	var order []int
	for i, f := range figures {
		order = append(order, i)
		room -= base64.StdEncoding.EncodedLen(len(f.PNG))
	}
	rank := func(i int) int {
		if replaced(figures[i]) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(figures[b].PNG), len(figures[a].PNG)))
	})
	dropped := map[int]bool{}
	for _, i := range order {
		if room >= 0 {
			break
		}
		dropped[i] = true
		room += base64.StdEncoding.EncodedLen(len(figures[i].PNG))
	}
	return dropped
}
