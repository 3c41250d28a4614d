package metrics_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// Codes of eight images, and the levels of two factors.
func ExampleNewInput() {
	codes, err := metrics.FromRows([][]float64{{0, 2}, {0, 3}, {0, 4}, {0, 5}, {9, 2}, {9, 3}, {9, 4}, {9, 5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := metrics.NewInput(codes, [][]int{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {1, 3}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	mig, _ := metrics.Named("mig")
	results, err := metrics.Evaluate(context.Background(), in, 1, []metrics.Choice{mig})
	fmt.Println(results[0].Value, err)
	// Output: 1 <nil>
}

func ExampleInput_AddContinuous() {
	codes, _ := metrics.FromMat(mat.NewDense(4, 1, []float64{1, 3, 5, 7}))
	in, _ := metrics.NewInput(codes, [][]int{{0}, {0}, {1}, {1}}, []factor.Factor{{Name: "shape", Size: 2, Kind: factor.Categorical}})
	if err := in.AddContinuous("x", []float64{0.1, 0.3, 0.5, 0.7}, 4); err != nil {
		fmt.Println(err)
		return
	}
	mse, _ := metrics.Named("mse")
	results, err := metrics.Evaluate(context.Background(), in, 1, []metrics.Choice{mse})
	part := results[0].Parts[0]
	fmt.Printf("%v %.4f %v\n", part.Labels, part.Values, err)
	// Output: [shape x] [0.0500 0.0000] <nil>
}

func TestFromTensor(t *testing.T) {
	whole := tensor.New(tensor.WithShape(2, 3), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))
	column := must.Get(whole.Slice(nil, tensor.S(1, 3)))(t)
	turned := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float64{1, 2, 3, 4}))
	must.OK(t, turned.T())
	for name, c := range map[string]struct {
		from tensor.Tensor
		want string
	}{"whole": {whole, "{2 3 [1 2 3 4 5 6]}"}, "view": {column, "{2 2 [2 3 5 6]}"}, "transposed": {turned, "{2 2 [1 3 2 4]}"}} {
		if m, err := metrics.FromTensor(c.from); err != nil || fmt.Sprint(m) != c.want {
			t.Errorf("%s: %v, %v; want %s", name, m, err, c.want)
		}
	}
	for want, bad := range map[string]tensor.Tensor{
		"the shape (6); want two dimensions":        tensor.New(tensor.WithShape(6), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6})),
		"type int; want float32 or float64":         tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]int{1, 2})),
		"row 1, column 0 is NaN; want finite":       tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1, math.NaN()})),
		"row 0, column 1 is +Inf; want finite nu":   tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float32{1, float32(math.Inf(1))})),
		"the shape (1, 1, 2); want two dimensions,": tensor.New(tensor.WithShape(1, 1, 2), tensor.WithBacking([]float32{1, 2})),
	} {
		must.ErrorOf(metrics.FromTensor(bad))(t, want)
	}
}

func TestInputFromGo(t *testing.T) {
	check := func(what string, err error, want string) {
		t.Helper()
		must.Error(t, err, want, what)
	}
	_, err := metrics.FromRows([][]float64{{1, 2}, {3}})
	check("ragged", err, "row 1 has 1 columns, and row 0 has 2; want rows of one length")
	_, err = metrics.FromRows(nil)
	check("nothing", err, "there are no numbers")
	_, err = metrics.FromRows([][]float64{{1}, {math.Inf(-1)}})
	check("infinite", err, "row 1, column 0 is -Inf; want finite numbers")
	_, err = metrics.FromMat(mat.NewDense(1, 2, []float64{1, math.NaN()}))
	check("NaN", err, "row 0, column 1 is NaN")
	_, err = metrics.FromMat(&mat.Dense{})
	check("empty", err, "the matrix is 0 x 0")
	_, err = metrics.FromMat((*mat.Dense)(nil))
	check("no matrix", err, "the matrix is nil")
	_, err = metrics.FromTensor(nil)
	check("no tensor", err, "the tensor is nil")
	codes := must.Get(metrics.FromRows([][]float64{{1}, {2}}))(t)
	_, err = metrics.NewInput(codes, [][]int{{0}}, nil)
	check("few levels", err, "levels of 1 images and codes of 2")
	_, err = metrics.NewInput(codes, [][]int{{0}, {1, 1}}, nil)
	check("ragged levels", err, "image 1 has levels of 2 factors; want 1")
	_, err = metrics.NewInput(codes, [][]int{{0}, {2}}, []factor.Factor{{Name: "x", Size: 2}})
	check("large level", err, `row 1 has level 2 of factor "x"; want 0 to 1`)
	_, err = metrics.NewInput(codes, [][]int{{0}, {-2}}, nil)
	check("negative level", err, "level -2")
	in := must.Get(metrics.NewInput(codes, [][]int{{0}, {1}}, nil))(t)
	check("few values", in.AddContinuous("x", []float64{1}, 2), "1 value; want one for each of the 2 codes")
	check("no number", in.AddContinuous("x", []float64{1, math.NaN()}, 2), `factor "x": value 1 is NaN`)
	check("no bins", in.AddContinuous("x", []float64{1, 2}, 0), "bins")
	check("a name twice", in.AddContinuous(in.Factors[0].Name, []float64{1, 2}, 2), "already; want another name")
	_, err = metrics.Evaluate(t.Context(), nil, 1, nil)
	check("no input", err, "there is no input")
	_, err = metrics.Evaluate(t.Context(), in, 1, []metrics.Choice{{}})
	check("no metric", err, "metric 0 is not chosen")
	none, results := []metrics.Choice{{}}, make([]metrics.Result, 1)
	check("no metric that suits", metrics.Suits(in, none), "metric 0 is not chosen")
	check("no metric of an interval", metrics.Intervals{Percent: 95}.Add(t.Context(), in, 1, none, results), "metric 0 is not chosen")
	check("no metric of a chance", metrics.Chances{Shuffles: 2}.Add(t.Context(), in, 1, none, results), "metric 0 is not chosen")
	in.Spaces = [][]int{{0}, {1}}
	dlsbd := must.Get(metrics.Named("dlsbd"))(t).Value.(metrics.Selective)
	check("a column outside", dlsbd.Suits(in), "space 1 has the columns [1]; want some of 0 to 0")
	in.Spaces = [][]int{{}}
	check("an empty space", dlsbd.Suits(in), "space 0 has the columns []")
	in.Spaces, in.Differ = nil, [][][2]int{{{0, 1}, {1, 2}}}
	check("a row outside", in.Validate(), `factor "y0": rows [1 2] differ; want rows of 0 to 1`)
	in.Differ = [][][2]int{nil, nil}
	check("pairs of other factors", in.Validate(), "differing pairs of 2 factors; want one list for each of the 1")
}
