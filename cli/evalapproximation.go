package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// maxSpaceRows is the largest number of rows, of three factors each, in the figure of approximations.
const maxSpaceRows = 4

// writeApproximation writes the best product approximation of the codes and the best affine left inverse. It writes
// arrays, and figure 9 of Zhang and Sugiyama 2024. Without an approximation it writes nothing.
func (e *evaluation) writeApproximation(ctx context.Context, write func(name string, content func(io.Writer) error) error) error {
	if slices.ContainsFunc(e.in.Factors, func(f factor.Factor) bool { return f.Rotations != nil }) || e.in.Classes || !varies(e.in) {
		return nil
	}
	a, err := metrics.Approximate(ctx, e.in, e.codes, e.assign)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil { // for example, fewer columns than factors, or no row with known levels
		e.remarks = append(e.remarks, fmt.Sprintf("no approximation.png: %v", err))
		return nil
	}
	for name, m := range map[string]matrix.Matrix{"product-approximation.npy": a.Product, "left-inverse.npy": a.LeftInverse} {
		if err := write(name, func(w io.Writer) error { return npy.Write(w, []int{m.Rows, m.Cols}, m.Data) }); err != nil {
			return err
		}
	}
	return write("approximation.png", func(w io.Writer) error { return e.drawApproximation(w, a) })
}

// varies reports whether a factor has more than one level.
func varies(in *metrics.Input) bool {
	return slices.ContainsFunc(in.Factors, func(f factor.Factor) bool { return f.Size > 1 })
}

// drawApproximation draws factors, codes, product approximation and left inverse next to each other, three factors to
// a row.
func (e *evaluation) drawApproximation(w io.Writer, a *metrics.Approximation) error {
	n := e.in.Codes.Rows
	rows := rng.New(e.seed, "figure/approximation").Perm(n)[:min(n, maxDots)]
	title := "Factors, codes, the nearest product function of the factors, and the best affine map from codes to factors"
	if len(rows) < n {
		title += fmt.Sprintf(" (%d of %d rows)", len(rows), n)
	}
	of := func(name string, m matrix.Matrix, c int) report.Column {
		return column(name, rows, func(i int) float64 { return m.Row(i)[c] })
	}
	var list []report.SpaceRow
	for from := 0; from < len(a.Blocks) && len(list) < maxSpaceRows; from += 3 {
		blocks := a.Blocks[from:min(from+3, len(a.Blocks))]
		factors, inverse := report.Space{Name: "factors", Like: "y"}, report.Space{Name: "affine left inverse", Like: "y"}
		for _, b := range blocks {
			name := e.in.Factors[b.Factor].Name
			factors.Axes = append(factors.Axes, of(name, a.Values, b.Factor))
			inverse.Axes = append(inverse.Axes, of(name, a.LeftInverse, b.Factor))
		}
		codes, product, err := e.codeSpaces(a, blocks, of)
		if err != nil {
			return err
		}
		list = append(list, report.SpaceRow{Factors: factors.Axes, Spaces: []report.Space{factors, codes, product, inverse}})
	}
	return report.Spaces(w, title, list)
}

// codeSpaces returns the codes and the product approximation of some factors. It returns all columns of the sub-codes
// if they have at most three. Otherwise it returns the coordinate along the first principal component of each
// sub-code, computed from the codes.
func (e *evaluation) codeSpaces(a *metrics.Approximation, blocks []factor.Block, of func(string, matrix.Matrix, int) report.Column) (codes, product report.Space, err error) {
	codes, product = report.Space{Name: "codes", Like: "z"}, report.Space{Name: "product approximation", Like: "z"}
	width := 0
	for _, b := range blocks {
		width += len(b.Columns)
	}
	for _, b := range blocks {
		if width <= 3 || len(b.Columns) == 1 {
			for _, c := range b.Columns {
				name := fmt.Sprint("z", c)
				codes.Axes, product.Axes = append(codes.Axes, of(name, e.in.Codes, c)), append(product.Axes, of(name, a.Product, c))
			}
			continue
		}
		z := e.in.Codes.Columns(b.Columns)
		axes, err := geometry.PCA(z.Data, z.Cols)
		if err != nil {
			return codes, product, err
		}
		name := "z." + e.in.Factors[b.Factor].Name + " PC1"
		codes.Axes = append(codes.Axes, of(name, along(z, axes), 0))
		product.Axes = append(product.Axes, of(name, along(a.Product.Columns(b.Columns), axes), 0))
	}
	return codes, product, nil
}

// along returns the coordinate of points along the first axis.
func along(m matrix.Matrix, axes *geometry.Components) matrix.Matrix {
	line := matrix.Matrix{Rows: m.Rows, Cols: 1, Data: make([]float64, m.Rows)}
	for i := range line.Data {
		for j, v := range m.Row(i) {
			line.Data[i] += (v - axes.Mean[j]) * axes.Axes[0][j]
		}
	}
	return line
}
