package metrics

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// traits are properties of a metric with its settings, which decide its rows, intervals and chance levels.
type traits struct {
	way          interval.Way // how an interval repeats the measurement
	reason       string       // the reason if there is no interval
	slow         bool         // it fits predictors, so it may take seconds
	angles       bool         // it uses angles of circular factors, or values, and not only levels
	scaled       bool         // its value depends on the scale of the codes
	allRows      bool         // chance levels need all rows
	rows         int          // maximum number of measured rows; 0: all
	drawSettings []*int       // settings that determine its time; chance levels divide them

	bins     *mutual.Histogram // bins that both halves of the rows use for mutual information (nil: none)
	informed bool              // a pair of a column and a factor only counts with more information than chance
}

func traitsOf(m Metric) traits {
	switch m := m.(type) {
	case *SubCodeDeviation:
		t := traits{way: interval.Rows, scaled: !m.Standardise && m.Project != projectLinear, rows: m.Samples}
		if m.Deviation == factor.Radius || m.Deviation == factor.Diameter || m.Aggregate == factor.Max {
			t.way, t.reason = interval.None, extremeReason
		}
		return t
	case *Contraction:
		t := traits{way: interval.Rows, angles: true, scaled: true}
		if m.Max {
			t.way, t.reason = interval.None, extremeReason
		}
		return t
	case *Logic:
		t := traits{angles: true, scaled: true, drawSettings: []*int{&m.Tuples}}
		if t.rows = int(math.Sqrt(float64(m.Tuples))); m.Samples > 0 { // most sentences are about pairs
			t.rows = min(t.rows, m.Samples)
		}
		t.way, t.reason = m.resample()
		return t
	case *Sampled:
		inner := traitsOf(m.Of.Value)
		return traits{way: interval.Draws, slow: inner.slow, scaled: inner.scaled, drawSettings: []*int{&m.Draws}}
	case *Projected:
		inner := traitsOf(m.Of.Value).onlyDraws("the projection is fitted to the rows that are measured")
		inner.scaled = inner.scaled && m.Project != projectLinear
		return inner
	case *BestColumns:
		return traitsOf(m.Of.Value).onlyDraws("a part of the rows has other best columns")
	case Resampled:
		way, reason := m.Resample()
		return traits{way: way, reason: reason}
	}
	if t, ok := rowTraits(m); ok {
		t.way = interval.Rows
		return t
	}
	if t, ok := drawTraits(m); ok {
		t.way = interval.Draws
		return t
	}
	t := withoutInterval(m)
	t.way = interval.None
	return t
}

// rowTraits returns the properties of a metric with an interval from halves of the rows.
func rowTraits(m Metric) (t traits, ok bool) {
	switch m := m.(type) {
	case *TotalCorrelation, *ConditionalTC, *CodeSpread, *Purity, *Coverage, *DescriptionLength:
		return traits{}, true
	case *MIG:
		return traits{bins: &m.Histogram}, true
	case *MutualInformation:
		return traits{bins: &m.Histogram}, true
	case *Modularity:
		return traits{bins: &m.Histogram, informed: true}, true
	case *CoOccurrence:
		return traits{bins: &m.Histogram, informed: true}, true
	case *MED:
		return traits{bins: &m.Histogram, informed: true, rows: m.Samples}, true
	case *WassersteinCorrelation:
		return traits{scaled: true}, true
	case *LeftInverse:
		return traits{angles: true, rows: m.Samples}, true
	case *DLSBD:
		return traits{angles: true, allRows: true}, true
	}
	return traits{}, false
}

// drawTraits returns the properties of a metric with an interval over its random numbers.
func drawTraits(m Metric) (t traits, ok bool) {
	switch m := m.(type) {
	case *BetaVAE:
		return traits{scaled: !m.Standardise, drawSettings: []*int{&m.Train, &m.Test}}, true
	case *FactorVAE:
		return traits{scaled: m.Prune > 0, drawSettings: []*int{&m.Train, &m.Test}}, true
	case *SAP:
		return traits{scaled: m.Score != scoreCorrelation, drawSettings: []*int{&m.Train, &m.Test}}, true
	case *Explicitness:
		return traits{drawSettings: []*int{&m.Train, &m.Test}}, true
	case *DCI:
		return traits{slow: true, drawSettings: []*int{&m.Rounds}}, true
	case *DCIRegression:
		return traits{slow: true, angles: true, drawSettings: []*int{&m.Rounds}}, true
	case *R4:
		return traits{slow: true, angles: true, drawSettings: []*int{&m.Splits}}, true
	case *R4C:
		return traits{slow: true, angles: true, drawSettings: []*int{&m.Splits}}, true
	case *Downstream:
		return traits{slow: true, scaled: m.Predictor == logisticCV}, true
	case *Probe, *KNN:
		return traits{slow: true}, true
	}
	return traits{}, false
}

