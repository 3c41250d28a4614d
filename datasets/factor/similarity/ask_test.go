package similarity

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// plane returns codes of a grid of two factors with the given number of levels. Eight rows scatter around each pair of
// levels: column 0 follows x, column 1 follows y, and column 2 follows neither.
func plane(levels int, seed uint64) (codes []float64, level func(factor string, row int) (int, error), rows int) {
	s := rng.New(seed, "codes")
	rows = 8 * levels * levels
	for i := range rows {
		codes = append(codes, float64(i%levels)+0.15*s.NormFloat64(), float64(i/levels%levels)+0.15*s.NormFloat64(), s.NormFloat64())
	}
	return codes, func(factor string, row int) (int, error) {
		if factor == "x" {
			return row % levels, nil
		}
		return row / levels % levels, nil
	}, rows
}

// implied counts the pairs of rows whose agreement follows from answers.
func implied(t *testing.T, a *Answers) (pairs int) {
	t.Helper()
	c := must.Get(Unite(a, Options{}))(t)
	for k, of := range c.Of {
		size := make([]int, c.Count[k])
		for _, class := range of {
			if class >= 0 {
				size[class]++
			}
		}
		for _, n := range size {
			pairs += n * (n - 1) / 2
		}
	}
	return pairs
}

// TestAskBeatsRandom asks in rounds. It compares the implications of the answers with the implications of equally many
// random answers.
func TestAskBeatsRandom(t *testing.T) {
	codes, level, rows := plane(8, 1)
	asked, random := &Answers{Rows: rows}, &Answers{Rows: rows}
	for round := range 4 {
		q := Query{Count: 60, Factors: []string{"x", "y"}, Codes: codes, Width: 3, Explore: 0.1, Stream: rng.New(uint64(round), "ask")}
		must.OK(t, Ask(asked, q))
		must.OK(t, asked.Fill(level))
		must.OK(t, Random(random, q))
	}
	must.OK(t, random.Fill(level))
	if len(asked.List) != 240 || len(random.List) != 240 || len(asked.Open)+len(random.Open) > 0 {
		t.Fatalf("%d and %d answers", len(asked.List), len(random.List))
	}
	a, r := implied(t, asked), implied(t, random)
	t.Logf("same: %d asked, %d random; pairs that follow: %d asked, %d random", asked.Same(), random.Same(), a, r)
	if asked.Same() < 2*random.Same() || a < 4*r {
		t.Errorf("same: %d asked, %d random; pairs that follow: %d asked, %d random", asked.Same(), random.Same(), a, r)
	}
}

// TestAskNothingKnown checks that no question follows from answers, or from the other questions if their answers are
// same.
func TestAskNothingKnown(t *testing.T) {
	codes, level, rows := plane(4, 2)
	for name, given := range map[string][]float64{"codes": codes, "nothing": nil} {
		a := &Answers{Rows: rows}
		for round := range 6 {
			before := newUnion(rows, a.List)
			apart := map[[2]int32]bool{}
			for _, x := range a.List {
				if !x.Same {
					i, j := before.find(x.A), before.find(x.B)
					apart[[2]int32{min(i, j), max(i, j)}] = true
				}
			}
			must.OK(t, Ask(a, Query{Count: 40, Factors: []string{"x"}, Codes: given, Width: 3, Stream: rng.New(uint64(round), "ask")}))
			joined := newUnion(rows, a.List)
			for _, x := range a.Open {
				i, j := before.find(x.A), before.find(x.B)
				if joined.find(x.A) == joined.find(x.B) || apart[[2]int32{min(i, j), max(i, j)}] {
					t.Fatalf("%s, round %d: question %+v follows from others", name, round, x)
				}
				joined.join(x.A, x.B)
			}
			if len(a.Open) == 0 {
				if n := implied(t, a); n != 4*32*31/2 {
					t.Fatalf("%s, round %d: there are no questions, and %d pairs follow", name, round, n)
				}
				break
			}
			must.OK(t, a.Fill(level))
		}
	}
	// everything is known about two rows, and open questions are not asked again
	a := &Answers{Rows: 3}
	a.Add(0, 1, "x", true)
	a.Open = []Answer{{A: 1, B: 2}}
	if err := Ask(a, Query{Count: 5, Stream: rng.New(0, "ask")}); err != nil || len(a.Open) != 1 {
		t.Errorf("%+v, error %v", a, err)
	}
}

// Equal streams ask equal questions, and different streams different questions.
func TestAskSeed(t *testing.T) {
	codes, _, rows := plane(8, 3)
	ask := func(seed uint64) []Answer {
		a := &Answers{Rows: rows}
		must.OK(t, Ask(a, Query{Count: 50, Factors: []string{"x"}, Codes: codes, Width: 3, Explore: 0.5, Stream: rng.New(seed, "ask")}))
		return a.Open
	}
	if first := ask(1); !slices.Equal(first, ask(1)) || slices.Equal(first, ask(2)) {
		t.Error("questions do not follow the stream")
	}
}

