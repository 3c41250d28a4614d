// Package similarity handles answers about a factor that compare rows without naming levels. An answer says whether two
// rows have the same level or different levels (Zhang and Sugiyama 2024, appendix F.2). [Read] reads such answers,
// [Unite] computes equivalence classes from them, and [Ask] chooses the next questions.
package similarity

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Answer says that two rows have the same level of a factor, or different levels.
type Answer struct {
	A, B   int32
	Factor int32 // index into Answers.Factors
	Same   bool
	Line   int32 // line in the file, from 1; 0: not from a file
}

// Answers are answers about rows 0 to Rows-1.
type Answers struct {
	Rows    int
	Factors []string
	List    []Answer

	Open []Answer // questions without an answer; Same has no meaning
	Name string   // file name for errors; "": none
}

// Add appends an answer. If the name of the factor is new, it also adds the factor.
func (a *Answers) Add(row, other int, factor string, same bool) {
	a.List = append(a.List, Answer{A: int32(row), B: int32(other), Factor: a.factor(factor), Same: same})
}

// factor returns the index of a factor, which it adds if it is new.
func (a *Answers) factor(name string) int32 {
	k := slices.Index(a.Factors, name)
	if k < 0 {
		k, a.Factors = len(a.Factors), append(a.Factors, name)
	}
	return int32(k)
}

// Validate checks that rows and factors are in range.
func (a *Answers) Validate() error {
	if a.Rows < 1 || a.Rows > maxRows {
		return fmt.Errorf("answers are about %d rows; want 1 to %d", a.Rows, maxRows)
	}
	if len(a.Factors) > maxCells/a.Rows {
		return fmt.Errorf("answers are about %d factors of %d rows; want at most %d factors for this number of rows",
			len(a.Factors), a.Rows, maxCells/a.Rows)
	}
	for _, list := range [][]Answer{a.List, a.Open} {
		for n, x := range list {
			if min(x.A, x.B) < 0 || int(max(x.A, x.B)) >= a.Rows || x.Factor < 0 || int(x.Factor) >= len(a.Factors) {
				return fmt.Errorf("answer %d is about rows %d and %d and factor %d; want rows 0 to %d and factors 0 to %d",
					n, x.A, x.B, x.Factor, a.Rows-1, len(a.Factors)-1)
			}
		}
	}
	return nil
}

// maxRows is the maximum number of rows, which are int32.
const maxRows = 1 << 30

// maxCells is the maximum of factors times rows; each takes 4 bytes.
const maxCells = 1 << 30

// Same returns the number of same answers.
func (a *Answers) Same() int { return countSame(a.List) }

func countSame(list []Answer) (n int) {
	for _, x := range list {
		if x.Same {
			n++
		}
	}
	return n
}

// Only returns the answers about some factors, or all if none are given. A factor without answers is an error.
func (a *Answers) Only(factors []string) (*Answers, error) {
	if len(factors) == 0 {
		return a, nil
	}
	selected := &Answers{Rows: a.Rows, Factors: factors, Name: a.Name}
	index := make([]int32, len(a.Factors))
	for k, name := range a.Factors {
		index[k] = int32(slices.Index(factors, name))
	}
	for _, name := range factors {
		if !slices.Contains(a.Factors, name) {
			return nil, fmt.Errorf("there is no answer about factor %q%s", name, registry.Suggest(name, a.Factors))
		}
	}
	filter := func(list []Answer) (kept []Answer) {
		for _, x := range list {
			if x.Factor = index[x.Factor]; x.Factor >= 0 {
				kept = append(kept, x)
			}
		}
		return kept
	}
	selected.List, selected.Open = filter(a.List), filter(a.Open)
	return selected, nil
}

// byFactor returns the answers about each factor, in order.
func (a *Answers) byFactor() [][]Answer {
	lists := make([][]Answer, len(a.Factors))
	for _, x := range a.List {
		lists[x.Factor] = append(lists[x.Factor], x)
	}
	return lists
}
