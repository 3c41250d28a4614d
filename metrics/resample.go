package metrics

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// This file says how an [Interval] of each metric is found.

// Resample returns ResampleRows.
func (*MIG) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*MED) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*Modularity) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*CoOccurrence) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*MutualInformation) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*TotalCorrelation) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*WassersteinCorrelation) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*CodeSpread) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*LeftInverse) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*IRS) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*DLSBD) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*Purity) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*Coverage) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleRows.
func (*DescriptionLength) Resample() (Resample, string) { return ResampleRows, "" }

// Resample returns ResampleDraws.
func (*BetaVAE) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*FactorVAE) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*SAP) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*Explicitness) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*DCI) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*Downstream) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*Probe) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*KNN) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*R4) Resample() (Resample, string) { return ResampleDraws, "" }

// Resample returns ResampleDraws.
func (*R4C) Resample() (Resample, string) { return ResampleDraws, "" }

// whyExtreme says why extremes have no interval.
const whyExtreme = "it is an extreme: of more images it is larger, and how much these rows do not tell"

// Resample returns ResampleNone for radius, diameter and the aggregate max, and ResampleRows for the others.
func (s *SubCodeDeviation) Resample() (Resample, string) {
	if s.Deviation == factor.Radius || s.Deviation == factor.Diameter || s.Aggregate == factor.Max {
		return ResampleNone, whyExtreme
	}
	return ResampleRows, ""
}

// Resample returns ResampleNone for the maximum, and ResampleRows for the mean.
func (c *Contraction) Resample() (Resample, string) {
	if c.Max {
		return ResampleNone, whyExtreme
	}
	return ResampleRows, ""
}

// Resample returns ResampleNone.
func (*MaxError) Resample() (Resample, string) {
	return ResampleNone, whyExtreme
}

// Resample returns ResampleNone.
func (*DLSBDWorkshop) Resample() (Resample, string) {
	return ResampleNone, "it measures complete grids, of which no row can be left out"
}

// Resample returns ResampleNone.
func (*HError) Resample() (Resample, string) {
	return ResampleNone, "it compares two trees, and depends on no rows"
}

// aggregator finds the aggregates in the formula of a quantity, such as mean{i, j}.
var aggregator = regexp.MustCompile(`([a-z]+)[^ {}]*\{`)

// Resample returns ResampleRows if all quantifiers over rows in the sentence are means, and otherwise ResampleNone.
func (l *Logic) Resample() (Resample, string) {
	if l.Sentence == nil {
		return ResampleNone, "there is no sentence"
	}
	for _, found := range aggregator.FindAllStringSubmatch(l.Sentence.Quantity(), -1) {
		if name := found[1]; !strings.HasPrefix(name, "mean") && name != "inf" { // inf is over functions
			return ResampleNone, fmt.Sprintf("its %s over rows changes with their number", name)
		}
	}
	return ResampleRows, ""
}

// slow reports that the metric fits predictors.
func (*DCI) slow() bool        { return true }
func (*R4) slow() bool         { return true }
func (*R4C) slow() bool        { return true }
func (*Downstream) slow() bool { return true }
func (*Probe) slow() bool      { return true }
func (*KNN) slow() bool        { return true }

// informed returns the histogram with the bins that halves share, or false if principal components are binned.
func (m *MIG) informed(in *Input) (h mutual.Histogram, masked, ok bool) {
	return m.Histogram, false, !m.reduces(in)
}

// informed returns the histogram with the bins that halves share, and whether columns without information are left out.
func (m *MED) informed(*Input) (h mutual.Histogram, masked, ok bool) { return m.Histogram, true, true }
func (m *Modularity) informed(*Input) (h mutual.Histogram, masked, ok bool) {
	return m.Histogram, true, true
}
func (m *CoOccurrence) informed(*Input) (h mutual.Histogram, masked, ok bool) {
	return m.Histogram, true, true
}
func (m *MutualInformation) informed(*Input) (h mutual.Histogram, masked, ok bool) {
	return m.Histogram, false, true
}

// sampled returns a number of rows with as many pairs as the settings allow, as sentences are mostly about pairs.
func (l *Logic) sampled(*Input) int {
	pairs := int(math.Sqrt(float64(l.Tuples)))
	if l.Samples > 0 {
		return min(l.Samples, pairs)
	}
	return pairs
}

// sampled returns the largest number of rows that are measured; 0: all.
func (m *MED) sampled(*Input) int         { return m.Samples }
func (l *LeftInverse) sampled(*Input) int { return l.Samples }
func (s *SubCodeDeviation) sampled(in *Input) int {
	if blocks, err := planBlocks(in, s.Codes, s.Assign); err != nil || !wide(blocks) {
		return 0
	}
	return s.Samples
}

// wide reports whether a factor has several columns.
func wide(blocks []factor.Block) bool {
	for _, b := range blocks {
		if len(b.Columns) > 1 {
			return true
		}
	}
	return false
}
