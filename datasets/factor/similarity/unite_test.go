package similarity

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// read reads answers from lines.
func read(t *testing.T, rows int, lines ...string) *Answers {
	t.Helper()
	return must.Get(Read(strings.NewReader(strings.Join(lines, "\n")), "pairs.csv", Rows{Count: rows}))(t)
}

func TestUnite(t *testing.T) {
	a := read(t, 8, "3,1,x,same", "1,5,x,same", "6,7,x,same", "5,6,x,different", "0,0,x,same", "2,4,y,different", "7,7,y,same")
	c := must.Get(Unite(a, Options{}))(t)
	want := [][]int32{{0, 1, -1, 1, -1, 1, 2, 2}, {-1, -1, -1, -1, -1, -1, -1, 0}}
	if !slices.EqualFunc(c.Of, want, slices.Equal) || !slices.Equal(c.Count, []int{3, 1}) {
		t.Errorf("classes %v, %v; want %v", c.Of, c.Count, want)
	}
	if len(c.Kept) != len(a.List) || c.Dropped+c.Overruled+c.Unsure > 0 {
		t.Errorf("%+v", c)
	}
}

func TestConflicts(t *testing.T) {
	lines := []string{"0,1,x,same", "2,1,x,same", "4,5,x,same", "2,3,x,same", "0,3,x,different", "0,4,x,different", "4,5,y,different"}
	a := read(t, 6, lines...)
	_, err := Unite(a, Options{})
	want := "pairs.csv: answers contradict each other: x: rows 0 and 3 are different (line 5), but the same: 0 = 1 (line 1), 1 = 2 (line 2), 2 = 3 (line 4); " +
		"want them corrected, or conflicts: drop or majority"
	var conflict *ConflictError
	if !errors.As(err, &conflict) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	c, err := Unite(a, Options{Conflicts: ConflictsDrop})
	if err != nil || !slices.Equal(c.Of[0], []int32{-1, -1, -1, -1, 0, 0}) || c.Dropped != 4 || len(c.Kept) != 3 {
		t.Errorf("drop: %+v, error %v", c, err)
	}
	// the shortest chain for a repeated answer, and a row that differs from itself
	_, err = Unite(read(t, 6, append(lines[:4:4], "0,3,x,same", "3,0,x,different", "1,1,x,different", "0,2,x,different",
		"1,3,x,different")...), Options{})
	for _, part := range []string{"rows 3 and 0 are different (line 6), but the same: 3 = 0 (line 5); ",
		"rows 1 and 1 are different (line 7), and one row; ", "; and 1 more; want"} {
		must.Error(t, err, part)
	}
	for o, want := range map[Options]string{
		{Noise: 0.5}: "noise 0.5 is out of range", {Noise: -1}: "out of range", {Noise: math.NaN()}: "out of range",
		{Conflicts: "x"}:                       `unknown rule of conflicts "x"; known: error, drop, majority`,
		{Conflicts: ConflictsDrop, Noise: 0.1}: "want majority with noise",
	} {
		must.ErrorOf(Unite(a, o))(t, want, o)
	}
}

// Classes join even if no single row would change its class.
func TestMajorityJoinsClasses(t *testing.T) {
	a := read(t, 4, "0,1,x,same", "0,1,x,same", "0,1,x,same", "0,1,x,different", "2,3,x,same", "2,3,x,same", "2,3,x,same", "1,2,x,same")
	c := must.Get(Unite(a, Options{Conflicts: ConflictsMajority}))(t)
	if !slices.Equal(c.Of[0], []int32{0, 0, 0, 0}) || c.Overruled != 1 {
		t.Errorf("%+v; want one class", c)
	}
}

// agreement counts the answers that agree with classes.
func agreement(list []Answer, of []int32) int {
	n := 0
	for _, x := range list {
		if same := x.A == x.B || of[x.A] >= 0 && of[x.A] == of[x.B]; same == x.Same {
			n++
		}
	}
	return n
}

// best tries all partitions of the rows from i on.
func best(list []Answer, of []int32, i int, used int32) int {
	if i == len(of) {
		return agreement(list, of)
	}
	most := 0
	for l := range used + 1 {
		of[i] = l
		most = max(most, best(list, of, i+1, max(used, l+1)))
	}
	return most
}

// On small random questions, the classes satisfy as many answers as the best partition in nearly all cases, and always
// at least nine tenths as many. No move of a single row improves them.
func TestMajorityAgreesMost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	optimal, cases := 0, 300
	for range cases {
		a := &Answers{Rows: 7, Factors: []string{"x"}}
		for range 12 + r.IntN(10) {
			i, j := r.IntN(7), r.IntN(7)
			if i != j {
				a.Add(i, j, "x", (i%3 == j%3) != (r.Float64() < 0.15))
			}
		}
		c := must.Get(Unite(a, Options{Conflicts: ConflictsMajority}))(t)
		got, want := agreement(a.List, c.Of[0]), best(a.List, make([]int32, 7), 0, 0)
		if got == want {
			optimal++
		}
		if 10*got < 9*want {
			t.Errorf("%v: %d of %d answers agree", c.Of[0], got, want)
		}
		if len(c.Kept)+c.Overruled != len(a.List) || len(c.Kept) != got {
			t.Errorf("%d answers are kept and %d overruled of %d", len(c.Kept), c.Overruled, len(a.List))
		}
	}
	if optimal < cases*95/100 {
		t.Errorf("%d of %d are optimal", optimal, cases)
	}
}

