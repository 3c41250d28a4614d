package logic_test

import (
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/logic"
)

func Example() {
	sentence, err := logic.Parse(`forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`)
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
	// 0 if and only if the sentence is true: it has no negation, and only crisp formulas (= or !=) imply others
	// 2 <nil>
}

// A program builds a sentence as text, with names of factors in quotes.
func ExampleParse() {
	var parts []string
	for _, name := range []string{"shape", "object hue"} {
		parts = append(parts, fmt.Sprintf("(forall[mean] i, j: y.%[1]q(i) = y.%[1]q(j) -> z.%[1]q(i) =[squared] z.%[1]q(j))", name))
	}
	sentence, err := logic.Parse(strings.Join(parts, " and "))
	fmt.Println(sentence, err)

	_, err = logic.Parse("forall i: z(i) =[squard] 0")
	fmt.Println(err)
	// Output:
	// (forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)) and (forall[mean] i, j: y."object hue"(i) = y."object hue"(j) -> z."object hue"(i) =[squared] z."object hue"(j)) <nil>
	// 1:18: unknown premetric "squard"; did you mean "squared"?
}

// A sentence becomes a node in any graph.
func ExampleQuantity_Node() {
	sentence, err := logic.Parse(`forall[mean] i: (exists c in {[0, 0], [1, 1]}: z(i) =[squared] c)`)
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

// The best product approximation of codes: example 5 of the paper.
func ExampleQuantity_Approximation() {
	sentence, err := logic.Parse("exists m.a: y.a -> z[0]: forall[mean] i: z[0](i) =[squared] m.a(y.a(i))")
	if err != nil {
		fmt.Println(err)
		return
	}
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
	fmt.Println(v, found[0].Levels, found[0].Points, logic.Product(found, b.Codes))
	// Output:
	// 1 [[0] [1]] [[2] [6]] [[2 3] [2 5] [6 5] [6 7]]
}
