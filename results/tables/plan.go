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
func (t *Table) plan(named string, outline bool) (*Planner, []sweep.Run, error) {
	p, err := t.planner(named)
	if err != nil {
		return nil, nil, err
	}
	p.outline = outline
	var all []sweep.Run
	known, names := map[string]bool{}, map[string]bool{}
	for seed := range uint64(p.seeds) {
		err := p.each(seed, func(_ int, _ place, one *Planner, runs []sweep.Run) {
			for _, r := range runs {
				if known[r.Hash] {
					continue
				}
				known[r.Hash] = true
				for n, name := 2, r.Name; names[r.Name]; n++ {
					r.Name = fmt.Sprintf("%s-%d", name, n)
				}
				names[r.Name], r.Config.Name, p.by[r.Hash] = true, r.Name, one
				all = append(all, r)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return p, all, nil
}

// each calls f with the runs of a seed, by row and data set, and with the planner that planned them.
func (p *Planner) each(seed uint64, f func(row int, on place, one *Planner, runs []sweep.Run)) error {
	for i, row := range p.table.Rows {
		for _, on := range p.table.places() {
			source, ok := on.row(row, p.scale).From.Value.(Trained)
			if !ok {
				continue
			}
			one, runs, err := p.runsOf(source, on, row, seed)
			if err != nil {
				return fmt.Errorf("row %q: %w", row.Label, err)
			}
			f(i, on, one, runs)
		}
	}
	return nil
}

// first calls f with the configs of the first seed's runs. All seeds have the same data sets and lengths.
func (t *Table) first(named string, f func(row int, on place, c train.Config)) error {
	if !t.Trains() {
		return nil
	}
	p, err := t.planner(named)
	if err != nil {
		return err
	}
	p.unhashed = true
	return p.each(0, func(row int, on place, _ *Planner, runs []sweep.Run) {
		for _, r := range runs {
			f(row, on, r.Config)
		}
	})
}

func (t *Table) planner(named string) (*Planner, error) {
	t, scale, err := t.at(named)
	if err != nil {
		return nil, err
	}
	p := &Planner{table: t, seeds: scale.Seeds, folder: t.folder, scale: scale.Name, set: scale.Set, real: t.real, cache: t.shared()}
	p.compared, p.places, p.by, p.planned = map[string]*comparedRuns{}, map[*DataSet]*Planner{}, map[string]*Planner{}, map[string]planned{}
	measured, err := t.distinct()
	if err != nil {
		return nil, err
	}
	for _, m := range measured {
		p.metrics = append(p.metrics, m.choice)
	}
	p.columns = p.metrics
	return p, p.add(t.Also)
}

// add adds metrics that no column shows, and sorts all by their text, so tables with the same runs agree.
func (p *Planner) add(also []metrics.Choice) error {
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
	seeds   int
	folder  string // folder of the table's file, for the files that the table names
	scale   string // name of the scale
	set     sweep.Settings
	metrics []metrics.Choice // metrics that runs measure
	columns []metrics.Choice // the columns' metrics
	at      *DataSet         // nil: the table lists no data sets
	codes   string           // text of the data set's sub-codes
	real    bool             // public data sets replace twins

	compared map[string]*comparedRuns // runs of the compared tables, by name
	places   map[*DataSet]*Planner    // planners for data sets
	by       map[string]*Planner      // planners of the table's runs, by hash

	cache   *tableCache        // cache of the table, for all scales
	planned map[string]planned // runs of the scale, by hash

	// To save time, runs may lack parts that their user does not need.
	outline  bool // runs only have a name, and a digest as hash
	unhashed bool // runs have no hash
}

// planned has further data of a planned run.
type planned struct {
	digest string                    // digest of the run's settings in the table, see [runconfig.Base.Digest]
	whole  func() (sweep.Run, error) // creates the run of an outline; nil: not an outline
}

func (p *Planner) on(d *DataSet) *Planner {
	if d == nil {
		return p
	}
	one := p.places[d]
	if one == nil {
		one = new(*p)
		one.at, one.codes, one.metrics, one.columns = d, d.codesText(), d.measuring(p.metrics), d.measuring(p.columns)
		p.places[d] = one
	}
	return one
}

// Metrics returns the metrics that runs measure. The table reads their results from the folders of the runs.
func (p *Planner) Metrics() []metrics.Choice { return p.metrics }

// Name returns the name of a row's run: row, data set, "real" on public data sets, scale and seed, joined.
func (p *Planner) Name(row string, seed uint64) string {
	name := FileName(row)
	if p.at != nil {
		name += "_" + FileName(p.at.Label)
	}
	if p.real {
		name += "_real"
	}
	return fmt.Sprintf("%s_%s_seed%d", name, p.scale, seed)
}

// overrides lists the settings of a run; later settings win.
func (p *Planner) overrides(s RunSettings, seed uint64) ([]string, error) {
	var d DataSet
	if p.at != nil {
		d = *p.at
	}
	list := slices.Concat(s.Set, d.Set, p.set, d.ByScale[p.scale], s.ByScale[p.scale])
	overrides := append(list.Overrides(), fmt.Sprint("seed=", seed))
	for i, text := range overrides {
		var err error
		if overrides[i], err = p.at.fill(text); err != nil {
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

type measurer interface{ also() []metrics.Choice } // source with extra metrics for its runs

func (r *Runs) also() []metrics.Choice { return r.Also }

func (p *Planner) with(s Source) (*Planner, error) {
	m, ok := s.(measurer)
	if !ok || len(m.also()) == 0 {
		return p, nil
	}
	one := *p
	more := m.also()
	if p.at != nil {
		more = p.at.measuring(more)
	}
	return &one, one.add(more)
}

// runsOf lists the runs of a row on a data set for a seed, and returns their planner.
func (p *Planner) runsOf(s Trained, on place, row Row, seed uint64) (*Planner, []sweep.Run, error) {
	one, err := p.on(on.data).with(s)
	if err != nil {
		return nil, nil, err
	}
	runs, err := s.Plan(one, row.Label, seed)
	return one, runs, err
}

// Run returns the run of a config with the settings of the row, the data set and the scale. In settings, $NAME means a
// value of the data set.
func (p *Planner) Run(name string, s RunSettings, seed uint64) (sweep.Run, error) {
	file, err := p.at.fill(s.Config)
	if err != nil {
		return sweep.Run{}, err
	}
	b, err := p.cache.configs.Base(file, p.folder)
	if err != nil {
		return sweep.Run{}, err
	}
	overrides, err := p.overrides(s, seed)
	if err != nil {
		return sweep.Run{}, err
	}
	digest := b.Digest(append(overrides[:len(overrides):len(overrides)], p.measures(s)...), p.real)
	whole := func() (sweep.Run, error) {
		of := runconfig.Settings{Overrides: overrides, Seed: seed, Real: p.real, Metrics: s.Metrics, Unhashed: p.unhashed}
		return p.cache.configs.Run(b, name, of)
	}
	if p.outline {
		p.planned[digest] = planned{digest, whole}
		return sweep.Run{Name: name, Hash: digest}, nil
	}
	r, err := whole()
	if err == nil {
		p.planned[r.Hash] = planned{digest: digest}
	}
	return r, err
}

// measures distinguishes runs with equal settings and other metrics: by sub-codes, or by the absence of metrics.
func (p *Planner) measures(s RunSettings) []string {
	switch {
	case len(s.Metrics) == 0:
		return []string{"no metrics"}
	case p.at != nil && len(p.at.Codes) > 0:
		return []string{"codes " + p.codes}
	}
	return nil
}

func (p *Planner) shown(all []metrics.Result) []metrics.Result {
	var list []metrics.Result
	for _, c := range p.columns {
		list = append(list, all[indexOf(p.metrics, c)])
	}
	return list
}

// indexOf returns the index of a metric with the same settings, or -1 if there is none.
func indexOf(list []metrics.Choice, c metrics.Choice) int {
	return slices.IndexFunc(list, func(m metrics.Choice) bool { return m.Name == c.Name && reflect.DeepEqual(m.Value, c.Value) })
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
