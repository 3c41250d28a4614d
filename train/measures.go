package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/internal/choices"
	"github.com/unravel-ml/unravel/train/internal/monitor"
)

// Measures sets what to measure, and when. `metrics: [mig, dci]` is short for `metrics: {final: [mig, dci]}`.
type Measures struct {
	Final    []metrics.Choice `yaml:"final" doc:"metrics to measure at the end, on all images or a sample"`
	On       []MeasuredOn     `yaml:"on,omitempty" doc:"metrics to measure at the end on other data sets, such as [{dataset: sprites, metrics: [mig]}]; results are called mig-on-sprites"`
	Sample   int              `yaml:"sample" doc:"number of random images to encode at the end, to save time and memory; with train.hold_out, metrics use the held-out images among them; 0: all, up to 2^27 code numbers (134,217 images with 1000 columns)"`
	Interval float64          `yaml:"interval" doc:"confidence level in percent for intervals of the final metrics, such as 95; 0: no intervals"`
	Encode   Encode           `yaml:"encode" doc:"images to store codes and factors of at the end: true (all, or the sample), false (none), or a number without metrics; if absent, the measured images, or up to 10000 without metrics"`
	During   During           `yaml:"during" doc:"metrics during training: a list, or fast for quick metrics that suit the data set; if absent, the final metrics if every is set"`
	Every    int              `yaml:"every" doc:"epochs between evaluations; 0: until twenty times the measured images have trained, at most a tenth of train.epochs if train.stop watches a sentence"`
	Images   int              `yaml:"images" doc:"number of random images to measure during training; a smaller data set is measured whole"`
}

// During lists metrics; the word fast in the list stands for metrics.Fast.
type During struct {
	Fast bool
	List []metrics.Choice
}

const fastWord = "fast"

// trainedPerMeasured limits the fast metrics to one to four percent of the training time (BenchmarkMeasure).
const trainedPerMeasured = 20

// minEvaluations is the default minimum number of evaluations in a training that a sentence can end.
const minEvaluations = 10

var measureKeys = []string{"final", "on", "sample", "interval", "encode", "during", "every", "images"}

// defaultMeasures measures 10,000 images, as disentanglement_lib does.
func defaultMeasures() Measures { return Measures{Images: 10000} }

// DecodeConfig reads all keys, or a list of final metrics and of metrics on other data sets.
func (m *Measures) DecodeConfig(n *config.Node) error {
	switch {
	case n.IsNull():
		return nil
	case n.IsList():
		if err := m.decodeList(n.Items()); err != nil {
			return err
		}
	case n.IsMap():
		if err := n.Decode((*measures)(m)); err != nil {
			return err
		}
		if final := n.Get("final"); final != nil {
			if err := checkRepeats(final, m.Final); err != nil {
				return err
			}
		}
	default:
		return n.NotList("a list of metrics, or the keys "+strings.Join(measureKeys, ", "), new([]metrics.Choice))
	}
	return m.onFinal(n)
}

// decodeList reads a list of final metrics and of metrics on other data sets.
func (m *Measures) decodeList(items []*config.Node) error {
	m.Final, m.On = []metrics.Choice{}, nil
	for _, item := range items {
		if isMeasuredOn(item) {
			var on MeasuredOn
			if err := item.Decode(&on); err != nil {
				return err
			}
			m.On = append(m.On, on)
			continue
		}
		if err := appendMetric(&m.Final, item); err != nil {
			return err
		}
	}
	return nil
}

// appendMetric decodes a metric and adds it to a list, unless the list has it.
func appendMetric(list *[]metrics.Choice, item *config.Node) error {
	var c metrics.Choice
	if err := item.Decode(&c); err != nil {
		return err
	}
	if choices.Has(*list, c) {
		return repeatedMetric(item, c)
	}
	*list = append(*list, c)
	return nil
}

// onFinal adds the final metrics to data sets that list no metrics.
func (m *Measures) onFinal(n *config.Node) error {
	for i := range m.On {
		if on := &m.On[i]; len(on.Metrics) == 0 {
			if on.Metrics = slices.Clone(m.Final); len(on.Metrics) == 0 {
				return n.Errorf("there are no metrics for the data set %s; want metrics in its entry, such as {dataset: %[1]s, metrics: [mig]}, or final metrics", on.Dataset.Name)
			}
		}
	}
	return nil
}

// checkRepeats returns an error if a list repeats a metric with the same options.
func checkRepeats(n *config.Node, list []metrics.Choice) error {
	for i, c := range list {
		if choices.Has(list[:i], c) {
			return repeatedMetric(n.Items()[i], c)
		}
	}
	return nil
}

