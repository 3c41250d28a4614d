package serve

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// comparison is the answer of /api/compare: the chosen runs, the settings that differ between them, and their results.
type comparison struct {
	Version  int              `json:"version"`
	Matched  int              `json:"matched"` // number of chosen runs; the first maxCompared are compared
	Missing  []string         `json:"missing"` // chosen runs that do not exist
	Repeats  []string         `json:"repeats"` // runs that repeat another run, and do not count in means
	Settings []string         `json:"settings"`
	Metrics  []measuredMetric `json:"metrics"`
	By       []string         `json:"by"` // settings with equal values in a group; none: no groups
	Groups   []group          `json:"groups"`
	Colours  []string         `json:"colours"` // values of the setting that determines the colours; empty: one colour per run
	Runs     []comparedRun    `json:"runs"`
}

type measuredMetric struct {
	Name   string `json:"name"`
	Better string `json:"better,omitempty"` // higher or lower; empty: unknown
}

type comparedRun struct {
	Dir      string      `json:"dir"`
	State    sweep.State `json:"state"`
	Progress float64     `json:"progress"`
	Group    int         `json:"group"`    // index in Groups
	Colour   int         `json:"colour"`   // index in Colours, or the number of the run
	Settings []*string   `json:"settings"` // null: the run lacks the setting
	Results  []*estimate `json:"results"`  // null: not measured
}

type estimate struct {
	Value web.Number  `json:"value"`
	Low   *web.Number `json:"low,omitempty"` // lower end of the interval; nil: no interval
	High  *web.Number `json:"high,omitempty"`
	Runs  int         `json:"runs,omitempty"` // number of runs in a mean
}

type group struct {
	Name    string      `json:"name"`
	Runs    int         `json:"runs"`
	Results []*estimate `json:"results"`
}

// Limits of a comparison.
const (
	maxCompared      = 500
	maxCompareColumn = 24
	maxResults       = 4 << 20 // bytes of metrics.json
	confidence       = 0.95
)

const allButSeed = "-seed" // all settings except the seed

type selection struct {
	query
	runs        []string // names; none: all runs that pass the filters
	groupColumn string   // a column to group by, or allButSeed; empty: no groups
	colour      string   // the column that determines the colours; empty: one colour per run

	differing []index.Column // columns that differ between the chosen runs; nil: not computed yet
}

// selectedRuns returns the runs of a choice, and the chosen names that are not runs.
func (c *selection) selectedRuns(snap *snapshot) (list []*runState, missing []string, err error) {
	if list, err = filter(snap, c.filters); err != nil || len(c.runs) == 0 {
		return list, nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(run *runState) bool { return !slices.Contains(c.runs, run.Dir) })
	for _, name := range c.runs {
		if snap.byName[name] == nil {
			missing = append(missing, name)
		}
	}
	return list, missing, nil
}

func (s *Server) compare(snap *snapshot, c selection) (*comparison, error) {
	list, missing, err := c.selectedRuns(snap)
	if err != nil {
		return nil, err
	}
	v := &comparison{Version: snap.version, Matched: len(list), Missing: missing, Repeats: []string{},
		Settings: []string{}, Metrics: []measuredMetric{}, By: []string{}, Groups: []group{}, Runs: []comparedRun{}}
	list = list[:min(len(list), maxCompared)]
	entries := entriesOf(list)
	c.differing = index.Differing(entries)
	columns := c.differing[:min(len(c.differing), maxCompareColumn)]
	for _, column := range columns {
		v.Settings = append(v.Settings, column.Name)
	}
	names := slices.DeleteFunc(index.ResultNames(entries), func(name string) bool { return strings.Contains(name, ".") })
	names = names[:min(len(names), maxCompareColumn)]
	for _, name := range names {
		v.Metrics = append(v.Metrics, measuredMetric{Name: name})
	}
	colours, values, err := c.colours(list)
	if err != nil {
		return nil, err
	}
	v.Colours = values
	for i, run := range list {
		p := &run.progress
		line := comparedRun{Dir: run.Dir, State: p.state, Progress: p.fraction(), Colour: colours[i].index,
			Settings: settingCells(run, columns)}
		stored := s.results(run)
		for m, name := range names {
			line.Results = append(line.Results, estimateOf(run, name, stored, &v.Metrics[m]))
		}
		v.Runs = append(v.Runs, line)
	}
	return v, v.groupBy(&c, list)
}

func settingCells(run *runState, columns []index.Column) []*string {
	cells := make([]*string, len(columns))
	for i, c := range columns {
		cells[i] = c.Cell(run.Run)
	}
	return cells
}

