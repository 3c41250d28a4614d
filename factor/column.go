package factor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ColumnKind says how numbers in a column are levels of a factor.
type ColumnKind struct {
	Kind       Kind
	Continuous bool    // ordinal, and levels are bins of the numbers
	Period     float64 // circular: numbers are angles, Period to a full turn; 0: levels are evenly spaced
}

// ParseColumnKind reads ordinal, circular, circular:PERIOD, categorical or continuous; angular and discrete are synonyms
// of circular and categorical.
func ParseColumnKind(text string) (ColumnKind, error) {
	name, period, periodic := strings.Cut(text, ":")
	k := ColumnKind{Kind: Ordinal, Continuous: name == "continuous"}
	if synonym := map[string]string{"angular": "circular", "discrete": "categorical"}[name]; synonym != "" {
		name = synonym
	}
	var err error
	if !k.Continuous {
		if k.Kind, err = ParseKind(name); err != nil {
			return k, fmt.Errorf("unknown kind %q; want ordinal, circular, circular:PERIOD, categorical or continuous", text)
		}
	}
	if periodic {
		if k.Period, err = strconv.ParseFloat(period, 64); err != nil || k.Kind != Circular || !(k.Period > 0) || math.IsInf(k.Period, 0) {
			return k, fmt.Errorf("%q has the period %q; want circular and a positive number, such as circular:360", name, period)
		}
	}
	return k, nil
}

// Levels turns numbers into a factor without a name and a level for each, Unknown of NaN. The levels are the distinct
// numbers, ascending; with a period, the distinct angles. Circular numbers without a period that are not evenly spaced
// are an error: a circle through them is not known. Continuous numbers are for the caller to bin.
func (k ColumnKind) Levels(numbers []float64) (Factor, []int, error) {
	f := Factor{Kind: k.Kind}
	if k.Period > 0 {
		numbers = slices.Clone(numbers)
		for i, v := range numbers {
			numbers[i] = reduced(v, k.Period)
		}
	}
	for _, v := range numbers {
		if v == v {
			f.Values = append(f.Values, v)
		}
	}
	slices.Sort(f.Values)
	f.Values = slices.CompactFunc(f.Values, func(a, b float64) bool { return math.Abs(b-a) <= k.Period*sameAngle })
	f.Size = len(f.Values)
	if k.Period > 0 {
		f.setAngles(k.Period)
	} else if k.Kind == Circular && !f.Even() {
		return f, nil, fmt.Errorf("the circular values %s are not evenly spaced; want their period, such as circular:360 for degrees, or another kind", someValues(f.Values))
	}
	levels := make([]int, len(numbers))
	for i, v := range numbers {
		switch at, found := slices.BinarySearch(f.Values, v); {
		case v != v:
			levels[i] = Unknown
		case found:
			levels[i] = at
		default:
			levels[i] = at - 1 // as good as the same angle
		}
	}
	return f, levels, nil
}

// sameAngle is the difference, as a fraction of a turn, up to which two angles are one: rounding.
const sameAngle = 1e-7

// reduced returns an angle from 0 up to the period.
func reduced(v, period float64) float64 {
	v = math.Mod(v, period)
	if v < 0 {
		v += period
	}
	if period-v <= period*sameAngle {
		return 0
	}
	return v
}

// setAngles sets the angles of values, period to a full turn, unless they are a full turn in equal steps.
func (f *Factor) setAngles(period float64) {
	even := true
	for l, v := range f.Values {
		even = even && math.Abs(v-f.Values[0]-period*float64(l)/float64(f.Size)) <= period*sameAngle
	}
	if even && f.Size > 1 {
		return
	}
	f.Angles = make([]float64, f.Size)
	for l, v := range f.Values {
		f.Angles[l] = 2 * math.Pi * v / period
	}
}

// Even reports whether the values of the levels are equally spaced, to a hundredth of a step.
func (f Factor) Even() bool {
	if f.Values == nil || f.Size < 2 {
		return true
	}
	step := (f.Values[f.Size-1] - f.Values[0]) / float64(f.Size-1)
	for l, v := range f.Values {
		if math.Abs(v-f.Values[0]-float64(l)*step) > 0.01*step {
			return false
		}
	}
	return true
}

// someValues lists the first values.
func someValues(values []float64) string {
	const most = 6
	text := fmt.Sprint(values[:min(most, len(values))])
	text = strings.ReplaceAll(strings.Trim(text, "[]"), " ", ", ")
	if len(values) > most {
		text += ", ..."
	}
	return text
}
