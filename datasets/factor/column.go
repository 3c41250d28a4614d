package factor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ColumnKind says how to convert a column of numbers to the levels of a factor.
type ColumnKind struct {
	Kind       Kind
	Continuous bool    // ordinal, and levels are bins of the numbers
	Period     float64 // circular: numbers are angles, and Period is a full turn; 0: levels are evenly spaced

	// Sample says that the numbers are a sample of the angles. If the numbers and the period are integers, the levels
	// are then all equal steps of a full turn, even if only few of them occur.
	Sample bool
}

// ParseColumnKind parses ordinal, circular, circular:PERIOD, categorical or continuous; angular and discrete are
// synonyms of circular and categorical.
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
		if k.Period, err = strconv.ParseFloat(period, 64); err != nil || k.Kind != Circular || !(k.Period > 0) ||
			math.IsInf(k.Period, 0) {
			return k, fmt.Errorf("%q has the period %q; want circular and a positive number, such as circular:360", name, period)
		}
	}
	return k, nil
}

// Levels converts numbers to a factor without a name, and to one level per number; NaN becomes Unknown. The levels are
// the distinct numbers, ascending. Numbers that differ by rounding, such as 0.3 and 3*0.1, are one level. With a
// period, the levels are the distinct angles; if the angles cover at least half of the equal steps of a turn, they are
// these steps. Circular numbers without a period must be evenly spaced, because otherwise the circumference is
// unknown. Levels does not bin continuous numbers. An infinite number and a period out of range are errors.
func (k ColumnKind) Levels(numbers []float64) (Factor, []int, error) {
	f, wrapped := Factor{Kind: k.Kind}, false
	if !(k.Period >= 0) || math.IsInf(k.Period, 0) {
		return f, nil, fmt.Errorf("the period is %v; want a positive number, such as 360, or 0", k.Period)
	}
	if i := slices.IndexFunc(numbers, func(v float64) bool { return math.IsInf(v, 0) }); i >= 0 {
		return f, nil, fmt.Errorf("number %d is %v; want finite numbers, or NaN for unknown levels", i, numbers[i])
	}
	if k.Period > 0 {
		numbers = slices.Clone(numbers)
		for i, v := range numbers {
			numbers[i] = reduceAngle(v, k.Period)
			wrapped = wrapped || v < 0 || v > k.Period
		}
	}
	for _, v := range numbers {
		if v == v {
			f.Values = append(f.Values, v)
		}
	}
	slices.Sort(f.Values)
	tolerance := k.Period * sameAngle
	if k.Period == 0 {
		tolerance = rounding(f.Values)
	}
	f.Values = slices.CompactFunc(f.Values, func(a, b float64) bool { return math.Abs(b-a) <= tolerance })
	f.Size = len(f.Values)
	if wrapped {
		if err := f.checkRadians(k.Period); err != nil {
			return f, nil, err
		}
	}
	if k.Kind == Circular && k.Period == 0 && !f.Even() {
		return f, nil, fmt.Errorf("the circular values %s are not evenly spaced; want their period, such as circular:360 for degrees, or another kind", firstValues(f.Values))
	}
	levels := make([]int, len(numbers))
	for i, v := range numbers {
		switch l, found := slices.BinarySearch(f.Values, v); {
		case v != v:
			levels[i] = Unknown
		case found:
			levels[i] = l
		default:
			levels[i] = l - 1 // equal to the previous number except for rounding
		}
	}
	if k.Period > 0 && f.Size > 0 {
		f.setAngles(k, levels)
	}
	return f, levels, nil
}

// roundedUnit is a few units in the last place of 1 in float32.
const roundedUnit = 0x1p-22

// rounding returns the maximum difference between sorted numbers that differ by rounding. It is 0 for integers. Numbers
// that float32 represents exactly may have been rounded to float32.
func rounding(sorted []float64) float64 {
	unit, integers := roundedUnit, true
	for _, v := range sorted {
		if v != float64(float32(v)) {
			unit = 0x1p-48
		}
		integers = integers && v == math.Trunc(v)
	}
	if integers {
		return 0
	}
	smallest, largest := sorted[0], sorted[len(sorted)-1]
	return min(unit*max(-smallest, largest), 1e-6*(largest-smallest)) // numbers far from 0 may differ by little
}

