package conformance_test

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/race"
)

func TestDatasets(t *testing.T) {
	grid := must.Get(catalog.Registry.Lookup("grid"))(t)
	if err := conformance.CheckDataset(grid); !errors.Is(err, conformance.ErrNeedsSettings) {
		t.Errorf("grid: %v", err)
	}
	d, err := datasets.FromPixels("own", []uint8{1, 2, 3, 4, 5, 6}, 1, 3, 1, []factor.Factor{{Name: "a", Size: 2}}, [][]int{{1}, {0}})
	must.OK(t, err)
	if err := conformance.CheckImages(d); err != nil {
		t.Error(err)
	}
	d, err = datasets.FromPixels("gaps", []uint8{1, 2}, 1, 1, 1, []factor.Factor{{Name: "a", Size: 2}}, [][]int{{1}, {datasets.Unknown}})
	must.OK(t, err)
	if err := conformance.CheckImages(d); err != nil {
		t.Error(err)
	}
	wantFinding(t, "miscounted", conformance.CheckImages(miscounted{d}), "dataset gaps: ",
		`Missing counts 2 images of unknown "a"; 1 of 2 have level -1`)
}

// miscounted is a data set with one unknown level, but it counts two.
type miscounted struct{ datasets.Dataset }

func (miscounted) Missing() []int { return []int{2} }

// faulty is a data set of 4 images of 2 pixels with one fault.
type faulty struct {
	Fault string `yaml:"fault" doc:"what is wrong"`
	build int64
	calls *atomic.Int64
	last  *[]float32
}

func (f *faulty) Build(uint64) (datasets.Dataset, error) {
	if f.Fault == "no build" {
		return nil, errors.New("no images today")
	}
	return &faulty{f.Fault, builds.Add(1) % 8, &atomic.Int64{}, new([]float32)}, nil
}

func (f *faulty) Name() string { return "faulty" }

func (f *faulty) ImageShape() (h, w, c int) {
	if f.Fault == "another shape" {
		return 1, 2 + int(f.build), 1
	}
	return 1, 2, 1
}

func (f *faulty) Len() int { return 4 }

func (f *faulty) Factors() []factor.Factor {
	if f.Fault == "factor without size" {
		return []factor.Factor{{Name: "a"}}
	}
	if f.Fault == "no factors" {
		return nil
	}
	return []factor.Factor{{Name: "a", Size: 4, Kind: factor.Ordinal}}
}

func (f *faulty) FactorsAt(i int, dst []int) {
	switch f.Fault {
	case "twins":
		i /= 2
	case "level out of range":
		i++
	case "unknown level":
		i = datasets.Unknown
	}
	dst[0] = i
}

func (f *faulty) Image(i int, dst []float32) {
	dst[0], dst[1] = float32(i)/4, 0.5
	switch f.Fault {
	case "call order":
		dst[1] = float32(math.Mod(float64(f.calls.Add(1)), 7) / 7)
	case "pixel out of range":
		dst[1] = 1.5
	case "unwritten pixel":
		dst[1] = float32(math.NaN())
	case "allocates":
		sink.Store(&[8]float32{})
	case "keeps its slice":
		if *f.last != nil {
			(*f.last)[0] = 0.75
		}
		*f.last = dst
	case "random build":
		dst[1] = float32(f.build) / 8
	case "panics":
		panic("torn image")
	}
}

var sink atomic.Pointer[[8]float32]
var builds atomic.Int64

// Each fault is found, and the message says which one.
func TestDatasetsFindFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":                    "",
		"no build":            "Build: no images today",
		"call order":          "image 3 changes when it is rendered again",
		"pixel out of range":  "image 0 has 1.5 at number 1; want 0 to 1",
		"unwritten pixel":     "leaves number 1 of image 0 unwritten",
		"allocates":           "Image allocates 1 times; want 0",
		"keeps its slice":     "Image retains its argument: the slice of image 0",
		"level out of range":  `image 3 has level 4 of factor "a"; want 0 to 3`,
		"unknown level":       `image 0 has level -1 of factor "a"; want 0 to 3, or -1 where it is unknown in a set that is datasets.Incomplete`,
		"twins":               "images 0 and 1 both have a 0",
		"factor without size": `factor "a": size 0`,
		"no factors":          "there are no factors",
		"another shape":       "a second build with the same seed has another shape",
		"random build":        "image 0 differs in a second build with the same seed",
		"panics":              "it panics: torn image",
	} {
		if race.Enabled && (fault == "allocates" || fault == "random build" || fault == "another shape") {
			continue
		}
		e := registry.Entry[datasets.Builder]{Name: "faulty", Doc: "a set with a fault",
			New: func() datasets.Builder { return &faulty{Fault: fault} }}
		wantFinding(t, fault, conformance.CheckDataset(e), "dataset faulty: ", want)
	}
	shared := &faulty{}
	same := registry.Entry[datasets.Builder]{Name: "faulty", Doc: "settings shared by all", New: func() datasets.Builder { return shared }}
	wantFinding(t, "shared settings", conformance.CheckDataset(same), "dataset faulty: ", "New returns the same settings twice")
}

// wantFinding wants an error that names the part and the fault. If want is empty, it wants no error.
func wantFinding(t *testing.T, fault string, err error, part, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("nothing is wrong, and found is: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: found %v, want %s...%s", fault, err, part, want)
	}
}
