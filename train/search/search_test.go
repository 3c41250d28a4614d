package search_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/train/search"
)

// branin is the function of Dixon and Szegő (1978). Its minimum is 0.397887.
func branin(p Point) float64 {
	x, y := p[0], p[1]
	a := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
	return a*a + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
}

var braninSpace = Space{{Key: "x", Kind: Linear, Low: -5, High: 10}, {Key: "y", Kind: Linear, Low: 0, High: 15}}

// hartmann6 is the function of Hartmann (1973) in six dimensions. Its minimum is -3.32237.
func hartmann6(p Point) float64 {
	a := [4][6]float64{{10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}}
	at := [4][6]float64{{1312, 1696, 5569, 124, 8283, 5886}, {2329, 4135, 8307, 3736, 1004, 9991},
		{2348, 1451, 3522, 2883, 3047, 6650}, {4047, 8828, 8732, 5743, 1091, 381}}
	sum := 0.0
	for i, c := range []float64{1, 1.2, 3, 3.2} {
		square := 0.0
		for j, x := range p {
			square += a[i][j] * (x - at[i][j]/1e4) * (x - at[i][j]/1e4)
		}
		sum -= c * math.Exp(-square)
	}
	return sum
}

func hartmannSpace() (s Space) {
	for _, key := range strings.Split("abcdef", "") {
		s = append(s, Range{Key: key, Kind: Linear, Low: 0, High: 1})
	}
	return s
}

// unit is the unit interval.
var unit = Space{{Key: "x", Kind: Linear, Low: 0, High: 1}}

// minimise returns the trials of a search for the minimum of a function.
func minimise(m Method, s Space, seed uint64, n int, f func(Point) float64) (trials []Trial) {
	m.Common().Space, m.Common().Seed = s, seed
	for len(trials) < n {
		step, ok := m.Next(trials, true)
		if !ok {
			break
		}
		trials = append(trials, Trial{Point: step.Point, Values: []float64{f(step.Point)}})
	}
	return trials
}

func best(trials []Trial) float64 {
	least := math.Inf(1)
	for _, t := range trials {
		least = min(least, t.Values[0])
	}
	return least
}

func TestFunctions(t *testing.T) {
	// Minima from the literature, such as Surjanovic and Bingham, Virtual Library of Simulation Experiments.
	if v := branin(Point{math.Pi, 2.275}); !(math.Abs(v-0.397887) <= 1e-6) {
		t.Errorf("Branin: %v", v)
	}
	if v := hartmann6(Point{0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573}); !(math.Abs(v+3.32237) <= 1e-5) {
		t.Errorf("Hartmann: %v", v)
	}
}

// TPE finds a lower value than random search for most seeds.
func TestTPE(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Space
		f    func(Point) float64
		n    int
	}{{"Branin", braninSpace, branin, 40}, {"Hartmann", hartmannSpace(), hartmann6, 50}} {
		wins := 0
		for seed := range uint64(50) {
			if best(minimise(NewTPE(), c.s, seed, c.n, c.f)) < best(minimise(&Random{}, c.s, seed+1000, c.n, c.f)) {
				wins++
			}
		}
		if t.Logf("%s: TPE is better in %d of 50 seeds", c.name, wins); wins < 30 {
			t.Errorf("%s: TPE is better in %d of 50 seeds; want 30", c.name, wins)
		}
	}
}

var mixed = Space{{Key: "lr", Kind: Log, Low: 1e-5, High: 1}, {Key: "width", Kind: LogInteger, Low: 1, High: 64},
	{Key: "depth", Kind: Integer, Low: 1, High: 3}, {Key: "kind", Kind: Choice, Values: []string{"a", "b", "c"}}}

// onMixed has its minimum 0 at lr = 0.01, width = 8, depth = 2, kind = b.
func onMixed(p Point) float64 {
	v := math.Abs(math.Log10(p[0])+2) + math.Abs(math.Log2(p[1])-3) + math.Abs(p[2]-2)
	if p[3] != 1 {
		v++
	}
	return v
}

