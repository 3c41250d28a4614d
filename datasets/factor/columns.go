package factor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/bins"
	"github.com/unravel-ml/unravel/internal/wording"
)

// ColumnKinds are the kinds of label columns: ordinal, circular, circular:PERIOD (values are angles, and PERIOD is a
// full turn), categorical or continuous. A config has a list in column order, or a mapping from column names to kinds.
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
		k.List, err = kindList(n)
	}
	if err != nil {
		return err
	}
	for _, text := range append(slices.Sorted(maps.Values(k.Named)), k.List...) {
		if _, err := ParseColumnKind(text); err != nil && text != "" {
			return n.Errorf("%v", err)
		}
	}
	return nil
}

// kindList reads a list of kinds. YAML parses circular:360 in brackets as a mapping.
func kindList(n *config.Node) ([]string, error) {
	var list []string
	if !n.IsList() {
		return nil, n.Decode(&list)
	}
	for _, item := range n.Items() {
		if keys := item.Keys(); item.IsMap() && len(keys) == 1 && keys[0] == Circular.String() {
			list = append(list, keys[0]+":"+item.Items()[0].Text())
			continue
		}
		var text string
		if err := item.Decode(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, nil
}

// EncodeConfig writes the form that DecodeConfig reads.
func (k ColumnKinds) EncodeConfig() (any, error) {
	if k.Named != nil {
		return k.Named, nil
	}
	return k.List, nil
}

func (ColumnKinds) ConfigForms() []any { return []any{[]any{}, map[string]string{}} }

func (ColumnKinds) ConfigType() string {
	return "list, or mapping by column, of ordinal, circular, circular:PERIOD, categorical, continuous"
}

// texts returns the kind of each column, or "" if none is set.
func (k ColumnKinds) texts(names []string) ([]string, error) {
	kinds := make([]string, len(names))
	if len(k.List) > 0 {
		if len(k.List) != len(names) {
			return nil, config.Invalid("kinds", "has %s; want one for each of the %d factors %s",
				wording.Count(len(k.List), "kind"), len(names), registry.Some(names, 10))
		}
		copy(kinds, k.List)
	}
	for name, kind := range k.Named {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, config.Invalid("kinds", "there is no factor %q; want some of %s", name, registry.Some(names, 10))
		}
		kinds[i] = kind
	}
	return kinds, nil
}

// Categorical returns a function that tells whether a column of a file is categorical. The file has a number of
// columns, and may name each. names are the configured names of the factors, or empty. One column more than names or
// kinds means that the first column is an index.
func (k ColumnKinds) Categorical(names []string) func(name string, column, columns int) bool {
	return func(name string, column, columns int) bool {
		if max(len(names), len(k.List)) == columns-1 {
			column--
		}
		if column >= 0 && column < len(names) {
			name = names[column]
		}
		text := k.Named[name]
		if column >= 0 && column < len(k.List) {
			text = k.List[column]
		}
		kind, err := ParseColumnKind(text)
		return err == nil && kind.Kind == Categorical
	}
}

// Parse returns the parsed kind of each column, or nil if none is set.
func (k ColumnKinds) Parse(names []string) ([]*ColumnKind, error) {
	texts, err := k.texts(names)
	if err != nil {
		return nil, err
	}
	kinds := make([]*ColumnKind, len(texts))
	for i, text := range texts {
		if text == "" {
			continue
		}
		kind, err := ParseColumnKind(text)
		if err != nil {
			return nil, config.Invalid("kinds", "%w", err)
		}
		kinds[i] = &kind
	}
	return kinds, nil
}

// KindNote returns a note on a factor without a given kind that may hold degrees. key names the setting for kinds.
func KindNote(f Factor, key string) (note string, ok bool) {
	const minLevels = 100
	return fmt.Sprintf("factor %s has %d levels; %s={%s: circular:360} would take them for degrees, and continuous bin them", f.Name, f.Size, key, f.Name),
		f.Kind == Ordinal && f.Size > minLevels
}

// maxWholeLevels is the maximum number of integer levels if no kind is given. A column with more is binned.
const maxWholeLevels = 256

// defaultBins is the default number of bins of a continuous factor.
const defaultBins = 20

// FromNumbers converts numbers to a factor, and to one level per number; NaN becomes [Unknown]. Without a given kind,
// the factor is ordinal, or continuous if it has too many levels. The levels of a continuous factor are n bins of equal
// width (0: 20). ints are the exact values of integers, or nil. It is an error if numbers are equal and their exact
// values differ.
func FromNumbers(
	name string, numbers []float64, ints []int64, given *ColumnKind, n int,
) (f Factor, levels []int32, err error) {
	if n = cmp.Or(n, defaultBins); n < 1 || n > MaxSize {
		return f, nil, fmt.Errorf("the number of bins is %d; want 1 to %d, or 0 for %d", n, MaxSize, defaultBins)
	}
	exact := map[float64]int64{}
	for i, n := range ints {
		if math.Abs(numbers[i]) < 1<<53 {
			continue
		}
		if other, known := exact[numbers[i]]; known && other != n {
			return f, nil, fmt.Errorf("has %d and %d, which are too large to tell apart; want smaller numbers, or words",
				other, n)
		}
		exact[numbers[i]] = n
	}
	kind := ColumnKind{Kind: Ordinal}
	if given != nil {
		kind = *given
	}
	f, list, err := kind.Levels(numbers)
	if f.Name = name; err != nil {
		return f, nil, err
	}
	if f.Size == 0 {
		return f, nil, errors.New("has no value in any row; want some, or other columns in factors")
	}
	whole := !slices.ContainsFunc(f.Values, func(v float64) bool { return v != math.Trunc(v) })
	if kind.Continuous || given == nil && f.Size > n && !(whole && f.Size <= maxWholeLevels) {
		list, f.Values = bins.Levels(numbers, n)
		f.Size = len(f.Values)
	}
	if f.Size > MaxSize {
		return f, nil, fmt.Errorf("has %d different values; want at most %d levels", f.Size, MaxSize)
	}
	if areIndices(f.Values) {
		f.Values = nil
	}
	levels = make([]int32, len(list))
	for i, l := range list {
		levels[i] = int32(l)
	}
	return f, levels, nil
}

// areIndices reports whether values are 0, 1, 2, ...
func areIndices(values []float64) bool {
	for l, v := range values {
		if v != float64(l) {
			return false
		}
	}
	return true
}

// listWords returns the levels of a categorical factor with their words, as text.
func listWords(words []string) string {
	list := make([]string, len(words))
	for l, w := range words {
		list[l] = fmt.Sprintf("%d is %s", l, w)
	}
	return registry.Some(list, 12)
}
