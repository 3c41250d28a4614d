package assign

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// cost is the objective of Balanced.
func cost(costs []float64, k int, balance float64, of []int) float64 {
	sum, counts := 0.0, make([]float64, k)
	for i, c := range of {
		sum += costs[i*k+c] + balance*counts[c]
		counts[c]++
	}
	return sum
}

// TestReference compares with the reference implementation's assignments of 8 images to 3 categories.
func TestReference(t *testing.T) {
	a := must.Get(npy.ReadFile[float64]("testdata/cost.npy"))(t)
	costs := a.Data
	text := must.Read(t, "testdata/expected.json")
	var want map[string]struct {
		Assignment struct{ Value []int }
		Cost       struct{ Value, Tolerance float64 }
	}
	must.OK(t, json.Unmarshal(text, &want))
	if len(want) != 5 {
		t.Fatalf("%d cases; want 5", len(want))
	}
	for name, w := range want {
		var balance float64
		must.Get(fmt.Sscan(strings.TrimPrefix(name, "lambda_"), &balance))(t)
		got := must.Get(Balanced(costs, 3, balance))(t)
		must.EqualSlices(t, got, w.Assignment.Value, name, "assignment")
		if c := cost(costs, 3, balance, got); !(math.Abs(c-w.Cost.Value) <= 1e-9) {
			t.Errorf("%s: cost %v; want %v", name, c, w.Cost.Value)
		}
	}
}

// drawn returns n rows of k random costs, some of them equal.
func drawn(r *rng.Stream, n, k int) []float64 {
	costs := make([]float64, n*k)
	for i := range costs {
		if costs[i] = 10 * r.Float64(); r.IntN(3) == 0 {
			costs[i] = float64(r.IntN(4))
		}
	}
	return costs
}

// least is the minimum cost of all assignments.
func least(costs []float64, k int, balance float64) float64 {
	n := len(costs) / k
	best, of := math.Inf(1), make([]int, n)
	for {
		best = min(best, cost(costs, k, balance, of))
		i := 0
		for ; i < n && of[i] == k-1; i++ {
			of[i] = 0
		}
		if i == n {
			return best
		}
		of[i]++
	}
}

func TestBruteForce(t *testing.T) {
	r := rng.New(1, "assign")
	for trial := range 300 {
		n, k := 1+r.IntN(6), 1+r.IntN(4)
		costs, balance := drawn(r, n, k), []float64{0, 0.001, 0.5, 2, 50}[trial%5]
		of := must.Get(Balanced(costs, k, balance))(t)
		if got, want := cost(costs, k, balance, of), least(costs, k, balance); !(math.Abs(got-want) <= 1e-9) {
			t.Fatalf("trial %d, %d items, %d categories, balance %v: cost %v; want %v", trial, n, k, balance, got, want)
		}
	}
}

// slots solves the problem as a linear assignment of the items to n copies of each category, by shortest augmenting
// paths. Copy m, counted from 0, has an additional cost of m times the balance.
func slots(costs []float64, k int, balance float64) float64 {
	n := len(costs) / k
	at := func(i, s int) float64 { return costs[i*k+s/n] + balance*float64(s%n) }
	u, v, owner := make([]float64, n), make([]float64, n*k), slices.Repeat([]int{-1}, n*k)
	for i := range n {
		dist, before, done := slices.Repeat([]float64{math.Inf(1)}, n*k), slices.Repeat([]int{-1}, n*k), make([]bool, n*k)
		row, last, sum := i, -1, 0.0
		for {
			next := -1
			for s := range n * k {
				if done[s] {
					continue
				}
				if d := sum + at(row, s) - u[row] - v[s]; d < dist[s] {
					dist[s], before[s] = d, last
				}
				if next < 0 || dist[s] < dist[next] {
					next = s
				}
			}
			sum, last, done[next] = dist[next], next, true
			if owner[next] < 0 {
				break
			}
			row = owner[next]
		}
		u[i] += sum
		for s := range n * k {
			if done[s] && s != last {
				u[owner[s]] += sum - dist[s]
				v[s] -= sum - dist[s]
			}
		}
		for s := last; s >= 0; s = before[s] {
			if before[s] < 0 {
				owner[s] = i
			} else {
				owner[s] = owner[before[s]]
			}
		}
	}
	total := 0.0
	for s, i := range owner {
		if i >= 0 {
			total += at(i, s)
		}
	}
	return total
}

func FuzzSlots(f *testing.F) {
	for _, seed := range []uint64{1, 2, 3, 40, 500} {
		f.Add(seed, uint8(12), uint8(3), 0.5)
		f.Add(seed, uint8(30), uint8(7), 3.0)
		f.Add(seed, uint8(25), uint8(2), 0.0)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n, k uint8, balance float64) {
		if n < 1 || n > 40 || k < 1 || k > 12 || !(balance >= 0 && balance < 1e6) {
			t.Skip()
		}
		costs := drawn(rng.New(seed, "slots"), int(n), int(k))
		of := must.Get(Balanced(costs, int(k), balance))(t)
		got, want := cost(costs, int(k), balance, of), slots(costs, int(k), balance)
		if !(math.Abs(got-want) <= 1e-8*max(1, want)) {
			t.Fatalf("cost %v; want %v", got, want)
		}
	})
}

func TestExtremes(t *testing.T) {
	r := rng.New(2, "assign")
	costs := drawn(r, 20, 3)
	of, err := Balanced(costs, 3, 0)
	must.OK(t, err)
	for i, c := range of {
		row := costs[i*3 : i*3+3]
		must.Equal(t, row[c], slices.Min(row), "item", i, "costs", row, "in category", c, "without balance")
	}
	if of, err = Balanced(costs, 3, 1e6); err != nil {
		t.Fatal(err)
	}
	counts := make([]int, 3)
	for _, c := range of {
		counts[c]++
	}
	if slices.Max(counts)-slices.Min(counts) > 1 {
		t.Errorf("counts %v at a large balance; want them to differ by one at most", counts)
	}
	if of, err = Balanced(make([]float64, 8), 2, 0); err != nil || slices.Max(of) != 0 {
		t.Errorf("of equal costs %v, %v; want the first category", of, err)
	}
	for want, bad := range map[string]struct {
		costs   []float64
		k       int
		balance float64
	}{"0 categories": {nil, 0, 0}, "3 costs": {make([]float64, 3), 2, 0}, "the cost of item 1 in category 0 is NaN": {[]float64{1, 2, math.NaN(), 3}, 2, 0},
		"the cost of item 0 in category 2 is +Inf": {[]float64{1, 2, math.Inf(1)}, 3, 0}, "a balance of -1": {[]float64{1}, 1, -1}, "a balance of +Inf": {[]float64{1}, 1, math.Inf(1)}} {
		must.ErrorOf(Balanced(bad.costs, bad.k, bad.balance))(t, want)
	}
}

func BenchmarkBalanced(b *testing.B) {
	for _, size := range []struct{ n, k int }{{64, 3}, {256, 14}} {
		b.Run(fmt.Sprintf("%dx%d", size.n, size.k), func(b *testing.B) {
			costs := drawn(rng.New(1, "bench"), size.n, size.k)
			for b.Loop() {
				must.Get(Balanced(costs, size.k, 0.001))(b)
			}
		})
	}
}
