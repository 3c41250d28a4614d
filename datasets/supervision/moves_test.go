package supervision

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// posed is a data set of one pixel with poses, hues and two objects, in an order unlike a grid's.
func posed(t *testing.T, table [][9]float64) datasets.Dataset {
	t.Helper()
	grid := factor.Grid{{Name: "hue", Size: 4}, {Name: "pose", Size: len(table), Kind: factor.Categorical,
		Rotations: table}, {Name: "object", Size: 2, Kind: factor.Categorical}}
	levels := make([][]int, grid.Len())
	for row, i := range rng.New(2, "order").Perm(grid.Len()) {
		levels[row] = make([]int, len(grid))
		grid.At(i, levels[row])
	}
	return must.Get(datasets.FromPixels("posed", make([]uint8, grid.Len()), 1, 1, 1, grid, levels))(t)
}

// checkMoves checks that the moves of all groups map the first image's hue and pose to the other images' hues and
// poses: R_m = g_m R_1, not R_m = R_1 g_m.
func checkMoves(t *testing.T, d datasets.Dataset, s *Split) {
	t.Helper()
	factors := d.Factors()
	k := len(factors)
	if s.Rotations != 1 || s.K() != k+4 {
		t.Fatalf("%d rotations and %d columns, want 1 and %d", s.Rotations, s.K(), k+4)
	}
	levels, first, body := make([]int, k), make([]int, k), 0.0
	for g, group := range s.Groups {
		d.FactorsAt(group[0], first)
		for m, i := range group {
			d.FactorsAt(i, levels)
			row := s.Transformations[g][m*(k+4) : (m+1)*(k+4)]
			for j, f := range factors {
				want := 0.0
				if f.Kind == factor.Circular {
					want = f.Angle((levels[j] - first[j] + f.Size) % f.Size)
				}
				if !(math.Abs(float64(row[j])-want) <= 1e-6) {
					t.Fatalf("group %d, image %d: %s turns by %v, want %v", g, m, f.Name, row[j], want)
				}
			}
			from, to := &factors[1].Rotations[first[1]], factors[1].Rotations[levels[1]]
			move := rotation.AboutAxis([3]float64{float64(row[k]), float64(row[k+1]), float64(row[k+2])}, float64(row[k+3]))
			world, wrong := rotation.Product(&move, from), rotation.Product(from, &move)
			for e := range to {
				if !(math.Abs(world[e]-to[e]) <= 1e-6) {
					t.Fatalf("group %d, image %d: the move leads to the pose %v, want %v", g, m, world, to)
				}
				body = max(body, math.Abs(wrong[e]-to[e]))
			}
		}
	}
	if !(body >= 0.5) && s.M != len(factors[1].Rotations) { // all views begin with the identity
		t.Errorf("moves in axes of the object differ by %v, so that the test says nothing", body)
	}
}

