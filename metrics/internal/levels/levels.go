// Package levels handles the levels of factors, row by row: it groups rows by level, and makes levels from columns of
// numbers.
package levels

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Table holds the levels of factors, row by row.
type Table struct {
	Factors []factor.Factor
	Levels  []int // rows x factors; factor.Unknown for an unknown level
}

// Rows returns the number of rows of a table with factors.
func (t Table) Rows() int { return len(t.Levels) / len(t.Factors) }

// Row returns the levels of row i, without copying.
func (t Table) Row(i int) []int { return t.Levels[i*len(t.Factors) : (i+1)*len(t.Factors)] }

// Of returns the levels of factor j in the given rows.
func (t Table) Of(j int, rows []int) []int {
	list := make([]int, len(rows))
	for n, i := range rows {
		list[n] = t.Levels[i*len(t.Factors)+j]
	}
	return list
}

// ByFactor returns the levels of every factor in the given rows.
func (t Table) ByFactor(rows []int) [][]int {
	list := make([][]int, len(t.Factors))
	for j := range list {
		list[j] = t.Of(j, rows)
	}
	return list
}

// Unknown returns the number of rows with an unknown level for each factor, or nil if all levels are known.
func (t Table) Unknown() []int {
	if !slices.Contains(t.Levels, factor.Unknown) {
		return nil
	}
	counts := make([]int, len(t.Factors))
	for i, l := range t.Levels {
		if l == factor.Unknown {
			counts[i%len(counts)]++
		}
	}
	return counts
}

// Counts returns the number of rows with each level of factor j.
func (t Table) Counts(j int) []int {
	counts := make([]int, t.Factors[j].Size)
	for i := j; i < len(t.Levels); i += len(t.Factors) {
		if l := t.Levels[i]; l != factor.Unknown {
			counts[l]++
		}
	}
	return counts
}

// Varying lists the factors with several known levels in the first rows of the table.
func (t Table) Varying(rows int) (list []int) {
	k := len(t.Factors)
	for j := range t.Factors {
		first := factor.Unknown
		for i := j; i < rows*k; i += k {
			l := t.Levels[i]
			if first == factor.Unknown {
				first = l
			}
			if l != first && l != factor.Unknown {
				list = append(list, j)
				break
			}
		}
	}
	return list
}

// Combinations numbers the combinations of levels of some factors in lexicographic order, over some rows (nil: all).
func (t Table) Combinations(factors, rows []int) (ids []int, count int) {
	k := len(t.Factors)
	n := len(rows)
	if rows == nil {
		n = t.Rows()
	}
	keys, number := make([]string, n), map[string]int{}
	var key []byte
	for i := range keys {
		row := i
		if rows != nil {
			row = rows[i]
		}
		key = key[:0]
		for _, j := range factors {
			key = binary.BigEndian.AppendUint64(key, uint64(t.Levels[row*k+j]))
		}
		keys[i] = string(key)
		number[keys[i]] = 0
	}
	order := slices.Sorted(maps.Keys(number))
	for g, key := range order {
		number[key] = g
	}
	ids = make([]int, n)
	for i, key := range keys {
		ids[i] = number[key]
	}
	return ids, len(order)
}

// Alone returns groups of rows that differ in factor j alone: rows of a group have equal levels of all other factors,
// and at least two levels of factor j.
func (t Table) Alone(j int) [][]int {
	others := slices.Delete(numeric.UpTo(len(t.Factors)), j, j+1)
	ids, count := t.Combinations(others, nil)
	groups, varies := make([][]int, count), make([]bool, count)
	k := len(t.Factors)
	for i, id := range ids {
		groups[id] = append(groups[id], i)
		varies[id] = varies[id] || t.Levels[i*k+j] != t.Levels[groups[id][0]*k+j]
	}
	kept := groups[:0]
	for id, rows := range groups {
		if varies[id] {
			kept = append(kept, rows)
		}
	}
	return kept
}

// Groups holds rows by level.
type Groups struct {
	Order []int // rows, level by level
	Count []int // by level: rows of the whole table, grouped or not
	first []int // by level, and the end
}

// Members returns the rows of a level.
func (g *Groups) Members(level int) []int { return g.Order[g.first[level]:g.first[level+1]] }

// Largest returns the number of rows of the largest group.
func (g *Groups) Largest() (size int) {
	for l := range g.Count {
		size = max(size, g.first[l+1]-g.first[l])
	}
	return size
}

// Groups groups the given rows (nil: all) by the level of factor j; rows with an unknown level are left out.
func (t Table) Groups(j int, rows []int) *Groups {
	k, count := len(t.Factors), t.Counts(j)
	chosen := count
	if rows == nil {
		rows = numeric.UpTo(t.Rows())
	} else {
		chosen = make([]int, len(count))
		for _, i := range rows {
			if l := t.Levels[i*k+j]; l >= 0 {
				chosen[l]++
			}
		}
	}
	g := &Groups{first: make([]int, len(count)+1), Count: count}
	for l, n := range chosen {
		g.first[l+1] = g.first[l] + n
	}
	next := slices.Clone(g.first)
	g.Order = make([]int, g.first[len(count)])
	for _, i := range rows {
		if l := t.Levels[i*k+j]; l >= 0 {
			g.Order[next[l]] = i
			next[l]++
		}
	}
	return g
}

