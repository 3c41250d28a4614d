package losses_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// nodeFunctions has a case for every function of the package that makes a node.
func nodeFunctions() []gradcheck.Case {
	in := func(shape ...int) gradcheck.Input { return gradcheck.Input{Shape: shape} }
	held := func(values []float64, shape ...int) gradcheck.Input {
		return gradcheck.Input{Shape: shape, Values: values, Constant: true}
	}
	images := gradcheck.Input{Shape: []int{3, 4}, Lo: 0.01, Hi: 0.99, Constant: true}
	groups := held([]float64{0, 0, 1, 2, 0, 1, 1, 0, 2, -1, -1, 1, 2, 2}, 12, 2)
	factors := held([]float64{0, 0.25, 1, 0.5, 0.75, 0, 0.5}, 12, 2)
	active := held([]float64{1, 1, 0, 1, 1, 1, 0, 1, 1}, 9, 3)
	keys := held(nil, 3, 4)
	build := func(f func(n nodes) (*gorgonia.Node, error), name string, inputs ...gradcheck.Input) gradcheck.Case {
		return gradcheck.Case{Name: name, Inputs: inputs, Build: f, Floor32: 0.1}
	}
	one := func(name string, f func(*gorgonia.Node) (*gorgonia.Node, error), a gradcheck.Input) gradcheck.Case {
		return build(func(n nodes) (*gorgonia.Node, error) { return f(n[0]) }, name, a)
	}
	two := func(name string, f func(a, b *gorgonia.Node) (*gorgonia.Node, error), a, b gradcheck.Input) gradcheck.Case {
		return build(func(n nodes) (*gorgonia.Node, error) { return f(n[0], n[1]) }, name, a, b)
	}
	grouped := func(name string, f modularity) gradcheck.Case {
		return build(func(n nodes) (*gorgonia.Node, error) { return f(n[0], n[1]) }, name, in(12, 4), groups)
	}
	blocks := []factor.Block{{Factor: 1, Columns: []int{3, 0}}, {Factor: 0, Columns: []int{2}}}
	squashed := func(w *gorgonia.Node) func(y *gorgonia.Node) (*gorgonia.Node, error) {
		return func(y *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Dense(y, w, gorgonia.NewConstant(tensor.New(tensor.Of(w.Dtype()), tensor.WithShape(3))), graph.Softplus)
		}
	}
	return []gradcheck.Case{
		two("GaussianReconstruction", func(x, l *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.GaussianReconstruction(x, l, losses.Gaussian{Constant: true})
		}, images, in(3, 4)),
		two("BernoulliReconstruction", losses.BernoulliReconstruction, images, in(3, 4)),
		two("KLGaussian", losses.KLGaussian, in(5, 3), in(5, 3)),
		two("KLGaussianLogVariance", losses.KLGaussianLogVariance, in(5, 3), in(5, 3)),
		two("KLGaussianWeighted", func(m, s *gorgonia.Node) (*gorgonia.Node, error) {
			weights := gradcheck.Node(m.Graph(), m.Dtype(), "weights", 3)
			return losses.KLGaussianWeighted(m, s, weights)
		}, in(5, 3), in(5, 3)),
		two("KLCategorical", losses.KLCategorical, gradcheck.Input{Shape: []int{5, 3}, Lo: 0.1, Hi: 0.9}, in(5, 3)),
		one("HalfSquare", losses.HalfSquare, in(4, 3)),
		two("SlowStep", func(m, l *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.SlowStep(m, l, 3, 6, "public-code")
		}, in(6, 2), in(6, 2)),
		one("KLSphere", func(n *gorgonia.Node) (*gorgonia.Node, error) { return losses.KLSphere(n, 2) },
			gradcheck.Input{Shape: []int{5, 1}, Lo: -10, Hi: -3}),
		two("Capacity", losses.Capacity, in(), held([]float64{0.3}, 1)),
		two("LSBD", losses.LSBD, in(6, 4), in(6, 4)),
		two("PublicLSBD", func(z, y *gorgonia.Node) (*gorgonia.Node, error) { return losses.PublicLSBD(z, y, 2, 1, 2) }, in(6, 4), in(6, 4)),
		two("CircleTransport", func(z, a *gorgonia.Node) (*gorgonia.Node, error) { return losses.CircleTransport(z, a, 3) },
			in(6, 2), held(nil, 6, 1)),
		two("SphereTransport", func(z, r *gorgonia.Node) (*gorgonia.Node, error) { return losses.SphereTransport(z, r, 2) },
			in(4, 3), held(nil, 4, 4)),
		two("PlaneTransport", func(z, a *gorgonia.Node) (*gorgonia.Node, error) { return losses.PlaneTransport(z, a, 3) },
			in(6, 2), held(nil, 6, 1)),
		two("SpaceTransport", func(z, r *gorgonia.Node) (*gorgonia.Node, error) { return losses.SpaceTransport(z, r, 2) },
			in(4, 3), held(nil, 4, 4)),
		one("MeanTransport", func(z *gorgonia.Node) (*gorgonia.Node, error) { return losses.MeanTransport(z, 3) }, in(6, 2)),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.Modularity(factor.Variance, factor.MeanSquare, losses.Plain, n[0], n[1], blocks...)
		}, "Modularity", in(12, 4), groups),
		grouped("Variance", losses.Variance), grouped("Diameter", losses.Diameter), grouped("MPD", losses.MPD),
		grouped("Radius", losses.Radius), grouped("MAD", losses.MAD),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.Contraction(losses.ContractionSettings{}, n[0], n[1], n[2])
		}, "Contraction", gradcheck.Input{Shape: []int{12, 3}, Lo: -0.3, Hi: 0.3}, factors, groups),
		two("Separation", func(z, different *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.Separation(factor.Mean, 1.5, z, different)
		}, in(6, 4), held([]float64{1, -1, 0, 2, -1, 1, 4, -1, 3, 5, -1, 4}, 6, 2)),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.LeftInverse(losses.LeastSquares, 1e-3, n[0], n[1], n[2])
		}, "LeftInverse", in(12, 3), factors, groups),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.HSIC(n[0], n[1], n[2], losses.Kernel{}, losses.Kernel{Bandwidth: 0.5})
		}, "HSIC", in(12, 3), in(12, 2), held([]float64{0, 1, 2, -1, 0}, 12)),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.TotalCorrelation(n[0], n[1], n[2], losses.TCStratified, 40)
		}, "TotalCorrelation", in(9, 3), in(9, 3), gradcheck.Input{Shape: []int{9, 3}, Lo: -1, Hi: 1}),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.ConditionalTotalCorrelation(n[0], n[1], n[2], n[3], losses.TCWeighted, 40)
		}, "ConditionalTotalCorrelation", in(9, 3), in(9, 3), gradcheck.Input{Shape: []int{9, 3}, Lo: -1, Hi: 1}, active),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.BlockCorrelation(n[0], n[1], n[2], [][]int{{2}, {0, 1}}, losses.TCStratified, 40)
		}, "BlockCorrelation", in(9, 3), in(9, 3), gradcheck.Input{Shape: []int{9, 3}, Lo: -1, Hi: 1}),
		one("DIP", func(n *gorgonia.Node) (*gorgonia.Node, error) { return losses.DIP(n, 10, 5) }, in(8, 3)),
		build(func(n nodes) (*gorgonia.Node, error) {
			images := gradcheck.Node(n[0].Graph(), n[0].Dtype(), "images", 5, 4)
			noise := gradcheck.Node(n[0].Graph(), n[0].Dtype(), "noise", 5, 4)
			return losses.ScoreMatching(squashed(n[0]), n[1], n[2], images, noise, 0.3)
		}, "ScoreMatching", in(4, 3), in(5, 3), held([]float64{1, 0, 1, 1, 1}, 5)),
		two("DIPCode", func(m, v *gorgonia.Node) (*gorgonia.Node, error) { return losses.DIPCode(m, v, 10, 5) }, in(8, 3), in(8, 3)),
		one("DensityRatio", losses.DensityRatio, in(7, 2)),
		one("Discrimination", losses.Discrimination, in(8, 2)),
		two("Assignment", func(w, l *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.Assignment(w, l, []int{2, 3}, []int{0, 1})
		}, in(6, 5), held([]float64{0, 2, 1, -1, 1, 0}, 6, 2)),
		build(func(n nodes) (*gorgonia.Node, error) { return losses.RotationWalk(n[0], n[1], n[2], 3) }, "RotationWalk",
			in(2, 3), in(2, 3), oneHot(2, -1, 0, 1, -1, 1, 1)),
		one("Entanglement", func(n *gorgonia.Node) (*gorgonia.Node, error) { return losses.Entanglement(n, 0.5) }, in(3, 6)),
		build(func(n nodes) (*gorgonia.Node, error) {
			return losses.PredictByBlocks(n[0], n[1], n[2], []int{0, 1})
		}, "PredictByBlocks", in(5, 4), in(2, 4), oneHot(2, -1, 0, 1, -1, 1)),
		build(func(n nodes) (*gorgonia.Node, error) { return losses.Prediction(n[0], n[1], n[2]) }, "Prediction", in(4, 3),
			in(4, 3), oneHot(2, -1, 0, -1, 1)),
		two("CosineRegression", losses.CosineRegression, in(6, 3), held(nil, 6, 3)),
		one("CrossCorrelation", func(n *gorgonia.Node) (*gorgonia.Node, error) { return losses.CrossCorrelation(n, 0.3) }, in(8, 3)),
		build(func(n nodes) (*gorgonia.Node, error) { return losses.InfoNCE(n[0], n[1], n[2], 0.5) }, "InfoNCE", in(5, 3), in(5, 3), keys),
		build(func(n nodes) (*gorgonia.Node, error) {
			turned, err := losses.AboutAxis([3]float64{1, 0, 2}, 2, n[1])
			if err != nil {
				return nil, err
			}
			return losses.SphereTransport(n[0], turned, 2)
		}, "AboutAxis", in(4, 3), held(nil, 4, 1)),
		build(func(n nodes) (*gorgonia.Node, error) {
			sentence, err := logic.Parse(`(forall[mean] v in y.shape: 0.5 * (forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z(i) =[euclidean] z(j))) and
				(forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[absolute] y(j)) and forall[mean] i: z(i) =[squared] 0`)
			if err != nil {
				return nil, err
			}
			q, err := logic.Compile(sentence, logic.Schema{Codes: 2, Factors: []string{"shape"}})
			if err != nil {
				return nil, err
			}
			return losses.Logic(q, n[0], n[1], n[2])
		}, "Logic", in(6, 2), held(nil, 6, 1), held([]float64{0, 1, 0, 2, 1, 0}, 6, 1)),
	}
}

// TestMachines runs every function that makes a node on Gorgonia's two machines and on graph/machine, in float32 and
// float64, with inputs and with constants.
func TestMachines(t *testing.T) {
	missing := exportedNodeFunctions(t)
	for _, c := range nodeFunctions() {
		c.Machines = []gradcheck.Machine{gradcheck.Tape, gradcheck.Lisp}
		t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
		delete(missing, c.Name)
	}
	for name := range missing {
		t.Errorf("nodeFunctions has no case %s", name)
	}
}

// exportedNodeFunctions lists the package's functions that return a node and an error.
func exportedNodeFunctions(t *testing.T) map[string]bool {
	t.Helper()
	files := must.Get(filepath.Glob("*.go"))(t)
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results.NumFields() != 2 {
				continue
			}
			if p, ok := f.Type.Results.List[0].Type.(*ast.StarExpr); ok {
				if s, ok := p.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Node" {
					names[f.Name.Name] = true
				}
			}
		}
	}
	if len(names) == 0 {
		t.Fatal("no functions found")
	}
	return names
}
