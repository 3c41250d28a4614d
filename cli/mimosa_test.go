package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/coding"
	"github.com/unravel-ml/unravel/cli/internal/runs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

const planeAndLine = `[{"type": "continuous"}, {"type": "categorical", "options": [[], [{"type": "continuous"}]]}]`

// planeFiles writes codes of a plane that contains a line, the component of each code, and the hierarchy.
func planeFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	s := rng.New(1, "mimosa")
	var codes []float64
	var factors strings.Builder
	for i := range 2400 {
		x, y := 2*s.Float64()-1, 2*s.Float64()-1
		if i%2 == 0 {
			y = 0
		}
		codes = append(codes, x, y, x-y, 0)
		fmt.Fprintf(&factors, "%d,1,%d\n", i, i%2) // an index of the rows, and two factors
	}
	must.WriteNPY(t, "codes.npy", []int{2400, 4}, codes)
	must.Write(t, "factors.csv", factors.String())
	must.Write(t, "truth.json", planeAndLine)
}

func TestMimosa(t *testing.T) {
	long.NotShort(t)
	planeFiles(t)
	o := clitest.OK(t, "mimosa", "--codes", "codes.npy", "min_merged=150", "min_initial=15")
	if want := "z0\na0\n├─ 1 ("; !strings.HasPrefix(o.Out, want) || strings.Contains(o.Out, "purity") ||
		!strings.Contains(o.Out, "coverage  0.9") || !strings.Contains(o.Out, "a code, as flat vectors 128.0; the hierarchy 13\n") {
		t.Errorf("it prints\n%s", o.Out)
	}
	if !strings.Contains(o.Log, "tangent planes") {
		t.Errorf("log %q", o.Log)
	}
	o = clitest.OK(t, "mimosa", "--codes", "codes.npy", "--factors", "factors.csv", "--truth", "truth.json", "--json",
		"--out", "found/here", "min_merged=150", "min_initial=15")
	var got coding.MimosaSummary
	clitest.JSON(t, o.Out, &got)
	h := must.Get(hierarchy.Parse([]byte(planeAndLine)))(t)
	if !got.Hierarchy.Equal(h) || len(got.Components) != 2 || got.HError == nil || *got.HError != 0 || got.Purity == nil ||
		!(*got.Purity >= 0.9 && got.Coverage >= 0.9) {
		t.Errorf("%+v", got)
	}
	if got.Components[0].Dim != 1 || got.Components[1].Parent != 0 || !(*got.Components[0].Purity >= 0.8) || got.Codes != [2]int{2400, 4} {
		t.Errorf("%+v", got.Components)
	}
	if got.Options["min_merged"] != 150.0 || len(got.Options) != 11 {
		t.Errorf("options %v", got.Options)
	}
	written, err := hierarchy.Read("found/here/hierarchy.json")
	if err != nil || !written.Equal(h) {
		t.Errorf("hierarchy.json: %v, %v", written, err)
	}
	labels, err := npy.ReadFile[int32]("found/here/components.npy")
	if err != nil || len(labels.Shape) != 1 || labels.Shape[0] != 2400 {
		t.Fatalf("components.npy: %v", err)
	}
	parts, err := npy.ReadFile[int32]("found/here/parts.npy")
	if err != nil || len(parts.Data) != 2400 || got.Merging < 2 || int(slices.Max(parts.Data)) != got.Merging-1 {
		t.Fatalf("parts.npy: %v; %d parts", err, got.Merging)
	}
	if b := got.Bits; b.Flat != 32*4 || !(b.PerCode >= 32+1 && b.PerCode <= 2*32+2 && b.Tree >= 12.5 && b.Tree <= 12.6) {
		t.Errorf("description length %+v", b)
	}
	choices, err := npy.ReadFile[int32]("found/here/assignments.npy")
	if err != nil || len(choices.Shape) != 2 || choices.Shape[1] != 1 {
		t.Fatalf("assignments.npy: %v", err)
	}
	for i, label := range labels.Data {
		if want := label + 1; choices.Data[i] != want && label >= 0 || label < 0 && choices.Data[i] != -1 { // in this hierarchy the option is the component's number
			t.Fatalf("code %d of component %d chooses %d", i, label, choices.Data[i])
		}
	}
	for _, name := range []string{"hierarchy.png", "components.png", "mimosa.json"} {
		if info, err := os.Stat(filepath.Join("found/here", name)); err != nil || info.Size() < 100 {
			t.Errorf("%s: %v", name, err)
		}
	}
	var again coding.MimosaSummary
	if err := json.Unmarshal(must.Read(t, "found/here/mimosa.json"), &again); err != nil || again.Coverage != got.Coverage {
		t.Errorf("mimosa.json: %v, %v", again, err)
	}
}