func repeatedMetric(item *config.Node, c metrics.Choice) error {
	return item.Errorf("%s is in the list twice; want it once, or with other options", c.Name)
}

// EncodeConfig writes all keys.
func (m Measures) EncodeConfig() (any, error) { return measures(m), nil }

// ConfigForms implements config.Former.
func (m Measures) ConfigForms() []any {
	return []any{measures(m), config.Short("final"), []listedMeasure{}, nil}
}

// listedMeasure is an element of the list form of Measures: a final metric, or metrics on another data set.
type listedMeasure struct{ metrics.Choice }

// ConfigForms implements config.Former.
func (i listedMeasure) ConfigForms() []any { return append(i.Choice.ConfigForms(), MeasuredOn{}) }

// MeasuredOn lists metrics that are measured at the end on another data set, such as a labelled one for a model that
// was trained without labels. The names of their results end with -on- and the name of the data set.
type MeasuredOn struct {
	Dataset catalog.Choice   `yaml:"dataset" doc:"data set with images of the shape of the run's images"`
	Metrics []metrics.Choice `yaml:"metrics" doc:"metrics of its codes; if absent, the final metrics"`
	Sample  int              `yaml:"sample" doc:"number of its images, chosen at random; 0: all"`
}

// Validate checks the settings.
func (m *MeasuredOn) Validate() error {
	switch {
	case m.Dataset.Value == nil:
		return config.Invalid("dataset", "is missing; want the name of a data set")
	case m.Sample < 0:
		return config.Invalid("sample", "%d is out of range; want 0 (all) or more", m.Sample)
	}
	return nil
}

// ConfigType describes the accepted values.
func (m Measures) ConfigType() string {
	return "a list of metrics, or final, on, sample, interval, encode, during, every and images"
}

type measures Measures // Measures as a plain struct of keys

// Validate checks the metrics' own settings.
func (m *measures) Validate() error {
	switch {
	case m.Every < 0 || m.Every > maxEpochs:
		return config.Invalid("every", "%d is out of range; want 0 to %d epochs", m.Every, int64(maxEpochs))
	case m.Sample < 0:
		return config.Invalid("sample", "%d is out of range; want 0 (all) or more", m.Sample)
	case m.Interval != 0 && (metrics.Intervals{Percent: m.Interval}).Validate() != nil:
		return config.Invalid("interval", "%v is out of range; want 50 to 99.9 percent, or 0 (none)", m.Interval)
	case m.Images < 1:
		return config.Invalid("images", "%d is out of range; want 1 or more", m.Images)
	}
	return nil
}

// DecodeConfig reads the word fast, or a list that may contain it.
func (d *During) DecodeConfig(n *config.Node) error {
	*d = During{}
	var word string
	if n.IsScalar() {
		if err := n.Decode(&word); err == nil && word == fastWord {
			d.Fast = true
			return nil
		}
	}
	if !n.IsList() {
		return n.NotList("fast or a list of metrics", new([]metrics.Choice))
	}
	for _, item := range n.Items() {
		if item.IsScalar() && item.Decode(&word) == nil && word == fastWord {
			d.Fast = true
			continue
		}
		if err := appendMetric(&d.List, item); err != nil {
			return err
		}
	}
	return nil
}

// EncodeConfig is the inverse of DecodeConfig.
func (d During) EncodeConfig() (any, error) {
	if d.Fast && len(d.List) == 0 {
		return fastWord, nil
	}
	if d.empty() {
		return nil, nil
	}
	var list []any
	if d.Fast {
		list = append(list, fastWord)
	}
	for _, c := range d.List {
		list = append(list, c)
	}
	return list, nil
}

// ConfigForms implements config.Former.
func (During) ConfigForms() []any { return []any{config.Words{fastWord}, []duringItem{}} }

// ConfigType describes the accepted values.
func (d During) ConfigType() string { return "fast or a list of metrics" }

type duringItem struct{ metrics.Choice } // element of a list of During: a metric, or the word fast

// ConfigForms implements config.Former.
func (i duringItem) ConfigForms() []any {
	return append(i.Choice.ConfigForms(), config.Words{fastWord})
}

func (d During) empty() bool { return !d.Fast && len(d.List) == 0 }

// Encode is the number of images whose codes a run stores. The zero value stores the codes of the measured images or,
// if there are no metrics, of at most 10,000 images.
type Encode int