// Differing returns, by factor, pairs of rows with different known levels: all, or random ones in the given number.
func (t Table) Differing(ctx context.Context, limit int, s *rng.Stream) ([][][2]int, error) {
	n, k := t.Rows(), len(t.Factors)
	differ := make([][][2]int, k)
	add := func(i, j int) {
		for f := range k {
			if a, b := t.Levels[i*k+f], t.Levels[j*k+f]; a != b && a != factor.Unknown && b != factor.Unknown {
				differ[f] = append(differ[f], [2]int{i, j})
			}
		}
	}
	if possible := n * (n - 1) / 2; possible <= limit {
		for i := range n {
			for j := range i {
				add(i, j)
			}
		}
		return differ, ctx.Err()
	}
	for draw := range limit {
		if draw%(1<<16) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		i, j := s.IntN(n), s.IntN(n-1)
		if j >= i {
			j++
		}
		add(i, j)
	}
	return differ, nil
}

// Among returns the pairs whose rows are both in a list, as indices into this list.
func Among(differ [][][2]int, rows []int) [][][2]int {
	if differ == nil {
		return nil
	}
	position := make(map[int]int, len(rows))
	for n, i := range rows {
		position[i] = n
	}
	among := make([][][2]int, len(differ))
	for f, pairs := range differ {
		for _, p := range pairs {
			a, first := position[p[0]]
			b, second := position[p[1]]
			if first && second {
				among[f] = append(among[f], [2]int{a, b})
			}
		}
	}
	return among
}

// Chosen returns the given rows of a list (nil for nil).
func Chosen[T any](list []T, rows []int) []T {
	if list == nil {
		return nil
	}
	chosen := make([]T, len(rows))
	for n, i := range rows {
		chosen[n] = list[i]
	}
	return chosen
}

// Renumber numbers distinct ids from 0, in order of their first occurrence.
func Renumber[T comparable](ids []T) (numbers []int, count int) {
	known := make(map[T]int)
	numbers = make([]int, len(ids))
	for i, id := range ids {
		number, ok := known[id]
		if !ok {
			number = len(known)
			known[id] = number
		}
		numbers[i] = number
	}
	return numbers, len(known)
}

// Paths numbers the combinations of values in some columns of n numbers from 0, in order of their first occurrence.
func Paths(n int, columns [][]float64) (ids []int, count int) {
	type step struct {
		before int
		value  float64
	}
	ids, count = make([]int, n), 1
	for _, column := range columns {
		steps := make([]step, n)
		for i, v := range column {
			steps[i] = step{ids[i], v}
		}
		ids, count = Renumber(steps)
	}
	return ids, count
}

// Validate checks the factors, the range of levels, and the values of continuous factors (see [Table.validExact]).
func (t Table) Validate(exact [][]float64) error {
	if err := factor.Validate(t.Factors); err != nil {
		return err
	}
	for j, f := range t.Factors {
		for i := range t.Rows() {
			if level := t.Levels[i*len(t.Factors)+j]; level < factor.Unknown || level >= f.Size {
				return fmt.Errorf("factors: row %d has level %d of factor %q; want 0 to %d, or -1 where it is unknown",
					i, level, f.Name, f.Size-1)
			}
		}
	}
	return t.validExact(exact)
}

// validExact checks the values of continuous factors, one list or nil for each factor.
func (t Table) validExact(exact [][]float64) error {
	if exact == nil {
		return nil
	}
	if len(exact) != len(t.Factors) {
		return fmt.Errorf("there are exact values of %d factors; want one list, or nil, for each of the %d",
			len(exact), len(t.Factors))
	}
	for j, values := range exact {
		if values != nil && t.Factors[j].Kind != factor.Ordinal {
			return fmt.Errorf("factor %q is %s, but has exact values; want an ordinal factor",
				t.Factors[j].Name, t.Factors[j].Kind)
		}
		if values != nil && len(values) != t.Rows() {
			return fmt.Errorf("factor %q has %d exact values; want one for each of the %d codes",
				t.Factors[j].Name, len(values), t.Rows())
		}
		for i, v := range values {
			if unknown := t.Levels[i*len(t.Factors)+j] < 0; unknown && !math.IsNaN(v) || !unknown && v-v != 0 {
				if unknown {
					return fmt.Errorf("factors: row %d has the value %v of factor %q, and an unknown level; want NaN",
						i, v, t.Factors[j].Name)
				}
				return fmt.Errorf("factors: row %d has the value %v of factor %q; want finite numbers", i, v, t.Factors[j].Name)
			}
		}
	}
	return nil
}
