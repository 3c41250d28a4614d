// Package graph makes differentiable Gorgonia operations from short descriptions. It has generic operations: sums,
// shapes, slices, activations, and rows of unit length. Package graph/layer has the operations of layers, and package
// losses has the objectives.
//
// A [Spec] has the name of an operation, the shape of its result, and functions for its value and its gradients.
// [Apply] adds the operation to an expression graph as a node. A [Body] implements value and gradients once for both
// element types, float32 and float64. The node runs on Gorgonia's TapeMachine and LispMachine, and on graph/machine,
// which only computes the gradients that are needed.
//
// An operation reuses the memory of its value and gradients in each run. Copy a value that you need after the next run.
// Only one goroutine may run a graph at a time.
package graph

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Array is an operand: a shape and its elements in row-major order. Exactly one of F32 and F64 is set. A scalar has
// the shape () and one element.
type Array struct {
	Shape tensor.Shape
	F32   []float32
	F64   []float64
}

// Spec describes a differentiable operation.
type Spec struct {
	Name string
	Key  string // all parameters that affect the result: nodes with equal name, key and inputs are merged

	// Attributes are the parameters as values, for programs that translate a graph (see [Operation]): numbers, strings,
	// bools, and slices of these. It is nil for operations without parameters and for operations that cannot be
	// translated.
	Attributes map[string]any

	// Shape returns the shape of the result, or an error, for instance by [Wanted].
	Shape func(in []tensor.Shape) (tensor.Shape, error)

	// New prepares the operation for the given shapes and element type, and allocates scratch memory. It runs once,
	// before the first run of the operation.
	New func(in []tensor.Shape, out tensor.Shape, dt tensor.Dtype) (Func, error)

	// Mixed is New for float32 elements with bfloat16 factors and float32 sums in products, see [MixedOp]. It is nil if
	// the operation has no mixed form.
	Mixed func(in []tensor.Shape, out tensor.Shape) (Func, error)

	// Device is New for float32 elements on a GPU. It is nil if the operation has no device form. The operation then
	// runs on the CPU, with copies of its inputs and results.
	Device func(in []tensor.Shape, out tensor.Shape) (Recording, error)

	Diff []bool // the inputs that have a gradient; nil: all

	// Tangent adds the derivative of the result out when the inputs change in the directions along, for [JVP]. A nil
	// direction is 0. The nodes that Tangent adds must be differentiable with respect to tangents and inputs. A nil
	// Tangent means that the operation has none.
	Tangent func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error)
}

// Func computes an operation for fixed shapes and a fixed element type.
type Func interface {
	// Forward overwrites out. The caller allocates out.
	Forward(in []Array, out Array) error

	// Backward overwrites din[i] with the gradient with respect to input i if want[i] is true, given the gradient dout
	// with respect to the result. The last Forward had the same inputs.
	Backward(in []Array, out, dout Array, din []Array, want []bool) error
}

// Apply returns the node of an operation on inputs that belong to one graph and have one element type, float32 or
// float64. Constants (gorgonia.NewConstant) need no graph. If all inputs are constants, Apply computes the result at
// once and returns a constant.
func Apply(s Spec, in ...*gorgonia.Node) (*gorgonia.Node, error) {
	n, err := apply(s, in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return n, nil
}

func apply(s Spec, in []*gorgonia.Node) (*gorgonia.Node, error) {
	in, constant, err := hostConstants(in)
	switch {
	case err != nil:
		return nil, err
	case constant:
		return fold(s, in)
	}
	f, err := newForward(s, in)
	if err != nil {
		return nil, err
	}
	return insert(f, in)
}

// Operation returns the name and the attributes of a node's [Spec]. It returns false for inputs and for operations of
// Gorgonia. The caller must not change the map.
func Operation(n *gorgonia.Node) (name string, attributes map[string]any, ok bool) {
	f, ok := n.Op().(*forward)
	if !ok {
		return "", nil, false
	}
	return f.spec.Name, f.spec.Attributes, true
}

// forward is the Gorgonia operation of one node.
type forward struct {
	identity
	spec   Spec
	shapes []tensor.Shape
	dtype  tensor.Dtype

	fn       Func
	mixed    bool
	operands operands
	result   result
	direct   *pullback // for DoDiff
}

func newForward(s Spec, in []*gorgonia.Node) (*forward, error) {
	switch {
	case len(in) == 0:
		return nil, errors.New("no inputs")
	case s.Shape == nil || s.New == nil:
		return nil, errors.New("the Spec has no Shape or no New; want both")
	}
	f := &forward{spec: s, shapes: make([]tensor.Shape, len(in))}
	types := make([]hm.Type, len(in)+1)
	for i, n := range in {
		if n == nil {
			return nil, fmt.Errorf("input %d is nil", i)
		}
		dt, err := elementType(n)
		switch {
		case err != nil:
			return nil, fmt.Errorf("input %d (%s): %w", i, n.Name(), err)
		case i > 0 && dt != f.dtype:
			return nil, fmt.Errorf("want inputs of one element type, got %v and %v (%s)", f.dtype, dt, n.Name())
		case n.Graph() != in[0].Graph():
			return nil, fmt.Errorf("input %d (%s) belongs to another graph; want inputs of one graph", i, n.Name())
		}
		f.dtype, f.shapes[i], types[i] = dt, n.Shape(), n.Type()
	}
	if s.Diff != nil && len(s.Diff) != len(in) {
		return nil, fmt.Errorf("want %d inputs, got %d", len(s.Diff), len(in))
	}
	out, err := s.Shape(f.shapes)
	if err != nil {
		return nil, err
	}
	types[len(in)] = typeOf(f.dtype, out)
	f.identity = identity{name: s.Name, key: s.Key, types: types, shape: out, inputs: in}
	f.operands = newOperands(f.dtype, f.shapes)
	f.result = result{shape: out, dtype: f.dtype}
	return f, nil
}

// Do computes the value in the operation's own buffer.
func (f *forward) Do(values ...gorgonia.Value) (v gorgonia.Value, err error) {
	defer f.explain(&err, f.shapes)
	if err := f.operands.read(values); err != nil {
		return nil, err
	}
	if err := f.bind(); err != nil {
		return nil, err
	}
	f.result.allocate()
	if err := f.fn.Forward(f.operands.arrays, f.result.array); err != nil {
		return nil, err
	}
	return f.result.value(), nil
}

// bind calls the Spec's New before the first use.
func (f *forward) bind() (err error) {
	switch {
	case f.fn != nil:
	case f.mixed:
		f.fn, err = f.spec.Mixed(f.shapes, f.shape)
	default:
		f.fn, err = f.spec.New(f.shapes, f.shape, f.dtype)
	}
	return err
}

// Recording is the device form of an operation for fixed shapes. Its functions record kernels with the same results as
// [Func]. Buffers hold the elements of operands in row-major order.
type Recording struct {
	Forward func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer)

	// Backward writes the gradient with respect to input i to din[i], unless din[i] is the zero Buffer.
	Backward func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer)
}

