package layer_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// images lists the sizes [batch, height, width, channels] of the checks: odd sizes, one pixel, one image, one row,
// many channels.
var images = [][]int{{2, 6, 6, 3}, {1, 5, 7, 2}, {3, 1, 1, 2}, {1, 1, 9, 1}, {2, 4, 3, 17}, {1, 3, 5, 40}}

// pixelsOf computes images from a definition: result returns the value of a pixel and channel in image b.
func pixelsOf(batch, height, width, channels int, result func(b, y, x, c int) float64) []float64 {
	var out []float64
	for b := range batch {
		for y := range height {
			for x := range width {
				for c := range channels {
					out = append(out, result(b, y, x, c))
				}
			}
		}
	}
	return out
}

// windowed pools images of shape s from the definition, over windows [from, to) of rows and columns.
func windowed(v []float64, s []int, kind layer.PoolKind, rows, columns [][2]int) []float64 {
	return pixelsOf(s[0], len(rows), len(columns), s[3], func(b, y, x, c int) float64 {
		n, total, most := 0.0, 0.0, math.Inf(-1)
		for i := rows[y][0]; i < rows[y][1]; i++ {
			for j := columns[x][0]; j < columns[x][1]; j++ {
				if i >= 0 && i < s[1] && j >= 0 && j < s[2] {
					e := v[((b*s[1]+i)*s[2]+j)*s[3]+c]
					n, total, most = n+1, total+e, max(most, e)
				}
			}
		}
		if kind == layer.Max {
			return most
		}
		return total / n
	})
}

func TestPool(t *testing.T) {
	var cases []gradcheck.Case
	for _, s := range images {
		for _, o := range []layer.PoolOptions{{Size: 2}, {Size: 3, Stride: 2}, {Size: 3, Stride: 1}, {Size: 2, Stride: 3}, {Size: 12, Stride: 2},
			{Size: 2, Valid: true}, {Size: 3, Stride: 2, Valid: true}, {Size: 1, Stride: 2, Valid: true}} {
			if o.Valid && (s[1] < o.Size || s[2] < o.Size) {
				continue
			}
			stride := o.Stride
			stride = cmp.Or(stride, o.Size)
			windows := func(n int) (list [][2]int) {
				if o.Valid {
					for at := 0; at+o.Size <= n; at += stride {
						list = append(list, [2]int{at, at + o.Size})
					}
					return list
				}
				count := int(math.Ceil(float64(n) / float64(stride)))
				pad := max((count-1)*stride+o.Size-n, 0)
				for i := range count {
					list = append(list, [2]int{i*stride - pad/2, i*stride - pad/2 + o.Size})
				}
				return list
			}
			for _, o.Kind = range []layer.PoolKind{layer.Max, layer.Average} {
				cases = append(cases, gradcheck.Case{
					Name:   fmt.Sprintf("%v %+v", s, o),
					Inputs: []gradcheck.Input{gradcheck.In(s...)},
					Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Pool(n[0], o) },
					Want:   func(in [][]float64) []float64 { return windowed(in[0], s, o.Kind, windows(s[1]), windows(s[2])) },
				})
			}
		}
	}
	gradcheck.CheckAll(t, long.Sample(cases, 40))
}

func TestAdaptivePool(t *testing.T) {
	var cases []gradcheck.Case
	for _, s := range images {
		for _, to := range [][2]int{{1, 1}, {2, 3}, {4, 4}, {s[1], s[2]}} {
			bins := func(n, count int) (list [][2]int) {
				for i := range count {
					list = append(list, [2]int{int(math.Floor(float64(i*n) / float64(count))), int(math.Ceil(float64((i+1)*n) / float64(count)))})
				}
				return list
			}
			for _, kind := range []layer.PoolKind{layer.Max, layer.Average} {
				cases = append(cases, gradcheck.Case{
					Name:   fmt.Sprintf("%v to %v %v", s, to, kind),
					Inputs: []gradcheck.Input{gradcheck.In(s...)},
					Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.AdaptivePool(n[0], kind, to[0], to[1]) },
					Want:   func(in [][]float64) []float64 { return windowed(in[0], s, kind, bins(s[1], to[0]), bins(s[2], to[1])) },
				})
			}
		}
	}
	gradcheck.CheckAll(t, long.Sample(cases, 40))
}

