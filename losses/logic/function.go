package logic

import (
	"slices"
	"strconv"
	"strings"
)

// Function is a variable for functions between codes and factors, which [Functions] binds:
// `h: z -> y in affine` or `m.shape: y.shape -> z.shape`.
type Function struct {
	Name     string // a name, or two with a dot between: m.shape
	From, To Space
	Class    Class
	Layers   []int // for MLP: widths of the hidden layers; nil: the default
	By       Fit
}

// Space is a set of vectors: all factors or codes, or a part of them.
type Space struct {
	Codes   bool    // codes (z); otherwise factors (y)
	Name    string  // name of a sub-code or a factor
	Columns []Range // instead of a name; without both: all columns
}

// Class restricts the functions among which the best one is sought.
type Class uint8

// The classes of functions. Any function is possible from levels of factors: one point for each level,
// or for each tuple of levels.
const (
	AnyFunction Class = iota
	Affine            // x -> W x + b
	Linear            // x -> W x
	Isometry          // x -> Q x + b, where the columns of Q are orthonormal: it keeps distances
	MLP               // a neural network
)

// Fit is a criterion. It fits a function before the body of the function's quantifier is evaluated. The quantity is
// then an upper bound of the least quantity.
type Fit uint8

// The criteria. ByBody minimises the quantity of the body itself.
const (
	ByBody         Fit = iota
	ByLeastSquares     // least mean squared distance
	ByAbsolute         // least mean absolute deviation of each column
	ByMax              // least largest Euclidean distance
)

func classNames() []string { return []string{"", "affine", "linear", "isometry", "mlp"} }
func fitNames() []string   { return []string{"", "least squares", "absolute", "max"} }

func (c Class) String() string {
	if c == AnyFunction {
		return "any"
	}
	return nameOf("Class", classNames(), int(c))
}

func (f Fit) String() string {
	if f == ByBody {
		return "body"
	}
	return nameOf("Fit", fitNames(), int(f))
}

// Functions is the domain of variables for functions: `h: z -> y in affine`. [Exists] binds them.
func Functions(all ...Function) Domain {
	d := Domain{set: functionSet}
	for _, f := range all {
		d.names = append(d.names, f.Name)
		d.functions = append(d.functions, declaration{Function: f})
	}
	return d
}

// At is the value of the function at a term: `h(z(i))`.
func (f Function) At(argument Term) Term { return Apply(f.Name, argument) }

// Apply is the value of a function, by its name, at a term: `h(z(i))`.
func Apply(function string, argument Term) Term { return &application{function: function, a: argument} }

// declaration is a function with its place in a text.
type declaration struct {
	place
	Function
	from, to place // of the spaces
}

// application is the value of a function at a term.
type application struct {
	place
	function string
	a        Term
}

func (*application) term() {}

// access returns the space as a term without a row.
func (s Space) access(at place) *access {
	return &access{place: at, codes: s.Codes, name: s.Name, columns: s.Columns}
}

// applications lists the applications of functions in a formula.
func applications(f Formula) (all []*application) {
	terms(f, func(t Term) {
		if a, ok := t.(*application); ok {
			all = append(all, a)
		}
	})
	return all
}

// validFunction reports whether a function can have a name: a name, or a name, a dot and anything.
func validFunction(name string) bool {
	head, tail, dotted := strings.Cut(name, ".")
	return isName(head) && !slices.Contains([]string{"y", "z"}, head) && (!dotted || tail != "")
}

// quoteFunction writes the name of a function as it stands in a sentence.
func quoteFunction(name string) string {
	head, tail, dotted := strings.Cut(name, ".")
	if !dotted {
		return head
	}
	return head + "." + quoteName(tail)
}

// String returns the function as a quantifier has it.
func (f Function) String() string {
	w := writer{}
	w.add(quoteFunction(f.Name), ": ")
	w.access(f.From.access(0))
	w.add(" -> ")
	w.access(f.To.access(0))
	if f.Class != AnyFunction {
		w.add(" in ", f.Class.String())
	}
	if f.Class == MLP && f.Layers != nil {
		w.add(" {layers: [")
		for i, n := range f.Layers {
			if i > 0 {
				w.add(", ")
			}
			w.add(strconv.Itoa(n))
		}
		w.add("]}")
	}
	if f.By != ByBody {
		w.add(" by ", f.By.String())
	}
	return w.String()
}