// DeviceOp is an operation of this package, or its gradient, that may have a device form.
type DeviceOp interface {
	gorgonia.Op

	// Record returns the device form of the operation or gradient. ok is false if there is none.
	Record() (r Recording, ok bool, err error)
}

func (f *forward) Record() (Recording, bool, error) {
	if f.spec.Device == nil || f.dtype != tensor.Float32 {
		return Recording{}, false, nil
	}
	r, err := f.spec.Device(f.shapes, f.shape)
	if err != nil {
		return Recording{}, false, fmt.Errorf("%s: %w", f, err)
	}
	differentiable := slices.Contains(f.DiffWRT(len(f.shapes)), true) // the form covers value and gradient together
	return r, r.Forward != nil && (r.Backward != nil || !differentiable), nil
}

// MixedOp is an operation of this package that may have a mixed-precision form. This form rounds the factors of matrix
// products and convolutions to bfloat16 and sums in float32. Inputs and results are float32 in both forms.
type MixedOp interface {
	gorgonia.Op

	// SetMixed selects the form of the operation and its gradients. It has no effect if the operation has only one form.
	SetMixed(on bool)
}

func (f *forward) SetMixed(on bool) {
	if f.spec.Mixed != nil && f.dtype == tensor.Float32 && on != f.mixed {
		f.mixed, f.fn = on, nil
	}
}

// DiffWRT says which inputs have a gradient.
func (f *forward) DiffWRT(inputs int) []bool {
	diff := make([]bool, inputs)
	for i := range diff {
		diff[i] = f.spec.Diff == nil || i < len(f.spec.Diff) && f.spec.Diff[i]
	}
	return diff
}

// identity holds the properties of an operation that Gorgonia's graph needs: type, shape and hash.
type identity struct {
	name, key string
	types     []hm.Type // the types of the inputs and of the result
	shape     tensor.Shape
	inputs    []*gorgonia.Node // to detect nodes that were merged by a hash collision
	salt      int
}

func (d *identity) Arity() int            { return len(d.types) - 1 }
func (d *identity) Type() hm.Type         { return hm.NewFnType(d.types...) }
func (*identity) ReturnsPtr() bool        { return false }
func (*identity) CallsExtern() bool       { return false }
func (*identity) OverwritesInput() int    { return -1 }
func (d *identity) self() *identity       { return d }
func (d *identity) WriteHash(h hash.Hash) { fmt.Fprintf(h, "unravel %q %q %d", d.name, d.key, d.salt) }

func (d *identity) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return d.shape.Clone(), nil
}

func (d *identity) Hashcode() uint32 {
	h := fnv.New32a()
	d.WriteHash(h)
	return h.Sum32()
}

func (d *identity) String() string {
	if d.key == "" {
		return d.name
	}
	return d.name + "{" + d.key + "}"
}

// explain adds the operation to an error. It turns a panic into an error.
func (d *identity) explain(err *error, in []tensor.Shape) {
	if p := recover(); p != nil {
		*err = parallel.Recovered(p)
	}
	if *err != nil {
		*err = &Error{Op: d.String(), Shapes: in, Err: *err}
	}
}

// Error is the error of an operation, for instance from a [Spec], that fails in the run of a machine. To find the
// cause, compare Shapes with the shapes in the operation's comment.
type Error struct {
	Op     string
	Shapes []tensor.Shape // shapes of the operation's inputs
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s of shapes %v: %v", e.Op, e.Shapes, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

type operation interface {
	gorgonia.Op
	self() *identity
}

// insert adds a node to the inputs' graph. The graph identifies nodes by a 32-bit hash. If a node collides with another
// node, insert adds it again with a different hash.
func insert(o operation, in []*gorgonia.Node) (*gorgonia.Node, error) {
	for d := o.self(); d.salt < 8; d.salt++ {
		n, err := gorgonia.ApplyOp(o, in...)
		if err != nil {
			return nil, err
		}
		if merged, ok := n.Op().(operation); ok {
			if m := merged.self(); m.name == d.name && m.key == d.key && slices.Equal(m.inputs, in) {
				return n, nil
			}
		}
	}
	return nil, errors.New("hash collisions with other nodes of the graph")
}
