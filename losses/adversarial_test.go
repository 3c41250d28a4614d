package losses_test

import (
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// TestPermute checks that each column is permuted among its active rows, independently of other columns.
func TestPermute(t *testing.T) {
	const n, columns = 50, 3
	codes, active, dst := make([]float32, n*columns), make([]float32, n*columns), make([]float32, n*columns)
	for i := range codes {
		codes[i] = float32(i + 1)
		if c := i % columns; c == 0 || c == 1 && (i/columns)%2 == 0 {
			active[i] = 1
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, mask := range [][]float32{nil, active} {
		losses.Permute(dst, codes, mask, columns, r.Shuffle)
		rows := make([][]int, columns) // source row of each value of a column
		for c := range columns {
			for i := range n {
				at := i*columns + c
				from := int(dst[at]) - 1
				if from%columns != c {
					t.Fatalf("column %d took a value from column %d", c, from%columns)
				}
				if mask != nil && (mask[at] > 0) != (mask[from] > 0) || mask != nil && mask[at] == 0 && from != at {
					t.Errorf("row %d of column %d took the value of row %d", i, c, from/columns)
				}
				rows[c] = append(rows[c], from/columns)
			}
			sorted := slices.Sorted(slices.Values(rows[c]))
			for i := range sorted {
				if sorted[i] != i {
					t.Fatalf("column %d is not permuted: %v", c, rows[c])
				}
			}
			still := slices.IsSorted(rows[c])
			must.Equal(t, still, mask != nil && c == 2, "column", c, "stayed as it was")
		}
		if slices.Equal(rows[0], rows[1]) {
			t.Error("two columns have the same permutation")
		}
	}
}

func ExampleDensityRatio() {
	g := gorgonia.NewGraph()
	logits := matrix(g, "logits", 2, 1, 1, -3) // discriminator outputs for two codes
	tc, err := losses.DensityRatio(logits)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Println(tc.Value())
	// Output: -1
}

func ExampleDiscrimination() {
	g := gorgonia.NewGraph()
	logits := matrix(g, "logits", 4, 1, 0, 0, 0, 0) // it cannot tell codes from permuted codes
	loss, err := losses.Discrimination(logits)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Printf("%.4f\n", loss.Value().Data())
	// Output: 0.6931
}

func ExampleCapacity() {
	g := gorgonia.NewGraph()
	kl, err := losses.KLGaussian(matrix(g, "mu", 1, 1, 2), matrix(g, "log sigma", 1, 1, 0))
	if err != nil {
		log.Fatal(err)
	}
	c := gorgonia.NewScalar(g, gorgonia.Float64, gorgonia.WithName("c"), gorgonia.WithValue(5.0))
	loss, err := losses.Capacity(kl, c)
	if err != nil {
		log.Fatal(err)
	}
	run(g)
	fmt.Println(loss.Value())
	// Output: 3
}