// TPE concentrates on good trials for every kind of range.
func TestKinds(t *testing.T) {
	wins, good := 0, 0
	for seed := range uint64(20) {
		trials := minimise(NewTPE(), mixed, seed, 50, onMixed)
		if best(trials) < best(minimise(&Random{}, mixed, seed+1000, 50, onMixed)) {
			wins++
		}
		for _, one := range trials[25:] {
			if one.Point[3] == 1 {
				good++
			}
		}
		checkInside(t, trials)
	}
	if t.Logf("TPE is better in %d of 20 seeds, with kind b in %d of 500 trials", wins, good); wins < 15 || good < 250 { // 167 at random
		t.Errorf("TPE is better in %d of 20 seeds, with kind b in %d of 500 trials", wins, good)
	}
}

func checkInside(t *testing.T, trials []Trial) {
	t.Helper()
	for i, one := range trials {
		for j, r := range mixed {
			if v, ok := r.Parse(r.Text(one.Point[j])); !ok || v != one.Point[j] {
				t.Errorf("trial %d: %v is no value of %v", i, one.Point[j], r)
			}
		}
		if i > 0 && slices.ContainsFunc(trials[:i], func(o Trial) bool { return slices.Equal(o.Point, one.Point) }) {
			t.Errorf("trial %d repeats another one", i)
		}
	}
}

// A range is uniform on its scale. Each integer has the probability of the numbers that round to it.
func TestDraw(t *testing.T) {
	const n = 4000
	counts := map[string]int{}
	var logs float64
	for k := range n {
		p := mixed.Draw(3, k, nil)
		logs += math.Log10(p[0])
		counts[mixed[2].Text(p[2])]++
		counts[mixed[3].Text(p[3])]++
		if p[1] == 1 {
			counts["width 1"]++
		}
	}
	if mean := logs / n; !(math.Abs(mean+2.5) <= 0.1) {
		t.Errorf("the mean logarithm is %v, want -2.5", mean)
	}
	for _, what := range []string{"1", "2", "3", "a", "b", "c"} {
		if got := counts[what]; !(math.Abs(float64(got)-n/3.) <= 150) {
			t.Errorf("%s in %d of %d draws", what, got, n)
		}
	}
	if want := n * math.Log(3) / math.Log(129); !(math.Abs(float64(counts["width 1"])-want) <= 150) {
		t.Errorf("width 1 in %d of %d draws, want %.0f", counts["width 1"], n, want)
	}
}

// A trial's random point depends only on the seed and its index. A small space is exhausted.
func TestDraws(t *testing.T) {
	all := minimise(&Random{}, mixed, 5, 30, onMixed)
	checkInside(t, all)
	for k := range all {
		must.EqualSlices(t, mixed.Draw(5, k, all[:k]), all[k].Point, "trial", k, all[k].Point, "alone")
	}
	if p := mixed.Draw(6, 0, nil); slices.Equal(p, all[0].Point) {
		t.Error("another seed draws the same")
	}
	small := Space{{Key: "n", Kind: Integer, Low: 1, High: 3}, {Key: "k", Kind: Choice, Values: []string{"x", "y"}}}
	for _, m := range []Method{&Random{}, &TPE{Startup: 2, Candidates: 24}} {
		if got := minimise(m, small, 1, 100, func(p Point) float64 { return p[0] }); len(got) != 6 {
			t.Errorf("%T: %d trials of a space of 6 points", m, len(got))
		}
	}
}

// Trials that failed, have NaN, or still run never count as good.
func TestWorst(t *testing.T) {
	tpe := NewTPE()
	tpe.Space, tpe.Seed = unit, 1
	for name, bad := range map[string]func(*Trial){
		"failed":  func(t *Trial) { t.Values, t.Failed = nil, true },
		"NaN":     func(t *Trial) { t.Values[0] = math.NaN() },
		"running": func(t *Trial) { t.Values, t.Running = nil, true },
	} {
		var trials []Trial
		for k := range 40 { // values above 1/2 are bad
			one := Trial{Point: unit.Draw(1, k, nil)}
			one.Values = []float64{-one.Point[0]}
			if one.Point[0] > 0.5 {
				bad(&one)
			}
			trials = append(trials, one)
		}
		low := 0
		for range 20 {
			step, _ := tpe.Next(trials, true)
			if step.Point[0] < 0.55 {
				low++
			}
			trials = append(trials, Trial{Point: step.Point, Running: true})
		}
		if low < 12 {
			t.Errorf("%s: %d of 20 proposals among the good trials", name, low)
		}
	}
	if _, ok := tpe.Next(nil, false); ok {
		t.Error("a new trial without budget")
	}
}