// checkRadians returns an error if the period is a rounded 2 pi and two angles differ by no more than its rounding. The
// two may be one angle in different turns.
func (f *Factor) checkRadians(period float64) error {
	rounding := math.Abs(period - 2*math.Pi)
	if rounding > 2*math.Pi*roundedTurn {
		return nil
	}
	for i, v := range f.Values {
		next := f.Values[(i+1)%f.Size]
		if gap := math.Mod(next-v+period, period); gap > 0 && gap <= 1.01*rounding {
			return fmt.Errorf("the angles %.6g and %.6g may be one angle, as the period %v is a rounded full turn; want circular:%.9f", v, next, period, 2*math.Pi)
		}
	}
	return nil
}

// Tolerances for rounded angles, as fractions of a turn.
const (
	sameAngle   = 1e-7 // between equal angles
	fullTurn    = 1e-5 // between a full turn and its angle, as 6.2832 is a rounded turn in radians
	roundedTurn = 1e-3 // between 2 pi and a period that rounds it, as 6.28 does
	offStep     = 1e-4 // between an angle and its step; at most a hundredth of a step
)

// reduceAngle returns an angle reduced to [0, period).
func reduceAngle(v, period float64) float64 {
	v = math.Mod(v, period)
	if v < 0 {
		v += period
	}
	if period-v <= period*fullTurn {
		return 0
	}
	return v
}

// maxSteps is the maximum number of equal steps in a turn.
const maxSteps = 1 << 16

// setAngles interprets the values as angles with a period. If they cover at least half of the equal steps of a turn, or
// are integers of a sample, the steps become the levels. Otherwise the factor gets Angles.
func (f *Factor) setAngles(k ColumnKind, levels []int) {
	const stepsPerValue = 2 // maximum number of steps per value: with many unused steps, the angles are no grid
	period := k.Period
	if n := f.integerSteps(period); k.Sample && n > 0 {
		f.useSteps(period, n, levels)
		return
	}
	for n := f.Size; n <= stepsPerValue*f.Size; n++ {
		if f.fitsSteps(period, n) {
			f.useSteps(period, n, levels)
			return
		}
	}
	for _, v := range f.Values {
		f.Angles = append(f.Angles, 2*math.Pi*v/period)
	}
}

// integerSteps returns the smallest number of equal steps of a turn that contain all values. It returns 0 if the values
// or the period are not integers, or if there are too many steps.
func (f *Factor) integerSteps(period float64) int {
	if period != math.Trunc(period) || period > maxSteps {
		return 0
	}
	step := int(period)
	for _, v := range f.Values {
		if v != math.Trunc(v) {
			return 0
		}
		for a := int(v - f.Values[0]); a != 0; {
			step, a = a, step%a
		}
	}
	return int(period) / step
}

// fitsSteps reports whether all values are on n equal steps of a turn, each on a different step.
func (f *Factor) fitsSteps(period float64, n int) bool {
	next := 0.0
	for _, v := range f.Values {
		steps := (v - f.Values[0]) / period * float64(n)
		nearest := math.Round(steps)
		if nearest < next || nearest == float64(n) || math.Abs(steps-nearest) > stepError(n) {
			return false
		}
		next = nearest + 1
	}
	return true
}

// stepError returns the maximum distance between an angle and one of n steps of a turn, in steps.
func stepError(n int) float64 { return min(float64(n)*offStep, 0.01) }

// useSteps sets the levels to the n steps of a turn.
func (f *Factor) useSteps(period float64, n int, levels []int) {
	step := period / float64(n)
	start := f.Values[0] - step*math.Floor(f.Values[0]/step+stepError(n))
	values, steps := make([]float64, n), make([]int, f.Size)
	for l := range values {
		values[l] = start + step*float64(l)
	}
	for l, v := range f.Values {
		steps[l] = min(int(math.Round((v-start)/step)), n-1)
		values[steps[l]] = v
	}
	for i, l := range levels {
		if l >= 0 {
			levels[i] = steps[l]
		}
	}
	f.Size, f.Values = n, values
}

// Even reports whether the values of the levels are equally spaced, with a tolerance of a hundredth of a step.
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

// firstValues returns the first values as text.
func firstValues(values []float64) string {
	const limit = 6
	text := fmt.Sprint(values[:min(limit, len(values))])
	text = strings.ReplaceAll(strings.Trim(text, "[]"), " ", ", ")
	if len(values) > limit {
		text += ", ..."
	}
	return text
}
