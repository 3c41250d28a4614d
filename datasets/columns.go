package datasets

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
)

// ColumnKinds are the kinds of columns of labels: ordinal, circular, circular:PERIOD (values are angles, PERIOD to a full turn), categorical
// or continuous. In a config they are a list, in the order of the columns, or a mapping by their names.
type ColumnKinds struct {
	List  []string
	Named map[string]string
}

// DecodeConfig reads a list or a mapping.
func (k *ColumnKinds) DecodeConfig(n *config.Node) error {
	*k = ColumnKinds{}
	var err error
	if n.IsMap() {
		err = n.Decode(&k.Named)
	} else {
		err = n.Decode(&k.List)
	}
	if err != nil {
		return err
	}
	for _, text := range append(slices.Sorted(maps.Values(k.Named)), k.List...) {
		if _, err := parseColumnKind(text); err != nil {
			return n.Errorf("%v", err)
		}
	}
	return nil
}

// EncodeConfig writes what DecodeConfig reads.
func (k ColumnKinds) EncodeConfig() (any, error) {
	if k.Named != nil {
		return k.Named, nil
	}
	return k.List, nil
}

// ConfigType implements config.Typer.
func (ColumnKinds) ConfigType() string {
	return "list, or mapping by column, of ordinal, circular, circular:PERIOD, categorical, continuous"
}

// of returns the kind of each column; "" where none is given.
func (k ColumnKinds) of(names []string) ([]string, error) {
	kinds := make([]string, len(names))
	if len(k.List) > 0 {
		if len(k.List) != len(names) {
			return nil, config.Invalid("kinds", "has %d kinds; want one for each of the %d factors %s", len(k.List), len(names), someOf(names, 10))
		}
		copy(kinds, k.List)
	}
	for name, kind := range k.Named {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, config.Invalid("kinds", "there is no factor %q; want some of %s", name, someOf(names, 10))
		}
		kinds[i] = kind
	}
	return kinds, nil
}

// columnKind is a parsed kind of a column.
type columnKind struct {
	given, continuous bool
	kind              factor.Kind
	period            float64 // of angles; 0: levels are evenly spaced
}

func parseColumnKind(text string) (columnKind, error) {
	if text == "" {
		return columnKind{}, nil
	}
	name, period, periodic := strings.Cut(text, ":")
	k := columnKind{given: true, continuous: name == "continuous", kind: factor.Ordinal}
	if !k.continuous {
		var err error
		if k.kind, err = factor.ParseKind(name); err != nil {
			return k, fmt.Errorf("unknown kind %q; want ordinal, circular, circular:PERIOD, categorical or continuous", text)
		}
	}
	if periodic {
		var err error
		if k.period, err = strconv.ParseFloat(period, 64); err != nil || k.kind != factor.Circular || !(k.period > 0) || math.IsInf(k.period, 0) {
			return k, fmt.Errorf("%q has the period %q; want circular and a positive number, such as circular:360", text, period)
		}
	}
	return k, nil
}

// textColumn is a column of labels as text.
type textColumn struct {
	name   string
	values []string
	kind   columnKind
	chosen bool // by the settings, so that it is a factor whatever it holds
	comma  bool // numbers may have a decimal comma
	bins   int  // of a continuous column
}

// Limits of columns whose kind is not given.
const (
	maxWholeLevels = 256 // of whole numbers; more of them are binned
	fewWords       = 50  // different words that any column may have
)

// missingWords stand for a value that is not known, in lower case.
var missingWords = []string{"", "na", "n/a", "nan", "null", "?"}

// hasValue reports whether a field has a value.
func hasValue(v string) bool { return !slices.Contains(missingWords, strings.ToLower(v)) }

// notNumbers lists the rows with a value that is no number.
func (c *textColumn) notNumbers() (rows []int) {
	for i, v := range c.values {
		if _, err := c.number(v); err != nil && hasValue(v) {
			rows = append(rows, i)
		}
	}
	return rows
}

// nearlyNumbers says how few fields keep a column whose kind is not given from being one of numbers; "" if none do, or more than one in four.
func (c *textColumn) nearlyNumbers() string {
	if c.kind.given {
		return ""
	}
	values := 0
	for _, v := range c.values {
		if hasValue(v) {
			values++
		}
	}
	switch n := len(c.notNumbers()); {
	case n == 0 || 4*n > values:
		return ""
	case n == 1:
		return fmt.Sprintf("1 of its %d fields is no number", values)
	default:
		return fmt.Sprintf("%d of its %d fields are no numbers", n, values)
	}
}

