package metrics_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// TestHeldOut checks that metrics with a predictor test it on other rows: random codes score near chance.
func TestHeldOut(t *testing.T) {
	long.NotShort(t)
	s := rng.New(7, "held out")
	in := &Input{Codes: matrix.Matrix{Rows: 300, Cols: 10}, Factors: ordinals(5, 4)}
	for range in.Codes.Rows {
		in.Levels = append(in.Levels, s.IntN(5), s.IntN(4))
		for range in.Codes.Cols {
			in.Codes.Data = append(in.Codes.Data, s.NormFloat64())
		}
	}
	for _, name := range []string{"dci", "sap", "explicitness", "downstream", "probe", "knn"} {
		r := evaluated(t, in, []Choice{choice(name)})
		if b := r.Basis; b.Shared || b.Train < 10 || b.Test < 75 || b.Train+b.Test > 300 {
			t.Errorf("%s: basis %+v", name, b)
		}
		if v := r.Part("informativeness_test"); name == "dci" && (len(v) != 1 || !(v[0] <= 0.35)) {
			t.Errorf("accuracy of random codes %v; chance is .225", v)
		}
	}
	twice := *in // each image twice: a predictor remembers test rows
	twice.Codes.Data, twice.Levels = slices.Clone(in.Codes.Data), slices.Clone(in.Levels)
	copy(twice.Codes.Data[1500:], in.Codes.Data[:1500])
	copy(twice.Levels[300:], in.Levels[:300])
	rounded := twice // to few values: rows repeat by chance
	rounded.Codes.Data = slices.Clone(twice.Codes.Data)
	for i, v := range rounded.Codes.Data {
		rounded.Codes.Data[i] = math.Round(v)
	}
	five := *in // each image five times
	five.Codes.Data, five.Levels = slices.Repeat(in.Codes.Data[:600], 5), slices.Repeat(in.Levels[:60*len(in.Factors)], 5)
	few := *in // ten images, each thirty times
	few.Codes.Data, few.Levels = slices.Repeat(in.Codes.Data[:100], 30), slices.Repeat(in.Levels[:10*len(in.Factors)], 30)
	choices := few // codes that choose one of ten options repeat for different images
	choices.Codes.Data = slices.Clone(few.Codes.Data)
	for i := range choices.Codes.Data {
		choices.Codes.Data[i] = float64(i / in.Codes.Cols % 10)
	}
	for _, name := range []string{"knn", "r4"} {
		for _, c := range []struct {
			in       *Input
			repeated string
		}{{in, ""}, {&twice, "150"}, {&five, "240"}, {&few, "290"}, {&choices, ""}, {&rounded, ""}} {
			r := evaluated(t, c.in, []Choice{fewRows(name)})
			const note = " of 300 rows repeat the codes and levels of another row, so the predictor knows many test rows from training"
			noted := slices.ContainsFunc(r.Notes, func(s string) bool { return strings.HasSuffix(s, note) })
			must.Equal(t, noted, c.repeated != "", name, "notes", r.Notes)
			must.Equal(t, slices.Contains(r.Notes, c.repeated+note), c.repeated != "", name, "notes", r.Notes)
		}
	}
	for _, name := range []string{"dci", "sap", "explicitness", "downstream"} {
		c := must.Get(Like("disentanglement_lib", name))(t)
		switch m := c.Value.(type) {
		case *Downstream:
			m.Predictor = "logistic"
		case *DCI:
			m.Rounds = 5
		}
		if b := evaluated(t, in, []Choice{c}).Basis; !b.Shared {
			t.Errorf("%s of disentanglement_lib: basis %+v", name, b)
		}
	}
}

// TestDrawnRows checks which config keys draw rows instead of holding rows out.
func TestDrawnRows(t *testing.T) {
	for text, want := range map[string]TrainTest{
		"sap":                                  {Train: 10000, Test: 5000, TestShare: 1.0 / 3},
		"{sap: {cost: 1}}":                     {Train: 10000, Test: 5000, TestShare: 1.0 / 3},
		"{sap: {train: 100}}":                  {Train: 100, Test: 5000},
		"{sap: {train: 100, test_share: 0.2}}": {Train: 100, Test: 5000, TestShare: 0.2},
		"{sap: {train_rows: 100}}":             {Train: 10000, Test: 5000, TrainRows: 100, TestShare: 1.0 / 3},
		"{sap: {like: disentanglement_lib}}":   {Train: 10000, Test: 5000},
	} {
		var c struct {
			Metrics []Choice `yaml:"metrics"`
		}
		if err := config.Load("text", []byte("metrics: ["+text+"]"), &c); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		must.Equal(t, c.Metrics[0].Value.(*SAP).TrainTest, want, text)
	}
}
