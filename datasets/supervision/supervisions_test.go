package supervision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// several is a supervision of several kinds.
type several []Kind

// Split implements Supervision.
func (s several) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	var list Choices
	for _, one := range s {
		list = append(list, Choice{Name: fmt.Sprintf("%T", one), Value: one})
	}
	return list.Split(d, 3)
}

// TestPairsAndLabels checks that images of groups have labels, and that each kind of supervision gives the same result
// as alone.
func TestPairsAndLabels(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	pairs, labels := &Pairs{Count: 5}, &FactorLabels{Fraction: 0.5, Share: 0.5}
	s := datatest.Split(t, several{pairs, labels}, d)
	alone := must.Get(Of("pairs", pairs).Split(d, 3))(t)
	must.Equal(t, fmt.Sprint(s.Groups, s.Transformations, s.M, s.Unlabelled),
		fmt.Sprint(alone.Groups, alone.Transformations, alone.M, alone.Unlabelled), "pairs beside labels are other pairs")
	if n := len(s.Known.Images); n != d.Len()/2 || !s.Known.KnowsLevels() || s.Known.Share != 0.5 {
		t.Errorf("%d labelled images, %+v", n, s.Known)
	}
	b := datatest.Sampler(t, s, 6)
	must.OK(t, b.StartEpoch())
	want, labelled := make([]int32, len(d.Factors())), 0
	for {
		batch, ok := b.Next()
		if !ok {
			break
		}
		for row, i := range batch.Indices {
			known := s.Known.At(i, want)
			if got := batch.Levels[row*len(want) : (row+1)*len(want)]; !slices.Equal(got, want) {
				t.Fatalf("image %d has levels %v, want %v", i, got, want)
			}
			if batch.Labelled && known {
				labelled++
			}
		}
	}
	if labelled == 0 {
		t.Error("no image of a pair has labels")
	}
}

// TestLabelsAndSimilarities checks that the images of a similar pair share the known level of one of them. Without a
// known level, they share a new number that is no level.
func TestLabelsAndSimilarities(t *testing.T) {
	d := trio()
	s := datatest.Split(t, several{&FactorLabels{Fraction: 0.4, Share: 0.3, Factors: []string{"x"}}, &Similarity{Count: 30, Share: 0.4}}, d)
	var names []string
	for _, f := range s.Known.Factors {
		names = append(names, f.Name)
	}
	if fmt.Sprint(names) != "[x object size]" || !s.Known.KnowsLevels() || len(s.Known.Pairs) != 30 {
		t.Fatalf("factors %v, %d pairs", names, len(s.Known.Pairs))
	}
	for _, p := range s.Known.Pairs {
		if a, b := levelOf(d, p.A, s.Known.Factors[p.Factor].Name), levelOf(d, p.B, s.Known.Factors[p.Factor].Name); a != b {
			t.Fatalf("the pair %v has the levels %d and %d", p, a, b)
		}
	}
	b := datatest.Sampler(t, s, 20)
	levels := make([]int, 3)
	spread, own, passed := 0, 0, map[int]bool{}
	for range 8 {
		must.OK(t, b.StartEpoch())
		for {
			batch, ok := b.Next()
			if !ok {
				break
			}
			numbers := map[int32]int{}
			for row, i := range batch.Indices {
				passed[i] = true
				d.FactorsAt(i, levels)
				truth := [3]int{levels[2], levels[0], levels[1]}
				_, labelled := slices.BinarySearch(s.Known.Images, i)
				for c, number := range batch.Levels[row*3 : row*3+3] {
					switch size := s.Known.Factors[c].Size; {
					case number < 0:
					case int(number) < size:
						if int(number) != truth[c] {
							t.Fatalf("image %d has level %d of factor %d, want %d", i, number, c, truth[c])
						}
						if known := make([]int32, 3); !s.Known.At(i, known) || known[c] < 0 {
							spread++
						}
					default:
						numbers[number-int32(size)]++
						own++
					}
					if number >= 0 && !labelled {
						t.Fatalf("image %d has the number %d, and nothing is known of it", i, number)
					}
				}
			}
			for number, count := range numbers {
				if count != 2 {
					t.Fatalf("%d images have the number %d", count, number)
				}
			}
		}
	}
	if spread == 0 || own == 0 || len(passed) != d.Len() {
		t.Errorf("%d levels by similarity, %d numbers, %d images", spread, own, len(passed))
	}
}

