// Package runconfig reads and decodes the configs of a table's runs, each only once.
package runconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Cache caches configs and texts of metrics. Its keys are the complete settings. It is safe for concurrent use.
type Cache struct {
	bases    Memo[[2]string, *Base]       // by folder and name
	families Memo[string, *family]        // by digest of the settings without the seed
	texts    Memo[metrics.Metric, string] // of metrics
}

// family is the common part of runs that differ only in name and seed. They share the pointers in the config.
type family struct {
	config   train.Config
	identity func(seed uint64) []byte
}

func (f *family) run(name string, seed uint64) sweep.Run {
	c := f.config
	c.Name, c.Seed = name, seed
	return sweep.Run{Name: name, Config: c, Hash: rundir.FileHash(f.identity(seed))}
}

// Settings are the settings of a run.
type Settings struct {
	Overrides []string // key.path=value; the last one is the seed
	Seed      uint64
	Real      bool             // a public data set replaces its twin
	Metrics   []metrics.Choice // final metrics; empty: none
	Unhashed  bool             // the run needs no hash, which is slow to compute
}

func (c *Cache) Run(b *Base, name string, s Settings) (sweep.Run, error) {
	last := len(s.Overrides) - 1
	parts := s.Overrides[:last:last]
	for _, m := range s.Metrics {
		text, err := c.Text(m)
		if err != nil {
			return sweep.Run{}, err
		}
		parts = append(parts, text)
	}
	key := b.Digest(parts, s.Real)
	if known, ok := c.families.Find(key); ok {
		return known.run(name, s.Seed), nil
	}
	all, err := train.Load(b.file, b.source, s.Overrides...)
	if err != nil {
		return sweep.Run{}, err
	}
	if real, ok := catalog.RealOf(all.Dataset.Value); ok && s.Real {
		all.Dataset = real
	}
	sample := all.Metrics.Sample
	all.Metrics = train.Defaults().Metrics
	all.Metrics.Sample, all.Metrics.Final, all.Train.Figures = sample, s.Metrics, false
	if s.Unhashed {
		return sweep.Run{Name: name, Config: all}, nil
	}
	var identity []byte
	if err = all.Validate(); err == nil {
		identity, err = all.Identity()
	}
	runs := &family{all, content.Reseed(identity, all.Seed)}
	if err != nil || all.Init != nil || runs.identity == nil { // a start often depends on the seed
		return sweep.NewRun(name, all) // with its error
	}
	c.families.Put(key, runs)
	return runs.run(name, s.Seed), nil
}

// Base is a config that rows name.
type Base struct {
	file   string
	source []byte
	text   string // without comments
}

// Base reads a config, once.
func (c *Cache) Base(name, folder string) (*Base, error) {
	return c.bases.Get([2]string{folder, name}, func() (*Base, error) {
		file, source, err := configs.Find(name, folder)
		if err != nil {
			return nil, err
		}
		root, err := configs.Parse(file, source, train.Defaults())
		if err != nil {
			return nil, err
		}
		return &Base{file, source, root.Inline()}, nil
	})
}

// Digest identifies a run by the table's settings: the base config without comments, and the overrides with the seed.
// It ignores defaults, so it does not change when a part gets a new option.
func (b *Base) Digest(overrides []string, real bool) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%t", b.text, strings.Join(overrides, "\n"), real)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Text returns the text of a metric, see [MetricText].
func (c *Cache) Text(m metrics.Choice) (string, error) {
	return c.texts.Get(m.Value, func() (string, error) { return MetricText(m) })
}

// MetricText returns the settings of a metric in config format. Equal metrics have equal texts.
func MetricText(c metrics.Choice) (string, error) {
	text, err := config.Encode(struct{ Metric metrics.Choice }{c})
	return string(text), err
}

// MetricTexts returns the text of each metric.
func MetricTexts(list []metrics.Choice) ([]string, error) {
	texts := make([]string, len(list))
	for i, c := range list {
		var err error
		if texts[i], err = MetricText(c); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// placeholders matches $name and, in lists, $name... with the following comma.
var placeholders = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)(\.\.\.(, *)?)?`)

// Fill replaces $name by its value, and $name... by the elements of its value. Errors name the data set.
func Fill(text string, values sweep.Settings, dataset string) (filled string, err error) {
	filled = placeholders.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholders.FindStringSubmatch(found)
		name, spread, comma := parts[1], parts[2] != "", parts[3]
		var known []string
		for _, v := range values {
			known = append(known, "$"+v.Key)
			switch inner, list := elements(v.Value); {
			case v.Key != name:
			case !spread:
				return v.Value
			case !list:
				err = fmt.Errorf("%s: $%s of the data set %q is %s; want a list where $%s... stands for its elements",
					text, name, dataset, v.Value, name)
			case inner == "":
				return ""
			default:
				return inner + comma
			}
		}
		if !slices.Contains(known, "$"+name) {
			err = fmt.Errorf("%s: the data set %q has no value of that name%s", text, dataset, registry.Suggest("$"+name, known))
		}
		return found
	})
	return filled, err
}

// elements returns the text between the brackets of a list.
func elements(text string) (inner string, list bool) {
	inner, open := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return strings.TrimSpace(inner), open && closed
}

// Memo caches values by key. The zero value is empty.
type Memo[K comparable, V any] struct{ values sync.Map }

// Get returns the value of a key. It computes the value if it is not cached. Errors are not cached.
func (m *Memo[K, V]) Get(key K, make func() (V, error)) (V, error) {
	if v, ok := m.Find(key); ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		m.Put(key, v)
	}
	return v, err
}

func (m *Memo[K, V]) Find(key K) (v V, ok bool) {
	if known, ok := m.values.Load(key); ok {
		return known.(V), true
	}
	return v, false
}

func (m *Memo[K, V]) Put(key K, v V) { m.values.Store(key, v) }
