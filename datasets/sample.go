package datasets

import (
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Sample returns the subset of the given images, in the given order.
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

// sample implements Dataset, Incomplete, and the methods behind Expect, FileName and RealValued.
type sample struct {
	Dataset
	indices []int
	missing []int // unknown levels by factor; nil: none
}

func (s sample) Len() int                   { return len(s.indices) }
func (s sample) Image(i int, dst []float32) { s.Dataset.Image(s.indices[i], dst) }
func (s sample) FactorsAt(i int, dst []int) { s.Dataset.FactorsAt(s.indices[i], dst) }
func (s sample) Missing() []int             { return s.missing }
func (s sample) Expect(first, count int)    { stored.Expect(s.Dataset, s.indices[first:first+count]) }
func (s sample) FileName(i int) string      { return FileName(s.Dataset, s.indices[i]) }
func (s sample) RealValued() bool           { return RealValued(s.Dataset) }

// hierarchicalSample is the sample of a Hierarchical set.
type hierarchicalSample struct {
	sample
	of Hierarchical
}

func (s hierarchicalSample) Hierarchy() hierarchy.Hierarchy { return s.of.Hierarchy() }
func (s hierarchicalSample) Choices(i int, dst []int)       { s.of.Choices(s.indices[i], dst) }
func (s hierarchicalSample) Values(i int, dst []float64)    { s.of.Values(s.indices[i], dst) }
