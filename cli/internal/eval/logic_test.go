package eval_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/eval"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

// writeTurned writes codes.npy and factors.npy for two factors with 5 and 4 levels. The codes are sums and differences
// of the factors.
func writeTurned(t *testing.T) {
	t.Helper()
	var codes, factors []float64
	for i := range 60 {
		a, b := float64(i%5), float64(i/5%4)
		codes, factors = append(codes, a+0.1*b, b-0.1*a), append(factors, a, b)
	}
	must.WriteNPY(t, "codes.npy", []int{60, 2}, codes)
	must.WriteNPY(t, "factors.npy", []int{60, 2}, factors)
}

// --metrics takes names, and metrics with their settings.
func TestEvalSentences(t *testing.T) {
	t.Chdir(t.TempDir())
	writeTurned(t)
	const modular = `forall[mean] v in y.factor0: exists c in z.factor0: forall[mean] i: y.factor0(i) = v -> z.factor0(i) =[squared] c`
	evaluate := func(args ...string) clitest.Outcome {
		return clitest.Run(t, append([]string{"eval", "--codes", "codes.npy", "--factors", "factors.npy", "--json"}, args...)...)
	}
	for _, args := range [][]string{
		{"--metrics", `logic: "` + modular + `"`},
		{"--metrics", `logic: ` + modular},
		{"--metrics", `{logic: {sentence: "` + modular + `"}}`},
		{"--metrics", ` [logic: {sentence: "` + modular + `"}]`},
		{"--metrics", `logic: "` + strings.ReplaceAll(modular, "z.factor0", "z.own") + `"`, "--option", "logic.codes={own: [0]}"},
		{"--metrics", `logic: "` + modular + `"`, "--blocks", "0;1"},
	} {
		o := evaluate(append(args, "--metrics", "variance, mig")...)
		var got struct {
			Metrics map[string]eval.Evaluated `json:"metrics"`
		}
		if err := json.Unmarshal([]byte(o.Out), &got); err != nil || len(got.Metrics) != 3 {
			t.Fatalf("%v: %v, %v", args, o, err)
		}
		l := got.Metrics["logic"]
		if want := got.Metrics["variance"].PerFactor[0]; !(l.Value-want <= 1e-12) || !(want-l.Value <= 1e-12) ||
			l.Truth != "equivalent" || l.Score == nil {
			t.Errorf("%v: %+v; want the variance of the first factor, %v", args, l, want)
		}
	}
	o := evaluate("--metrics", `{logic: {name: first, sentence: "`+modular+`"}}, logic: "forall i: z(i) =[squared] 0"`)
	if !strings.Contains(o.Out, `"first":`) || !strings.Contains(o.Out, `"logic":`) {
		t.Errorf("%v", o)
	}
	for want, text := range map[string]string{
		`1:10: found "z", want :`:             `logic: "forall i z(i)"`,
		`metric logic: 1:11: there is no sub`: `logic: "forall i: z.factor7(i) =[squared] 0"`,
		`put the sentence in single quotes`:   `logic: "forall i: y."my shape"(i) =[squared] 0"`,
		"want a sentence, such as: forall":    `logic`,
		`want names separated by commas`:      `{logic: "forall`,
		"metric logic: independent[discrim":   `logic: "independent[discriminator](z[0], z[1])"`,
		`unknown metric "logik"`:              `logik: "forall i: z(i) =[squared] 0"`,
	} {
		if o := evaluate("--metrics", text); o.Code == 0 || !strings.Contains(o.Log, want) {
			t.Errorf("%s: %v; want %s", text, o, want)
		}
	}
}

// eval --out draws and stores the product approximation and the left inverse.
func TestEvalApproximation(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	writeTurned(t)
	if o := clitest.Run(t, "eval", "--codes", "codes.npy", "--factors", "factors.npy", "--metrics", "mse", "--out", "out"); o.Code != 0 {
		t.Fatal(o)
	}
	if info, err := os.Stat(filepath.Join("out", "approximation.png")); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	five := make([]float64, 5*60)
	for i := range five {
		five[i] = float64(i * i % 7)
	}
	must.WriteNPY(t, "five.npy", []int{60, 5}, five)
	clitest.OK(t, "eval", "--codes", "five.npy", "--factors", "five.npy", "--metrics", "mse", "--out", "five")
	constancy := must.Get(png.DecodeConfig(bytes.NewReader(must.Read(t, filepath.Join("five", "constancy.png")))))(t)
	if constancy.Width < 4*300 || constancy.Height < 2*300 { // a panel of each of five factors, four in a line
		t.Errorf("constancy.png has %d × %d pixels", constancy.Width, constancy.Height)
	}
	product := must.Get(npy.ReadFile[float64](filepath.Join("out", "product-approximation.npy")))(t)
	inverse := must.Get(npy.ReadFile[float64](filepath.Join("out", "left-inverse.npy")))(t)
	for i := range 60 {
		a, b := float64(i%5), float64(i/5%4)
		for at, want := range []float64{a + 0.15, b - 0.2} { // means over the other factor
			if got := product.Data[2*i+at]; !(got-want <= 1e-12) || !(want-got <= 1e-12) {
				t.Fatalf("row %d, column %d: %v; want %v", i, at, got, want)
			}
		}
		for at, want := range []float64{a / 4, b / 3} {
			if got := inverse.Data[2*i+at]; !(got-want <= 1e-9) || !(want-got <= 1e-9) {
				t.Fatalf("row %d, factor %d: %v; want %v", i, at, got, want)
			}
		}
	}
}
