package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// Training prints the right text to each output and writes every file of its folder.
func TestTrain(t *testing.T) {
	long.NotShort(t)
	dir := filepath.Join(t.TempDir(), "deep", "run")
	o := clitest.OK(t, "train", clitest.TinyFile(t), "train.figures=true", "metrics.every=2", "--run", dir, "--json", "seed=3")
	for _, want := range []string{"tiny: lsbd-vae on square, seed 3, 3 epochs, into " +
		dir, "epoch 1/3  supervised loss ", "epoch 2  dlsbd 0.",
		"epoch 3/3  ", "finished 3 epochs (24 steps) in ", "see " + filepath.Join(dir, "report.html")} {
		if !strings.Contains(o.Log, want) {
			t.Errorf("standard error lacks %q:\n%s", want, o.Log)
		}
	}
	var result struct {
		Name, Dir     string
		Seed          uint64
		Epochs, Steps int
		Seconds       float64
		Losses        map[string]map[string]float64
		Fit           train.Fit
		Metrics       []struct {
			Name, Better string
			Value        *float64
			Parts        []struct {
				Name   string
				Labels []string
				Values []float64
			}
			Options map[string]any
			Basis   metrics.Basis
			Scale   float64
			Chance  *metrics.Chance
		}
	}
	clitest.JSON(t, o.Out, &result)
	if result.Name != "tiny" || result.Dir != dir || result.Seed != 3 || result.Epochs != 3 || result.Steps != 24 || !(result.Seconds > 0) {
		t.Errorf("result %+v", result)
	}
	if l := result.Losses; len(l) != 2 || len(l["supervised"]) != 4 || len(l["unsupervised"]) != 3 || !(l["supervised"]["lsbd"] > 0) {
		t.Errorf("losses %v", l)
	}
	if f := result.Fit; f.Images == 0 || f.Variance == 0 || f.Converged {
		t.Errorf("fit %+v of three epochs", f)
	}
	m := result.Metrics
	if len(m) != 1 || m[0].Name != "dlsbd" || m[0].Better != "lower" || !(*m[0].Value > 0 && *m[0].Value < 2) ||
		fmt.Sprint(m[0].Parts[0].Labels) != "[row column]" {
		t.Errorf("metrics %+v", m)
	}
	checkFolder(t, dir)
	checkConfig(t, dir)
	checkLog(t, dir, *m[0].Value)
	checkCodes(t, filepath.Join(dir, "codes.npy"), filepath.Join(dir, "factors.npy"))
	if report := string(must.Read(t, filepath.Join(dir, "report.html"))); !strings.Contains(report, "<html") ||
		!strings.Contains(report, "data:image/png;base64,") || !strings.Contains(report, "dlsbd") {
		t.Errorf("the report lacks a figure or the metric")
	}
}

func checkFolder(t *testing.T, dir string) {
	t.Helper()
	want := regexp.MustCompile(`^(\.lock|checkpoint\.safetensors|codes\.npy|config\.yaml|events\.out\.tfevents\.\d+\.unravel|factors\.npy|` +
		`figures|fit\.json|log\.jsonl|metrics\.(csv|json)|report\.html|run\.json|state\.json)$`)
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		if !want.MatchString(e.Name()) {
			t.Errorf("there is a file %s", e.Name())
		}
	}
	must.Equal(t, len(entries), 14, "files", entries)
	for _, name := range []string{"losses", "reconstructions", "torus", "traversals"} {
		picture, err := png.Decode(bytes.NewReader(must.Read(t, filepath.Join(dir, "figures", name+".png"))))
		if err != nil || picture.Bounds().Dx() < 100 {
			t.Errorf("figure %s: %v", name, err)
		}
	}
	var state struct {
		Step, Epoch int
		Done        bool
	}
	if err := json.Unmarshal(must.Read(t, filepath.Join(dir, "state.json")), &state); err != nil || state.Step != 24 ||
		state.Epoch != 3 || !state.Done {
		t.Errorf("state %+v, %v", state, err)
	}
}

