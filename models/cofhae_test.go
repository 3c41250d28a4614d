package models

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// sticks has two dimensions and a choice: to stop, or two more dimensions and a choice that may open another choice.
var sticks = hierarchy.Hierarchy{{}, {Options: []hierarchy.Hierarchy{{}, {{}, {Options: []hierarchy.Hierarchy{{{}}, {}}}, {}}}}, {}}

func hierarchical(t *testing.T, tau float64, h hierarchy.Hierarchy) Model {
	t.Helper()
	d := data(row, column)
	d.Hierarchy = h
	return newModel(t, &COFHAE{Networks: small(16), Hierarchy: trueHierarchy, Tau: tau}, d, 3)
}

// With hard options, a program decodes the same image as Decode after Encode. Codes have the layout of the hierarchy.
func TestHierarchicalCodes(t *testing.T) {
	const n = 64
	m := hierarchical(t, hardTau, sticks)
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, m.Objectives()[0], n, 1)
	rng.New(1, "images").Normals(nn.Data(p.Outputs.Images))
	codes := must.Get(m.Encode(g, p.Outputs.Images))(t)
	decoded := must.Get(m.(Decoder).Decode(g, codes))(t)
	v := values(t, codes, p.Outputs.Logits, decoded, p.Outputs.Active, p.Outputs.Sample)
	for i, want := range v[1] {
		if !(math.Abs(float64(v[2][i]-want)) <= 1e-6) {
			t.Fatalf("pixel %d is %v by the program, %v by its codes", i, want, v[2][i])
		}
	}
	options, continuous := len(sticks.Categoricals()), sticks.Continuous()
	width := sticks.Dimensions()
	seen := map[string]bool{}
	for i := range n {
		choice, mask := make([]int, options), make([]bool, continuous)
		for c := range choice {
			choice[c] = int(v[0][i*width+c]) - 1
		}
		sticks.Masks(choice, mask)
		for d, active := range mask {
			code, sample := v[0][i*width+options+d], v[4][i*continuous+d]
			if on := v[3][i*continuous+d] == 1; on != active || !active && code != 0 || code != sample {
				t.Fatalf("image %d, choices %v, dimension %d: active %v, code %v, sample %v", i, choice, d, on, code, sample)
			}
		}
		seen[string(rune('a'+choice[0]+1))+string(rune('a'+choice[1]+1))] = true
	}
	if len(seen) < 2 {
		t.Errorf("the images take %d paths; want several, for the test to tell", len(seen))
	}
}

// In training, options are soft. Weights under an option sum to its weight, and values are multiplied by weights.
func TestSoftOptions(t *testing.T) {
	const n = 5
	m := hierarchical(t, 0.7, sticks)
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, m.Objectives()[0], n, 1)
	rng.New(1, "images").Normals(nn.Data(p.Outputs.Images))
	free, _, err := m.(*cofhae).heads(g, p.Outputs.Images)
	must.OK(t, err)
	codes := must.Get(m.Encode(g, p.Outputs.Images))(t)
	v := values(t, p.Outputs.Options, p.Outputs.Sample, free, codes)
	for i := range n { // codes for metrics have hard options at any tau
		if a := v[3][7*i]; a != 1 && a != 2 {
			t.Errorf("image %d is encoded with the option %v", i, a)
		}
	}
	for i := range n {
		a, z, u := v[0][4*i:4*i+4], v[1][5*i:5*i+5], v[2][5*i:5*i+5]
		if !(math.Abs(float64(a[0]+a[1]-1)) <= 1e-6) || !(math.Abs(float64(a[2]+a[3]-a[1])) <= 1e-6) || !(a[0] > 0 && a[0] < 1) {
			t.Fatalf("image %d: weights %v", i, a)
		}
		for d, weight := range []float32{1, a[1], a[2], a[1], 1} {
			if !(math.Abs(float64(z[d]-weight*u[d])) <= 1e-6) {
				t.Errorf("image %d, dimension %d: masked %v, value %v, weight %v", i, d, z[d], u[d], weight)
			}
		}
	}
	if p.Outputs.Hierarchy == nil || !p.Outputs.Hierarchy.Equal(sticks) {
		t.Errorf("the outputs have the hierarchy %v", p.Outputs.Hierarchy)
	}
}

// Without a choice in the hierarchy the model is a plain autoencoder, and all dimensions are active.
func TestFlatHierarchy(t *testing.T) {
	m := hierarchical(t, 1, make(hierarchy.Hierarchy, 3))
	g := nn.NewGraph(m.Params())
	p := built(t, g, m, m.Objectives()[0], 2, 1)
	if p.Outputs.Options != nil || !slices.Equal(nn.Data(p.Outputs.Active), []float32{1, 1, 1, 1, 1, 1}) {
		t.Errorf("options %v, active %v", p.Outputs.Options, p.Outputs.Active.Value())
	}
}

func TestHierarchySources(t *testing.T) {
	file := must.Write(t, filepath.Join(t.TempDir(), "h.json"),
		`[{"type": "continuous"}, {"type": "categorical", "options": [[], [{"type": "continuous"}]]}]`)
	none := file + "none"
	must.Write(t, none, `[{"type": "categorical", "options": [[], []]}]`)
	s := NewCOFHAE()
	s.Networks, s.Hierarchy = small(4), file
	m, err := s.New(data(row), 1)
	if err != nil || m.(Hierarchical).Hierarchy().Dimensions() != 3 || m.Spaces()[0].Width != 3 {
		t.Errorf("of a file: %v, %v", m, err)
	}
	for source, want := range map[string]string{
		trueHierarchy: "the data set has none", learnedHierarchy: "not learned yet", file + "x": must.NoFile(t), none: "no continuous dimension",
	} {
		s.Hierarchy = source
		must.ErrorOf(s.New(data(row), 1))(t, want, source)
	}
	for _, change := range []func(*COFHAE){
		func(s *COFHAE) { s.Tau = 0 }, func(s *COFHAE) { s.Tau = math.NaN() }, func(s *COFHAE) { s.Hierarchy = "" },
	} {
		s := NewCOFHAE()
		change(s)
		if s.Validate() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	bad := NewCOFHAE().Mimosa
	if bad.InitialDim = 40; bad.Validate() == nil || NewCOFHAE().Mimosa.Validate() != nil {
		t.Error("as many dimensions as neighbours are accepted, or the defaults are not")
	}
}