func entriesOf(list []*runState) []*index.Run {
	entries := make([]*index.Run, len(list))
	for i, run := range list {
		entries[i] = run.Run
	}
	return entries
}

// results reads the stored results of a finished run by name. If they are unreadable, it returns none.
func (s *Server) results(run *runState) map[string]metrics.Result {
	if run.base != sweep.Finished {
		return nil
	}
	text, err := s.read(run, rundir.MetricsFile, maxResults)
	var list []metrics.Result
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	byName := map[string]metrics.Result{}
	for _, r := range list {
		byName[r.Name] = r
	}
	return byName
}

// estimateOf returns a result of a run with its stored interval. It sets m.Better.
func estimateOf(run *runState, name string, stored map[string]metrics.Result, m *measuredMetric) *estimate {
	value, ok := run.Results.Get(name)
	if !ok {
		return nil
	}
	e := &estimate{Value: web.Number(value)}
	if r, ok := stored[name]; ok {
		m.Better = r.Better.String()
		if i := r.Interval; i != nil {
			e.Low, e.High = new(web.Number(i.Low)), new(web.Number(i.High))
		}
	}
	return e
}

// groupColumns returns the columns that define groups; none: no groups.
func (c *selection) groupColumns(list []*runState) (columns []index.Column, err error) {
	switch c.groupColumn {
	case "":
		return nil, nil
	case allButSeed:
		if c.differing == nil {
			c.differing = index.Differing(entriesOf(list))
		}
		return slices.DeleteFunc(slices.Clone(c.differing), func(c index.Column) bool { return c.Name == "seed" }), nil
	}
	column, err := index.FindColumn(entriesOf(list), c.groupColumn)
	if err != nil {
		return nil, badRequest("by: " + err.Error())
	}
	return []index.Column{column}, nil
}

func (v *comparison) groupBy(c *selection, list []*runState) error {
	columns, err := c.groupColumns(list)
	if err != nil || c.groupColumn == "" {
		return err
	}
	for _, column := range columns {
		v.By = append(v.By, column.Name)
	}
	groups := map[string]int{}
	members := [][]int{}
	for i, run := range list {
		name := groupName(run, columns)
		g, ok := groups[name]
		if !ok {
			g = len(v.Groups)
			groups[name] = g
			v.Groups, members = append(v.Groups, group{Name: name}), append(members, nil)
		}
		v.Runs[i].Group = g
		members[g] = append(members[g], i)
	}
	for g := range v.Groups {
		members[g] = v.distinct(list, members[g])
		v.Groups[g].Runs = len(members[g])
		for m := range v.Metrics {
			var values []float64
			for _, i := range members[g] {
				if e := v.Runs[i].Results[m]; e != nil {
					values = append(values, float64(e.Value))
				}
			}
			v.Groups[g].Results = append(v.Groups[g].Results, meanOf(values))
		}
	}
	return nil
}

// distinct returns the members of a group that do not repeat another member. It adds the others to v.Repeats.
func (v *comparison) distinct(list []*runState, members []int) (distinct []int) {
	entries := make([]*index.Run, len(members))
	for i, member := range members {
		entries[i] = list[member].Run
	}
	_, repeats := index.Distinct(entries)
	for i, member := range members {
		if slices.Contains(repeats, entries[i]) {
			v.Repeats = append(v.Repeats, entries[i].Dir)
			continue
		}
		distinct = append(distinct, member)
	}
	return distinct
}

// groupName returns a name for a group: the values that its runs share.
func groupName(run *runState, columns []index.Column) string {
	var parts []string
	for _, c := range columns {
		short := c.Name[strings.LastIndex(c.Name, ".")+1:]
		parts = append(parts, short+" "+shownValue(run, c))
	}
	return cmp.Or(strings.Join(parts, ", "), "all")
}

func shownValue(run *runState, c index.Column) string {
	if text, ok := c.Of(run.Run); ok {
		return text
	}
	return "–"
}

// meanOf returns the mean of values, or nil without values. For two or more values it adds the 95 % confidence interval
// by Student's t distribution, m +- t s/sqrt(n).
func meanOf(values []float64) *estimate {
	n := float64(len(values))
	if n == 0 {
		return nil
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	e := &estimate{Value: web.Number(mean), Runs: len(values)}
	if len(values) > 1 {
		half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1+confidence)/2) * deviation / math.Sqrt(n)
		e.Low, e.High = new(web.Number(mean-half)), new(web.Number(mean+half))
	}
	return e
}

// Limits of overlaid curves.
const (
	maxCurves      = 60  // runs
	maxPanels      = 40  // losses and metrics
	maxCurvePoints = 400 // points of a curve; longer curves keep their lowest and highest points
)