// checkConfig wants a valid and complete config that trains unchanged.
func checkConfig(t *testing.T, dir string) {
	t.Helper()
	stored := filepath.Join(dir, "config.yaml")
	text := must.Read(t, stored)
	c := must.Get(train.Load(stored, text))(t)
	if again, err := c.Encode(); err != nil || string(again) != string(text) {
		t.Errorf("the stored config is not its own encoding: %v\n%s\nbecomes\n%s", err, text, again)
	}
	if c.Seed != 3 || c.Metrics.Every != 2 || c.Train.Epochs != 3 {
		t.Errorf("the stored config lacks the overrides:\n%s", text)
	}
	twin := filepath.Join(t.TempDir(), "twin")
	clitest.OK(t, "train", stored, "--run", twin, "train.figures=false")
	clitest.SameRun(t, "a run of the stored config", twin, dir)
}

// checkLog wants one line for every epoch and evaluation.
func checkLog(t *testing.T, dir string, last float64) {
	t.Helper()
	var got []string
	for line := range strings.Lines(string(must.Read(t, filepath.Join(dir, "log.jsonl")))) {
		var l struct {
			Step, Epoch, Images int
			Seconds             float64
			Losses              map[string]map[string]float64
			Metrics             map[string]float64
		}
		clitest.JSON(t, line, &l)
		switch {
		case l.Metrics != nil:
			got = append(got, fmt.Sprintf("metrics of epoch %d, step %d", l.Epoch, l.Step))
			if l.Epoch == 3 && l.Metrics["dlsbd"] != last {
				t.Errorf("the log has %v, the result %v", l.Metrics, last)
			}
		default:
			got = append(got, fmt.Sprintf("epoch %d, step %d, %d images", l.Epoch, l.Step, l.Images))
			if len(l.Losses["supervised"]) != 4 || !(l.Seconds > 0) {
				t.Errorf("log line %s", line)
			}
		}
	}
	want := []string{"epoch 1, step 8, 256 images", "epoch 2, step 16, 256 images", "metrics of epoch 2, step 16",
		"epoch 3, step 24, 256 images", "metrics of epoch 3, step 24"}
	if !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// checkCodes wants a point on the torus for each of 256 images, and their levels.
func checkCodes(t *testing.T, codesFile, factorsFile string) {
	t.Helper()
	codes := must.Get(npy.ReadFile[float32](codesFile))(t)
	factors := must.Get(npy.ReadFile[int64](factorsFile))(t)
	if fmt.Sprint(codes.Shape, factors.Shape) != "[256 4] [256 2]" {
		t.Fatalf("shapes %v and %v", codes.Shape, factors.Shape)
	}
	for i := range 256 {
		for c := range 2 {
			if norm := math.Hypot(float64(codes.Data[4*i+2*c]), float64(codes.Data[4*i+2*c+1])); !(math.Abs(norm-1) <= 1e-5) {
				t.Fatalf("code %d has norm %v on circle %d", i, norm, c)
			}
		}
		if factors.Data[2*i] != int64(i/16) || factors.Data[2*i+1] != int64(i%16) {
			t.Fatalf("factors of image %d: %v", i, factors.Data[2*i:2*i+2])
		}
	}
}

// Without --json, the metrics are a table. Without --run and overrides, the folder is runs/NAME.
func TestTrainHere(t *testing.T) {
	config := clitest.TinyFile(t)
	t.Chdir(t.TempDir())
	o := clitest.OK(t, "train", config, "name=mine")
	if !regexp.MustCompile(`^dlsbd +0\.\d+ +\(lower is better\)\n  chance +[^\n]+\n  per_subgroup +row 0\.\d+, column 0\.\d+ *\n`).MatchString(o.Out) {
		t.Errorf("standard output:\n%s", o.Out)
	}
	if !strings.Contains(o.Log, "see "+filepath.Join("runs", "mine")+"\n") {
		t.Errorf("standard error:\n%s", o.Log)
	}
	if _, err := os.Stat(filepath.Join("runs", "mine", "report.html")); err == nil {
		t.Errorf("there is a report though train.figures is false")
	}
	clitest.OK(t, "train", "--resume", config, "name=mine") // finds the run there
}

// Arguments may come in any order, and --resume needs no config.
func TestArguments(t *testing.T) {
	config, dir := clitest.TinyFile(t), filepath.Join(t.TempDir(), "run")
	o := clitest.OK(t, "train", "--json", config, "--run", dir, "train.epochs=1", "--resume", "seed=2")
	if !strings.Contains(o.Out, `"epochs":1,`) || !strings.Contains(o.Out, `"seed":2,`) {
		t.Errorf("result %s", o.Out)
	}
	o = clitest.OK(t, "train", "--resume", "train.epochs=2", "--run="+dir, "--json")
	if !strings.Contains(o.Out, `"epochs":2,`) || !strings.Contains(o.Out, `"seed":2,`) ||
		!strings.Contains(o.Log, "continuing after step 8 (1 epoch)") {
		t.Errorf("continued: %v", o)
	}
	for _, args := range [][]string{{"--help"}, {"train", "--help"}, {"eval", "-h"}, {"data", "show", "--help"}} {
		if o := clitest.Run(t, args...); o.Code != 0 || !strings.HasPrefix(o.Out, "Usage: unravel ") || o.Log != "" {
			t.Errorf("unravel %v: %v", args, o)
		}
	}
}

func TestEval(t *testing.T) {
	long.NotShort(t)
	dir := clitest.Finished(t)
	table := clitest.OK(t, "eval", "--run", dir)
	if !strings.HasPrefix(table.Out, "dlsbd ") || strings.Contains(table.Out, "dlsbd-workshop") || table.Log != "" {
		t.Errorf("eval: %v", table)
	}
	var stored []map[string]any
	must.OK(t, json.Unmarshal(must.Read(t, filepath.Join(dir, "metrics.json")), &stored))
	want := stored[0]["value"].(float64)
	type metric struct {
		Name, Better string
		Value        float64
		Parts, Grids []any
		Notes        []string
		Score        *float64
		PerFactor    []float64 `json:"per_factor"`
		Options      map[string]any
		Like         []string
		Basis        metrics.Basis
		Scale        float64
		Chance       *metrics.Chance
	}
	evaluate := func(args ...string) map[string]metric {
		t.Helper()
		var result struct{ Metrics map[string]metric }
		clitest.JSON(t, clitest.OK(t, append([]string{"eval", "--json"}, args...)...).Out, &result)
		return result.Metrics
	}
	if m := evaluate("--run", dir); len(m) != 1 || m["dlsbd"].Value != want {
		t.Errorf("--run: %v, want %v", m, want)
	}
	if m := evaluate(clitest.FewTrees("--run", dir, "--metrics", "all")...); len(m) < 2 || m["dlsbd"].Value != want ||
		m["dlsbd-workshop"].Better != "lower" {
		t.Errorf("all metrics: %v", m)
	}
	if m := evaluate("--run", dir, "--metrics", "dlsbd-workshop"); len(m) != 1 || !(m["dlsbd-workshop"].Value > 0) {
		t.Errorf("one metric: %v", m)
	}
	codes, factors := filepath.Join(dir, "codes.npy"), filepath.Join(dir, "factors.npy")
	want = evaluate("--run", dir, "--metrics=dlsbd", "--option", "dlsbd.spaces=never")["dlsbd"].Value // files have no latent spaces
	if m := evaluate("--codes", codes, "--factors", factors, "--types", "circular",
		"--metrics=dlsbd,dlsbd-workshop"); len(m) != 2 || m["dlsbd"].Value != want {
		t.Errorf("files: %v, want %v", m, want)
	}
}

// The levels of factors follow the order of their values, whatever the values.
func TestEvalFactorValues(t *testing.T) {
	chosen := "fast"
	if long.Enabled() {
		chosen = "all"
	}
	dir := clitest.Finished(t)
	codes, factors := filepath.Join(dir, "codes.npy"), filepath.Join(dir, "factors.npy")
	want := clitest.OK(t, "eval", "--codes", codes, "--factors", factors, "--types=circular", "--metrics", chosen)
	a := must.Get(npy.ReadFile[int64](factors))(t)
	for i := range a.Data {
		a.Data[i] = a.Data[i] + math.MaxInt64 - 100
		if i%2 == 1 {
			a.Data[i] = -a.Data[i] // turns the other way, which is an equally good code
		}
	}
	must.WriteNPY(t, factors, a.Shape, a.Data)
	if got := clitest.OK(t, "eval", "--codes", codes, "--factors", factors, "--types=circular", "--metrics",
		chosen); digits.FindString(got.Out) != digits.FindString(want.Out) {
		t.Errorf("other values of the factors:\n%s\nwant\n%s", got.Out, want.Out)
	}
}

var digits = regexp.MustCompile(`0\.\d+`)

func TestEncode(t *testing.T) {
	dir := clitest.Finished(t)
	want := must.Read(t, filepath.Join(dir, "codes.npy"))
	for _, name := range []string{"codes.npy", "factors.npy"} {
		must.OK(t, os.Remove(filepath.Join(dir, name)))
	}
	o := clitest.OK(t, "encode", "--run", dir)
	if o.Out != "" || !strings.Contains(o.Log, "256 codes of 4 columns in "+filepath.Join(dir, "codes.npy")) {
		t.Errorf("encode: %v", o)
	}
	checkCodes(t, filepath.Join(dir, "codes.npy"), filepath.Join(dir, "factors.npy"))
	other := filepath.Join(t.TempDir(), "other.npy")
	clitest.OK(t, "encode", "--run", dir, "--out", other)
	checkCodes(t, other, strings.TrimSuffix(other, ".npy")+"-factors.npy")
	if !bytes.Equal(must.Read(t, other), want) || !bytes.Equal(must.Read(t, filepath.Join(dir, "codes.npy")), want) {
		t.Error("the codes are not those that the run stored")
	}
}

func TestDataShow(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	o := clitest.OK(t, "data", "show", "square", "size=16", "--count", "4", "side=4", "--scale=2")
	if o.Out != "square.png\n" || !strings.Contains(o.Log,
		"square: 256 images of 16x16x1\n  row: 16 levels, circular\n  column: 16 levels, circular\n") {
		t.Errorf("data show: %v", o)
	}
	small := decodePNG(t, "square.png")
	clitest.OK(t, "data", "show", "arrow", "size=16", "hues=8", "rotations=8", "--out", "a.png", "--rows", "rotation",
		"--columns", "hue", "--count=8", "--scale=9")
	if large := decodePNG(t, "a.png"); large <= small {
		t.Errorf("a sheet of 8x8 images is %d pixels wide, one of 4x4 %d", large, small)
	}
	must.OK(t, os.MkdirAll("mine", 0o777))
	must.WriteNPY(t, "mine/images.npy", []int{6, 4, 4}, make([]uint8, 96))
	must.WriteNPY(t, "mine/factors.npy", []int{6, 2}, []int64{0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2})
	if o := clitest.OK(t, "data", "show", "grid", "path=mine", "names=[kind, size]", "--out=g.png"); !strings.Contains(o.Log,
		"grid: 6 images of 4x4x1\n  kind: 2 levels, ordinal\n  size: 3 levels, ordinal\n") {
		t.Errorf("data show: %v", o)
	}
	decodePNG(t, "g.png")
	must.WriteNPY(t, "mine/factors.npy", []int{6, 1}, []int64{0, 45, 90, 135, 0, 45})
	if o := clitest.OK(t, "data", "show", "grid", "path=mine", "kinds=[circular]", "--out=g.png"); !strings.Contains(o.Log,
		"  factor0: 4 levels, circular with a full turn of 180\n") {
		t.Errorf("data show: %v", o)
	}
	must.WriteNPY(t, "mine/factors.npy", []int{6, 1}, []float64{0, 1, 2, 3, 4, 5.4}) // radians, but called degrees
	const radians = "  factor0: 6 levels, circular, from 0 to 0.015 of a turn\n"
	if o := clitest.OK(t, "data", "show", "grid", "path=mine", "kinds=[circular:360]", "--out=g.png"); !strings.Contains(o.Log, radians) {
		t.Errorf("data show: %v; want %s", o, radians)
	}
	for _, args := range [][]string{{"--augment", "--out=v.png"}, {"--augment", "byol", "--out=v.png"},
		{"--out=v.png", "--augment=[flip]"}, {"--out", "v.png", "--count=3", "--augment"}} {
		if o := clitest.OK(t, append([]string{"data", "show", "arrow", "size=16", "hues=8"}, args...)...); o.Out != "v.png\n" {
			t.Errorf("%v: %v", args, o)
		}
		decodePNG(t, "v.png")
	}
	for want, args := range map[string][]string{
		`unknown pipeline "bol"; did you mean "byol"?`:                                       {"arrow", "--augment=bol"},
		"probability: 2 is out of range":                                                     {"arrow", "--augment=[{flip: {probability: 2}}]"},
		"--augment and --groups show random ones":                                            {"arrow", "--augment", "--rows=hue"},
		"images of 4 x 4 x 1: want more than 4 pixels along each side":                       {"square", "size=4", "side=2", "--augment=[{blur: {kernel: 9}}]"},
		"jitter: images of 1 x 1 x 64: saturation and hue need colours; want 1 channel or 3": {"chopsticks", "--augment"},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"data", "show"}, args...)...), 2, want)
	}
	if o := clitest.OK(t, "list", "pipelines", "moco"); !strings.Contains(o.Out, "Source: He et al. 2020") ||
		!strings.Contains(o.Out, "\npipeline:\n  - crop:\n      probability: 1.0\n") {
		t.Errorf("list pipelines moco: %v", o)
	}
	for _, args := range [][]string{{"data"}, {"data", "list"}} {
		if o := clitest.OK(t, args...); !strings.Contains(o.Out, "square") || !strings.Contains(o.Out, "arrow") || o.Log != "" {
			t.Errorf("unravel %v: %v", args, o)
		}
	}
}

