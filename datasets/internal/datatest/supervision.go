package datatest

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
)

func Sampler(t testing.TB, s *supervision.Split, images int) *supervision.Sampler {
	t.Helper()
	b, err := supervision.NewSampler(s, images, rng.New(3, "batch"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func Split(t testing.TB, s supervision.Kind, d datasets.Dataset) *supervision.Split {
	t.Helper()
	result, err := s.Split(d, rng.New(7, "split"))
	if err != nil {
		t.Fatal(err)
	}
	return result
}
