package logic

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic/internal/syntax"
)

func independentSchema() Schema {
	return Schema{Codes: 6, SubCodes: map[string][]int{"a": {0, 1}, "b": {3}, "c": {5, 2}}}
}

// TestIndependence compares values and gradients with another program's results, nodes with finite differences, and
// element types.
func TestIndependence(t *testing.T) {
	var data struct {
		Z         [][]float64
		Sentences []struct {
			Text     string
			Value    float64
			Gradient [][]float64
		}
	}
	text, err := os.ReadFile("testdata/independence.json")
	if err == nil {
		err = json.Unmarshal(text, &data)
	}
	must.OK(t, err)
	for _, want := range data.Sentences {
		q := must.Get(Compile(parsed(t, want.Text), independentSchema()))(t)
		must.Equal(t, q.Sentence().String(), want.Text, want.Text, "is printed as")
		if v, err := q.ValueOf(Batch{Codes: data.Z}); err != nil || !(math.Abs(v-want.Value) <= 1e-12) {
			t.Errorf("%s: %v, %v, want %v", want.Text, v, err, want.Value)
		}
		in := []gradcheck.Input{flat(data.Z, false)}
		build := func(in []*gorgonia.Node) (*gorgonia.Node, error) { return q.NodeOf(Named{}, Inputs{Codes: in[0]}) }
		v, g := evaluateInputs(t, tensor.Float64, in, build)
		for k, x := range flat(want.Gradient, false).Values {
			if !(math.Abs(g[k]-x) <= 1e-11) || !(math.Abs(v-want.Value) <= 1e-12) {
				t.Errorf("%s: %v with the gradient %v at %d, want %v and %v", want.Text, v, g[k], k, want.Value, x)
			}
		}
		gradcheck.Check(t, gradcheck.Case{Name: want.Text, Inputs: in, Build: build, Tolerance32: 1e-4})
	}
}

// TestIndependentCodes checks that HSIC is 0 exactly for independent codes, and the total correlation exactly for
// uncorrelated codes.
func TestIndependentCodes(t *testing.T) {
	const hsic, tc = "independent(z.a, z.b)", "independent[tc](z.a, z.b)"
	for name, c := range map[string]struct {
		code     func(i, j float64) [3]float64
		hsic, tc func(v float64) bool
		holds    bool
	}{
		"a grid":            {func(i, j float64) [3]float64 { return [3]float64{i, i * i, j} }, isZero, isZero, true},
		"a small grid":      {func(i, j float64) [3]float64 { return [3]float64{i / 1e4, i * i / 1e4, j / 1e4} }, isZero, isZero, true},
		"a large function":  {func(i, j float64) [3]float64 { return [3]float64{1e6 * i, 1e6 * j, 1e6 * (i - j)} }, positive, infinite, false},
		"one is constant":   {func(i, j float64) [3]float64 { return [3]float64{i, j, 7} }, isZero, isZero, true},
		"collinear block":   {func(i, j float64) [3]float64 { return [3]float64{i, 2*i + 1, j} }, isZero, isZero, true},
		"uncorrelated":      {func(i, j float64) [3]float64 { return [3]float64{i, j, i*i + j*j} }, positive, isZero, false},
		"correlated":        {func(i, j float64) [3]float64 { return [3]float64{i, 0, i + j} }, positive, positive, false},
		"a linear function": {func(i, j float64) [3]float64 { return [3]float64{i, j, i - j} }, positive, infinite, false},
		"all are equal":     {func(i, j float64) [3]float64 { return [3]float64{1, 1, 1} }, isZero, isZero, true},
	} {
		var b Batch
		for i := -2.0; i <= 2; i++ {
			for j := -1.0; j <= 1; j++ {
				x := c.code(i, j)
				b.Codes = append(b.Codes, x[:])
			}
		}
		for text, want := range map[string]func(float64) bool{hsic: c.hsic, tc: c.tc} {
			q, err := Compile(parsed(t, text), Schema{Codes: 3, SubCodes: map[string][]int{"a": {0, 1}, "b": {2}}})
			must.OK(t, err)
			v, err := q.ValueOf(b)
			if err != nil || !want(v) {
				t.Errorf("%s: %s is %v, %v", name, text, v, err)
			}
			if holds, err := q.HoldsOf(b); err != nil || holds != c.holds {
				t.Errorf("%s: %s holds: %v, %v, want %v", name, text, holds, err, c.holds)
			}
			in := []gradcheck.Input{flat(b.Codes, false)}
			_, g := evaluateInputs(t, tensor.Float32, in,
				func(in []*gorgonia.Node) (*gorgonia.Node, error) { return q.NodeOf(Named{}, Inputs{Codes: in[0]}) })
			for _, x := range g {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Errorf("%s: the gradient of %s is %v", name, text, g)
					break
				}
			}
		}
	}
}

