package graph

import (
	"fmt"
	"strings"
)

// Aggregate joins quantities into one: a universal aggregator of Zhang and
// Sugiyama 2024, section 2.2. It is 0 exactly where all quantities are 0.
type Aggregate uint8

const (
	Mean       Aggregate = iota
	Max                  // the largest; its gradient is that of the first of equal ones
	Sum                  //
	MeanSquare           // the mean of the squares, without a root
)

var aggregateNames = [...]string{"mean", "max", "sum", "mean-square"}

func (a Aggregate) String() string {
	if int(a) < len(aggregateNames) {
		return aggregateNames[a]
	}
	return fmt.Sprintf("Aggregate(%d)", uint8(a))
}

// ParseAggregate is the inverse of Aggregate.String.
func ParseAggregate(name string) (Aggregate, error) {
	for a, known := range aggregateNames {
		if name == known {
			return Aggregate(a), nil
		}
	}
	return 0, fmt.Errorf("unknown aggregate %q; known: %s", name, strings.Join(aggregateNames[:], ", "))
}

// MarshalText makes an Aggregate its name in YAML and JSON.
func (a Aggregate) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText accepts an Aggregate's name.
func (a *Aggregate) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAggregate(string(text))
	return err
}

// Block ties columns of codes to a factor, a column of labels: the sub-code z_i of
// the factor y_i.
type Block struct {
	Factor  int
	Columns []int
}

// deviation measures how far points are from being one point. An instance owns
// its scratch and is used by one goroutine at a time.
type deviation[T float] interface {
	// value returns the deviation of points x, rows x columns, rows >= 1.
	value(x []T, rows int) float64

	// gradient overwrites dx with scale times the gradient of the value at x; the
	// last call of value was on the same x.
	gradient(x []T, rows int, scale float64, dx []T)
}
