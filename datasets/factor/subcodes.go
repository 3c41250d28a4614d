package factor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Block is the sub-code z_i of a factor y_i: the index of the factor and its code columns.
type Block struct {
	Factor  int
	Columns []int
}

// SubCodes maps factor names to the code columns of their sub-codes. In a config: `{shape: [0, 1], x: [2]}`.
type SubCodes map[string][]int

// Validate checks that every sub-code has columns, all distinct and non-negative. Errors name the key.
func (s SubCodes) Validate() error {
	for _, name := range s.names() {
		columns := s[name]
		if len(columns) == 0 {
			return config.Invalid(name, "there are no columns; want at least one")
		}
		for i, column := range columns {
			if column < 0 || slices.Contains(columns[:i], column) {
				return config.Invalid(name, "%v has a negative or repeated column; want distinct columns, numbered from 0", columns)
			}
		}
	}
	return nil
}

// Within returns an error if codes with width columns lack a column of s. Errors begin with key, the name of the
// setting in the config, and the name of the factor.
func (s SubCodes) Within(key string, width int) error {
	for _, name := range s.names() {
		for _, column := range s[name] {
			if column < 0 || column >= width {
				return fmt.Errorf("%s.%s: column %d does not exist; codes have columns 0 to %d", key, name, column, width-1)
			}
		}
	}
	return nil
}

// Blocks returns the sub-codes in s, in the order of the factors, for codes with width columns. A factor missing from s
// has no block. Blocks returns an error for an unknown factor and for a column that does not exist. Errors begin with
// key, the name of the setting in the config.
func (s SubCodes) Blocks(key string, factors []Factor, width int) ([]Block, error) {
	known := Names(factors)
	for _, name := range s.names() {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: there is no factor %q%s", key, name, registry.Suggest(name, known))
		}
	}
	if err := s.Within(key, width); err != nil {
		return nil, err
	}
	var blocks []Block
	for i, name := range known {
		if columns := s[name]; len(columns) > 0 {
			blocks = append(blocks, Block{Factor: i, Columns: columns})
		}
	}
	return blocks, nil
}

// names returns the factors of s in alphabetical order, so the first error is always the same.
func (s SubCodes) names() []string { return slices.Sorted(maps.Keys(s)) }

// EvenBlocks divides width code columns evenly among factors, in order. Each factor gets width/len(factors) columns. It
// returns an error if there are no factors, or if the columns cannot be divided evenly.
func EvenBlocks(factors []Factor, width int) ([]Block, error) {
	k := len(factors)
	if k == 0 {
		return nil, errors.New("there are no factors; want at least one to divide code columns among")
	}
	if width < k || width%k != 0 {
		return nil, fmt.Errorf("%d code columns cannot be divided evenly among %d factors (%s); want codes, such as {%s: [0, 1]}",
			width, k, strings.Join(Names(factors), ", "), factors[0].Name)
	}
	blocks, each := make([]Block, k), width/k
	for i := range blocks {
		blocks[i].Factor = i
		for j := range each {
			blocks[i].Columns = append(blocks[i].Columns, i*each+j)
		}
	}
	return blocks, nil
}

// Names returns the names of factors.
func Names(factors []Factor) []string {
	names := make([]string, len(factors))
	for i, f := range factors {
		names[i] = f.Name
	}
	return names
}