// Encode can also be a positive number of images.
const (
	EncodeAll  Encode = math.MaxInt // all images, or the sample
	EncodeNone Encode = -1
)

// DecodeConfig reads true, false or a number.
func (e *Encode) DecodeConfig(n *config.Node) error {
	var all bool
	var count int
	switch {
	case n.IsNull():
		*e = 0
	case n.IsScalar() && n.Decode(&all) == nil:
		if *e = EncodeNone; all {
			*e = EncodeAll
		}
	case n.IsScalar() && n.Decode(&count) == nil && count > 0:
		*e = Encode(count)
	default:
		return n.Errorf("want true (all images), false (none) or a number of images from 1 on")
	}
	return nil
}

// EncodeConfig is the inverse of DecodeConfig.
func (e Encode) EncodeConfig() (any, error) {
	switch e {
	case 0:
		return nil, nil
	case EncodeAll, EncodeNone:
		return e == EncodeAll, nil
	}
	return int(e), nil
}

// ConfigForms implements config.Former.
func (Encode) ConfigForms() []any { return []any{true, 0, nil} }

// ConfigType describes the accepted values.
func (e Encode) ConfigType() string { return "true, false or a number" }

func (m *Measures) validEncode() error {
	switch {
	case m.Encode < EncodeNone:
		return config.Invalid("metrics.encode", "%d is out of range; want 1 or more, or true or false", m.Encode)
	case m.Encode <= 0 || m.Encode == EncodeAll:
		return nil
	case len(m.Final) > 0:
		return config.Invalid("metrics.encode",
			"metrics are measured at the end, and their images are encoded; want true or false, or metrics.sample=%d", m.Encode)
	case m.Sample > 0:
		return config.Invalid("metrics.encode",
			"metrics.sample also sets the number of encoded images; want only one of the two keys")
	}
	return nil
}

// validate checks the keys against each other and against the settings of early stopping.
func (m *Measures) validate(s *Settings) error {
	if err := m.validEncode(); err != nil {
		return err
	}
	if m.Every > 0 && !m.During.Fast && len(m.listed(s.Stop)) == 0 {
		return config.Invalid("metrics.every", "there is no metric to measure every %d epochs", m.Every)
	}
	if sentence, _ := s.Stop.sentence(); s.Stop != nil && s.Stop.Loss == "" && sentence == nil {
		if err := m.checkWatched("train.stop", "metric", s.Stop.Metric, s.Stop); err != nil {
			return err
		}
	}
	if s.Keep.Best != "" {
		return m.checkWatched("train.keep", "best", s.Keep.Best, s.Stop)
	}
	return nil
}

// checkWatched returns an error if a config key names a metric that is not measured during training.
func (m *Measures) checkWatched(part, key, metric string, stop *EarlyStop) error {
	watched := m.watched(stop)
	switch _, err := metrics.Registry.Lookup(metric); {
	case len(watched) == 0 && err != nil && !slices.Contains(metrics.ResultNames(m.Final), metric):
		return config.Invalid(part+"."+key, "unknown metric %q; want a metric of metrics.during, by its name", metric)
	case len(watched) == 0:
		return config.Invalid("metrics.every", "%s watches a metric; want the number of epochs between measurements", part)
	case !slices.Contains(watched, metric):
		return config.Invalid(part+"."+key, "%q is not among the metrics that are measured during training: %s",
			metric, strings.Join(watched, ", "))
	}
	return nil
}

// listed lists the metrics during training, without the metrics of fast.
func (m *Measures) listed(stop *EarlyStop) []metrics.Choice {
	list := m.During.List
	if m.During.empty() && m.Every > 0 {
		list = m.Final
	}
	list, _ = stop.withSentence(list)
	return list
}

func (m *Measures) watched(stop *EarlyStop) []string {
	var names []string
	if m.During.Fast {
		names = append(names, metrics.FastNames()...)
	}
	return append(names, metrics.ResultNames(m.listed(stop))...)
}

// Inherit copies settings from the run's losses to metrics of the same property, such as the code columns of each
// factor. A metric then measures the property that its loss trains. Explicit settings of a metric are kept: explicit
// reports whether key was set for metric i. If several losses match a metric, it becomes one metric for each loss,
// unless its columns were set. Losses with labels from a file give no settings, because they name the factors of the
// file and not of the data set.
func (c *Config) Inherit(list []metrics.Choice, explicit func(i int, key string) bool) ([]metrics.Choice, error) {
	if c.ownLabels() {
		return list, nil
	}
	return choices.Inherit(list, c.Losses, explicit)
}