const extremeReason = "the value is an extreme: it grows with the number of images, at an unknown rate"

// withoutInterval returns the properties of a metric without an interval.
func withoutInterval(m Metric) traits {
	switch m.(type) {
	case *IRS:
		return traits{reason: "it divides by the largest deviation, which grows with the number of images"}
	case *MaxError:
		return traits{reason: extremeReason, angles: true}
	case *PrincipalMED:
		return traits{reason: "other rows have other principal components"}
	case *Responses:
		return traits{reason: "it counts columns beyond a threshold, and the bias of mutual information depends on the number of rows"}
	case *Manipulated:
		return traits{reason: "it needs images that differ in one factor alone, and a part of the rows has too few of them",
			allRows: true}
	case *HSIC:
		return traits{reason: "it is about 0.2/n for independent columns, and the median distance depends on the measured rows"}
	case *Separation:
		return traits{reason: "other rows have other pairs known to differ", scaled: true}
	case *DLSBDWorkshop:
		return traits{reason: "it measures complete grids, and no row can be left out", angles: true, allRows: true}
	case *HError:
		return traits{reason: "it compares two trees, and depends on no rows", angles: true}
	}
	return traits{reason: "the metric does not say how to measure it again"}
}

// onlyDraws returns the properties of a metric of other codes, which only gets an interval over its draws.
func (t traits) onlyDraws(reason string) traits {
	if t.way == interval.Draws {
		reason = ""
	} else {
		t.way = interval.None
	}
	t.reason, t.allRows, t.rows, t.drawSettings, t.bins = reason, false, 0, nil, nil
	return t
}

// aggregator finds the aggregates in the formula of a quantity, such as mean{i, j}.
var aggregator = regexp.MustCompile(`([a-z]+)[^ {}]*\{`)

// resample returns the way rows if all quantifiers over rows in the sentence are means, and otherwise none.
func (l *Logic) resample() (interval.Way, string) {
	if l.Sentence == nil {
		return interval.None, "there is no sentence"
	}
	for _, match := range aggregator.FindAllStringSubmatch(l.Sentence.Quantity(), -1) {
		if name := match[1]; !strings.HasPrefix(name, "mean") && name != "inf" { // inf quantifies over functions
			return interval.None, fmt.Sprintf("its %s over rows depends on the number of rows", name)
		}
	}
	return interval.Rows, ""
}

// Resampled is implemented by metrics outside this package that have intervals.
type Resampled interface {
	// Resample says how an interval repeats the metric with its settings. With [interval.None], why gives the reason.
	Resample() (way interval.Way, why string)
}

// withFewerDraws returns a copy of a metric with a fraction of its draws or rounds, if these determine its time.
func withFewerDraws(m Metric, divisor int) (reduced Metric, ok bool) {
	switch m := m.(type) {
	case *Projected:
		reduced := *m
		reduced.Of.Value, _ = withFewerDraws(m.Of.Value, divisor)
		return &reduced, true
	case *BestColumns:
		reduced := *m
		reduced.Of.Value, _ = withFewerDraws(m.Of.Value, divisor)
		return &reduced, true
	}
	if traitsOf(m).drawSettings == nil {
		return m, false
	}
	clone := reflect.New(reflect.TypeOf(m).Elem())
	clone.Elem().Set(reflect.ValueOf(m).Elem())
	reduced = clone.Interface().(Metric)
	for _, n := range traitsOf(reduced).drawSettings {
		*n = max(*n/divisor, 1)
	}
	if d, ok := reduced.(*DCI); ok && d.draws() {
		d.Train, d.Test = max(d.Train/fewerDrawsPart, 1), max(d.Test/fewerDrawsPart, 1)
	}
	return reduced, true
}
