package conformance_test

import (
	"errors"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/race"
)

// faultyOp darkens images at random, with one fault.
type faultyOp struct {
	augment.Chance
	Fault string `yaml:"fault" doc:"what is wrong"`
	Calls int    `yaml:"-"`
}

func (f *faultyOp) Suits(_, _, _ int) error {
	if f.Fault == "suits nothing" {
		return errors.New("want another image")
	}
	return nil
}

func (f *faultyOp) Happens(s *rng.Stream) bool { return f.Chance.Happens(s) || f.Fault == "always" }

func (f *faultyOp) Apply(m *augment.Canvas, s *rng.Stream) {
	by := s.Float32()
	switch f.Fault {
	case "clock":
		by = float32(clock()%9973) / 9973
	case "range":
		by = 1.01
	case "settings":
		f.Calls++
	case "ignores what it draws":
		by = 0.5
	case "draws by pixel":
		if m.Pixels()[1] == 1 {
			s.Float32()
		}
	case "allocates":
		sink.Store(&[8]float32{})
	case "panics":
		panic("torn canvas")
	case "unwritten":
		m.Swap()
		return
	}
	for i := range m.Pixels() {
		m.Pixels()[i] *= by
	}
}

func TestAugmentationsFindFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":                      "",
		"clock":                 "two views of one image by the same stream differ",
		"range":                 "image of 16 x 16 x 1 has 1.01 at number",
		"settings":              "its settings change from",
		"ignores what it draws": "all streams give the same views",
		"draws by pixel":        "want the same number for every image",
		"allocates":             "a view allocates 1 times; want 0",
		"panics":                "it panics: torn canvas",
		"unwritten":             "has NaN at number 0; want all of Spare and Scratch to be written",
		"always":                "it changes images at probability 0",
		"suits nothing":         "it suits no image of the test",
	} {
		if fault == "allocates" && race.Enabled {
			continue
		}
		e := registry.Entry[augment.Op]{Name: "faulty", Doc: "an operation with a fault", New: func() augment.Op {
			return &faultyOp{Chance: augment.Chance{Probability: 0.5}, Fault: fault}
		}}
		wantFinding(t, fault, conformance.CheckAugmentation(e), "augmentation faulty: ", want)
	}
	for _, e := range []registry.Entry[augment.Op]{
		{Doc: "no name", New: func() augment.Op { return &faultyOp{} }},
		{Name: "faulty", New: func() augment.Op { return &faultyOp{} }},
		{Name: "faulty", Doc: "no settings"},
	} {
		wantFinding(t, "incomplete", conformance.CheckAugmentation(e), "augmentation "+e.Name, "it has no Name, Doc or New")
	}
	undocumented := registry.Entry[augment.Op]{Name: "faulty", Doc: "an option has no text", New: func() augment.Op {
		return &struct {
			augment.Flip
			Undocumented int `yaml:"undocumented"`
		}{}
	}}
	wantFinding(t, "no text", conformance.CheckAugmentation(undocumented), "augmentation faulty: ", "the option undocumented has no text")
	pipeline := registry.Entry[augment.Pipeline]{Name: "faulty", Doc: "a pipeline", New: func() augment.Pipeline {
		return augment.Pipeline{{Name: "normalise", Value: augment.NewNormalise()}, {Name: "flip", Value: &augment.Flip{}}}
	}}
	for _, e := range []registry.Entry[augment.Pipeline]{{Doc: "no name", New: pipeline.New},
		{Name: "faulty", New: pipeline.New}, {Name: "faulty", Doc: "no operations"}} {
		wantFinding(t, "incomplete", conformance.CheckPipeline(e), "pipeline "+e.Name, "it has no Name, Doc or New")
	}
	wantFinding(t, "order", conformance.CheckPipeline(pipeline), "pipeline faulty: ", "normalise is operation 0 of 2; want it last")
}
