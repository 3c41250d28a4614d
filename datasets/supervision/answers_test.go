package supervision_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// answerFile writes lines of answers to a file.
func answerFile(t *testing.T, lines ...string) string {
	t.Helper()
	return must.Write(t, filepath.Join(t.TempDir(), "pairs.csv"), strings.Join(lines, "\n"))
}

func TestAnswers(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 3), ordinal("y", 4)) // 12 images; x changes every four images
	path := answerFile(t, "0,1,x,same", "1,2,x,same", "4,5,x,same", "0,4,x,different", "0,4,mood,same", "3,8,mood,different", "9,9,x,same")
	known := datatest.Split(t, &Answers{File: path, Share: 0.5, Union: true}, d).Known
	if f := known.Factors; len(f) != 2 || f[0].Name != "x" || f[0].Size != 3 || f[1].Name != "mood" || f[1].Size != 2 {
		t.Errorf("factors %v", f)
	}
	want := [][]int32{{0, 0, 0, -1, 1, 1, -1, -1, -1, 2, -1, -1}, {0, -1, -1, -1, 0, -1, -1, -1, -1, -1, -1, -1}}
	if !slices.EqualFunc(known.Classes, want, slices.Equal) || !slices.Equal(known.Images, []int{0, 1, 2, 3, 4, 5, 8}) ||
		len(known.Pairs) != 6 || known.KnowsLevels() {
		t.Errorf("%+v", known)
	}
	must.Equal(t, known.Pairs[5], (SimilarPair{A: 3, B: 8, Factor: 1, Different: true}), "pair")
	alone := datatest.Split(t, &Answers{File: path, Share: 0.5, Factors: []string{"mood"}}, d).Known
	if alone.Classes != nil || len(alone.Pairs) != 2 || alone.Factors[0].Name != "mood" || alone.Factors[0].Size != 2 {
		t.Errorf("without union: %+v", alone)
	}
}

// An image that is held out joins no others.
func TestAnswersWithout(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 3), ordinal("y", 4))
	path := answerFile(t, "0,1,x,same", "1,2,x,same", "2,3,x,same", "4,5,x,same", "5,6,x,same", "4,6,x,same", "0,4,x,different")
	known := datatest.Split(t, &Answers{File: path, Share: 0.5, Union: true}, d).Known
	held := make([]bool, d.Len())
	held[1], held[5] = true, true
	if !known.Without(held) {
		t.Error("no pair is left")
	}
	if want := []int32{-1, -1, 0, 0, 1, -1, 1, -1, -1, -1, -1, -1}; !slices.Equal(known.Classes[0], want) {
		t.Errorf("classes %v without images 1 and 5, want %v", known.Classes[0], want)
	}
}

// The images of a class share a number in every batch, even without a pair. The images of a different pair refer to
// each other.
func TestAnswerBatches(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 3), ordinal("y", 16))
	var lines []string
	for i := range 15 {
		lines = append(lines, fmt.Sprintf("%d,%d,x,same", i, i+1))
	}
	lines = append(lines, "16,17,x,same", "0,16,x,different", "3,17,x,different", "20,40,y,different")
	s := datatest.Split(t, &Answers{File: answerFile(t, lines...), Share: 0.5, Union: true}, d)
	sampler := must.Get(NewSampler(s, 8, rng.New(3, "batches")))(t)
	apart := 0
	for range 20 {
		must.OK(t, sampler.StartEpoch())
		for b, ok := sampler.Next(); ok; b, ok = sampler.Next() {
			for row, i := range b.Indices {
				want := int32(-1)
				switch {
				case i < 16:
					want = 3
				case i < 18:
					want = 4
				}
				if b.Levels[2*row] != want || b.Levels[2*row+1] != -1 {
					t.Fatalf("image %d has the numbers %v", i, b.Levels[2*row:2*row+2])
				}
				for k := range 2 {
					other := b.Different[2*row+k]
					if other < 0 {
						continue
					}
					apart++
					a, c := min(i, b.Indices[other]), max(i, b.Indices[other])
					if b.Different[2*int(other)+k] != int32(row) || !slices.Contains([][3]int{{0, 16, 0}, {3, 17, 0}, {20, 40, 1}}, [3]int{a, c, k}) {
						t.Fatalf("images %d and %d differ in factor %d", a, c, k)
					}
				}
			}
		}
	}
	if apart == 0 {
		t.Error("no images of a batch differ")
	}
}

// An answer that is repeated, also with exchanged images, is one pair.
func TestRepeatedAnswers(t *testing.T) {
	path := answerFile(t, "0,1,x,different", "1,0,x,different", "0,1,x,different", "0,1,x,same", "2,3,x,same")
	known := datatest.Split(t, &Answers{File: path, Share: 0.5}, datatest.ToyOf(ordinal("x", 6))).Known
	must.Equal(t, len(known.Pairs), 3, "pairs")
}