// overlay is the answer of /api/compare/curves.
type overlay struct {
	Runs   int         `json:"runs"` // number of runs with curves
	Curves *web.Curves `json:"curves"`
}

// overlay overlays the curves of runs, a panel for each loss and metric, and a colour for each run or coloured value.
func (s *Server) overlay(snap *snapshot, c selection) (*overlay, error) {
	list, _, err := c.selectedRuns(snap)
	if err != nil {
		return nil, err
	}
	list = list[:min(len(list), maxCompared)]
	colours, _, err := c.colours(list)
	if err != nil {
		return nil, err
	}
	panels := map[panelKey]*web.Panel{}
	for i, run := range list[:min(len(list), maxCurves)] {
		lines, err := s.logs.get(s.runs.fileStampOf(run, rundir.LogFile), run.path, func() ([]rundir.Line, error) {
			lines, _, err := s.runs.lines(run)
			return lines, err
		})
		if err != nil {
			continue // a run with an unreadable log has no curves; its page shows the error
		}
		colour, name := colours[i].index, run.Dir
		if c.colour != "" || c.groupColumn != "" {
			name = colours[i].value + " · " + name
		}
		for key, curve := range curvesOf(lines) {
			p := panels[key]
			if p == nil {
				p = &web.Panel{Title: key.title(), X: "epoch", Y: key.name, Log: key.objective != "", Lines: key.objective == ""}
				panels[key] = p
			}
			x, y := curve.thinOut()
			p.Series = append(p.Series, web.Series{Name: name, X: web.Floats(x, len(x)), Y: web.Floats(y, len(y)),
				Colour: &colour})
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

type panelKey struct{ objective, name string } // identifies a panel: a loss of an objective, or a metric

func (k panelKey) title() string {
	if k.objective == "" {
		return k.name + " during training"
	}
	return "Loss: " + k.objective + ", " + k.name
}

// compare orders metrics before losses, and totals before their terms.
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
	return cmp.Or(cmp.Compare(part(k), part(o)), strings.Compare(k.objective, o.objective),
		strings.Compare(k.name, o.name))
}

type points struct{ x, y []float32 }

func curvesOf(lines []rundir.Line) map[panelKey]*points {
	curves := map[panelKey]*points{}
	add := func(key panelKey, epoch int, value float64) {
		p := curves[key]
		if p == nil {
			p = &points{}
			curves[key] = p
		}
		// The end of a run may measure a metric again, on other images than the curve.
		if n := len(p.x); n == 0 || p.x[n-1] != float32(epoch) {
			p.x, p.y = append(p.x, float32(epoch)), append(p.y, float32(value))
		}
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
	return curves
}

// thinOut keeps at most maxCurvePoints points: the first, the last, and of each interval between them the lowest and the
// highest. A peak of one epoch therefore stays visible.
func (p *points) thinOut() (x, y []float32) {
	last := len(p.x) - 1
	if last < maxCurvePoints {
		return p.x, p.y
	}
	keep := func(i int) { x, y = append(x, p.x[i]), append(y, p.y[i]) }
	keep(0)
	const intervals = maxCurvePoints/2 - 1
	for k := range intervals {
		from, to := 1+k*(last-1)/intervals, 1+(k+1)*(last-1)/intervals
		part := p.y[from:to]
		low, high := from+slices.Index(part, slices.Min(part)), from+slices.Index(part, slices.Max(part))
		keep(min(low, high))
		if low != high {
			keep(max(low, high))
		}
	}
	keep(last)
	return x, y
}

// runColour is the value of a run that determines its colour, and the index of the colour in the palette.
type runColour struct {
	value string
	index int
}

// colours returns the colours of runs: by the values of a column, by group, or one per run.
func (c *selection) colours(list []*runState) (colours []runColour, values []string, err error) {
	values, colours = []string{}, make([]runColour, len(list))
	columns, err := c.groupColumns(list)
	if err != nil {
		return nil, nil, err
	}
	value := func(run *runState) string { return groupName(run, columns) }
	switch {
	case c.colour != "":
		column, err := index.FindColumn(entriesOf(list), c.colour)
		if err != nil {
			return nil, nil, badRequest("colour: " + err.Error())
		}
		value = func(run *runState) string { return shownValue(run, column) }
	case c.groupColumn == "":
		for i, run := range list {
			colours[i] = runColour{run.Dir, i}
		}
		return colours, values, nil
	}
	for i, run := range list {
		colours[i].value = value(run)
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
		colours[i].index = slices.Index(values, colours[i].value)
	}
	return colours, values, nil
}
