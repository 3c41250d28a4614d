package metrics

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
)

// Equational is implemented by metrics that only need to know which rows agree in a factor. They can measure an input
// with equivalence classes as Levels (Zhang and Sugiyama 2024, appendix F.2).
type Equational interface {
	// FromClasses reports whether the metric, with its settings, asks only which rows agree.
	FromClasses() bool
}

// FromClasses implements Equational.
func (*SubCodeDeviation) FromClasses() bool { return true }

// wantsLevels returns MissingLevels of a metric that cannot measure classes.
func wantsLevels(m Metric, in *Input) error {
	if e, ok := m.(Equational); !in.Classes || ok && e.FromClasses() {
		return nil
	}
	return MissingLevels
}

// SetClasses replaces the factors by the factors of classes. Rows of a class agree in a factor, and levels number the
// classes. Answers different that the classes agree with become Differ. A factor without a class is left out; it is an
// error if that leaves none.
func (in *Input) SetClasses(c *similarity.Classes) error {
	in.Levels, in.Factors, in.Exact, in.TrueHierarchy, in.Paths, in.Classes, in.Differ = nil, nil, nil, nil, nil, true, nil
	var of [][]int32
	differ := make([][][2]int, len(c.Factors))
	for _, x := range c.Kept {
		if !x.Same {
			differ[x.Factor] = append(differ[x.Factor], [2]int{int(x.A), int(x.B)})
		}
	}
	for k, name := range c.Factors {
		if len(c.Of[k]) != in.Codes.Rows {
			return fmt.Errorf("classes are about %d rows; want %d, the rows of the codes", len(c.Of[k]), in.Codes.Rows)
		}
		if c.Count[k] > 0 {
			in.Factors, of = append(in.Factors, factor.Factor{Name: name, Size: c.Count[k], Kind: factor.Categorical}), append(of, c.Of[k])
			in.Differ = append(in.Differ, differ[k])
		}
	}
	if len(of) == 0 {
		return errors.New("no two rows are known to agree in a factor; want at least one answer same")
	}
	in.Levels = slices.Repeat([]int{factor.Unknown}, in.Codes.Rows*len(of))
	for k, classes := range of {
		for i, class := range classes {
			in.Levels[i*len(of)+k] = int(class)
		}
	}
	return nil
}
