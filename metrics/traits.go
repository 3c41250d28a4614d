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
	why          string       // the reason if there is no interval
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
	const rows, draws = interval.Rows, interval.Draws
	switch m := m.(type) {
	case *TotalCorrelation, *ConditionalTC, *CodeSpread, *Purity, *Coverage, *DescriptionLength:
		return traits{way: rows}
	case *MIG:
		return traits{way: rows, bins: &m.Histogram}
	case *MED:
		return traits{way: rows, rows: m.Samples, bins: &m.Histogram, informed: true}
	case *Modularity:
		return traits{way: rows, bins: &m.Histogram, informed: true}
	case *CoOccurrence:
		return traits{way: rows, bins: &m.Histogram, informed: true}
	case *MutualInformation:
		return traits{way: rows, bins: &m.Histogram}
	case *WassersteinCorrelation:
		return traits{way: rows, scaled: true}
	case *LeftInverse:
		return traits{way: rows, angles: true, rows: m.Samples}
	case *DLSBD:
		return traits{way: rows, angles: true, allRows: true}
	case *BetaVAE:
		return traits{way: draws, scaled: !m.Standardise, drawSettings: []*int{&m.Train, &m.Test}}
	case *FactorVAE:
		return traits{way: draws, scaled: m.Prune > 0, drawSettings: []*int{&m.Train, &m.Test}}
	case *SAP:
		return traits{way: draws, scaled: m.Score != scoreCorrelation, drawSettings: []*int{&m.Train, &m.Test}}
	case *Explicitness:
		return traits{way: draws, drawSettings: []*int{&m.Train, &m.Test}}
	case *DCI:
		return traits{way: draws, slow: true, drawSettings: []*int{&m.Rounds}}
	case *DCIRegression:
		return traits{way: draws, slow: true, angles: true, drawSettings: []*int{&m.Rounds}}
	case *R4:
		return traits{way: draws, slow: true, angles: true, drawSettings: []*int{&m.Splits}}
	case *R4C:
		return traits{way: draws, slow: true, angles: true, drawSettings: []*int{&m.Splits}}
	case *Downstream:
		return traits{way: draws, slow: true, scaled: m.Predictor == logisticCV}
	case *Probe, *KNN:
		return traits{way: draws, slow: true}
	case *SubCodeDeviation:
		t := traits{way: rows, scaled: !m.Standardise && m.Project != projectLinear, rows: m.Samples}
		if m.Deviation == factor.Radius || m.Deviation == factor.Diameter || m.Aggregate == factor.Max {
			t.way, t.why = interval.None, extremeReason
		}
		return t
	case *Contraction:
		if m.Max {
			return traits{way: interval.None, why: extremeReason, angles: true, scaled: true}
		}
		return traits{way: rows, angles: true, scaled: true}
	case *Logic:
		t := traits{angles: true, scaled: true, drawSettings: []*int{&m.Tuples}}
		if t.rows = int(math.Sqrt(float64(m.Tuples))); m.Samples > 0 { // most sentences are about pairs
			t.rows = min(t.rows, m.Samples)
		}
		t.way, t.why = m.resample()
		return t
	case *Sampled:
		inner := traitsOf(m.Of.Value)
		return traits{way: draws, slow: inner.slow, scaled: inner.scaled, drawSettings: []*int{&m.Draws}}
	case *Projected:
		inner := traitsOf(m.Of.Value).onlyDraws("the projection is fitted to the rows that are measured")
		inner.scaled = inner.scaled && m.Project != projectLinear
		return inner
	case *BestColumns:
		return traitsOf(m.Of.Value).onlyDraws("a part of the rows has other best columns")
	case Resampled:
		way, why := m.Resample()
		return traits{way: way, why: why}
	}
	t := withoutInterval(m)
	t.way = interval.None
	return t
}

const extremeReason = "the value is an extreme: it grows with the number of images, at an unknown rate"

// withoutInterval returns the properties of a metric without an interval.
func withoutInterval(m Metric) traits {
	switch m.(type) {
	case *IRS:
		return traits{why: "it divides by the largest deviation, which grows with the number of images"}
	case *MaxError:
		return traits{why: extremeReason, angles: true}
	case *PrincipalMED:
		return traits{why: "other rows have other principal components"}
	case *Responses:
		return traits{why: "it counts columns beyond a threshold, and the bias of mutual information depends on the number of rows"}
	case *Manipulated:
		return traits{why: "it needs images that differ in one factor alone, and a part of the rows has too few of them", allRows: true}
	case *HSIC:
		return traits{why: "it is about 0.2/n for independent columns, and the median distance depends on the measured rows"}
	case *Separation:
		return traits{why: "other rows have other pairs known to differ", scaled: true}
	case *DLSBDWorkshop:
		return traits{why: "it measures complete grids, and no row can be left out", angles: true, allRows: true}
	case *HError:
		return traits{why: "it compares two trees, and depends on no rows", angles: true}
	}
	return traits{why: "the metric does not say how to measure it again"}
}

// onlyDraws returns the properties of a metric of other codes, which only gets an interval over its draws.
func (t traits) onlyDraws(reason string) traits {
	if t.way == interval.Draws {
		reason = ""
	} else {
		t.way = interval.None
	}
	t.why, t.allRows, t.rows, t.drawSettings, t.bins = reason, false, 0, nil, nil
	return t
}

// aggregator finds the aggregates in the formula of a quantity, such as mean{i, j}.
var aggregator = regexp.MustCompile(`([a-z]+)[^ {}]*\{`)

// resample returns the way rows if all quantifiers over rows in the sentence are means, and otherwise none.
func (l *Logic) resample() (interval.Way, string) {
	if l.Sentence == nil {
		return interval.None, "there is no sentence"
	}
	for _, found := range aggregator.FindAllStringSubmatch(l.Sentence.Quantity(), -1) {
		if name := found[1]; !strings.HasPrefix(name, "mean") && name != "inf" { // inf quantifies over functions
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