// curve is the loss of a point of the unit interval after some epochs. It falls towards a limit, and small limits show
// early.
func curve(p Point, epochs int) float64 {
	return math.Abs(p[0]-0.3) + 0.05*math.Abs(math.Sin(40*p[0]))/float64(epochs)
}

// runASHA makes 64 trials with several workers. Trials end in the order of their starts. It returns the trials and the
// epochs.
func runASHA(a *ASHA, workers int) (trials []Trial, epochs int) {
	a.Space, a.Seed = unit, 2
	rungs := a.Rungs()
	var begun []Step
	for {
		for len(begun) < workers {
			step, ok := a.Next(trials, len(trials) < 64)
			if !ok {
				break
			}
			if step.Trial == len(trials) {
				trials = append(trials, Trial{Point: step.Point})
			}
			trials[step.Trial].Running = true
			begun = append(begun, step)
		}
		if len(begun) == 0 {
			return trials, epochs
		}
		one := begun[0]
		begun = begun[1:]
		before := 0
		if one.Rung > 0 {
			before = rungs[one.Rung-1]
		}
		epochs += rungs[one.Rung] - before
		trials[one.Trial].Running = false
		trials[one.Trial].Values = append(trials[one.Trial].Values, curve(one.Point, rungs[one.Rung]))
	}
}

// ASHA finds the best of 64 trials in a fraction of the epochs, also with several workers.
func TestASHA(t *testing.T) {
	a := &ASHA{Min: 1, Max: 64, Eta: 4}
	if got := a.Rungs(); !slices.Equal(got, []int{1, 4, 16, 64}) {
		t.Fatalf("rungs %v", got)
	}
	for _, workers := range []int{1, 4} {
		trials, epochs := runASHA(a, workers)
		want, found, long := math.Inf(1), math.Inf(1), 0
		for _, one := range trials {
			want = min(want, curve(one.Point, 64))
			if len(one.Values) == 4 {
				long++
				found = min(found, one.Values[3])
			}
		}
		t.Logf("%d workers: %d epochs, %d trials to the end", workers, epochs, long)
		if len(trials) != 64 || found != want || epochs > 64*64/4 || long < 1 {
			t.Errorf("%d workers: %d trials, %d of them to the end, %d epochs, best %v, want %v", workers, len(trials), long, epochs, found, want)
		}
	}
}

func TestRungs(t *testing.T) {
	for _, c := range []struct {
		a    ASHA
		want []int
	}{{ASHA{Min: 1, Max: 9, Eta: 3}, []int{1, 3, 9}}, {ASHA{Min: 2, Max: 30, Eta: 4}, []int{2, 8, 30}}, {ASHA{Min: 5, Max: 6, Eta: 2}, []int{5, 6}},
		{ASHA{Min: 1, Max: math.MaxInt, Eta: math.MaxInt}, []int{1, math.MaxInt}}} {
		must.EqualSlices(t, c.a.Rungs(), c.want, c.a)
	}
}

// The last rung is above the first, and rungs grow.
func TestASHASettings(t *testing.T) {
	for a, want := range map[[3]int]string{
		{1, 2, 2}: "", {1, 0, 2}: "max: the epochs of the last rung are missing", {0, 2, 2}: "min: ", {1, 2, 1}: "eta: ",
		{3, 3, 2}: "max: 3 is not above min, 3; want more epochs in the last rung than in the first", {4, 3, 2}: "3 is not above min, 4",
	} {
		err := (&ASHA{Min: a[0], Max: a[1], Eta: a[2]}).Validate()
		if want == "" {
			must.OK(t, err)
		} else {
			must.Error(t, err, want, a)
		}
	}
}

