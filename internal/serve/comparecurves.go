package serve

import (
	"cmp"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Limits of overlaid curves.
const (
	maxCurves      = 60  // runs
	maxPanels      = 40  // losses and metrics
	maxCurvePoints = 400 // points of a curve; a longer curve is thinned out
)

// overlay is the answer of /api/compare/curves.
type overlay struct {
	Runs   int         `json:"runs"` // number of runs with curves
	Curves *web.Curves `json:"curves"`
}

// compareCurves answers with the overlaid curves of chosen runs: a panel for each loss and each metric. Each run has a
// colour, or each value of the setting named by the parameter colour.
func (s *Server) compareCurves(w http.ResponseWriter, r *http.Request) error {
	c, err := readChoice(r)
	if err != nil {
		return err
	}
	now := s.runs.current()
	return s.overlays.send(w, r, now.version, r.URL.RawQuery, func() (any, error) { return s.overlay(now, c) })
}

func (s *Server) overlay(now *snapshot, c choice) (*overlay, error) {
	list, _, err := c.chosenRuns(now)
	if err != nil {
		return nil, err
	}
	list = list[:min(len(list), maxCompared)]
	colours, _, err := c.colours(list)
	if err != nil {
		return nil, err
	}
	panels := map[panelKey]*web.Panel{}
	for i, one := range list[:min(len(list), maxCurves)] {
		lines, err := s.tails.linesOf(one)
		if err != nil {
			continue // a log that cannot be read has no curves; the page of the run says why
		}
		place, name := colours[i].place, one.Dir
		if c.colour != "" || c.by != "" {
			name = colours[i].value + " · " + name
		}
		for key, curve := range curvesOf(lines) {
			p := panels[key]
			if p == nil {
				p = &web.Panel{Title: key.title(), X: "epoch", Y: key.name, Log: key.objective != "", Lines: key.objective == ""}
				panels[key] = p
			}
			x, y := thinned(curve.x), thinned(curve.y)
			p.Series = append(p.Series, web.Series{Name: name, X: web.Floats(x, len(x)), Y: web.Floats(y, len(y)), Colour: &place})
		}
	}
	v := &overlay{Runs: min(len(list), maxCurves), Curves: &web.Curves{Panels: []web.Panel{}}}
	for _, key := range slices.SortedFunc(maps.Keys(panels), panelKey.compare) {
		if len(v.Curves.Panels) < maxPanels {
			v.Curves.Panels = append(v.Curves.Panels, *panels[key])
		}
	}
	return v, nil
}

// panelKey is a loss of an objective, or a metric.
type panelKey struct{ objective, name string }

func (k panelKey) title() string {
	if k.objective == "" {
		return k.name + " during training"
	}
	return "Loss: " + k.objective + ", " + k.name
}

// compare orders metrics before losses, and sums before their parts.
func (k panelKey) compare(o panelKey) int {
	part := func(k panelKey) int {
		switch {
		case k.objective == "":
			return 0
		case k.name == "loss":
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(part(k), part(o)), strings.Compare(k.objective, o.objective), strings.Compare(k.name, o.name))
}

// points are the points of a curve.
type points struct{ x, y []float32 }

// curvesOf returns the curves of a log.
func curvesOf(lines []rundir.Line) map[panelKey]*points {
	all := map[panelKey]*points{}
	add := func(key panelKey, epoch int, value float64) {
		p := all[key]
		if p == nil {
			p = &points{}
			all[key] = p
		}
		p.x, p.y = append(p.x, float32(epoch)), append(p.y, float32(value))
	}
	for _, line := range lines {
		for objective, parts := range line.Losses {
			for name, value := range parts {
				add(panelKey{objective, name}, line.Epoch, value)
			}
		}
		for name, value := range line.Metrics {
			add(panelKey{"", name}, line.Epoch, value)
		}
	}
	return all
}

// thinned keeps at most maxCurvePoints numbers at equal distances, including the last.
func thinned(values []float32) []float32 {
	step := (len(values) + maxCurvePoints - 1) / maxCurvePoints
	if step < 2 {
		return values
	}
	var some []float32
	for i := (len(values) - 1) % step; i < len(values); i += step {
		some = append(some, values[i])
	}
	return some
}

// coloured is the value of a run that its colour stands for, and the colour's position in the palette.
type coloured struct {
	value string
	place int
}

// colours returns the colours of runs: by the values of a column, by group, or one for each run. values lists the
// coloured values, with numbers in order.
func (c *choice) colours(list []*run) (colours []coloured, values []string, err error) {
	values, colours = []string{}, make([]coloured, len(list))
	columns, err := c.groupColumns(list)
	if err != nil {
		return nil, nil, err
	}
	value := func(one *run) string { return groupName(one, columns) }
	switch {
	case c.colour != "":
		found, err := index.FindColumn(entriesOf(list), c.colour)
		if err != nil {
			return nil, nil, wrong("colour: " + err.Error())
		}
		value = func(one *run) string {
			text, ok := found.Of(one.Run)
			if !ok {
				text = "–"
			}
			return text
		}
	case c.by == "":
		for i, one := range list {
			colours[i] = coloured{one.Dir, i}
		}
		return colours, values, nil
	}
	for i, one := range list {
		colours[i].value = value(one)
		values = append(values, colours[i].value)
	}
	slices.SortFunc(values, func(a, b string) int {
		x, err1 := strconv.ParseFloat(a, 64)
		y, err2 := strconv.ParseFloat(b, 64)
		if err1 == nil && err2 == nil {
			return cmp.Compare(x, y)
		}
		return strings.Compare(a, b)
	})
	values = slices.Compact(values)
	for i := range colours {
		colours[i].place = slices.Index(values, colours[i].value)
	}
	return colours, values, nil
}

// keptLines are the lines of an unchanged log.
type keptLines struct {
	stamp fileStamp
	lines []rundir.Line
}

// maxKeptLines bounds the number of logs kept as lines.
const maxKeptLines = 2 * maxCurves

// linesOf returns the lines of a run's log. It reads only a changed log.
func (t *tails) linesOf(one *run) ([]rundir.Line, error) {
	stamp := stampOf(filepath.Join(t.runs.dir, filepath.FromSlash(one.path)), rundir.LogFile)
	t.lock.Lock()
	defer t.lock.Unlock()
	if k, ok := t.logs[one.path]; ok && k.stamp == stamp {
		return k.lines, nil
	}
	lines, _, err := t.runs.lines(one)
	if err != nil {
		return nil, err
	}
	if len(t.logs) >= maxKeptLines || t.logs == nil {
		t.logs = map[string]keptLines{}
	}
	t.logs[one.path] = keptLines{stamp, lines}
	return lines, nil
}