// Without components, the command still has a result, and a remark.
func TestMimosaFindsNothing(t *testing.T) {
	long.NotShort(t)
	planeFiles(t)
	o := clitest.OK(t, "mimosa", "--codes", "codes.npy", "--factors", "factors.csv", "--truth", "truth.json", "--out", "found", "min_merged=2000")
	if !strings.Contains(o.Log, "no component is left") || !strings.Contains(o.Out, "coverage  0.0000") ||
		!strings.Contains(o.Out, "H-error   ") {
		t.Errorf("out %q, log %q", o.Out, o.Log)
	}
}

func TestMimosaOfARun(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	must.Write(t, "sticks.yaml", `
name: sticks
dataset: {chopsticks: {samples: 900}}
model: {encoder: {latent: 3, encoder: mlp}}
supervision: {labels: {fraction: 0.1}}
losses: [variance]
train: {epochs: 1, batch: 100, hold_out: 0.1, figures: false}
metrics: []
`)

	clitest.OK(t, "train", "sticks.yaml")
	o := clitest.OK(t, "mimosa", "--run", "runs/sticks", "--json", "--out", "found", "neighbors=10", "min_cosine=0.3",
		"contagion=1", "min_initial=2", "min_merged=5", "min_decay=1.05", "max_lengths=1000")
	var got coding.MimosaSummary
	clitest.JSON(t, o.Out, &got)
	if got.HError == nil || got.Codes != [2]int{810, 3} || math.IsNaN(got.Coverage) || len(got.Components) < 2 || got.Purity == nil {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(o.Log, "90 held-out images are not explored") {
		t.Errorf("log %q", o.Log)
	}
	o = clitest.Run(t, "eval", "--codes", "runs/sticks/codes.npy", "--metrics", "code-spread")
	if !strings.Contains(o.Log, "codes of training images, too; --run "+filepath.Join("runs", "sticks")) {
		t.Errorf("%+v", o)
	}
	choices, err := npy.ReadFile[int32]("found/assignments.npy")
	if err != nil || choices.Shape[0] != 900 || choices.Shape[1] != len(got.Hierarchy.Categoricals()) {
		t.Fatalf("assignments.npy: %v", err)
	}
	kinds := strings.Repeat("categorical, ", choices.Shape[1])
	clitest.OK(t, "train", "sticks.yaml", "model={cofhae: {encoder: {mlp: {hidden: [8]}}, hierarchy: found/hierarchy.json}}",
		"losses=[reconstruction, assignment]", "supervision={labels: {fraction: 1, file: found/assignments.npy, kinds: ["+
			kinds+"]}}", "--run", "runs/cofhae")
}

// A run with a hierarchy writes the true values of its factors. R4 from these files equals the run's R4.
func TestHierarchicalFactors(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	config := `
name: sticks
dataset: {chopsticks: {variant: inter, depth: 2, samples: 900}}
model: {ae: {latent: 2, encoder: {mlp: {hidden: [8]}}}}
losses: [reconstruction]
train: {epochs: 1, batch: 100, figures: false}
metrics: [r4]
`
	must.Write(t, "sticks.yaml", config)
	clitest.OK(t, "train", "sticks.yaml")
	r4 := func(args ...string) float64 {
		t.Helper()
		results, err := runs.ParseResults([]byte(clitest.OK(t, append([]string{"eval", "--metrics", "r4", "--json"}, args...)...).Out))
		if err != nil || len(results) != 1 {
			t.Fatalf("%v, %v", results, err)
		}
		return results[0].Value
	}
	want := r4("--run", "runs/sticks")
	if got := r4("--codes", "runs/sticks/codes.npy", "--factors", "runs/sticks/factors.npy", "--types",
		"categorical,continuous,continuous"); !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("R4 %v of the files, %v of the run", got, want)
	}
	values := must.Get(npy.ReadFile[float64]("runs/sticks/factors.npy"))(t)
	levels := must.Get(npy.ReadFile[int64]("runs/sticks/factor_levels.npy"))(t)
	for i := 0; i < len(levels.Data); i += 3 {
		v, l := values.Data[i:i+3], levels.Data[i:i+3]
		if v[0] != float64(l[0]) || (v[0] == 1) != (v[2] == 0) { // the first option has no second intercept
			t.Fatalf("row %d has the values %v and the levels %v", i/3, v, l)
		}
	}
	// A folder of an older version has levels in factors.npy, and is comparable with a new one.
	clitest.OK(t, "train", "sticks.yaml", "--run", "runs/old", "model.ae.encoder.mlp.hidden=[9]")
	must.WriteNPY(t, "runs/old/factors.npy", levels.Shape, levels.Data)
	must.OK(t, os.Remove("runs/old/factor_levels.npy"))
	if o := clitest.OK(t, "compare", "runs/sticks", "runs/old"); strings.Contains(o.Log, "factors differ") {
		t.Errorf("the same images are other ones: %s", o.Log)
	}
	clitest.OK(t, "encode", "--run", "runs/sticks", "--out", "z.npy")
	for name, like := range map[string]string{"z-factors.npy": "factors.npy", "z-factor_levels.npy": "factor_levels.npy"} {
		if a, b := must.Read(t, name), must.Read(t, "runs/sticks/"+like); !bytes.Equal(a, b) {
			t.Errorf("%s is not the run's %s", name, like)
		}
	}
}

