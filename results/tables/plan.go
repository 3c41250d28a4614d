package tables

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// plan returns the runs, or their outlines, and their planner.
func (t *Table) plan(scaleName string, outline bool) (*Planner, []sweep.Run, error) {
	p, err := t.planner(scaleName)
	if err != nil {
		return nil, nil, err
	}
	p.outline = outline
	var all []sweep.Run
	known, names := map[string]bool{}, map[string]bool{}
	for seed := range uint64(p.scale.Seeds) {
		err := p.eachRow(seed, func(_ int, _ view, planner *Planner, runs []sweep.Run) {
			for _, r := range runs {
				if known[r.Hash] {
					continue
				}
				known[r.Hash] = true
				for n, name := 2, r.Name; names[r.Name]; n++ {
					r.Name = fmt.Sprintf("%s-%d", name, n)
				}
				names[r.Name], r.Config.Name, p.byHash[r.Hash] = true, r.Name, planner
				all = append(all, r)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return p, all, nil
}

// eachRow calls f with the runs of a seed, by row and data set, and with the planner that planned them.
func (p *Planner) eachRow(seed uint64, f func(row int, view view, planner *Planner, runs []sweep.Run)) error {
	for i, row := range p.table.Rows {
		for _, view := range p.table.views() {
			source, ok := view.row(row, p.scale.Name).From.Value.(Trained)
			if !ok {
				continue
			}
			planner, runs, err := p.runsOf(source, view, row, seed)
			if err != nil {
				return fmt.Errorf("row %q: %w", row.Label, err)
			}
			f(i, view, planner, runs)
		}
	}
	return nil
}

// firstSeedConfigs calls f with the configs of the first seed's runs. All seeds have the same data sets and lengths.
func (t *Table) firstSeedConfigs(scaleName string, f func(row int, view view, c train.Config)) error {
	if !t.Trains() {
		return nil
	}
	p, err := t.planner(scaleName)
	if err != nil {
		return err
	}
	p.unhashed = true
	return p.eachRow(0, func(row int, view view, _ *Planner, runs []sweep.Run) {
		for _, r := range runs {
			f(row, view, r.Config)
		}
	})
}

func (t *Table) planner(scaleName string) (*Planner, error) {
	t, scale, err := t.atScale(scaleName)
	if err != nil {
		return nil, err
	}
	p := &Planner{table: t, scale: scale, dataSet: &DataSet{}, cache: t.shared()}
	p.byDataSet, p.byHash = map[*DataSet]*Planner{}, map[string]*Planner{}
	p.compared, p.planned = map[string]*comparedRuns{}, map[string]plannedRun{}
	measured, err := t.distinctMetrics()
	if err != nil {
		return nil, err
	}
	for _, m := range measured {
		p.metrics = append(p.metrics, m.choice)
	}
	p.columns = p.metrics
	return p, p.addMetrics(t.Also)
}

// addMetrics adds metrics that no column shows, and sorts all by their text, so tables with the same runs agree.
func (p *Planner) addMetrics(also []metrics.Choice) error {
	if len(also) == 0 {
		return nil
	}
	texts := map[string]metrics.Choice{}
	for _, c := range slices.Concat(also, p.metrics) {
		text, err := p.cache.configs.Text(c)
		if err != nil {
			return err
		}
		texts[text] = c
	}
	p.metrics = nil
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		p.metrics = append(p.metrics, texts[text])
	}
	return nil
}

// Planner plans the runs of a table at one scale, for one of its data sets.
type Planner struct {
	table   *Table // at the scale
	scale   *Scale
	metrics []metrics.Choice // metrics that runs measure
	columns []metrics.Choice // the columns' metrics
	dataSet *DataSet         // with an empty label if the table lists none
	codes   string           // text of the data set's sub-codes

	compared  map[string]*comparedRuns // runs of the compared tables, by name
	byDataSet map[*DataSet]*Planner    // planners for data sets
	byHash    map[string]*Planner      // planners of the table's runs, by hash

	cache   *tableCache           // cache of the table, for all scales
	planned map[string]plannedRun // runs of the scale, by hash

	// To save time, runs may lack parts that their user does not need.
	outline  bool // runs only have a name, and a digest as hash
	unhashed bool // runs have no hash
}

// plannedRun has further data of a planned run.
type plannedRun struct {
	digest   string                    // digest of the run's settings in the table, see [runconfig.Base.Digest]
	complete func() (sweep.Run, error) // creates the run of an outline; nil: not an outline
}

func (p *Planner) onDataSet(d *DataSet) *Planner {
	if d.Label == "" {
		return p
	}
	planner := p.byDataSet[d]
	if planner == nil {
		planner = new(*p)
		planner.dataSet, planner.codes = d, d.codesText()
		planner.metrics, planner.columns = d.adaptMetrics(p.metrics), d.adaptMetrics(p.columns)
		p.byDataSet[d] = planner
	}
	return planner
}

// Metrics returns the metrics that runs measure. The table reads their results from the folders of the runs.
func (p *Planner) Metrics() []metrics.Choice { return p.metrics }

// Name returns the name of a row's run: row, data set, "real" on public data sets, scale and seed, joined.
func (p *Planner) Name(row string, seed uint64) string {
	name := FileName(row)
	if p.dataSet.Label != "" {
		name += "_" + FileName(p.dataSet.Label)
	}
	if p.table.real {
		name += "_real"
	}
	return fmt.Sprintf("%s_%s_seed%d", name, p.scale.Name, seed)
}

// overrides lists the settings of a run; later settings win.
func (p *Planner) overrides(s RunSettings, seed uint64) ([]string, error) {
	d := p.dataSet
	list := slices.Concat(s.Set, d.Set, p.scale.Set, d.ByScale[p.scale.Name], s.ByScale[p.scale.Name])
	overrides := append(list.Overrides(), fmt.Sprint("seed=", seed))
	for i, text := range overrides {
		var err error
		if overrides[i], err = p.dataSet.fill(text); err != nil {
			return nil, err
		}
	}
	return overrides, nil
}

// RunSettings are a row's settings for a run. Later settings win, in this order: Set, the data set's Set, the scale's
// settings, the data set's settings for the scale, and ByScale.
type RunSettings struct {
	Config  string         // .yaml file, or name of an experiment that comes with Unravel
	Set     sweep.Settings // key.path: value
	ByScale ScaleSettings
	Metrics []metrics.Choice // metrics at the end; empty: none
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// FileName converts a label to a part of a file or folder name.
func FileName(label string) string {
	return cmp.Or(strings.Trim(notInNames.ReplaceAllString(strings.ReplaceAll(label, "β", "beta"), "-"), "-."), "row")
}

type measurer interface{ extraMetrics() []metrics.Choice } // source with extra metrics for its runs

func (r *Runs) extraMetrics() []metrics.Choice { return r.Also }

func (p *Planner) withMetrics(s Source) (*Planner, error) {
	m, ok := s.(measurer)
	if !ok || len(m.extraMetrics()) == 0 {
		return p, nil
	}
	extended := *p
	return &extended, extended.addMetrics(p.dataSet.adaptMetrics(m.extraMetrics()))
}

// runsOf lists the runs of a row on a data set for a seed, and returns their planner.
func (p *Planner) runsOf(s Trained, view view, row Row, seed uint64) (*Planner, []sweep.Run, error) {
	planner, err := p.onDataSet(view.data).withMetrics(s)
	if err != nil {
		return nil, nil, err
	}
	runs, err := s.Plan(planner, row.Label, seed)
	return planner, runs, err
}

// Run returns the run of a config with the settings of the row, the data set and the scale. In settings, $NAME means a
// value of the data set.
func (p *Planner) Run(name string, s RunSettings, seed uint64) (sweep.Run, error) {
	file, err := p.dataSet.fill(s.Config)
	if err != nil {
		return sweep.Run{}, err
	}
	b, err := p.cache.configs.Base(file, p.table.folder)
	if err != nil {
		return sweep.Run{}, err
	}
	overrides, err := p.overrides(s, seed)
	if err != nil {
		return sweep.Run{}, err
	}
	digest := b.Digest(append(overrides[:len(overrides):len(overrides)], p.metricsKey(s)...), p.table.real)
	complete := func() (sweep.Run, error) {
		settings := runconfig.Settings{Overrides: overrides, Seed: seed, Real: p.table.real, Metrics: s.Metrics}
		settings.Unhashed = p.unhashed
		return p.cache.configs.Run(b, name, settings)
	}
	if p.outline {
		p.planned[digest] = plannedRun{digest, complete}
		return sweep.Run{Name: name, Hash: digest}, nil
	}
	r, err := complete()
	if err == nil {
		p.planned[r.Hash] = plannedRun{digest: digest}
	}
	return r, err
}

// metricsKey distinguishes runs with equal settings and other metrics: by sub-codes, or by the absence of metrics.
func (p *Planner) metricsKey(s RunSettings) []string {
	switch {
	case len(s.Metrics) == 0:
		return []string{"no metrics"}
	case len(p.dataSet.Codes) > 0:
		return []string{"codes " + p.codes}
	}
	return nil
}

func (p *Planner) columnResults(all []metrics.Result) []metrics.Result {
	var list []metrics.Result
	for _, c := range p.columns {
		list = append(list, all[indexOf(p.metrics, c)])
	}
	return list
}

// indexOf returns the index of a metric with the same settings, or -1 if there is none.
func indexOf(list []metrics.Choice, c metrics.Choice) int {
	return slices.IndexFunc(list,
		func(m metrics.Choice) bool { return m.Name == c.Name && reflect.DeepEqual(m.Value, c.Value) })
}

// tableCache holds data that the plans of a table share at all scales. Digests of runs depend on the scale.
type tableCache struct {
	configs runconfig.Cache
	tables  runconfig.Memo[otherTable, *Table] // tables from which rows take values
}

// otherTable identifies a table that gives values to rows of another table.
type otherTable struct {
	folder, name string
	real         bool
}

// shared returns the table's cache. A table that Load has not created gets a new one.
func (t *Table) shared() *tableCache {
	if t.cache == nil {
		return new(tableCache)
	}
	return t.cache
}