// levelOf returns the level of an image in a factor.
func levelOf(d datasets.Dataset, image int, name string) int {
	levels := make([]int, len(d.Factors()))
	d.FactorsAt(image, levels)
	return levels[slices.IndexFunc(d.Factors(), func(f factor.Factor) bool { return f.Name == name })]
}

// TestSourcesAreDealtApart checks that each kind of labels for the same images has its own order.
func TestSourcesAreDealtApart(t *testing.T) {
	d := trio()
	levels := slices.Repeat([]int8{-1}, d.Len())
	for i := range 12 {
		levels[i] = int8(i % 3)
	}
	file := func(name string) *FactorLabels {
		return &FactorLabels{Fraction: 1, Share: 0.3, File: labelFile(t, []int{d.Len(), 1}, levels...), Names: []string{name}}
	}
	b := datatest.Sampler(t, datatest.Split(t, several{file("p"), file("q")}, d), 10)
	must.OK(t, b.StartEpoch())
	var first, second []int
	for {
		batch, ok := b.Next()
		if !ok {
			break
		}
		if n := len(batch.Indices); n == 10 { // four in the epoch's order, and three of each kind
			first, second = append(first, batch.Indices[4:7]...), append(second, batch.Indices[7:]...)
		}
	}
	if len(first) < 12 || slices.Equal(first, second) {
		t.Errorf("images %v and %v", first, second)
	}
}

// TestJoinedImages checks the training images: images on paths, and images with labels.
func TestJoinedImages(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	paths := &Paths{Count: 1, Length: 4, Step: 1}
	s := datatest.Split(t, several{paths, &FactorLabels{Fraction: 0.25, Share: 0.5}}, d)
	for _, i := range s.Known.Images {
		if !slices.Contains(s.Groups[0], i) && !slices.Contains(s.Unlabelled, i) {
			t.Errorf("image %d has labels, and is not trained on", i)
		}
	}
	for _, i := range s.Unlabelled {
		if !slices.Contains(s.Known.Images, i) {
			t.Errorf("image %d is trained on, and is on no path and has no labels", i)
		}
	}
	held := make([]bool, d.Len())
	held[s.Known.Images[0]] = true
	if !s.Known.Without(held) || s.Known.At(slices.Index(held, true), make([]int32, 2)) {
		t.Error("a label that was to be forgotten is known, or others are not")
	}
	pair := datatest.Split(t, several{&Similarity{Count: 1, Share: 0.1}, &FactorLabels{Fraction: 1}}, d).Known
	for i := range held {
		held[i] = i == pair.Pairs[0].A
	}
	if pair.Without(held) || len(pair.Pairs) > 0 {
		t.Error("the only pair has lost an image, and there is one")
	}
	if s := datatest.Split(t, several{&Pairs{Count: 0}, &FactorLabels{Fraction: 1, Share: 0.5}}, d); s.M != 2 || len(s.Unlabelled) != d.Len() {
		t.Errorf("no pairs: groups of %d, %d unlabelled images", s.M, len(s.Unlabelled))
	}
}