func TestMovesOfPoses(t *testing.T) {
	octahedral, hopf := posed(t, rotation.Octahedral()), posed(t, rotation.Hopf(0))
	for name, c := range map[string]struct {
		d          datasets.Dataset
		s          Kind
		groups, m  int
		held       []int // factors that are equal within a group
		unlabelled int
	}{
		"pairs":             {octahedral, &Pairs{Count: 60, Hold: []string{"object"}}, 60, 2, []int{2}, 72},
		"groups of 5":       {octahedral, &Pairs{Count: 30, Images: 5, Hold: []string{"object"}}, 30, 5, []int{2}, 42},
		"pairs of one hue":  {hopf, &Pairs{Count: 200, Images: 2, Hold: []string{"object", "hue"}}, 200, 2, []int{0, 2}, 176},
		"paths":             {hopf, &Paths{Count: 20, Length: 30, Step: 1}, 20, 30, []int{2}, 0},
		"views":             {octahedral, &ObjectViews{Factor: "pose"}, 8, 24, []int{0, 2}, 0},
		"views in groups":   {octahedral, &ObjectViews{Factor: "pose", Images: 7}, 24, 7, []int{0, 2}, 24},
		"some objects' own": {hopf, &ObjectViews{Factor: "pose", Objects: 3, Images: 8}, 27, 8, []int{0, 2}, 360},
	} {
		split, err := c.s.Split(c.d, rng.New(7, "supervision"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(split.Groups) != c.groups || split.M != c.m || len(split.Unlabelled) != c.unlabelled {
			t.Errorf("%s: %d groups of %d and %d unlabelled images, want %d, %d, %d",
				name, len(split.Groups), split.M, len(split.Unlabelled), c.groups, c.m, c.unlabelled)
		}
		checkMoves(t, c.d, split)
		first, levels := make([]int, 3), make([]int, 3)
		for _, group := range split.Groups {
			if name != "paths" && len(slices.Compact(slices.Sorted(slices.Values(group)))) != len(group) {
				t.Fatalf("%s: the group %v has an image twice", name, group)
			}
			c.d.FactorsAt(group[0], first)
			for _, i := range group {
				c.d.FactorsAt(i, levels)
				for _, k := range c.held {
					if levels[k] != first[k] {
						t.Fatalf("%s: factor %d is not the same in a group", name, k)
					}
				}
			}
		}
	}
}

// Without groups, the number of rotations is still known, because models need it.
func TestRotationsWithoutGroups(t *testing.T) {
	d := posed(t, rotation.Octahedral())
	for _, s := range []Choices{nil, Of("pairs", &Pairs{Hold: []string{"object"}}),
		append(Of("labels", &FactorLabels{Fraction: 0.5, Share: 0.5}), Of("similarity", &Similarity{Count: 20, Share: 0.2})...)} {
		split, err := s.Split(d, 1)
		if err != nil || split.Rotations != 1 || len(split.Groups) > 0 {
			t.Errorf("%v: %d rotations and %d groups, %v; want 1 and none", s, split.Rotations, len(split.Groups), err)
		}
	}
}

// A step of a path repeats the rotation to one of a pose's nearest poses, and draws from all directions.
func TestPathsOfPoses(t *testing.T) {
	for _, c := range []struct {
		table      [][9]float64
		step       int
		angle      float64 // of a step, degrees
		directions int     // rotations of a step
	}{
		{rotation.Octahedral(), 1, 90, 6}, {rotation.Octahedral(), 2, 180, 3}, {rotation.Octahedral(), 3, 90, 6},
		{rotation.Icosahedral(), 1, 72, 12}, {rotation.Icosahedral(), 2, 144, 12},
	} {
		d := posed(t, c.table)
		split := must.Get((&Paths{Count: 40, Length: 50, Step: c.step}).Split(d, rng.New(1, "paths")))(t)
		seen, from, to := map[[9]int]bool{}, make([]int, 3), make([]int, 3)
		for _, path := range split.Groups {
			for m := 1; m < len(path); m++ {
				d.FactorsAt(path[m-1], from)
				d.FactorsAt(path[m], to)
				if from[1] == to[1] {
					if step := (to[0] - from[0] + 4) % 4; step != c.step && step != 4-c.step {
						t.Fatalf("step %d: the hue goes from %d to %d", c.step, from[0], to[0])
					}
					continue
				}
				move := rotation.Between(&c.table[from[1]], &c.table[to[1]])
				if a := rotation.Angle(&move) * 180 / math.Pi; from[0] != to[0] || !(math.Abs(a-c.angle) <= 1e-6) {
					t.Fatalf("step %d: the pose turns by %v degrees and the hue from %d to %d; want %v, and the same hue",
						c.step, a, from[0], to[0], c.angle)
				}
				var key [9]int
				for e, v := range move {
					key[e] = int(math.Round(1e6 * v))
				}
				seen[key] = true
			}
		}
		must.Equal(t, len(seen), c.directions, len(c.table), "rotations, step", c.step, "rotations of a step were seen")
	}
}

func TestPoseErrors(t *testing.T) {
	d, still := posed(t, rotation.Octahedral()), posed(t, rotation.Octahedral()[:1])
	images := arrayFile(t, "images.npy", []int{1, 2}, int64(0), 9)
	for want, s := range map[string]Kind{
		`factor "object" of dataset posed is categorical, and a transformation needs an angle; want a circular factor and this one in hold`: &Pairs{Count: 2},
		"40 groups of 5 of distinct images cannot be drawn from the 192 images":                                                             &Pairs{Count: 40, Images: 5, Hold: []string{"object"}},
		"images: 1 is out of range; want 2 to":                              &Pairs{Count: 1, Images: 1},
		`step 4 is too long for factor "hue" of dataset posed; want 1 to 3`: &Paths{Count: 1, Length: 3, Step: 4},
		"2 factors that turn; name one as factor: hue, pose":                &ObjectViews{},
		"have 24 views; want groups of 2 to 24":                             &ObjectViews{Factor: "pose", Images: 25},
		`factor "object" of dataset posed is categorical, and a transformation needs an angle; want a circular factor, or one of rotations`: &ObjectViews{Factor: "object"},
		"has 2 of each image; want one for each factor of dataset posed with rotations, 1":                                                  &Groups{Images: images, Rotations: arrayFile(t, "two.npy", []int{1, 2, 8}, make([]float64, 16)...)},
	} {
		must.ErrorOf(s.Split(d, rng.New(1, "s")))(t, want)
	}
	must.ErrorOf((&Paths{Count: 1, Length: 3, Step: 1}).Split(still, rng.New(1, "s")))(t, `too long for factor "pose"`)
}

// Rotations in a file replace the rotations of the poses, and angles in a file replace the angles of the hues.
func TestGroupsOfPoses(t *testing.T) {
	d := posed(t, rotation.Octahedral())
	images := arrayFile(t, "images.npy", []int{2, 3}, int64(0), 9, 5, 3, 4, 100)
	moves := arrayFile(t, "moves.npy", []int{2, 3, 3}, float64(0), 0, 0, 0.5, 0, 0, 0.25, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0)
	turns := arrayFile(t, "turns.npy", []int{2, 3, 4}, float32(0), 0, 1, 0, 0, 0, 1, 0.75, 1, 0, 0, 0.5, 0, 0, 1, 0, 0, 0,
		1, 0.25, 1, 0, 0, 1.5)
	derived := must.Get((&Groups{Images: images}).Split(d, nil))(t)
	checkMoves(t, d, derived)
	angles := must.Get((&Groups{Images: images, Transformations: moves}).Split(d, nil))(t)
	both := must.Get((&Groups{Images: images, Transformations: moves, Rotations: turns}).Split(d, nil))(t)
	row := both.Transformations[1][2*7:]
	if want := []float32{2, 0, 0, 1, 0, 0, 1.5}; !slices.Equal(row, want) || both.Rotations != 1 {
		t.Errorf("the last image of the second group moves by %v, want %v", row, want)
	}
	row = angles.Transformations[1][2*7:]
	if want := derived.Transformations[1][2*7+3:]; row[0] != 2 || !slices.Equal(row[3:], want) || angles.Rotations != 1 {
		t.Errorf("the last image of the second group moves by %v, want the angle 2 and %v", row, want)
	}
}
