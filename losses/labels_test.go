package losses_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// batch returns a model's inputs of losses for six images of two factors, one of them partly unknown. It collects the
// losses' requests.
func batch(t *testing.T) *losses.Input {
	t.Helper()
	g := nn.NewGraph(nn.NewParams(1))
	input := func(name string, columns int, values ...float32) *gorgonia.Node {
		n := must.Get(g.Input(name, len(values)/columns, columns))(t)
		copy(nn.Data(n), values)
		return n
	}
	shape := factor.Factor{Name: "shape", Size: 3, Kind: factor.Categorical, Names: []string{"ellipse", "heart", "square"}}
	size := factor.Factor{Name: "size", Size: 3, Kind: factor.Ordinal}
	return &losses.Input{Outputs: losses.Outputs{
		Codes:       input("codes", 2, 0, 1, 2, 3, 1, 1, 4, 0, 2, 2, 5, 5),
		Sample:      input("sample", 2, 0, 2, 2, 4, 1, 2, 4, 1, 2, 3, 5, 6),
		LogVariance: input("log variance", 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
		Rows:        6,
	}, Batch: losses.Batch{Labels: &losses.Labels{Factors: []factor.Factor{shape, size},
		Groups: func() (*gorgonia.Node, error) { return input("groups", 2, 0, 0, 0, 1, 1, 0, 1, 1, 2, 2, -1, -1), nil },
		Values: func(losses.Units) (values, known *gorgonia.Node, err error) {
			return input("values", 2, 0, 0, 0, 0.5, 0.5, 0, 0.5, 0.5, 1, 1, 0, 0), input("levels", 2, 0, 0, 0, 1, 1, 0, 1, 1, 2, 2, -1, -1), nil
		}}, Group: 1, Population: 600}, Trainer: &losses.Requests{Graph: g, Discriminators: nn.NewParams(2)}}
}

// valueOf composes one loss of a batch and returns its value.
func valueOf(t *testing.T, source string) float64 {
	t.Helper()
	objective, err := losses.ComposeInput(batch(t), choose(t, source))
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	m := must.Get(machine.New(objective.Total.Graph(), objective.Total))(t)
	if err := m.RunAll(); err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return float64(m.Value(objective.Total).Data().(float32))
}

// TestLabelledLosses checks the settings of losses on a batch with values computed by hand.
func TestLabelledLosses(t *testing.T) {
	for source, want := range map[string]float64{
		// shape: {0,2} has variance 1, {1,4} 2.25, {2} 0; size: {1,1} 0, {3,0} 2.25, {2} 0
		"[variance]":                                                              (2+4.5)/2 + (0+4.5)/2,
		"[{variance: {estimator: plain}}]":                                        (1+2.25)/3 + 2.25/3,
		"[{variance: {aggregate: max, estimator: plain}}]":                        2.25 + 2.25,
		"[{variance: {codes: {size: [0]}}}]":                                      (0.5 + 2) / 2, // {0,1} and {2,4}
		"[{variance: {codes: {shape: [1]}, on: sample}}]":                         (2 + 0.5) / 2,
		"[{diameter: {groups: similarity}}]":                                      3 + 3,
		"[{mpd: {weight: 2}}]":                                                    2 * ((1+1.5)/2 + 1.5/2),
		"[{mpd: {estimator: plain}}]":                                             (0.5+0.75)/3 + 0.75/3,
		"[{radius: {aggregate: sum}}]":                                            1 + 1.5 + 1.5,
		`[{logic: 'forall i: y.shape(i) = "heart" -> z.shape(i) =[absolute] 0'}]`: 4, // rows 2 and 3: z 1 and 4
		`[{logic: 'forall i: y.size(i) = "1" -> z.shape(i) =[absolute] 0'}]`:      4, // rows 1 and 3: z 2 and 4
		"[{mad: {}}]": (1+1.5)/3 + 1.5/3,
		"[{contraction: {factors: [size], columns: [0], distance: absolute, aggregate: max}}]":                                   0.5, // rows 1 and 4: z 2 and 2
		"[{contraction: {factors: [shape], columns: [1], aggregate: max}}]":                                                      1,   // rows 0 and 2: z 1 and 1
		"[{contraction: {factors: [shape], columns: [1], aggregate: max, distance: euclidean}}]":                                 0.5,
		"[{logic: {sentence: 'forall[mean] v in y.shape: forall[mean-square] i: y.shape(i) = v -> z.shape(i) =[euclidean] 0'}}]": ((0+4)/2. + (1+16)/2. + 4) / 3,
		"[{logic: {sentence: 'forall[max] i, j: y.shape(i) = y.shape(j) -> z.a(i) =[absolute] z.a(j)', codes: {a: [1]}}}]":       2,
		"[{logic: {sentence: 'forall[sum] i: z[1](i) =[absolute] 0'}}]":                                                          12,
		"[{logic: {sentence: 'forall[max] i: z.size(i) =[absolute] 0 or z.size(i) =[absolute] y.size(i)'}}]":                     2.5, // not 5, because the last row is unknown
		"[{left-inverse: {}}]": leastSquares(),
	} {
		if got := valueOf(t, source); !(math.Abs(got-want) <= 2e-6*max(1, want)) {
			t.Errorf("%s: %v, want %v", source, got, want)
		}
	}
}

// leastSquares is the error of the plane through the five known rows, from the normal equations of centred codes.
func leastSquares() float64 {
	z := [5][2]float64{{0, 1}, {2, 3}, {1, 1}, {4, 0}, {2, 2}}
	y := [5][2]float64{{0, 0}, {0, 0.5}, {0.5, 0}, {0.5, 0.5}, {1, 1}}
	var zm, ym [2]float64
	for i := range z {
		for c := range 2 {
			zm[c] += z[i][c] / 5
			ym[c] += y[i][c] / 5
		}
	}
	var zz [2][2]float64
	var zy [2][2]float64
	yy := [2]float64{}
	for i := range z {
		for a := range 2 {
			yy[a] += (y[i][a] - ym[a]) * (y[i][a] - ym[a])
			for b := range 2 {
				zz[a][b] += (z[i][a] - zm[a]) * (z[i][b] - zm[b])
				zy[a][b] += (z[i][a] - zm[a]) * (y[i][b] - ym[b])
			}
		}
	}
	det := zz[0][0]*zz[1][1] - zz[0][1]*zz[1][0]
	sum := 0.0
	for k := range 2 {
		a := (zz[1][1]*zy[0][k] - zz[0][1]*zy[1][k]) / det
		b := (zz[0][0]*zy[1][k] - zz[1][0]*zy[0][k]) / det
		sum += yy[k] - a*zy[0][k] - b*zy[1][k]
	}
	return sum / 10
}

// TestTotalCorrelations checks that the settings choose the codes, rows and networks.
func TestTotalCorrelations(t *testing.T) {
	plain, weighted := valueOf(t, "[tc]"), valueOf(t, "[{tc: {estimator: weighted}}]")
	if want := plain + math.Log(6*600); !(math.Abs(weighted-want) <= 1e-5) {
		t.Errorf("weighted estimate %v, want %v: the minibatch estimate and log(n N)", weighted, want)
	}
	everywhere := "[{conditional-tc: {estimator: minibatch, active: [{columns: [1], factor: shape, levels: [0, 1, 2]}]}}]"
	part := "[{conditional-tc: {estimator: minibatch, active: [{columns: [1], factor: shape, levels: [0]}]}}]"
	if a, b := valueOf(t, everywhere), valueOf(t, part); a == b || a == plain {
		t.Errorf("estimates %v with the second column active where shape is known, %v where it is 0, %v everywhere", a, b, plain)
	}
	none := "[{conditional-tc: {estimator: minibatch, active: [{columns: [0], factor: shape, levels: [0]}, {columns: [1], factor: shape, levels: [1]}]}}]"
	must.Equal(t, valueOf(t, none), 0, "estimate", "where no row has two active columns")

	o := batch(t)
	if _, err := losses.ComposeInput(o,
		choose(t, "[{tc: {estimator: adversarial, discriminator: {hidden: [5]}}}, {conditional-tc: {active: [{columns: [1], factor: size, levels: [2]}], discriminator: {hidden: [7]}}}]")); err != nil {
		t.Fatal(err)
	}
	if len(o.Asked().Adversaries) != 2 || o.Asked().Adversaries[0].Name != "tc" ||
		o.Asked().Adversaries[0].Active != nil || o.Asked().Adversaries[1].Name != "conditional-tc" {
		t.Fatalf("adversaries %+v", o.Asked().Adversaries)
	}
	if names, _ := o.Asked().Graph.Learnables(); len(names) != 0 {
		t.Errorf("the model's program would train %v", names)
	}
	a := o.Asked().Adversaries[1]
	if w := o.Asked().Discriminators.Get("conditional-tc/dense1/weight"); w == nil || w.Shape()[1] != 7 ||
		o.Asked().Discriminators.Get("tc/logits/weight").Shape()[1] != 2 || o.Asked().Discriminators.Get("conditional-tc/logits/weight").Shape()[1] != 1 {
		t.Errorf("parameters %v", o.Asked().Discriminators.Names())
	}
	m := must.Get(machine.New(a.Codes.Graph(), a.Codes, a.Active))(t)
	must.OK(t, m.RunAll())
	for i, want := range []float32{0, 0, 2, 0, 1, 0, 4, 0, 2, 3, 5, 0} { // only the fifth row has size 2
		if got := m.Value(a.Codes).Data().([]float32)[i]; got != want {
			t.Errorf("the discriminator sees %v, want %v", m.Value(a.Codes).Data(), want)
			break
		}
	}
}

// TestWrongNames checks that errors name the mistake in a config that does not fit the batch.
func TestWrongNames(t *testing.T) {
	for source, want := range map[string]string{
		"[{variance: {codes: {shpe: [0]}}}]":                                          `codes: there is no factor "shpe"; did you mean "shape"?`,
		"[{variance: {codes: {shape: [2]}}}]":                                         "codes.shape: column 2 does not exist; codes have columns 0 to 1",
		"[{contraction: {factors: [siz]}}]":                                           `there is no factor "siz"; did you mean "size"?`,
		"[{conditional-tc: {active: [{columns: [0], factor: form, levels: [1]}]}}]":   `active.0: there is no factor "form"`,
		"[{conditional-tc: {active: [{columns: [0], factor: shape, levels: [3]}]}}]":  `active.0: factor "shape" has no level 3; want 0 to 2`,
		"[{conditional-tc: {active: [{columns: [2], factor: shape, levels: [1]}]}}]":  "columns of codes below 2",
		"[{conditional-tc: {active: [{columns: [], factor: shape, levels: [1]}]}}]":   "columns or levels are empty",
		"[{logic: {sentence: 'forall[mean] i, j: z(i) =[discrete] z(j)'}}]":           "no gradient with respect to the codes",
		"[{logic: {sentence: 'forall i: z.size(i) =[squared] z.shap(i)'}}]":           `"shap"; did you mean "shape"?`,
		"[{logic: {sentence: 'forall i: y.size(j) =[squared] z.shape(i)'}}]":          "1:11: there is no variable j",
		"[{logic: {sentence: 'forall[mean] i: z(i) =[squared] 0', codes: {a: [9]}}}]": "9",
	} {
		must.ErrorOf(losses.ComposeInput(batch(t), choose(t, source)))(t, want, source)
	}
	o := batch(t)
	o.Labels = nil
	for _, source := range []string{"[{logic: {sentence: 'forall i: z(i) =[squared] 0'}}]", "[hsic]"} {
		if _, err := losses.ComposeInput(o, choose(t, source)); err != nil {
			t.Errorf("%s needs labels: %v", source, err)
		}
	}
	for source, want := range map[string]string{
		"[{logic: {sentence: 'forall i: y.size(i) =[squared] z(i)'}}]": "it needs labels of the factors; want a supervision",
		"[{logic: {sentence: 'forall i: z.size(i) =[squared] 0'}}]":    `there is no sub-code "size"; want codes with the columns of each name, or a supervision with labels`,
	} {
		must.ErrorOf(losses.ComposeInput(o, choose(t, source)))(t, want, source)
	}
	three := batch(t)
	three.Labels.Factors = append(three.Labels.Factors, factor.Factor{Name: "x", Size: 2})
	for _, source := range []string{"[variance]", "[{logic: {sentence: 'forall i: z.size(i) =[squared] 0'}}]"} {
		must.ErrorOf(losses.ComposeInput(three, choose(t, source)))(t, "2 code columns cannot be divided evenly among 3 factors", source)
	}
}

// Equal shares give columns to factors of one level, too, and a note says so.
func TestShareOfOneLevel(t *testing.T) {
	const note = "the loss variance gives factor shape an equal share of the columns, although it has only one level; its key codes chooses the columns of factors"
	for source, want := range map[string][]string{"[variance]": {note}, "[{variance: {codes: {size: [0, 1]}}}]": nil} {
		in := batch(t)
		in.Labels.Factors[0].Size = 1
		if _, err := losses.ComposeInput(in, choose(t, source)); err != nil || !slices.Equal(in.Noted(), want) {
			t.Errorf("%s: error %v, notes %q, want %q", source, err, in.Noted(), want)
		}
	}
}

// A sentence that compares a factor with the value of no level chooses no image, and a note says so.
func TestConstantOfNoLevel(t *testing.T) {
	for source, want := range map[string][]string{
		"y.size(i) = 0.3": {"the loss logic compares a factor with the value of no level: y.size(i) = 0.3"},
		"y.size(i) = 0.5": nil, "y.shape(i) = 1": nil,
	} {
		in := batch(t)
		loss := fmt.Sprintf("[{logic: {sentence: 'forall i: %s -> z(i) =[squared] 0'}}]", source)
		if _, err := losses.ComposeInput(in, choose(t, loss)); err != nil || !slices.Equal(in.Noted(), want) {
			t.Errorf("%s: error %v, notes %q, want %q", source, err, in.Noted(), want)
		}
	}
}