func (c *Config) ownLabels() bool {
	return slices.ContainsFunc(c.Supervision, func(s supervision.Choice) bool {
		labels, ok := s.Value.(*supervision.FactorLabels)
		return ok && labels.File != ""
	})
}

func (c *Config) inheritAll(n *config.Node) (err error) {
	final, during := n.Get("metrics"), (*config.Node)(nil)
	others := slices.DeleteFunc(itemsOf(final), func(item *config.Node) bool { return !isMeasuredOn(item) })
	if final != nil && final.IsMap() {
		final, during, others = final.Get("final"), final.Get("during"), itemsOf(final.Get("on"))
	}
	for i := range min(len(c.Metrics.On), len(others)) {
		list := others[i].Get("metrics")
		if len(itemsOf(list)) == 0 { // the final metrics
			list = final
		}
		m := &c.Metrics.On[i].Metrics
		if *m, err = c.Inherit(*m, explicitIn(list)); err != nil {
			return err
		}
	}
	if c.Metrics.Final, err = c.Inherit(c.Metrics.Final, explicitIn(final)); err != nil {
		return err
	}
	if during != nil && during.IsList() {
		c.Metrics.During.List, err = c.Inherit(c.Metrics.During.List, explicitIn(during))
	}
	return err
}

// isMeasuredOn reports whether an item of a list of metrics has metrics on another data set.
func isMeasuredOn(item *config.Node) bool { return item.IsMap() && item.Get("dataset") != nil }

func itemsOf(list *config.Node) []*config.Node {
	if list == nil || !list.IsList() {
		return nil
	}
	return slices.Clone(list.Items())
}

// explicitIn reports which keys the metrics of a config's list set. The word fast and other data sets are no metrics.
func explicitIn(list *config.Node) func(i int, key string) bool {
	items := slices.DeleteFunc(itemsOf(list), func(item *config.Node) bool {
		return isMeasuredOn(item) || item.IsScalar() && item.Text() == fastWord
	})
	return func(i int, key string) bool {
		if i >= len(items) || !items[i].IsMap() || len(items[i].Keys()) != 1 {
			return false
		}
		options := items[i].Get(items[i].Keys()[0])
		return options.IsMap() && options.Get(key) != nil
	}
}

// newMonitor returns the evaluator for training, or nil if the config measures nothing during training. epoch is the
// number of images per epoch. Metrics that do not suit the data give a *config.Error.
func newMonitor(e *Experiment, epoch int) (*monitor.Monitor, error) {
	m, stop := &e.Config.Metrics, e.Config.Train.Stop
	mon := &monitor.Monitor{Choices: m.listed(stop), Data: e.Data, Every: m.Every, Seed: e.Config.Seed, Coder: e.Coder,
		InputOf: e.InputOf}
	if len(mon.Choices) == 0 && !m.During.Fast {
		return nil, nil
	}
	if mon.Images = e.HeldOut; mon.Images == nil {
		mon.Images = allImages(e.Data)
	}
	mon.Images = slices.Sorted(slices.Values(sampled(mon.Images, m.Images, e.Config.Seed, "metric/images")))
	n := len(mon.Images)
	if mon.Every == 0 {
		mon.Every = max(1, (trainedPerMeasured*n+epoch-1)/epoch)
		if stop.bySentence(mon.Choices) {
			mon.Every = min(mon.Every, max(1, e.Config.Train.Epochs/minEvaluations))
		}
	}
	in := e.InputOf(matrix.Matrix{Rows: n, Cols: e.Coder.Width()}, mon.Images)
	if m.During.Fast {
		fast, err := e.Config.Inherit(metrics.Fast(in), func(int, string) bool { return false })
		if err != nil {
			return nil, err
		}
		for _, c := range fast {
			if !slices.ContainsFunc(mon.Choices, func(o metrics.Choice) bool { return o.Name == c.Name }) {
				mon.Choices = append(mon.Choices, c)
			}
		}
	}
	if list, index := stop.withSentence(nil); index >= 0 && choices.Has(mon.Choices, list[index]) {
		if err := metrics.Suits(in, list); err != nil {
			return nil, e.Config.mistake("train.stop.metric", withoutFactors(err))
		}
	}
	if err := metrics.Suits(in, mon.Choices); err != nil {
		if n < e.Data.Len() {
			err = fmt.Errorf("%w (on %d of %d images; metrics.images sets the number)", err, n, e.Data.Len())
		}
		return nil, e.Config.mistake("metrics.during", withoutFactors(err))
	}
	return mon, nil
}