func isZero(v float64) bool   { return v == 0 }
func positive(v float64) bool { return v > 1e-3 && !math.IsInf(v, 1) }
func infinite(v float64) bool { return math.IsInf(v, 1) }

func TestIndependenceErrors(t *testing.T) {
	for text, want := range map[string]string{
		"independent(z.a)":                               "1:1: one sub-code is not independent of itself",
		"independent(z.a, z.a)":                          "1:1: column 0 of the codes is in two sub-codes",
		"independent(z.a, z[3], z[2:4])":                 "1:1: column 3 of the codes is in two sub-codes",
		"independent(z.a, z.d)":                          `1:18: there is no sub-code "d"`,
		"independent(z.a(i), z.b(i))":                    `1:16: found "(", want a sub-code without a row`,
		"independent(z.a, y.b)":                          `1:18: found "y", want a sub-code, such as z.a or z[0:2]`,
		"independent[hsci](z.a, z.b)":                    `1:13: unknown dependence "hsci"; did you mean "hsic"?`,
		"independent[tc, hsic](z.a, z.b)":                `1:15: found ",", want ] after a dependence`,
		"independent(z.a, z.b":                           "1:21: found the end, want , or ) after a sub-code",
		"forall i: independent[discriminator](z.a, z.b)": "1:11: independent[discriminator](z.a, z.b) is trained too",
		"with and = max: independent[discriminator](z.a, z.b) and independent(z.a, z.b)": "1:17: independent[discriminator](z.a, z.b) is trained too",
		"not independent[discriminator](z.a, z.b)":                                       "1:5: independent[discriminator](z.a, z.b) is trained too",
		"forall i: independent(z.a, z.b) = 3":                                            "1:11: found a formula, want a term",
	} {
		s, err := Parse(text)
		if err == nil {
			_, err = Compile(s, independentSchema())
		}
		must.Error(t, err, want, text)
	}
	q, err := Compile(parsed(t, "2 * independent[discriminator](z.a, z.b) and independent(z.a, z.b)"), independentSchema())
	must.OK(t, err)
	must.ErrorOf(q.ValueOf(Batch{Codes: [][]float64{make([]float64, 6)}}))(t,
		"want independent[hsic] or independent[tc] in a metric", "a discriminator as a metric")
	must.ErrorOf(q.NodeOf(Named{}, Inputs{Codes: gradcheck.Node(gorgonia.NewGraph(), tensor.Float64, "z", 4, 6)}))(t,
		"trained together with a model", "a discriminator without a trainer")
}

func TestIndependenceTruth(t *testing.T) {
	for text, want := range map[string]string{
		"independent(z.a, z.b)":                "0 if and only if",
		"independent[tc](z.a, z.b)":            "does not show that the sentence is true: independent[tc](z.a, z.b) is also 0 for uncorrelated codes",
		"independent[discriminator](z.a, z.b)": "does not show that the sentence is true: independent[discriminator](z.a, z.b) is the estimate of a discriminator",
		"not independent[tc](z.a, z.b)":        "0 implies that the sentence is true",
	} {
		if got := parsed(t, text).Truth().String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	s := Sentence{syntax.Sentence{Body: Independent(syntax.TotalCorrelation, SubCode("a", ""), CodeColumns("", syntax.Range{Lo: 2, Hi: 4}))}}
	if got, want := s.String()+"; "+s.Formula()+"; "+s.Quantity(), "independent[tc](z.a, z[2:4]); z.a ⫫ z[2:4]; tc(z.a, z[2:4])"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
