package tables

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// plans keeps data shared by plans of many runs: base configs, and one decoded config for all seeds.
type plans struct {
	bases      map[string]*base
	prototypes map[string]*prototype
	digests    map[string]string                    // digests of the settings of planned runs, by hash
	outlines   map[string]func() (sweep.Run, error) // the runs of outlines, by digest
	measured   map[*metrics.Choice]measuredText     // texts of lists of metrics, by their first metric
	texts      map[any]string                       // texts of single metrics, by their settings
	quoted     map[string]*Table                    // the tables that rows quote, by name
}

func newPlans() *plans {
	return &plans{map[string]*base{}, map[string]*prototype{}, map[string]string{}, map[string]func() (sweep.Run, error){}, map[*metrics.Choice]measuredText{}, map[any]string{}, map[string]*Table{}}
}

// base is a config named by rows.
type base struct {
	file   string
	source []byte
	text   string // without comments
}

// base reads a config, once.
func (p *plans) base(name, folder string) (*base, error) {
	if known := p.bases[name]; known != nil {
		return known, nil
	}
	file, source, err := configs.Find(name, folder)
	if err != nil {
		return nil, err
	}
	root, err := configs.Parse(file, source, train.Defaults())
	if err != nil {
		return nil, err
	}
	p.bases[name] = &base{file, source, root.Inline()}
	return p.bases[name], nil
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

// prototypeOf returns the part of a run that other seeds share. It is nil for a run with a start, because the start
// often depends on the seed.
func prototypeOf(r sweep.Run) (*prototype, error) {
	if r.Config.Init != nil {
		return nil, nil
	}
	identity, err := r.Config.Identity()
	if err != nil {
		return nil, err
	}
	before, after, ok := bytes.Cut(identity, fmt.Appendf(nil, "\nseed: %d\n", r.Config.Seed))
	if !ok {
		return nil, nil
	}
	return &prototype{r.Config, before, after}, nil
}

// measuredText is a list of metrics and its text.
type measuredText struct {
	list []metrics.Choice
	text string
}

// textOf returns the text of a list of metrics and caches it.
func (p *plans) textOf(list []metrics.Choice) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	if known := p.measured[&list[0]]; len(known.list) == len(list) {
		return known.text, nil
	}
	text, err := config.Encode(struct{ Metrics []metrics.Choice }{list})
	if err == nil {
		p.measured[&list[0]] = measuredText{list, string(text)}
	}
	return string(text), err
}

// metricText returns the text of a metric and caches it.
func (p *plans) metricText(c metrics.Choice) (string, error) {
	if known, ok := p.texts[c.Value]; ok {
		return known, nil
	}
	text, err := metricText(c)
	if err == nil {
		p.texts[c.Value] = text
	}
	return text, err
}

// Run returns the run of a config with the settings of the row, the data set and the scale. In settings, $NAME stands
// for a value of the data set.
func (p *Planner) Run(name string, s RunSettings, seed uint64) (sweep.Run, error) {
	file, err := p.fill(s.Config)
	if err != nil {
		return sweep.Run{}, err
	}
	b, err := p.plans.base(file, p.folder)
	if err != nil {
		return sweep.Run{}, err
	}
	overrides, err := p.overrides(s, seed)
	if err != nil {
		return sweep.Run{}, err
	}
	digest := b.digest(append(overrides[:len(overrides):len(overrides)], p.measures(s)...), p.real)
	whole := func() (sweep.Run, error) {
		r, err := p.load(b, name, overrides, s.Metrics, seed)
		if err == nil {
			p.plans.digests[r.Hash] = digest
		}
		return r, err
	}
	if p.outline {
		p.plans.digests[digest], p.plans.outlines[digest] = digest, whole
		return sweep.Run{Name: name, Hash: digest}, nil
	}
	return whole()
}

// measures tells apart runs with the same settings and other metrics: by the data set's sub-codes, or by having no
// metrics at all.
func (p *Planner) measures(s RunSettings) []string {
	switch {
	case len(s.Metrics) == 0:
		return []string{"no metrics"}
	case p.at != nil && len(p.at.Codes) > 0:
		return []string{"codes " + p.at.codesText()}
	}
	return nil
}

// load makes a run. The last override is the seed.
func (p *Planner) load(b *base, name string, overrides []string, measured []metrics.Choice, seed uint64) (sweep.Run, error) {
	text, err := p.plans.textOf(measured)
	if err != nil {
		return sweep.Run{}, err
	}
	key := b.digest(append(overrides[:len(overrides)-1:len(overrides)-1], text), p.real)
	if known := p.plans.prototypes[key]; known != nil {
		return known.of(name, seed), nil
	}
	c, err := train.Load(b.file, b.source, overrides...)
	if err != nil {
		return sweep.Run{}, err
	}
	p.onReal(&c.Dataset)
	sample := c.Metrics.Sample
	c.Metrics = train.Defaults().Metrics
	c.Metrics.Sample, c.Metrics.Final, c.Train.Figures = sample, measured, false
	r, err := sweep.NewRun(name, c)
	if err != nil {
		return r, err
	}
	proto, err := prototypeOf(r)
	if proto != nil {
		p.plans.prototypes[key] = proto
	}
	return r, err
}
