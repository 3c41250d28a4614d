package datasets

import (
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Sample returns the data set of the images with the given indices, in that order.
func Sample(d Dataset, indices []int) Dataset {
	s := sample{Dataset: d, indices: indices}
	if Missing(d) != nil {
		s.missing = stored.CountMissing(Levels(s), len(d.Factors()))
	}
	if h, ok := d.(Hierarchical); ok {
		return hierarchicalSample{s, h}
	}
	return s
}

type sample struct {
	Dataset
	indices []int
	missing []int // by factor; nil: none
}

// Len implements Dataset.
func (s sample) Len() int { return len(s.indices) }

// Image implements Dataset.
func (s sample) Image(i int, dst []float32) { s.Dataset.Image(s.indices[i], dst) }

// FactorsAt implements Dataset.
func (s sample) FactorsAt(i int, dst []int) { s.Dataset.FactorsAt(s.indices[i], dst) }

// Missing implements Incomplete.
func (s sample) Missing() []int { return s.missing }

// Expect implements expecter.
func (s sample) Expect(first, count int) { stored.Expect(s.Dataset, s.indices[first:first+count]) }

// FileName implements the function FileName.
func (s sample) FileName(i int) string { return FileName(s.Dataset, s.indices[i]) }

// RealValued implements the function RealValued.
func (s sample) RealValued() bool { return RealValued(s.Dataset) }

// hierarchicalSample is the sample of a set with a hierarchy.
type hierarchicalSample struct {
	sample
	of Hierarchical
}

// Hierarchy implements Hierarchical.
func (s hierarchicalSample) Hierarchy() hierarchy.Hierarchy { return s.of.Hierarchy() }

// Choices implements Hierarchical.
func (s hierarchicalSample) Choices(i int, dst []int) { s.of.Choices(s.indices[i], dst) }

// Values implements Hierarchical.
func (s hierarchicalSample) Values(i int, dst []float64) { s.of.Values(s.indices[i], dst) }
