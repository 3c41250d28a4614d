package syntax

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Quantale holds the operations that replace the connectives (Zhang and Sugiyama 2024, appendices B.5 to B.9).
type Quantale struct {
	And     Conjunction
	Or      Disjunction
	Implies Implication
	Not     Negation
}

// Premetric is a distance that is 0 if and only if its terms are equal (Zhang and Sugiyama 2024, definition 4), except
// for Cosine. The package comment of logic has all formulas.
type Premetric uint8

// The premetrics.
const (
	Crisp       Premetric = iota // no premetric: 0 or infinity, without a gradient
	Euclidean                    // sqrt(sum_k (a_k - b_k)^2)
	Squared                      // sum_k (a_k - b_k)^2
	Absolute                     // sum_k |a_k - b_k|
	Discrete                     // number of columns that differ; its gradient is 0
	Circular                     // sum_k min(d, period - d), d = |a_k - b_k| mod period: points of a circle
	Cosine                       // 1 - <a, b> / (|a| |b|); not strict
	KL                           // divergence between the Gaussian posteriors of two rows
	Wasserstein                  // 2-Wasserstein distance between the Gaussian posteriors of two rows
)

// Conjunction is the operation for `and`: a product on [0, inf] with unit 0.
type Conjunction uint8

// The conjunctions: the paper's table 1, example 13, and example 14.
const (
	AndAdd     Conjunction = iota // a + b
	AndMax                        // max(a, b)
	AndLogExp                     // log(e^a + e^b - 1)
	AndNorm                       // sqrt(a^2 + b^2)
	AndRoot                       // a + b + 2 sqrt(a b)
	AndProduct                    // a + b + a b
)

// Disjunction is the operation for `or`: a product on [0, inf] with unit infinity.
type Disjunction uint8

// The disjunctions: the paper's table 1, and example 15.
const (
	OrMin            Disjunction = iota // min(a, b)
	OrHarmonic                          // a b / (a + b)
	OrHarmonicSquare                    // a b / sqrt(a^2 + b^2)
	OrLogExp                            // -log(e^-a + e^-b - e^-(a+b))
	OrTanh                              // artanh(tanh(a) tanh(b))
)

// Implication is the operation for `->`: the right adjoint of a conjunction (the paper's examples 17 and 18 and lemma
// 13), or the homomorphic one. The adjoints are 0 if a >= b, and otherwise:
type Implication uint8

// The implications a -> b, named after their conjunctions.
const (
	ImpliesMonus   Implication = iota // b - a, adjoint of AndAdd
	ImpliesMax                        // b, adjoint of AndMax; it jumps at a = b
	ImpliesLogExp                     // log(1 + e^b - e^a)
	ImpliesNorm                       // sqrt(b^2 - a^2)
	ImpliesRoot                       // (sqrt(b) - sqrt(a))^2
	ImpliesProduct                    // (b - a) / (1 + a)

	// ImpliesStrict is b if a is 0, otherwise 0. It is therefore 0 if and only if the implication is true (example 16).
	// It is not an adjoint and jumps where a goes to 0, so a must not depend on the codes. Crisp formulas and discrete
	// premetrics do not.
	ImpliesStrict
)

// Negation is the operation for `not`.
type Negation uint8

// The negations of the paper's appendix B.5.
const (
	NotComplement Negation = iota // max(1 - a, 0)
	NotInverse                    // 1 / a, which is infinite with gradient 0 at a = 0

	// NotStrict is 1 if a is 0, otherwise 0. It is therefore 0 if and only if the negation is true (equation 69). It
	// jumps where a goes to 0, so a must not depend on the codes.
	NotStrict
)

// Names of the operations in sentences, indexed by number.
func premetricNames() []string {
	return []string{"crisp", "euclidean", "squared", "absolute", "discrete", "circular", "cosine", "kl", "wasserstein"}
}

func conjunctionNames() []string { return []string{"add", "max", "logexp", "norm", "root", "product"} }
func disjunctionNames() []string {
	return []string{"min", "harmonic", "harmonic-square", "logexp", "tanh"}
}
func implicationNames() []string {
	return []string{"monus", "max", "logexp", "norm", "root", "product", "strict"}
}
func negationNames() []string   { return []string{"complement", "inverse", "strict"} }
func aggregateNames() []string  { return []string{"mean", "max", "sum", "mean-square"} }
func classNames() []string      { return []string{"any", "affine", "linear", "isometry", "mlp"} }
func fitNames() []string        { return []string{"body", "least squares", "absolute", "max"} }
func dependenceNames() []string { return []string{"hsic", "tc", "discriminator"} }

func (p Premetric) String() string   { return premetricNames()[p] }
func (c Conjunction) String() string { return conjunctionNames()[c] }
func (d Disjunction) String() string { return disjunctionNames()[d] }
func (i Implication) String() string { return implicationNames()[i] }
func (n Negation) String() string    { return negationNames()[n] }
func (c Class) String() string       { return classNames()[c] }
func (f Fit) String() string         { return fitNames()[f] }
func (d Dependence) String() string  { return dependenceNames()[d] }

// settings lists the operations that differ from the defaults, such as `and = max`.
func (q Quantale) settings() (all []string) {
	add := func(connective, name string, i uint8) {
		if i != 0 {
			all = append(all, connective+" = "+name)
		}
	}
	add("and", q.And.String(), uint8(q.And))
	add("or", q.Or.String(), uint8(q.Or))
	add("->", q.Implies.String(), uint8(q.Implies))
	add("not", q.Not.String(), uint8(q.Not))
	return all
}

// set changes the operation of a connective.
func (q *Quantale) set(connective, name string) error {
	var names []string
	var to *uint8
	switch connective {
	case "and":
		names, to = conjunctionNames(), (*uint8)(&q.And)
	case "or":
		names, to = disjunctionNames(), (*uint8)(&q.Or)
	case "->":
		names, to = implicationNames(), (*uint8)(&q.Implies)
	default:
		names, to = negationNames(), (*uint8)(&q.Not)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("unknown operation %q of %s%s", name, connective, registry.Suggest(name, names))
	}
	*to = uint8(i)
	return nil
}

// Fold is an aggregate that combines all quantities by one operation, g(sum_k f(a_k)). For exists it is a disjunction
// (example 15) or a soft minimum, for forall a conjunction (example 14).
type Fold uint8

const (
	NoFold            Fold = iota // the aggregate of forall, or the minimum of exists
	AnyHarmonic                   // 1 / sum_k 1/a_k
	AnyHarmonicSquare             // 1 / sqrt(sum_k 1/a_k^2)
	AnyLogExp                     // -log(1 - prod_k (1 - e^-a_k))
	AnyTanh                       // artanh(prod_k tanh a_k)
	AnySoft                       // -t log(mean_k e^(-a_k/t))
	AllLogExp                     // log(1 + sum_k (e^a_k - 1))
	AllNorm                       // sqrt(sum_k a_k^2)
	AllRoot                       // (sum_k sqrt a_k)^2
	AllProduct                    // prod_k (1 + a_k) - 1
)

// Names of the folds in sentences.
func anyNames() []string { return append(disjunctionNames(), "soft") }
func allNames() []string { return []string{"logexp", "norm", "root", "product"} }

func (f Fold) String() string {
	if f.Universal() {
		return allNames()[f-AllLogExp]
	}
	return anyNames()[f]
}

// Universal reports whether a fold belongs to forall.
func (f Fold) Universal() bool { return f >= AllLogExp }