// A failed trial, or one with NaN, counts in its rung and is never promoted, and neither is a running trial.
func TestPromotions(t *testing.T) {
	a := &ASHA{Settings: Settings{Space: unit}, Min: 1, Max: 2, Eta: 2}
	trial := func(x float64, values ...float64) Trial { return Trial{Point: Point{x}, Values: values} }
	running := trial(0.5, 1)
	running.Running = true
	for _, c := range []struct {
		name   string
		trials []Trial
		want   int // -1: none
	}{
		{"one result", []Trial{trial(0, 1)}, -1},
		{"two results", []Trial{trial(0, 2), trial(1, 1)}, 1},
		{"NaN", []Trial{trial(0, math.NaN()), trial(1, 1)}, 1},
		{"only NaN", []Trial{trial(0, math.NaN()), trial(1, math.NaN())}, -1},
		{"a failure", []Trial{{Point: Point{0}, Failed: true}, trial(1, 1)}, 1},
		{"a start", []Trial{{Point: Point{0}, Running: true}, trial(1, 1)}, -1},
		{"the best runs", []Trial{running, trial(1, 2)}, -1},
		{"the best went on", []Trial{trial(0, 1, 1), trial(1, 2)}, -1},
	} {
		step, ok := a.Next(c.trials, false)
		if ok != (c.want >= 0) || ok && (step.Trial != c.want || step.Rung != 1) {
			t.Errorf("%s: %+v, %v", c.name, step, ok)
		}
	}
}

func TestSpace(t *testing.T) {
	const text = "a.b: {log: [1e-4, 0.1]}\nc: {choice: [[1, 2], {x: y}, z]}\nd: {integer: [-3, 4]}\n"
	n := must.Get(config.Parse("s.yaml", []byte(text)))(t)
	var s Space
	must.OK(t, n.Decode(&s))
	if len(s) != 3 || s[0].String() != "a.b: {log: [0.0001, 0.1]}" || s[1].String() != "c: {choice: [[1, 2], {x: y}, z]}" || s[2].Low != -3 {
		t.Errorf("%v", s)
	}
	again, err := config.Encode(struct {
		Space Space `yaml:"space"`
	}{s})
	if err != nil || !strings.Contains(string(again), "integer") {
		t.Errorf("%s, %v", again, err)
	}
	for _, c := range []struct{ text, want string }{
		{"a: {linear: []}", "s.yaml:1:13: a.linear: the range of a is empty; want [low, high]"},
		{"a: {linear: [2, 1]}", "s.yaml:1:13: a.linear: the range begins at 2 and ends at 1; want low below high"},
		{"a: {integer: [1, 1]}", "want low below high"},
		{"a: {log: [0, 1]}", "s.yaml:1:11: a.log.0: 0 has no logarithm; want a number above 0"},
		{"a: {log-integer: [-1, 3]}", "has no logarithm"},
		{"a: {integer: [1, 2.5]}", "s.yaml:1:18: a.integer.1: 2.5 is no integer"},
		{"a: {choice: [x]}", "s.yaml:1:13: a.choice: the choice has the one value x; want two or more"},
		{"a: {choice: [x, y, x]}", "s.yaml:1:20: a.choice.2: x is in the list twice"},
		{"a: {linear: [1]}", "1 numbers; want [low, high]"},
		{"a: {linear: [.nan, 1]}", "a.linear.0: "},
		{"a: {linear: 3}", "want a list for a"},
		{"a: {lin: [1, 2]}", `unknown kind of range "lin"; did you mean "linear"?`},
		{"a: [1, 2]", "s.yaml:1:4: a: want a range"},
		{"[1]", "want a mapping from key paths to ranges"},
	} {
		n, err := config.Parse("s.yaml", []byte(c.text))
		if err == nil {
			err = n.Decode(&s)
		}
		must.Error(t, err, c.want, c.text)
	}
}