// factor turns a column into a factor and a level for each value, [Unknown] where it is missing. words are the values of the levels, if they are
// not numbers.
func (c *textColumn) factor() (f factor.Factor, levels []int32, words []string, err error) {
	f = factor.Factor{Name: c.name, Kind: c.kind.kind}
	numbers, numeric, any := make([]float64, len(c.values)), true, false
	for i, v := range c.values {
		if !hasValue(v) {
			continue
		}
		any = true
		if numbers[i], err = c.number(v); err != nil {
			numeric = false
			break
		}
	}
	if !any {
		return f, nil, nil, errors.New("has no value in any row; want some, or other columns in factors")
	}
	if numeric {
		levels, err = c.numbered(&f, numbers)
		return f, levels, nil, err
	}
	if c.kind.continuous || c.kind.given && c.kind.kind == factor.Circular {
		return f, nil, nil, fmt.Errorf("has words such as %q, which are not %s; want numbers, or kind categorical", c.values[c.notNumbers()[0]], map[bool]string{true: "continuous", false: "circular"}[c.kind.continuous])
	}
	if !c.kind.given {
		f.Kind = factor.Categorical
	}
	levels, words = levelsOf(c.values)
	if n := count(levels); !c.chosen && len(words) > fewWords && 2*len(words) > n {
		return f, nil, nil, fmt.Errorf("has %d different words in %d rows, which are no levels; want factors to name the columns that are", len(words), n)
	}
	f.Size = len(words)
	return f, levels, words, c.checkSize(f)
}

func (c *textColumn) checkSize(f factor.Factor) error {
	if f.Size > factor.MaxSize {
		return fmt.Errorf("has %d different values; want at most %d levels", f.Size, factor.MaxSize)
	}
	return nil
}

// number reads a finite number.
func (c *textColumn) number(text string) (float64, error) {
	if c.comma && strings.Count(text, ",") == 1 && !strings.Contains(text, ".") {
		text = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		err = strconv.ErrRange
	}
	return v, err
}

// numbered sets size, kind and values of a factor of numbers.
func (c *textColumn) numbered(f *factor.Factor, numbers []float64) ([]int32, error) {
	has := make([]bool, len(numbers))
	for i, v := range c.values {
		has[i] = hasValue(v)
	}
	var distinct []float64
	for i, v := range numbers {
		if has[i] {
			distinct = append(distinct, v)
		}
	}
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	whole := !slices.ContainsFunc(distinct, func(v float64) bool { return v != math.Trunc(v) })
	continuous := c.kind.continuous
	if !c.kind.given {
		f.Kind = factor.Ordinal
		continuous = len(distinct) > c.bins && !(whole && len(distinct) <= maxWholeLevels)
	}
	at := func(v float64) int { i, _ := slices.BinarySearch(distinct, v); return i }
	if continuous {
		distinct, at = bins(numbers, has, distinct, c.bins)
	}
	levels := make([]int32, len(numbers))
	for i, v := range numbers {
		levels[i] = Unknown
		if has[i] {
			levels[i] = int32(at(v))
		}
	}
	f.Size = len(distinct)
	if err := c.checkSize(*f); err != nil {
		return nil, err
	}
	if !identity(distinct) {
		f.Values = distinct
	}
	if c.kind.period > 0 {
		f.Angles = make([]float64, len(distinct))
		for l, v := range distinct {
			f.Angles[l] = 2 * math.Pi * math.Mod(v, c.kind.period) / c.kind.period
		}
	}
	return levels, nil
}

// identity reports values that are 0, 1, 2, ...
func identity(values []float64) bool {
	for l, v := range values {
		if v != float64(l) {
			return false
		}
	}
	return true
}

// bins divides the range of the numbers into n bins of equal width, and returns the centres of those that are used and the level of a number.
func bins(numbers []float64, has []bool, sorted []float64, n int) (centres []float64, at func(float64) int) {
	low, high := sorted[0], sorted[len(sorted)-1]
	bin := func(v float64) int {
		t := v/2 - low/2 // the range itself may overflow
		if high == low {
			return 0
		}
		return min(int(t/(high/2-low/2)*float64(n)), n-1)
	}
	level := make([]int, n)
	for i, v := range numbers {
		if has[i] {
			level[bin(v)] = 1
		}
	}
	for b, used := range level {
		level[b] = len(centres)
		if used == 1 {
			t := (float64(b) + 0.5) / float64(n)
			centres = append(centres, low*(1-t)+high*t)
		}
	}
	return centres, func(v float64) int { return level[bin(v)] }
}

// levelsOf numbers the different texts in the order of their bytes.
func levelsOf(values []string) (levels []int32, words []string) {
	for _, v := range values {
		if hasValue(v) {
			words = append(words, v)
		}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	levels = make([]int32, len(values))
	for i, v := range values {
		levels[i] = Unknown
		if hasValue(v) {
			at, _ := slices.BinarySearch(words, v)
			levels[i] = int32(at)
		}
	}
	return levels, words
}

// count returns the number of known levels.
func count(levels []int32) int {
	n := 0
	for _, l := range levels {
		if l != Unknown {
			n++
		}
	}
	return n
}