// TestPairsAndPaths checks that groups of each size have their own pass and transformations.
func TestPairsAndPaths(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	s := datatest.Split(t, several{&Pairs{Count: 7}, &Paths{Count: 3, Length: 5, Step: 1}, &Pairs{Count: 4}}, d)
	if got, want := fmt.Sprint(s.Kinds(), s.M, len(s.Groups), s.K()), "[{2 0 11 false} {5 11 3 false}] 2 14 2"; got != want {
		t.Fatalf("groups %v, want %v", got, want)
	}
	b := datatest.Sampler(t, s, 6)
	must.Equal(t, b.Images(), 11*2+3*5+len(s.Unlabelled), "an epoch of", "images")
	for range 3 {
		must.OK(t, b.StartEpoch())
		var sizes []string
		dealt := map[string]int{}
		for {
			batch, ok := b.Next()
			if !ok {
				break
			}
			if !batch.Labelled {
				continue
			}
			sizes = append(sizes, fmt.Sprint(len(batch.Indices), "/", batch.Group))
			for at := 0; at < len(batch.Indices); at += batch.Group {
				dealt[fmt.Sprint(batch.Indices[at:at+batch.Group], batch.Transformations[2*at:2*(at+batch.Group)])]++
			}
		}
		must.Equal(t, fmt.Sprint(sizes), "[6/2 6/2 6/2 4/2 5/5 5/5 5/5]", "batches of")
		for g := range s.Groups {
			dealt[fmt.Sprint(s.Groups[g], s.Transformations[g])]--
		}
		for group, count := range dealt {
			must.Equal(t, count, 0, "group", group, "is dealt", "times too often")
		}
	}
}

func TestJoinErrors(t *testing.T) {
	d := datatest.ToyOf(circle("a", 8), circle("b", 6))
	first := d.Factors()[0]
	many, wrong := make([]uint8, d.Len()), make([]uint8, d.Len())
	many[0], wrong[0] = 200, uint8(first.Size-1) // 201 levels, and as many levels as the factor
	file := func(levels []uint8) *FactorLabels {
		return &FactorLabels{Fraction: 1, File: labelFile(t, []int{d.Len(), 1}, levels...), Names: []string{first.Name},
			Kinds: factor.ColumnKinds{List: []string{first.Kind.String()}}}
	}
	for want, s := range map[string]several{
		"the shares add up to 1.1":           {&FactorLabels{Fraction: 0.5, Share: 0.6}, &Similarity{Count: 3, Share: 0.5}},
		"want different names for different": {&FactorLabels{Fraction: 1, Share: 0.5}, file(many)},
		"has the level":                      {&FactorLabels{Fraction: 1, Share: 0.5}, file(wrong)},
	} {
		must.ErrorOf(s.Split(d, nil))(t, want)
	}
}

func TestSupervisionsConfig(t *testing.T) {
	s, err := configtest.Decode("supervision: [{pairs: {count: 7}}, {labels: {fraction: 0.2}}]")
	if err != nil || len(s.Supervision) != 2 || s.Supervision[1].Value.(*FactorLabels).Fraction != 0.2 ||
		s.Supervision.String() != "pairs, labels" {
		t.Fatalf("%v, %v", s.Supervision, err)
	}
	text := must.Get(config.Encode(s))(t)
	again, err := configtest.Decode(string(text))
	if err != nil || again.Supervision.String() != "pairs, labels" {
		t.Errorf("%s: %v, %v", text, again.Supervision, err)
	}
	n := must.Get(config.Parse("test.yaml", []byte("supervision: [{pairs: {count: 7}}, labels]")))(t)
	must.OK(t, n.Override("supervision.1.labels.fraction=0.3"))
	if err := n.Decode(&s); err != nil || s.Supervision[1].Value.(*FactorLabels).Fraction != 0.3 {
		t.Errorf("%v, %v", s.Supervision, err)
	}
	for text, want := range map[string]string{
		"supervision: []":                             "the list is empty",
		"supervision: [none, labels]":                 "1:15: supervision.0: none cannot be combined",
		"supervision: [{pairs: {cuont: 3}}]":          `did you mean "count"?`,
		"supervision: [labels, pairz]":                `did you mean "pairs"?`,
		"supervision: [labels, {pairs: {count: -2}}]": "-2 is negative",
	} {
		if _, err := configtest.Decode(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "test.yaml:1:") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
