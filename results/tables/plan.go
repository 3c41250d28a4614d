package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// plan returns the runs, or their outlines, and their planner.
func (t *Table) plan(named string, outline bool) (*Planner, []sweep.Run, error) {
	t, scale, err := t.at(named)
	if err != nil {
		return nil, nil, err
	}
	p, err := t.planner(scale)
	if err != nil {
		return nil, nil, err
	}
	p.outline = outline
	var all []sweep.Run
	known, names := map[string]bool{}, map[string]bool{}
	for seed := range uint64(scale.Seeds) {
		err := p.each(t, seed, func(_ int, _ place, one *Planner, runs []sweep.Run) {
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

// each calls f with the runs of a seed, row by row and on every data set, and with the planner that made them.
func (p *Planner) each(t *Table, seed uint64, f func(row int, on place, one *Planner, runs []sweep.Run)) error {
	for i, row := range t.Rows {
		for _, on := range t.places() {
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

// planner returns the Planner of a scale.
func (t *Table) planner(scale *Scale) (*Planner, error) {
	p := &Planner{folder: t.folder, scale: scale.Name, set: scale.Set, real: t.real, cache: t.shared()}
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

// add adds metrics that no column shows, and sorts all metrics by their text. Tables that share runs then agree on
// the order.
func (p *Planner) add(also []metrics.Choice) error {
	if len(also) == 0 {
		return nil
	}
	texts := map[string]metrics.Choice{}
	for _, c := range slices.Concat(also, p.metrics) {
		text, err := p.cache.metricText(c)
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

// Planner makes the runs of a table at one scale, for one of its data sets.
type Planner struct {
	folder  string // folder of the table and of the files that it names
	scale   string // its name
	set     sweep.Settings
	metrics []metrics.Choice // metrics that runs measure
	columns []metrics.Choice // the columns' metrics
	at      *DataSet         // nil: the table lists no data sets
	codes   string           // text of its sub-codes
	real    bool             // public data sets replace their twins

	compared map[string]*comparedRuns // of the compared tables, by name
	places   map[*DataSet]*Planner    // the planners for data sets
	by       map[string]*Planner      // the planners of the table's runs, by hash

	cache   *planCache         // of the table, for all scales
	planned map[string]planned // the runs of the scale, by hash

	// To save time, runs may lack what their user does not need.
	outline  bool // runs only have a name, and their digest as hash
	unhashed bool // runs have no hash
}

// planned says more about a planned run.
type planned struct {
	digest string                    // of its settings in the table, see base.digest
	whole  func() (sweep.Run, error) // makes the run of an outline; nil for a whole run
}

// on returns the planner for a data set.
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

// Metrics returns the metrics that runs measure. The table reads their results from the runs' folders.
func (p *Planner) Metrics() []metrics.Choice { return p.metrics }

// Name returns the name of a row's run. It joins the row, the data set, "real" on public data sets, the scale and the
// seed.
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

// overrides lists a run's settings; later settings win.
func (p *Planner) overrides(s RunSettings, seed uint64) ([]string, error) {
	var d DataSet
	if p.at != nil {
		d = *p.at
	}
	list := slices.Concat(s.Set, d.Set, p.set, d.ByScale[p.scale], s.ByScale[p.scale])
	overrides := append(list.Overrides(), fmt.Sprint("seed=", seed))
	for i, text := range overrides {
		var err error
		if overrides[i], err = p.fill(text); err != nil {
			return nil, err
		}
	}
	return overrides, nil
}

// fill replaces $name by the data set's value.
func (p *Planner) fill(text string) (string, error) {
	if p.at == nil {
		return text, nil
	}
	return p.at.fill(text)
}

// RunSettings are a row's settings for a run. Later settings win, in this order: Set, the data set's Set, the scale's
// settings, and the settings for the scale by name, first the data set's and then ByScale.
type RunSettings struct {
	Config  string         // a .yaml file, or the name of an experiment that comes with Unravel
	Set     sweep.Settings // key.path: value
	ByScale ScaleSettings
	Metrics []metrics.Choice // metrics at the end; empty: none
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// FileName makes a label part of the name of a file or folder.
func FileName(label string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ReplaceAll(label, "β", "beta"), "-"), "-.")
	if name == "" {
		name = "row"
	}
	return name
}

// measurer is a source with extra metrics for its runs.
type measurer interface{ also() []metrics.Choice }

func (r *Runs) also() []metrics.Choice { return r.Also }

// with returns the planner with the extra metrics of a source.
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

// runsOf lists the runs of a row on a data set for a seed. It also returns their planner.
func (p *Planner) runsOf(s Trained, on place, row Row, seed uint64) (*Planner, []sweep.Run, error) {
	one, err := p.on(on.data).with(s)
	if err != nil {
		return nil, nil, err
	}
	runs, err := s.Plan(one, row.Label, seed)
	return one, runs, err
}

// Run returns the run of a config with the settings of the row, the data set and the scale. In settings, $NAME stands
// for a value of the data set.
func (p *Planner) Run(name string, s RunSettings, seed uint64) (sweep.Run, error) {
	file, err := p.fill(s.Config)
	if err != nil {
		return sweep.Run{}, err
	}
	b, err := p.cache.base(file, p.folder)
	if err != nil {
		return sweep.Run{}, err
	}
	overrides, err := p.overrides(s, seed)
	if err != nil {
		return sweep.Run{}, err
	}
	digest := b.digest(append(overrides[:len(overrides):len(overrides)], p.measures(s)...), p.real)
	whole := func() (sweep.Run, error) { return p.load(b, name, overrides, s.Metrics, seed) }
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

// measures tells apart runs with the same settings and other metrics: by the data set's sub-codes, or by having no
// metrics at all.
func (p *Planner) measures(s RunSettings) []string {
	switch {
	case len(s.Metrics) == 0:
		return []string{"no metrics"}
	case p.at != nil && len(p.at.Codes) > 0:
		return []string{"codes " + p.codes}
	}
	return nil
}

// load makes a run. The last override is the seed.
func (p *Planner) load(b *base, name string, overrides []string, measured []metrics.Choice, seed uint64) (sweep.Run, error) {
	text, err := p.cache.textOf(measured)
	if err != nil {
		return sweep.Run{}, err
	}
	key := b.digest(append(overrides[:len(overrides)-1:len(overrides)-1], text), p.real)
	if known, ok := p.cache.prototypes.Load(key); ok {
		return known.(*prototype).of(name, seed), nil
	}
	c, err := train.Load(b.file, b.source, overrides...)
	if err != nil {
		return sweep.Run{}, err
	}
	p.onReal(&c.Dataset)
	sample := c.Metrics.Sample
	c.Metrics = train.Defaults().Metrics
	c.Metrics.Sample, c.Metrics.Final, c.Train.Figures = sample, measured, false
	if p.unhashed {
		return sweep.Run{Name: name, Config: c}, nil
	}
	proto, err := prototypeOf(c)
	if proto == nil || err != nil {
		return sweep.NewRun(name, c) // with its error
	}
	p.cache.prototypes.Store(key, proto)
	return proto.of(name, seed), nil
}

// shown selects the results of the columns' metrics.
func (p *Planner) shown(all []metrics.Result) []metrics.Result {
	var list []metrics.Result
	for _, c := range p.columns {
		list = append(list, all[slices.IndexFunc(p.metrics, func(m metrics.Choice) bool { return m.Name == c.Name && reflect.DeepEqual(m.Value, c.Value) })])
	}
	return list
}

// planCache holds what the plans of a table share, at all scales: base configs, decoded configs, texts of metrics, and
// tables. Its keys are the complete settings. The digests of runs are not in it, because they belong to a scale.
type planCache struct {
	bases      sync.Map // *base by folder and name
	prototypes sync.Map // *prototype by the digest of the settings without the seed
	texts      sync.Map // texts of metrics, by their settings
	lists      sync.Map // texts of lists of metrics, by their first metric and length
	tables     sync.Map // *Table that a row quotes, by otherTable
}

// otherTable names a table that a row of another table takes values from.
type otherTable struct {
	folder, name string
	real         bool
}

// shared returns the table's cache: a new one for a table that Load has not made.
func (t *Table) shared() *planCache {
	if t.cache == nil {
		return new(planCache)
	}
	return t.cache
}

// cached returns the value of a key, and makes it if it is new.
func cached[V any](m *sync.Map, key any, make func() (V, error)) (V, error) {
	if v, ok := m.Load(key); ok {
		return v.(V), nil
	}
	v, err := make()
	if err == nil {
		m.Store(key, v)
	}
	return v, err
}

// base is a config named by rows.
type base struct {
	file   string
	source []byte
	text   string // without comments
}

// base reads a config, once.
func (c *planCache) base(name, folder string) (*base, error) {
	return cached(&c.bases, [2]string{folder, name}, func() (*base, error) {
		file, source, err := configs.Find(name, folder)
		if err != nil {
			return nil, err
		}
		root, err := configs.Parse(file, source, train.Defaults())
		if err != nil {
			return nil, err
		}
		return &base{file, source, root.Inline()}, nil
	})
}

// digest identifies a run by the table's settings: the base config without its comments, and the overrides with the
// seed. A later option of a part leaves it unchanged, because digest ignores defaults.
func (b *base) digest(overrides []string, real bool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%t", b.text, strings.Join(overrides, "\n"), real)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// prototype is a config whose runs differ only in seed.
type prototype struct {
	config        train.Config
	before, after []byte // the config's identity before and after the seed
}

// of returns the run with another name and seed. Runs share the config's pointers.
func (p *prototype) of(name string, seed uint64) sweep.Run {
	c := p.config
	c.Name, c.Seed = name, seed
	text := append(bytes.Clone(p.before), fmt.Sprintf("\nseed: %d\n", seed)...)
	return sweep.Run{Name: name, Config: c, Hash: rundir.FileHash(append(text, p.after...))}
}

// prototypeOf returns the part of a config that other seeds share. It is nil for a config with a start, because the
// start often depends on the seed.
func prototypeOf(c train.Config) (*prototype, error) {
	if c.Init != nil {
		return nil, nil
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	identity, err := c.Identity()
	before, after, ok := bytes.Cut(identity, fmt.Appendf(nil, "\nseed: %d\n", c.Seed))
	if !ok {
		return nil, err
	}
	return &prototype{c, before, after}, nil
}

// textOf returns the text of a list of metrics.
func (c *planCache) textOf(list []metrics.Choice) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	type key struct {
		first *metrics.Choice
		count int
	}
	return cached(&c.lists, key{&list[0], len(list)}, func() (string, error) {
		text, err := config.Encode(struct{ Metrics []metrics.Choice }{list})
		return string(text), err
	})
}

// metricText returns the text of a metric.
func (c *planCache) metricText(m metrics.Choice) (string, error) {
	return cached(&c.texts, m.Value, func() (string, error) { return metricText(m) })
}