// TestLikely checks the slopes of the posterior, and that answers reveal the column of a factor.
func TestLikely(t *testing.T) {
	codes, level, rows := plane(6, 4)
	a := &Answers{Rows: rows}
	must.OK(t, Random(a, Query{Count: 400, Factors: []string{"x"}, Stream: rng.New(5, "ask")}))
	must.OK(t, a.Fill(level))
	z, width := standardise(codes, rows, 3)
	l := newSameModel(z, width, a.List, rng.New(6, "likely"))
	if w := l.weights; !(w[0] > 5*w[1] && w[0] > 5*w[2]) {
		t.Errorf("weights %v", w)
	}
	right := 0
	for _, x := range a.List {
		if (l.probability(int(x.A), int(x.B)) > 0.5) == x.Same {
			right++
		}
	}
	if right < 380 {
		t.Errorf("%d of 400 answers are foreseen", right)
	}
	without := newSameModel(nil, 0, []Answer{{Same: true}, {}, {Same: true}}, nil) // Laplace's rule of succession
	if p := without.probability(0, 1); !(math.Abs(p-3./5) <= 1e-12) {
		t.Errorf("P(same) without codes is %v, want 3/5", p)
	}
	features, x := []float64{0.5, 2, 1, 0.1, 3, 0.4}, []float64{0.7, 1.3, 0.4}
	list := []Answer{{Same: true}, {}, {Same: true}}
	_, slope := posterior(list, features, x)
	const h = 1e-6
	for c := range x {
		up, down := slices.Clone(x), slices.Clone(x)
		up[c], down[c] = x[c]+h, x[c]-h
		a, _ := posterior(list, features, up)
		b, _ := posterior(list, features, down)
		if got := (a - b) / (2 * h); !(math.Abs(got-slope[c]) <= 1e-7) {
			t.Errorf("slope %d is %v, want %v", c, slope[c], got)
		}
	}
}

// The fit to many answers is the maximum of the posterior: slopes are 0, or not negative where a weight is 0.
func TestLikelyFit(t *testing.T) {
	const rows, columns = 300, 10
	s := rng.New(7, "fit")
	l := &sameModel{z: make([]float64, rows*columns), columns: columns, bias: priorBias, weights: make([]float64, columns)}
	for i := range l.z {
		l.z[i] = s.NormFloat64()
	}
	list, features := make([]Answer, 3000), []float64(nil)
	for n := range list {
		i, j := s.IntN(rows), s.IntN(rows)
		for c := range columns {
			d := l.z[i*columns+c] - l.z[j*columns+c]
			features = append(features, d*d)
		}
		list[n] = Answer{A: int32(i), B: int32(j), Same: features[n*columns] < 0.3 && s.Float64() < 0.9}
	}
	l.fit(list, 1)
	x := append(l.weights, l.bias)
	_, slope := posterior(list, features, x)
	for c, v := range slope {
		if !(math.Abs(v) <= 1e-2 || c < columns && x[c] == 0 && v > 0) {
			t.Errorf("slope %d is %v at %v", c, v, x[c])
		}
	}
}

// Random questions are about all pairs of different rows, in both orders and of all factors in turn.
func TestRandomPairs(t *testing.T) {
	for _, rows := range []int{2, 3} {
		a := &Answers{Rows: rows}
		must.OK(t, Random(a, Query{Count: 200, Factors: []string{"x", "y"}, Stream: rng.New(5, "random")}))
		seen := map[[3]int32]bool{}
		for n, q := range a.Open {
			seen[[3]int32{q.A, q.B, int32(q.Factor)}] = true
			if q.A == q.B || a.Factors[q.Factor] != [2]string{"x", "y"}[n%2] {
				t.Errorf("question %d: %+v", n, q)
			}
		}
		must.Equal(t, len(seen), 2*rows*(rows-1), rows, "rows: different questions")
		for name, ask := range map[string]func(*Answers, Query) error{"ask": Ask, "random": Random} {
			must.Error(t, ask(&Answers{Rows: 1}, Query{Count: 1, Factors: []string{"x"}, Stream: rng.New(5, "one")}),
				"there is one row", name, "about one row")
		}
	}
}

func TestAskErrors(t *testing.T) {
	s := rng.New(0, "ask")
	for want, q := range map[string]Query{
		"0 questions are out of range":                       {Factors: []string{"x"}, Stream: s},
		"there is no factor to ask about":                    {Count: 1, Stream: s},
		"codes hold 3 numbers; want 4 rows of 2":             {Count: 1, Factors: []string{"x"}, Codes: []float64{1, 2, 3}, Width: 2, Stream: s},
		"codes: row 2, column 0 is NaN; want finite numbers": {Count: 1, Factors: []string{"x"}, Codes: []float64{1, 2, math.NaN(), 1}, Width: 1, Stream: s},
		"explore 2 is out of range":                          {Count: 1, Factors: []string{"x"}, Explore: 2, Stream: s},
		"there is no stream":                                 {Count: 1, Factors: []string{"x"}},
		`factor 1, "x", is empty or repeated`:                {Count: 1, Factors: []string{"x", "x"}, Stream: s},
	} {
		for name, ask := range map[string]func(*Answers, Query) error{"ask": Ask, "random": Random} {
			must.Error(t, ask(&Answers{Rows: 4}, q), want, name)
		}
	}
	// constant, enormous and equal codes are valid
	for _, codes := range [][]float64{{1, 1, 1, 1}, {1e200, -1e200, 0, 3}, {0, 0, 1, 1}} {
		a := &Answers{Rows: 4}
		if err := Ask(a, Query{Count: 3, Factors: []string{"x"}, Codes: codes, Width: 1, Stream: s}); err != nil || len(a.Open) != 3 {
			t.Errorf("%v: %+v, error %v", codes, a.Open, err)
		}
	}
	tiny, columns := standardise([]float64{1e-20, 7, 3e-20, 7}, 2, 2)
	if columns != 1 || !(math.Abs(tiny[0]+1) <= 1e-12) || !(math.Abs(tiny[1]-1) <= 1e-12) {
		t.Errorf("standardised codes %v; want -1 and 1", tiny)
	}
	bad := &Answers{Rows: 4}
	if err := bad.Fill(func(string, int) (int, error) { return 0, fmt.Errorf("none") }); err != nil {
		t.Error(err)
	}
}
