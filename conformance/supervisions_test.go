package conformance_test

import (
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

func TestSupervisions(t *testing.T) {
	for _, e := range supervision.Registry.Entries { // Supervisions skips exactly these entries
		if v, ok := e.New().(config.Validator); ok && (v.Validate() != nil) != (e.Name == "groups" || e.Name == "answers") {
			t.Errorf("%s: the defaults give %v", e.Name, v.Validate())
		}
	}
}

// faultySupervision pairs images with one fault.
type faultySupervision struct {
	Fault string `yaml:"fault" doc:"what is wrong"`
}

func (f *faultySupervision) Split(d datasets.Dataset, s *rng.Stream) (*supervision.Split, error) {
	if f.Fault == "wrong label" || f.Fault == "pairs that differ" {
		return f.labels(d, s)
	}
	order := s.Perm(d.Len())
	switch f.Fault {
	case "ignores its stream":
		order = numeric.UpTo(d.Len())
	case "another source of chance":
		order = rand.Perm(d.Len())
	}
	var groups [][]int
	for i := range 10 {
		groups = append(groups, []int{order[2*i], order[2*i+1]})
	}
	split, err := (supervision.NewSplit(d, 2, groups, f.Fault != "shared images"))
	if err != nil {
		return nil, err
	}
	switch f.Fault {
	case "wrong angle":
		split.Transformations[3][3] += 0.1
	case "first image turns":
		split.Transformations[0][0] = 0.1
	case "image out of range":
		split.Groups[1][0] = d.Len()
	case "group of three":
		split.Groups[1], split.Transformations[1] = append(split.Groups[1], 0), make([]float32, 6)
	case "shared images":
		split.Unlabelled = []int{min(order[0], order[1]), max(order[0], order[1])}
	case "nothing":
		split.Groups, split.Transformations, split.Unlabelled = nil, nil, nil
	case "refuses all":
		_, err = supervision.NewSplit(d, 3, groups, true)
	}
	return split, err
}

// labels gives images wrong labels.
func (f *faultySupervision) labels(d datasets.Dataset, s *rng.Stream) (*supervision.Split, error) {
	split, err := supervision.NewSplit(d, 0, nil, true)
	if err != nil {
		return nil, err
	}
	table := make([]int32, d.Len())
	for i := range table {
		table[i] = -1
	}
	for _, i := range s.Perm(d.Len())[:20] {
		table[i] = 5
	}
	split.Known = supervision.TableLabels(d.Factors()[:1], table)
	if f.Fault == "pairs that differ" {
		split.Known = &supervision.Labels{Factors: d.Factors(), Images: []int{0, 4000}, Pairs: []supervision.SimilarPair{{A: 0, B: 4000}}}
	}
	return split, nil
}

func TestSupervisionsFindFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":                         "",
		"ignores its stream":       "it chooses the same 20 of the 4096 images of dataset torus for every stream",
		"another source of chance": "two splits of dataset torus by the same stream differ",
		"wrong angle":              `group 3, image 1: factor "column" turns by`,
		"first image turns":        `group 0, image 0: factor "row" turns by 0.1`,
		"image out of range":       "group 1 has image 4096; want an image of dataset torus, 0 to 4095",
		"group of three":           "groups of 2 images begin at group 2",
		"shared images":            "is in a group and among Unlabelled",
		"nothing":                  "supervision leaves nothing to train on",
		"wrong label":              `has level 5 of factor "row"`,
		"pairs that differ":        `images 0 and 4000 agree in factor "row"; their levels are 0 and 62`,
		"refuses all":              "group 0 has 2 images; want 3",
	} {
		torus := factor.Grid{{Name: "row", Size: 64}, {Name: "column", Size: 64}}
		levels := make([][]int, torus.Len())
		for i := range levels {
			levels[i] = []int{i / 64, i % 64}
		}
		d := must.Get(datasets.FromPixels("torus", make([]uint8, torus.Len()), 1, 1, 1, torus, levels))(t)
		wantFinding(t, fault, conformance.CheckSplit("faulty", &faultySupervision{fault}, d), "supervision faulty: ", want)
	}
	e := registry.Entry[supervision.Kind]{Name: "faulty", Doc: "a supervision with a fault",
		New: func() supervision.Kind { return &faultySupervision{"refuses all"} }}
	wantFinding(t, "an entry", conformance.CheckSupervision(e), "supervision faulty: ", "it suits no data set of the test")
}

// turnedOver pairs poses with the inverses of their moves, or without any.
type turnedOver struct{ lost bool }

func (o *turnedOver) Split(d datasets.Dataset, s *rng.Stream) (*supervision.Split, error) {
	split, err := (&supervision.Pairs{Count: 20}).Split(d, s)
	if err != nil {
		return nil, err
	}
	for g, moves := range split.Transformations {
		moves[len(moves)-1] *= -1
		if o.lost {
			split.Rotations, split.Transformations[g] = 0, []float32{0, moves[1], 0, moves[len(moves)-5]}
		}
	}
	return split, nil
}

func TestMovesOfPosesAreChecked(t *testing.T) {
	poses := factor.Grid{{Name: "pose", Size: 60, Kind: factor.Categorical, Rotations: rotation.Icosahedral()}, {Name: "hue", Size: 8}}
	levels := make([][]int, poses.Len())
	for i := range levels {
		levels[i] = []int{i / 8, i % 8}
	}
	d := must.Get(datasets.FromPixels("poses", make([]uint8, poses.Len()), 1, 1, 1, poses, levels))(t)
	wantFinding(t, "right", conformance.CheckSplit("pairs", &supervision.Pairs{Count: 20}, d), "supervision pairs: ", "")
	wantFinding(t, "inverse", conformance.CheckSplit("faulty", &turnedOver{}, d), "supervision faulty: ",
		`the rotation of factor "pose" takes level`)
	wantFinding(t, "lost", conformance.CheckSplit("faulty", &turnedOver{lost: true}, d), "supervision faulty: ",
		`there is no rotation in space for factor "pose"`)
}
