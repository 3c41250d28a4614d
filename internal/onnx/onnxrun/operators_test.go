package onnxrun_test

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/onnx"
	"github.com/unravel-ml/unravel/internal/onnx/onnxrun"
)

// goldenCases reads the networks of testdata/operators.zip; see the README there.
func goldenCases(t testing.TB) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader("testdata/operators.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	cases := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		cases[strings.TrimSuffix(f.Name, ".onnx")] = data
	}
	return cases
}

// weight returns an initialiser.
func weight(m *onnx.Model, name string) *onnx.Tensor {
	i := slices.IndexFunc(m.Graph.Weights, func(w onnx.Tensor) bool { return w.Name == name })
	return &m.Graph.Weights[i]
}

// Operators and networks from other programs give the values of these programs.
func TestOperators(t *testing.T) {
	seen := map[string]bool{}
	for name, data := range goldenCases(t) {
		t.Run(name, func(t *testing.T) {
			m, err := onnx.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range m.Graph.Nodes {
				seen[n.Op] = true
			}
			n, err := onnxrun.New(m, "")
			if err != nil {
				t.Fatal(err)
			}
			y, err := n.Run(t.Context(), weight(m, "test.given"))
			if err != nil {
				t.Fatal(err)
			}
			if err := compare(y, weight(m, "test.want")); err != nil {
				t.Error(err)
			}
		})
	}
	for _, op := range onnxrun.Operators() {
		if !seen[op] {
			t.Errorf("no network has operator %s", op)
		}
	}
}

// compare checks that two tensors agree within 2e-6 times the largest absolute element.
func compare(got, want *onnx.Tensor) error {
	if !slices.Equal(got.Shape, want.Shape) || len(got.Floats) != len(want.Floats) || !slices.Equal(got.Ints, want.Ints) {
		return fmt.Errorf("shape %v, integers %v; want %v, %v", got.Shape, got.Ints, want.Shape, want.Ints)
	}
	scale := 0.0
	for _, v := range want.Floats {
		if !math.IsInf(float64(v), 0) {
			scale = max(scale, math.Abs(float64(v)))
		}
	}
	for i, v := range want.Floats {
		g := got.Floats[i]
		if g != v && !(math.Abs(float64(g)-float64(v)) <= 2e-6*scale) {
			return fmt.Errorf("element %d of shape %v is %v; want %v", i, want.Shape, g, v)
		}
	}
	return nil
}