// With realistic noise, the classes equal the true classes. Rows with too few answers are in no class.
func TestNoise(t *testing.T) {
	const rows, levels = 60, 4
	for _, noise := range []float64{0.05, 0.1, 0.2} {
		t.Run(fmt.Sprint(noise), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			a := &Answers{Rows: rows, Factors: []string{"x"}}
			for i := range rows - 1 {
				for range 25 {
					if j := r.IntN(rows - 1); j != i {
						a.Add(i, j, "x", (i%levels == j%levels) != (r.Float64() < noise))
					}
				}
			}
			a.Add(rows-1, 0, "x", true) // one answer is not enough, because a quarter of the pairs are the same
			c := must.Get(Unite(a, Options{Noise: noise}))(t)
			must.Equal(t, c.Least[0], 1+int(math.Floor(math.Log(3)/math.Log((1-noise)/noise))), "rows need an excess")
			wrong, unsure := 0, 0
			for i := range rows - 1 {
				if c.Of[0][i] < 0 {
					unsure++
				}
				for j := range i {
					if c.Of[0][i] >= 0 && c.Of[0][j] >= 0 && (c.Of[0][i] == c.Of[0][j]) != (i%levels == j%levels) {
						wrong++
					}
				}
			}
			if wrong > 0 || unsure > 2 || noise < 0.2 && unsure > 0 {
				t.Errorf("%d pairs are wrong, %d rows in no class: %v", wrong, unsure, c.Of[0])
			}
			if single := c.Of[0][rows-1]; (single >= 0) != (c.Least[0] == 1) {
				t.Errorf("the row with one answer is in class %d", single)
			}
		})
	}
}

// Without a same answer, the estimated rate of same pairs is 1 of n + 2. It decides the required excess.
func TestRequiredExcess(t *testing.T) {
	for n, want := range map[int]int{4: 1, 5: 2, 31: 2, 32: 3} {
		must.Equal(t, requiredExcess(make([]Answer, n), 0.15), want, n, "different answers")
	}
}

// A class keeps only rows with enough answers. Rows that depend on a removed row go with it.
func TestTooFewAnswers(t *testing.T) {
	a := &Answers{Rows: 8, Factors: []string{"x"}}
	for _, p := range [][3]int{{0, 1, 2}, {1, 2, 2}, {2, 0, 2}, {2, 3, 1}, {3, 6, 1}, {4, 5, 1}} {
		for range p[2] {
			a.Add(p[0], p[1], "x", true)
		}
	}
	for n := range 13 {
		a.Add(n%3, 4+n%2, "x", false)
	}
	c, err := Unite(a, Options{Noise: 0.3})
	if err != nil || c.Least[0] != 2 || c.Unsure != 4 || c.Overruled != 3 || len(c.Kept) != 19 || c.Count[0] != 1 ||
		!slices.Equal(c.Of[0], []int32{0, 0, 0, -1, -1, -1, -1, -1}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// Rules of conflicts are their names, and noise needs majority.
func TestPolicy(t *testing.T) {
	for o, want := range map[Options]Conflicts{{}: ConflictsError, {Noise: 0.1}: ConflictsMajority,
		{Conflicts: "majority", Noise: 0.1}: ConflictsMajority, {Conflicts: "drop"}: ConflictsDrop} {
		if got, err := o.policy(); err != nil || got != want {
			t.Errorf("%+v: %s, %v", o, got, err)
		}
	}
	for _, noise := range []float64{-0.1, 0.5, math.NaN()} {
		must.Error(t, (Options{Noise: noise}).Validate(), "want 0 or more, and less than 0.5", "noise", noise)
	}
}

func TestEmptyAnswers(t *testing.T) {
	for _, o := range []Options{{}, {Conflicts: ConflictsDrop}, {Noise: 0.3}} {
		c, err := Unite(&Answers{Rows: 3, Factors: []string{"x"}}, o)
		if err != nil || !slices.Equal(c.Of[0], []int32{-1, -1, -1}) || c.Count[0] != 0 {
			t.Errorf("%+v: %+v, error %v", o, c, err)
		}
	}
	for _, x := range []Answer{{A: -1}, {B: -1}, {A: 3}, {B: 3}, {Factor: -1}, {Factor: 1}} {
		must.ErrorOf(Unite(&Answers{Rows: 3, Factors: []string{"x"}, List: []Answer{x}}, Options{}))(t, "want rows 0 to 2 and factors 0 to 0", x)
	}
}