func TestMimosaMistakes(t *testing.T) {
	planeFiles(t)
	must.WriteNPY(t, "few.npy", []int{3, 2}, []float64{1, 2, 3, 4, 5, 6})
	must.WriteNPY(t, "nan.npy", []int{50, 1}, append(make([]float64, 49), math.NaN()))
	must.WriteNPY(t, "same.npy", []int{50, 1}, make([]float64, 50))
	must.WriteNPY(t, "half.npy", []int{2400}, append(make([]float64, 2399), 0.5))
	must.Write(t, "bad.json", `[{"type": "round"}]`)
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, ui.ExitUsage, "want --run DIR or --codes FILE"},
		{[]string{"--run", "x", "--codes", "codes.npy"}, ui.ExitUsage, "--run"},
		{[]string{"--run", "x", "--truth", "truth.json"}, ui.ExitUsage, "belong to --codes"},
		{[]string{"--codes", "codes.npy", "neighbors"}, ui.ExitUsage, "want name=value"},
		{[]string{"--codes", "codes.npy", "neighbours=4"}, ui.ExitUsage, `did you mean "neighbors"?`},
		{[]string{"--codes", "codes.npy", "min_cosine=2"}, ui.ExitUsage, "want 0 to 1"},
		{[]string{"--codes", "none.npy"}, ui.ExitFailed, "none.npy"},
		{[]string{"--codes", "few.npy"}, ui.ExitFailed, "3 codes; want at least 40, the number of neighbours"},
		{[]string{"--codes", "nan.npy"}, ui.ExitFailed, "NaN"},
		{[]string{"--codes", "same.npy"}, ui.ExitFailed, "all 50 codes are equal"},
		{[]string{"--codes", "codes.npy", "--factors", "few.npy"}, ui.ExitFailed, "want [2400, k]"},
		{[]string{"--codes", "codes.npy", "--factors", "half.npy"}, ui.ExitFailed, "not whole numbers"},
		{[]string{"--codes", "codes.npy", "--truth", "bad.json"}, ui.ExitFailed, "bad.json"},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"mimosa"}, test.args...)...), test.code, test.want)
	}
}
