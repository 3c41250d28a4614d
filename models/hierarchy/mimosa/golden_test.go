package mimosa

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// readMatrix reads a matrix from an .npy file.
func readMatrix(t testing.TB, path string) (data []float64, cols int) {
	t.Helper()
	a := must.Get(npy.ReadFile[float64](path))(t)
	return a.Data, a.Shape[len(a.Shape)-1]
}

// TestLocalSVDGolden compares planes with the paper's code.
func TestLocalSVDGolden(t *testing.T) {
	var cases map[string]struct {
		DimP      int         `json:"dim_P"`
		DimQ      int         `json:"dim_Q"`
		Ratios    []float64   `json:"explained_variance_ratio_P"`
		Projector [][]float64 `json:"projector_P"`
		Cos       float64     `json:"tangent_plane_cos"`
		Similar   bool        `json:"is_similar"`
		Edge      bool        `json:"edge_first_point_of_P"`
		Ransac    float64     `json:"ransac_frac"`
		MinCosine float64     `json:"cos_simil_thresh"`
	}
	must.ReadJSON(t, "testdata/local_svd/expected.json", &cases)
	if len(cases) < 15 {
		t.Fatalf("%d cases", len(cases))
	}
	const tolerance = 1e-6
	for name, want := range cases {
		points, d := readMatrix(t, "testdata/local_svd/"+name+"_P.npy")
		others, _ := readMatrix(t, "testdata/local_svd/"+name+"_Q.npy")
		o := Defaults()
		o.RansacFraction = want.Ransac
		p, q := localSVD(points, d, o), localSVD(others, d, o)
		if p.Dim != want.DimP || q.Dim != want.DimQ {
			t.Errorf("%s: dimensions %d and %d, want %d and %d", name, p.Dim, q.Dim, want.DimP, want.DimQ)
			continue
		}
		for j, e := range p.Ratios {
			if !(math.Abs(e-want.Ratios[j]) <= tolerance) {
				t.Errorf("%s: ratios %v, want %v", name, p.Ratios, want.Ratios)
			}
		}
		for a := range d {
			for b := range d {
				sum := 0.0
				for m := range p.Dim {
					sum += p.Axes[m*d+a] * p.Axes[m*d+b]
				}
				if !(math.Abs(sum-want.Projector[a][b]) <= tolerance) {
					t.Errorf("%s: projector [%d %d] is %v, want %v", name, a, b, sum, want.Projector[a][b])
				}
			}
		}
		if cos := p.Cos(q); !(math.Abs(cos-want.Cos) <= tolerance) || (cos >= want.MinCosine) != want.Similar {
			t.Errorf("%s: cosine %v, want %v", name, cos, want.Cos)
		}
		n := len(points) / d
		r := &run{d: d, n: n, codes: points, dim: []int32{int32(p.Dim)}, axes: p.Axes, o: o}
		must.Equal(t, isEdge(r.project(0, upTo(n)[1:], nil), p.Dim, &hull{}), want.Edge, name, "the first point is an edge")
	}
}

// expected holds the results of the paper's code.
type expected struct {
	Dims       []int               `json:"component_dims"`
	Sizes      []int               `json:"component_sizes"`
	Coverage   float64             `json:"coverage"`
	Hierarchy  hierarchy.Hierarchy `json:"hierarchy"`
	Initial    int                 `json:"initial"`
	Truth      hierarchy.Hierarchy `json:"true_hierarchy"`
	HError     float64             `json:"h_error_vs_truth"`
	Parameters struct {
		MinMerged  float64 `json:"min_size_merged"`
		Neighbors  int     `json:"num_nearest_neighbors"`
		MinInitial int     `json:"min_size_init"`
	} `json:"parameters"`
}

func goldenOptions(e expected) Options {
	o := Defaults()
	o.Neighbors, o.MinInitial, o.MinMerged = e.Parameters.Neighbors, e.Parameters.MinInitial, e.Parameters.MinMerged
	return o
}

var goldenCases = []string{"chopsticks2_both_pca", "chopsticks2_inter_pca", "line_edge_of_plane",
	"plane_and_crossing_line", "two_separate_lines"}

// TestMimosaGolden finds the same components as the paper's code, with the same codes and the same numbers.
func TestMimosaGolden(t *testing.T) {
	for _, name := range goldenCases {
		dir := filepath.Join("testdata", name)
		codes, d := readMatrix(t, filepath.Join(dir, "codes.npy"))
		labels, _ := readMatrix(t, filepath.Join(dir, "component_label.npy"))
		var want expected
		must.ReadJSON(t, filepath.Join(dir, "expected.json"), &want)
		got := must.Get(Run(context.Background(), codes, d, goldenOptions(want), nil))(t)
		var dims, sizes []int
		for _, c := range got.Components {
			dims = append(dims, c.Dim)
			sizes = append(sizes, len(c.Points))
		}
		slices.Sort(sizes)
		if got.Initial != want.Initial || !slices.Equal(sizes, want.Sizes) || !(math.Abs(got.Coverage-want.Coverage) <= 1e-12) {
			t.Errorf("%s: %d parts of sizes %v and coverage %v, want %d, %v and %v",
				name, got.Initial, sizes, got.Coverage, want.Initial, want.Sizes, want.Coverage)
		}
		must.EqualSlices(t, dims, want.Dims, name, "dimensions")
		if hierarchy.Distance(got.Hierarchy, want.Hierarchy) != 0 ||
			want.Truth != nil && float64(hierarchy.Distance(got.Hierarchy, want.Truth)) != want.HError {
			t.Errorf("%s: hierarchy\n%vwant\n%v", name, got.Hierarchy, want.Hierarchy)
		}
		for i, l := range labels {
			if int(l) != got.Labels[i] {
				t.Fatalf("%s: code %d is in component %d, want %v", name, i, got.Labels[i], l)
			}
		}
	}
}
