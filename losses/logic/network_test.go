package logic

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

type networkData struct {
	Z, Y      [][]float64
	Sentences []struct {
		Text   string
		Minima []float64
	}
}

func readNetworks(t *testing.T) (d networkData, b Batch) {
	t.Helper()
	text, err := os.ReadFile("testdata/network.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	must.OK(t, err)
	return d, Batch{Codes: d.Z, Values: d.Y}
}

var networkSchema = Schema{Codes: 3, Factors: []string{"a", "b"}}

// TestNetworks compares the quantities of fitted networks with another program's local minima.
func TestNetworks(t *testing.T) {
	long.NotShort(t)
	d, b := readNetworks(t)
	for _, want := range long.Sample(d.Sentences, 1) {
		q := must.Get(Compile(parsed(t, want.Text), networkSchema))(t)
		must.Equal(t, q.Sentence().String(), want.Text, want.Text, "is printed as")
		v, err := q.ValueOf(b)
		least, median := want.Minima[0], want.Minima[len(want.Minima)/2]
		if err != nil || v < least*(1-1e-6) || !(v <= median*(1+1e-4)) {
			t.Errorf("%s: %v, %v, want %v to %v", want.Text, v, err, least, median)
		}
		if again, _ := q.ValueOf(b); again != v {
			t.Errorf("%s: %v, then %v", want.Text, v, again)
		}
		found, err := q.Approximation(b)
		if err != nil || len(found) != 1 || len(found[0].Values) != len(b.Codes) {
			t.Fatalf("%s: %v, %v", want.Text, found, err)
		}
		b.Stream = rng.New(3, "other starts")
		if other, err := q.ValueOf(b); err != nil || !(other >= least*(1-1e-6)) {
			t.Errorf("%s: %v from other starts, %v", want.Text, other, err)
		}
		b.Stream = nil
	}
	q := must.Get(Compile(parsed(t, d.Sentences[0].Text), networkSchema))(t)
	found, err := q.Approximation(b)
	must.OK(t, err)
	v, sum := 0.0, 0.0
	if v, err = q.ValueOf(b); err != nil {
		t.Fatal(err)
	}
	for i, row := range found[0].Values {
		for k, x := range row {
			sum += (x - b.Values[i][k]) * (x - b.Values[i][k]) / float64(len(b.Codes))
		}
	}
	if !(math.Abs(sum-v) <= 1e-12) {
		t.Errorf("the function found has the error %v, want %v", sum, v)
	}
}

// TestNetworkWithoutLayers fits an affine function with a known quantity.
func TestNetworkWithoutLayers(t *testing.T) {
	_, b := readNetworks(t)
	for i := range b.Codes {
		b.Codes[i][1] = 1000 + 30*b.Codes[i][1]
	}
	for _, body := range []string{"forall[mean] i: h(z(i)) =[squared] y(i)", "forall[sum] i: h(z(i)) =[squared] 100 * y(i)"} {
		var values []float64
		for _, class := range []string{"affine", "mlp {layers: []}"} {
			q := must.Get(Compile(parsed(t, "exists h: z -> y in "+class+": "+body), networkSchema))(t)
			v := must.Get(q.ValueOf(b))(t)
			values = append(values, v)
		}
		if !(math.Abs(values[0]-values[1]) <= 1e-6*values[0]) {
			t.Errorf("%s: %v affine, %v by a network", body, values[0], values[1])
		}
	}
	q := must.Get(Compile(parsed(t, "exists h: z -> z in mlp: forall i: h(z(i)) =[squared] z(i)"), networkSchema))(t)
	b.Interrupt = func() error { return errors.New("enough") }
	if v, err := q.ValueOf(b); err == nil {
		t.Errorf("%v of an interrupted fit", v)
	}
}

// TestNetworkNodes checks the gradients in codes and parameters of a network trained along with the model.
func TestNetworkNodes(t *testing.T) {
	_, b := readNetworks(t)
	b.Codes, b.Values = b.Codes[:8], b.Values[:8]
	labels := make([][]float64, 8)
	for i := range labels {
		labels[i] = []float64{float64(i), float64(i)}
	}
	for text, width := range map[string]int{
		"(exists h: z -> y in mlp: forall[mean] i: h(z(i)) =[squared] y(i)) and (forall[mean] i: z(i) =[squared] 0)": 3,
		"exists h: z[2, 0] -> y.b in mlp: forall[mean] i, j: h(z[2, 0](i)) =[euclidean] h(z[2, 0](j)) + z[1](j)":     2,
		"2 * (exists h: y -> z[1:3] in mlp: forall i: h(y(i)) =[absolute] z[1:3](i))":                                2,
	} {
		q := must.Get(Compile(parsed(t, text), networkSchema))(t)
		in := []gradcheck.Input{flat(b.Codes, false), {Shape: []int{width, 5}}, gradcheck.In(5), {Shape: []int{5, 2}}, gradcheck.In(2)}
		if q.NeedsValues() {
			in = append(in, flat(b.Values, true), flat(labels, true))
		}
		if strings.Contains(text, "y.b") {
			in[3].Shape, in[4].Shape = []int{5, 1}, []int{1}
		}
		build := func(in []*gorgonia.Node) (*gorgonia.Node, error) {
			batch := Inputs{Codes: in[0]}
			if len(in) > 5 {
				batch.Values, batch.Labels = in[5], in[6]
			}
			return q.NodeOf(Named{Network: func(f Network, x *gorgonia.Node) (*gorgonia.Node, error) {
				if f.Name != "h" || !slices.Equal(f.Layers, []int{64}) || f.Out != in[4].Shape()[0] {
					return nil, fmt.Errorf("asked for %v", f)
				}
				h, err := layer.Dense(x, in[1], in[2], graph.Tanh)
				if err != nil {
					return nil, err
				}
				return layer.Dense(h, in[3], in[4], graph.Linear)
			}}, batch)
		}
		gradcheck.Check(t, gradcheck.Case{Name: text, Inputs: in, Build: build, Samples: 8, Tolerance32: 1e-4})
	}
}

func TestNetworkErrors(t *testing.T) {
	for text, want := range map[string]string{
		"exists h: z -> y in mlp by max: forall[mean] i: h(z(i)) =[squared] y(i)":                                                     "1:8: a function in mlp is trained by the quantity itself; want no `by`",
		"not exists h: z -> y in mlp: forall[mean] i: h(z(i)) =[squared] y(i)":                                                        "1:5: a function in mlp is trained by the whole sentence",
		"with and = max: (exists h: z -> y in mlp: forall i: h(z(i)) =[squared] y(i)) and forall i: z(i) =[squared] 0":                "1:18: a function in mlp is trained by the whole sentence",
		"exists h: z -> y in mlp: forall[mean] i: h(z[0:2](i)) =[squared] y(i)":                                                       "1:42: h is a function of z, got z[0:2](i)",
		"exists h: z -> y in mlp: forall[mean] i: h(2 * z(i)) =[squared] y(i)":                                                        "1:42: h in mlp is a function of z of a row, got 2 * z(i)",
		"exists h: z -> y in mlp: forall[mean] i: h(z(i)) =[squared] z(i)":                                                            "1:50: a term has 2 columns and the other 3 columns",
		"exists h: z -> y in mlp, g: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)":                                       "1:1: functions in mlp and other functions share a quantifier",
		"exists h: z -> y in mlp: forall[mean] i: not h(z(i)) =[squared] y(i)":                                                        "1:42: a function is applied in a negation",
		"(exists h: z -> y in mlp: forall i: h(z(i)) =[squared] y(i)) and exists h: y -> z in mlp: forall i: h(y(i)) =[squared] z(i)": "1:73: two functions in mlp are called h",
	} {
		s, err := Parse(text)
		if err == nil {
			_, err = Compile(s, networkSchema)
		}
		must.Error(t, err, want, text)
	}
	q := must.Get(Compile(parsed(t, "exists h: z -> z in mlp: forall i: h(z(i)) =[squared] z(i)"), networkSchema))(t)
	must.ErrorOf(q.NodeOf(Named{}, Inputs{Codes: gradcheck.Node(gorgonia.NewGraph(), tensor.Float64, "z", 4, 3)}))(t,
		"the function h in mlp is trained together with a model", "a network without a trainer")
	if got, want := q.Sentence().Truth().String(),
		"0 implies that the sentence is true, but a true sentence may not have 0: training may not find the function h in mlp"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}
