package models

import "github.com/unravel-ml/unravel/graph"

// forward is the [graph.Body] of an operation without a gradient.
type forward[T graph.Float] func(in [][]T, out []T)

func (f forward[T]) Forward(in [][]T, out []T)         { f(in, out) }
func (forward[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
