package tables_test

import (
	"context"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/show"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/results/tables"
)

// Scaled is a user's source: the code is a multiple of its only factor.
type Scaled struct {
	By float64 `yaml:"by" doc:"factor of the code"`
}

// Random is false, because all seeds have the same codes.
func (*Scaled) Random() bool { return false }

// Sample returns the codes 0, By/4, ..., By for the levels 0 to 4.
func (s *Scaled) Sample(context.Context, uint64) (*tables.Sample, error) {
	f := factor.Factor{Name: "size", Size: 5, Kind: factor.Ordinal}
	in := &metrics.Input{Factors: []factor.Factor{f}, Codes: matrix.Matrix{Rows: 5, Cols: 1}}
	for level := range f.Size {
		in.Levels = append(in.Levels, level)
		in.Codes.Data = append(in.Codes.Data, s.By*float64(level)/4)
	}
	return &tables.Sample{Input: in}, nil
}

// A program can register a source and open a table that names it. The table and its reference file are in the program's
// folder.
func ExampleRegisterSource() {
	err := tables.RegisterSource(registry.Entry[tables.Source]{
		Name: "scaled", Doc: "a factor times a constant", New: func() tables.Source { return &Scaled{By: 1} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := tables.Load(fstest.MapFS{
		"mine.yaml": {Data: []byte(`
name: mine
title: Errors of the best linear map from a code to its factor
source: my notes
reference: {file: printed.csv, dataset: toy}
rows:
  - {label: one, from: scaled}
  - {label: small, from: {scaled: {by: 0.1}}}
columns:
  - {label: MSE, metric: mse}
`)},
		"printed.csv": {Data: []byte("table,dataset,row,column,mean,std,note\nmine,toy,one,MSE,0.00,,\nmine,toy,small,MSE,0.00,,\n")},
	}, "mine.yaml", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := table.Compute(context.Background(), tables.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := show.Text(os.Stdout, result, 100); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Errors of the best linear map from a code to its factor (my notes)
	// 2 of 2 printed cells reproduced (quick scale, 5 seeds)
	//
	//               MSE
	// one           0.000
	//   paper       0.00
	//   difference  0.000
	// small         0.000
	//   paper       0.00
	//   difference  0.000
}
