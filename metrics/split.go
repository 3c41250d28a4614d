package metrics

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/config"
)

// Split says which rows a predictor is fitted to, and which test it. Table entries
// hold the numbers of disentanglement_lib, 10,000 and 5,000; of tables with fewer rows
// than both together, the rows are shared out in the same proportion.
type Split struct {
	Train int   `yaml:"train" doc:"rows to fit to; if there are fewer than train and test together, they are shared out in proportion"`
	Test  int   `yaml:"test" doc:"rows to test with; 0: the rows that were fitted to"`
	Order Order `yaml:"order" doc:"which rows: random ones, or the first (stored: train rows first, and then test rows)"`
}

// Order says in which order rows are taken.
type Order string

// The orders.
const (
	OrderRandom Order = "random"
	OrderStored Order = "stored"
)

// maxSplit bounds the rows of a split.
const maxSplit = 1 << 30

func (s Split) validate() error {
	switch {
	case s.Train < 1 || s.Train > maxSplit:
		return config.Invalid("train", "%d is out of range; want 1 to %d", s.Train, maxSplit)
	case s.Test < 0 || s.Test > maxSplit:
		return config.Invalid("test", "%d is out of range; want 0 (the train rows) to %d", s.Test, maxSplit)
	case s.Order != OrderRandom && s.Order != OrderStored:
		return config.Invalid("order", "unknown order %q; want random or stored", string(s.Order))
	}
	return nil
}

// sizes shares out n rows.
func (s Split) sizes(n int) (train, test int) {
	switch {
	case s.Test == 0:
		return min(s.Train, n), 0
	case n >= s.Train+s.Test:
		return s.Train, s.Test
	}
	train = min(max(int(int64(n)*int64(s.Train)/int64(s.Train+s.Test)), 1), n)
	return train, n - train
}

// suits wants rows for both parts.
func (s Split) suits(in *Input) error {
	if in.Codes.Rows < 2 && s.Test > 0 {
		return fmt.Errorf("there is %d code; want at least two, one to fit to and one to test with", in.Codes.Rows)
	}
	return nil
}

// rows returns the rows to fit to and those to test with, ascending, and a note if
// they are not as many as was wanted.
func (s Split) rows(in *Input) (train, test []int, note string, err error) {
	n := in.Codes.Rows
	a, b := s.sizes(n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if s.Order == OrderRandom && a+b < n || s.Order == OrderRandom && b > 0 {
		if in.Stream == nil {
			return nil, nil, "", fmt.Errorf("there is no stream of random numbers to choose rows; want one, or the order stored")
		}
		order = in.Stream.Perm(n)
	}
	train, test = order[:a], order[a:a+b]
	slices.Sort(train)
	slices.Sort(test)
	if b == 0 {
		test = train
	}
	if a != s.Train || b != s.Test {
		note = fmt.Sprintf("fitted to %d rows and tested with %d", a, len(test))
	}
	return train, test, note, nil
}