func decodePNG(t *testing.T, path string) (width int) {
	t.Helper()
	picture := must.Get(png.Decode(bytes.NewReader(must.Read(t, path))))(t)
	return picture.Bounds().Dx()
}

func TestList(t *testing.T) {
	long.NotShort(t)
	all := clitest.OK(t, "list")
	must.Equal(t, all.Log, "", "standard error")
	for _, k := range docs.Kinds() {
		if len(k.Parts) == 0 || !strings.Contains(all.Out, "\n"+k.Kind+"\n") && !strings.HasPrefix(all.Out, k.Kind+"\n") {
			t.Errorf("the list lacks %s", k.Kind)
		}
		of := clitest.OK(t, "list", k.Kind).Out
		for _, i := range long.Sample(k.Parts, 5) {
			if i.Doc == "" || !strings.Contains(of, "  "+i.Name+"  ") || !strings.Contains(of, i.Doc) || !strings.Contains(all.Out, i.Doc) {
				t.Errorf("the list of %s lacks %s, or says nothing about it:\n%s", k.Kind, i.Name, of)
			}
			one := clitest.OK(t, "list", k.Kind, i.Name).Out
			if k.Kind != "configs" && !strings.HasPrefix(one, i.Name+": "+i.Doc+"\n") ||
				i.Source != "" && !strings.Contains(one, "Source: "+i.Source) ||
				i.Units != "" && !strings.Contains(one, "Units: "+i.Units) {
				t.Errorf("%s %s:\n%s", k.Kind, i.Name, one)
			}
		}
	}
	if one := clitest.OK(t, "list", "losses",
		"lsbd").Out; !regexp.MustCompile(`(?m)^  weight +number or ramp +100\S* +factor in the total: gamma$`).MatchString(one) {
		t.Errorf("the options of lsbd:\n%s", one)
	}
	source := must.Get(configs.Read(configs.Quickstart))(t)
	must.Equal(t, clitest.OK(t, "list", "configs", configs.Quickstart).Out,
		"# yaml-language-server: $schema=unravel.schema.json\n"+string(source), "the quickstart")
}
