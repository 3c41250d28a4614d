package logic_test

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
)

func Example() {
	sentence, err := syntax.Parse(`forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sentence.Formula())
	fmt.Println(sentence.Quantity())
	fmt.Println(sentence.Truth())

	quantity, err := logic.Compile(sentence, logic.Schema{
		Codes:    3,
		SubCodes: map[string][]int{"shape": {0, 1}},
		Factors:  []string{"shape", "hue"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	codes := [][]float64{{0, 0, 1}, {3, 4, 2}, {1, 1, 3}}
	levels := [][]float64{{0, 0}, {0, 1}, {1, 0}}
	fmt.Println(quantity.Value(codes, nil, levels))
	// Output:
	// ∀ i, j: y.shape(i) = y.shape(j) → z.shape(i) = z.shape(j)
	// mean{i, j | y.shape(i) = y.shape(j)} ‖z.shape(i) − z.shape(j)‖
	// zero is equivalent to truth: it has no negation, and no implication but from crisp formulas
	// 2 <nil>
}

// A sentence is a node in anyone's graph.
func ExampleQuantity_Node() {
	sentence, err := syntax.Parse(`forall[mean] i: (exists c in {[0, 0], [1, 1]}: z(i) =[squared] c)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	quantity, err := logic.Compile(sentence, logic.Schema{Codes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := gorgonia.NewGraph()
	z := gorgonia.NewMatrix(g, gorgonia.Float64, gorgonia.WithShape(2, 2), gorgonia.WithName("z"), gorgonia.WithInit(gorgonia.RangedFrom(0)))
	loss, err := quantity.Node(z, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	grads, err := gorgonia.Grad(loss, z)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := gorgonia.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss.Value())
	fmt.Println(grads[0].Value().Data())
	// Output:
	// 3
	// [0 1 1 2]
}

// The best product approximation of codes, example 5 of the paper.
func ExampleQuantity_Approximation() {
	m := syntax.Function{Name: "m.a", From: syntax.Space{Name: "a"}, To: syntax.Space{Codes: true, Columns: []syntax.Range{{Lo: 0, Hi: 1}}}}
	sentence := syntax.Sentence{Body: syntax.Exists(syntax.Functions(m), syntax.ForAll(factor.Mean, syntax.Rows("i"),
		syntax.Equal(syntax.Squared, syntax.CodeColumns("i", syntax.Range{Lo: 0, Hi: 1}), m.At(syntax.Factor("a", "i")))))}
	q, err := logic.Compile(sentence, logic.Schema{Codes: 2, Factors: []string{"a", "b"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := logic.Batch{Codes: [][]float64{{1, 3}, {3, 5}, {5, 5}, {7, 7}}, Labels: [][]float64{{0, 0}, {0, 1}, {1, 0}, {1, 1}}}
	found, err := q.Approximation(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	v, _ := q.ValueOf(b)
	fmt.Println(sentence)
	fmt.Println(v, found[0].Levels, found[0].Points, logic.Product(found, b.Codes))
	// Output:
	// exists m.a: y.a -> z[0]: forall[mean] i: z[0](i) =[squared] m.a(y.a(i))
	// 1 [[0] [1]] [[2] [6]] [[2 3] [2 5] [6 5] [6 7]]
}