// gradients returns the value of an operation on images and the gradient of its sum.
func gradients(t *testing.T, values []float32, shape []int,
	build func(x *gorgonia.Node) (*gorgonia.Node, error)) (value, gradient []float32) {
	t.Helper()
	node := gradcheck.Must(t)
	x := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 4, gorgonia.WithShape(shape...), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(values))))
	y := node(build(x))
	total := node(gorgonia.Sum(node(graph.Reshape(y, y.Shape().TotalSize()))))
	g := must.Get(gorgonia.Grad(total, x))(t)
	m := must.Get(machine.New(y.Graph(), y, g[0]))(t)
	must.OK(t, m.RunAll())
	read := func(n *gorgonia.Node) []float32 { return m.Value(n).(*tensor.Dense).Float32s() }
	return read(y), read(g[0])
}

// The first of several equal maxima gets the gradient, for any number of channels. If an element is NaN, the maximum is
// NaN.
func TestMaxPoolTies(t *testing.T) {
	for _, channels := range []int{1, 3, 16, 35} {
		var x, want []float32
		for i, v := range []float32{2, 2, 2, 1, 2, 2} {
			for range channels {
				x, want = append(x, v), append(want, []float32{1, 1, 1, 0, 2, 1}[i])
			}
		}
		// SAME windows of 2 by 2 pixels and stride 1 on 2 by 3 pixels: rows {0, 1} and {1}, columns {0, 1}, {1, 2} and
		// {2}.
		pool := func(stride int) (value, gradient []float32) {
			return gradients(t, x, []int{1, 2, 3, channels}, func(x *gorgonia.Node) (*gorgonia.Node, error) {
				return layer.Pool(x, layer.PoolOptions{Kind: layer.Max, Size: 2, Stride: stride})
			})
		}
		if _, got := pool(1); !slices.Equal(got, want) {
			t.Errorf("%d channels: gradient %v, want %v", channels, got, want)
		}
		x[4*channels] = float32(math.NaN())
		if value, _ := pool(2); value[0] == value[0] || value[channels] != 2 {
			t.Errorf("%d channels: maxima %v and %v, want NaN and 2", channels, value[0], value[channels])
		}
	}
}

func TestUpsample(t *testing.T) {
	var cases []gradcheck.Case
	for _, s := range images {
		for _, times := range []int{1, 2, 3} {
			size := func(v []float64, value func(at func(y, x int) float64, y, x int) float64) []float64 {
				return pixelsOf(s[0], s[1]*times, s[2]*times, s[3], func(b, y, x, c int) float64 {
					return value(func(i, j int) float64 { return v[((b*s[1]+min(i, s[1]-1))*s[2]+min(j, s[2]-1))*s[3]+c] }, y, x)
				})
			}
			place := func(i int) (int, float64) {
				p := max((float64(i)+0.5)/float64(times)-0.5, 0)
				return int(p), p - math.Floor(p)
			}
			cases = append(cases, gradcheck.Case{
				Name:   fmt.Sprintf("nearest %v times %d", s, times),
				Inputs: []gradcheck.Input{gradcheck.In(s...)},
				Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(n[0], times, false) },
				Want: func(in [][]float64) []float64 {
					return size(in[0], func(at func(y, x int) float64, y, x int) float64 { return at(y/times, x/times) })
				},
			}, gradcheck.Case{
				Name:   fmt.Sprintf("bilinear %v times %d", s, times),
				Inputs: []gradcheck.Input{gradcheck.In(s...)},
				Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(n[0], times, true) },
				Want: func(in [][]float64) []float64 {
					return size(in[0], func(at func(y, x int) float64, y, x int) float64 {
						i, a := place(y)
						j, b := place(x)
						return (1-a)*(1-b)*at(i, j) + (1-a)*b*at(i, j+1) + a*(1-b)*at(i+1, j) + a*b*at(i+1, j+1)
					})
				},
			})
		}
	}
	gradcheck.CheckAll(t, append(long.Sample(cases, 24), gradcheck.Case{
		Name:   "PyTorch's interpolate",
		Inputs: []gradcheck.Input{{Shape: []int{1, 2, 2, 1}, Values: []float64{1, 2, 3, 4}}},
		Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(n[0], 2, true) },
		Want: func([][]float64) []float64 {
			return []float64{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}
		},
	}))
}

