package supervision

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// arrayFile writes an array to a file of a temporary folder.
func arrayFile[T npy.Element](t *testing.T, name string, shape []int, data ...T) string {
	t.Helper()
	return must.WriteNPY(t, filepath.Join(t.TempDir(), name), shape, data)
}

func TestGroupsFromFiles(t *testing.T) {
	d := must.Get((&drawn.Square{Size: 8, Side: 2, Step: 1}).Build(0))(t)
	images := arrayFile(t, "images.npy", []int{2, 2}, int64(0), 9, 3, 5)
	moves := arrayFile(t, "moves.npy", []int{2, 2, 2}, float64(0), 0, 0.25, 0.5, 0, 0, 1, 2)
	rotations := arrayFile(t, "rotations.npy", []int{2, 2, 4}, float32(0), 0, 1, 0, 0, 0, 1, 0.75, 1, 0, 0, 0, 1, 0, 0, 2)

	split, err := (&Groups{Images: images}).Split(d, nil)
	must.OK(t, err)
	step := float32(2 * math.Pi / 8)
	if want := []float32{0, 0, step, step}; !slices.Equal(split.Transformations[0], want) || split.M != 2 ||
		len(split.Unlabelled) != 0 || split.Rotations != 0 {
		t.Errorf("transformations %v of the first group, M %d, %d unlabelled images, %d rotations; want %v, 2, 0, 0",
			split.Transformations[0], split.M, len(split.Unlabelled), split.Rotations, want)
	}
	split, err = (&Groups{Images: images, Transformations: moves, Rotations: rotations, Unlabelled: true}).Split(d, nil)
	must.OK(t, err)
	if want := []float32{0, 0, 1, 0, 0, 0, 1, 2, 1, 0, 0, 2}; !slices.Equal(split.Transformations[1], want) ||
		split.Rotations != 1 || split.K() != 6 || len(split.Unlabelled) != 60 {
		t.Errorf("transformations %v of the second group, %d rotations, %d columns, %d unlabelled images; want %v, 1, 6, 60",
			split.Transformations[1], split.Rotations, split.K(), len(split.Unlabelled), want)
	}

	for name, c := range map[string]struct {
		groups Groups
		want   string
	}{
		"no file":            {Groups{}, "want the name"},
		"missing":            {Groups{Images: "no.npy"}, "no.npy"},
		"images of shape 3":  {Groups{Images: moves}, "want groups x M"},
		"image out of range": {Groups{Images: arrayFile(t, "far.npy", []int{1, 2}, int32(0), 64)}, "row 0, column 1 is 64; want an image of dataset square"},
		"image of a part":    {Groups{Images: arrayFile(t, "half.npy", []int{1, 2}, 0.5, 1)}, "row 0, column 0 is 0.5"},
		"moves of shape":     {Groups{Images: images, Transformations: rotations}, "shape [2 2 4]; want 2 x 2 x 2, an angle for each factor of the data set"},
		"rotations of shape": {Groups{Images: images, Rotations: moves}, "want 2 x 2 x a multiple of 4, an axis and an angle for each rotation"},
		"moves that are nan": {Groups{Images: images, Transformations: arrayFile(t, "nan.npy", []int{2, 2, 2}, 0, 0, 0, 0, 0, 0, math.NaN(), 0)}, "group 1, element 2 is NaN"},
		"quaternions":        {Groups{Images: images, Rotations: arrayFile(t, "quaternions.npy", []int{2, 2, 4}, 1.0, 0, 0, 0, 0.8, 0, 0, 0.6, 1, 0, 0, 0, 0.6, 0, -0.8, 0)}, "has unit quaternions; want the axis and the angle of each rotation, in radians"},
		"moves in degrees":   {Groups{Images: images, Transformations: arrayFile(t, "degrees.npy", []int{2, 2, 2}, 0.0, 0, 25, -25, 0, 0, -45, 0)}, "group 1, element 2 is -45; want finite numbers, and angles of at most four turns in radians"},
		"turns in degrees": {Groups{Images: images, Rotations: arrayFile(t, "turns.npy", []int{2, 2, 4}, 0.0, 0, 1, 0, 0, 0, 100, 1.5, 1, 0, 0, 0, 0, 1, 0, 90)},
			"group 1, element 7 is 90; want finite"},
	} {
		must.ErrorOf(c.groups.Split(d, nil))(t, c.want, name)
	}
}

// Two images of a pair share the known level of one of them, and two known levels stay.
func TestJoinLevels(t *testing.T) {
	for given, want := range map[[2]int32][2]int32{{-1, -1}: {9, 9}, {0, -1}: {0, 0}, {-1, 0}: {0, 0}, {0, 1}: {0, 1}, {1, 0}: {1, 0}} {
		got := given
		if joinLevels(&got[0], &got[1], 9); got != want {
			t.Errorf("levels %v become %v; want %v", given, got, want)
		}
	}
}

// The numbers of classes and pairs of several sources differ.
func TestNumbersOfSources(t *testing.T) {
	s := &Sampler{imagesPerBatch: 7,
		split: &Split{Known: &Labels{parts: []*Labels{{Classes: [][]int32{{0, 2, -1}}}, {Pairs: []SimilarPair{{}}},
			{Classes: [][]int32{{0}}}, {}}}}}
	if must.OK(t, s.numberSources()); !slices.Equal(s.firstNumbers, []int32{0, 3, 10, 11}) {
		t.Errorf("numbers from %v on; want 0, 3, 10 and 11", s.firstNumbers)
	}
}
