package machine_test

import (
	"hash"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// broken is an operation that panics.
type broken struct{}

func (broken) Arity() int { return 1 }
func (broken) Type() hm.Type {
	t := gorgonia.TensorType{Dims: 2, Of: tensor.Float32}
	return hm.NewFnType(t, t)
}
func (broken) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return tensor.Shape{2, 3}, nil }
func (broken) Do(...gorgonia.Value) (gorgonia.Value, error)          { panic("index out of range") }
func (broken) ReturnsPtr() bool                                      { return false }
func (broken) CallsExtern() bool                                     { return false }
func (broken) OverwritesInput() int                                  { return -1 }
func (broken) WriteHash(h hash.Hash)                                 { h.Write([]byte("broken")) }
func (broken) Hashcode() uint32                                      { return 4711 }
func (broken) String() string                                        { return "broken operation" }