// Levels of labelled images also label their class. If a class has two known levels, both remain.
func TestAnswersWithLabels(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 6))
	labels := labelFile(t, []int{6}, 2, -1, -1, 1, -1, -1)
	path := answerFile(t, "0,1,label0,same", "1,2,label0,same", "3,2,label0,same", "4,5,label0,same")
	s, err := append(Of("labels", &FactorLabels{Fraction: 1, Share: 0.2, File: labels}),
		Of("answers", &Answers{File: path, Share: 0.5, Union: true})...).Split(d, 1)
	if err == nil || !strings.Contains(err.Error(), `factor "label0" is`) {
		t.Fatalf("a factor of other levels: %+v, error %v", s, err)
	}
	path = answerFile(t, "0,1,x,same", "1,2,x,same", "4,5,x,same")
	s, err = append(Of("labels", &FactorLabels{Fraction: 0.4, Share: 0.2}),
		Of("answers", &Answers{File: path, Share: 0.5, Union: true})...).Split(d, 7)
	must.OK(t, err)
	sampler := must.Get(NewSampler(s, 6, rng.New(3, "batches")))(t)
	level := map[int]int32{}
	own := make([]int32, 1)
	for _, i := range []int{0, 1, 2, 3, 4, 5} {
		if s.Known.At(i, own) {
			level[i] = own[0]
		}
	}
	must.OK(t, sampler.StartEpoch())
	for b, ok := sampler.Next(); ok; b, ok = sampler.Next() {
		for row, i := range b.Indices {
			if l, known := level[i]; known && b.Levels[row] != l {
				t.Errorf("image %d of level %d has the number %d", i, l, b.Levels[row])
			}
			if i < 3 && b.Levels[row] < 0 || i == 3 && b.Levels[row] >= 6 {
				t.Errorf("image %d has the number %d", i, b.Levels[row])
			}
		}
	}
}

func TestAnswerErrors(t *testing.T) {
	d := datatest.ToyOf(ordinal("x", 6))
	good := answerFile(t, "0,1,x,same", "1,2,x,same", "0,2,x,different", "3,4,x,same")
	for _, test := range []struct {
		s    *Answers
		want string
	}{
		{&Answers{Share: 0.5}, "file: it is empty"},
		{&Answers{File: "nothing.csv", Share: 0.5}, "nothing.csv"},
		{&Answers{File: good}, "share: 0 is out of range for the pairs of a batch; want more than 0"},
		{&Answers{File: good, Share: 0.5, Noise: 0.1}, "union: separate pairs have no conflicts"},
		{&Answers{File: good, Share: 0.5, Union: true, Noise: 0.5}, "noise: noise 0.5 is out of range"},
		{&Answers{File: good, Share: 0.5, Union: true, Factors: []string{"y"}}, `factors: there is no answer about factor "y"`},
		{&Answers{File: good, Share: 0.5, Union: true}, "pairs.csv: answers contradict each other: x: rows 0 and 2 are different (line 3), but the same: 0 = 1 (line 1), 1 = 2 (line 2)"},
		{&Answers{File: answerFile(t, "0,6,x,same"), Share: 0.5, Union: true}, "pairs.csv:1:3: there is no row 6; want 0 to 5"},
		{&Answers{File: answerFile(t, "0,1,x,"), Share: 0.5, Union: true}, "no answer about two images is left"},
	} {
		must.ErrorOf(test.s.Split(d, rng.New(0, "")))(t, test.want, test.s)
	}
	s := datatest.Split(t, &Answers{File: good, Share: 0.5, Union: true, Conflicts: similarity.ConflictsDrop}, d)
	if len(s.Known.Pairs) != 1 || len(s.Known.Notes) != 1 || !strings.Contains(s.Known.Notes[0], "3 of 4 answers are left out") {
		t.Errorf("%+v", s.Known)
	}
	s = datatest.Split(t, &Answers{File: good, Share: 0.5, Union: true, Conflicts: similarity.ConflictsMajority}, d)
	if len(s.Known.Pairs) != 3 || len(s.Known.Notes) != 1 || !strings.Contains(s.Known.Notes[0], "1 of 4 answers are overruled") {
		t.Errorf("%+v", s.Known)
	}
	must.ErrorOf(configtest.Decode("supervision: {answers: {file: a.csv, conflicts: vote}}"))(t, `unknown rule of conflicts "vote"`)
}

// A fraction of the pairs differ, and a fraction of both kinds is wrong.
func TestSimilarityDifferent(t *testing.T) {
	d := trio()
	counts := map[[2]bool]int{}
	a, b := make([]int, 3), make([]int, 3)
	s := &Similarity{Count: 20000, Share: 0.5, Factors: []string{"x"}, Different: 0.4, Noise: 0.1}
	for _, p := range datatest.Split(t, s, d).Known.Pairs {
		d.FactorsAt(p.A, a)
		d.FactorsAt(p.B, b)
		counts[[2]bool{p.Different, a[2] != b[2]}]++
	}
	for key, want := range map[[2]bool]int{{false, false}: 10800, {false, true}: 1200, {true, true}: 7200, {true, false}: 800} {
		if n := counts[key]; n < want-350 || n > want+350 { // five standard deviations
			t.Errorf("said to differ, differ: %v of %d pairs; want about %d", key, n, want)
		}
	}
	for _, p := range datatest.Split(t, &Similarity{Count: 50, Share: 0.5, Different: 1}, datatest.ToyOf(ordinal("x", 6))).Known.Pairs { // no two images are similar
		if !p.Different || p.A == p.B {
			t.Errorf("pair %+v", p)
		}
	}
}