func TestShuffleCropAddDropout(t *testing.T) {
	var cases []gradcheck.Case
	for _, s := range images {
		for _, times := range []int{1, 2, 3} {
			wide := append(slices.Clone(s[:3]), s[3]*times*times)
			cases = append(cases, gradcheck.Case{
				Name:   fmt.Sprintf("shuffle %v times %d", wide, times),
				Inputs: []gradcheck.Input{gradcheck.In(wide...)},
				Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Shuffle(n[0], times) },
				Want: func(in [][]float64) []float64 {
					return pixelsOf(s[0], s[1]*times, s[2]*times, s[3], func(b, y, x, c int) float64 {
						return in[0][((b*s[1]+y/times)*s[2]+x/times)*wide[3]+(y%times*times+x%times)*s[3]+c]
					})
				},
			})
		}
		for _, to := range [][2]int{{1, 1}, {s[1], s[2]}, {max(1, s[1]-1), max(1, s[2]-2)}} {
			cases = append(cases, gradcheck.Case{
				Name:   fmt.Sprintf("crop %v to %v", s, to),
				Inputs: []gradcheck.Input{gradcheck.In(s...)},
				Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Crop(n[0], to[0], to[1]) },
				Want: func(in [][]float64) []float64 {
					return pixelsOf(s[0], to[0], to[1], s[3], func(b, y, x, c int) float64 { return in[0][((b*s[1]+y)*s[2]+x)*s[3]+c] })
				},
			})
		}
	}
	for _, a := range activations() {
		cases = append(cases, gradcheck.Case{
			Name:        fmt.Sprintf("add %v", a),
			Inputs:      []gradcheck.Input{gradcheck.In(3, 2, 2, 7), gradcheck.In(3, 2, 2, 7)},
			Build:       func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Add(n[0], n[1], a) },
			Tolerance32: 2e-4, // the slope of a saturated tanh, 1 - y^2, suffers from cancellation
		}, gradcheck.Case{
			Name:        fmt.Sprintf("add to itself, %v", a),
			Inputs:      []gradcheck.Input{gradcheck.In(5, 3)},
			Build:       func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Add(n[0], n[0], a) },
			Tolerance32: 2e-4,
		})
	}
	gradcheck.CheckAll(t, append(long.Sample(cases, 24), gradcheck.Case{
		Name:   "dropout",
		Inputs: []gradcheck.Input{gradcheck.In(5, 9), {Shape: []int{5, 9}, Values: []float64{0, 1.25, 1.25}, Constant: true}},
		Build:  func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dropout(n[0], n[1]) },
		Want: func(in [][]float64) []float64 {
			var y []float64
			for i, v := range in[0] {
				y = append(y, v*in[1][i])
			}
			return y
		},
	}))
}

func TestPixelErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	x, rows := gradcheck.Node(g, tensor.Float32, "x", 1, 4, 6, 8), gradcheck.Node(g, tensor.Float32, "rows", 4, 6)
	second := func(_ *gorgonia.Node, err error) error { return err }
	for want, err := range map[string]error{
		"pool: want images of 5 by 5 pixels or more":           second(layer.Pool(x, layer.PoolOptions{Kind: layer.Max, Size: 5, Valid: true})),
		`pool: want kind "max" or "average", got ""`:           second(layer.Pool(x, layer.PoolOptions{Size: 5})),
		"pool: want windows of 1 pixel or more, got 0":         second(layer.Pool(x, layer.PoolOptions{Kind: layer.Max})),
		"pool: want a stride of 1 or more, got -1":             second(layer.Pool(x, layer.PoolOptions{Kind: layer.Max, Size: 2, Stride: -1})),
		"pool: want images of shape":                           second(layer.Pool(rows, layer.PoolOptions{Kind: layer.Max, Size: 2})),
		"adaptive pool: want 1 by 1 bins or more":              second(layer.AdaptivePool(x, layer.Max, 0, 1)),
		"and at most 1073741824 elements, got 1 by 1073741824": second(layer.AdaptivePool(x, layer.Max, 1, 1<<30)),
		`adaptive pool: want kind "max" or "average", got "?"`: second(layer.AdaptivePool(x, "?", 1, 1)),
		"upsample: want times of 1 or more, got 0":             second(layer.Upsample(x, 0, true)),
		"upsample: want a result of at most 1073741824":        second(layer.Upsample(x, 1<<20, true)),
		"upsample: want images of shape":                       second(layer.Upsample(rows, 2, true)),
		"shuffle: want channels that 3 times 3 divides, got (": second(layer.Shuffle(x, 3)),
		"shuffle: want times of 1 or more, got -1":             second(layer.Shuffle(x, -1)),
		"crop: want between 1 by 1 and 4 by 6 pixels":          second(layer.Crop(x, 5, 6)),
		"add: want 2 inputs of one shape, got [(1, 4, 6, 8) (": second(layer.Add(x, rows, graph.Linear)),
		"add: want a known activation":                         second(layer.Add(x, x, 99)),
		"dropout: want 2 inputs of one shape":                  second(layer.Dropout(x, rows)),
	} {
		must.Error(t, err, want)
	}
}
