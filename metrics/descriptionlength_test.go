package metrics_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// The example of Ross and Doshi-Velez 2021, section 8.1, takes 61 bits a code instead of 256. Neither the values nor
// the factors matter.
func TestDescriptionLength(t *testing.T) {
	h := hierarchy.Hierarchy{options(hierarchy.Hierarchy{c}, make(hierarchy.Hierarchy, 8))}
	in := &Input{Codes: matrix.Matrix{Rows: 16, Cols: 10}, Hierarchy: h, Levels: make([]int, 16), Factors: ordinals(1)}
	for i := range 16 {
		row := make([]float64, 10)
		row[0] = 1 // the option; the other columns hold values
		if i < 2 {
			row[0] = 2
		}
		in.Codes.Data = append(in.Codes.Data, row...)
	}
	r := compute(t, named("description-length"), in)
	if r.Value != 61 || r.Part("options")[0] != 1 || r.Part("values")[0] != 60 || r.Part("flat")[0] != 256 ||
		!(math.Abs(r.Part("tree")[0]-(2+2+9)*math.Log2(3)-3) <= 1e-12) {
		t.Errorf("%+v", r)
	}
	near(t, "of 64 bits", compute(t, &DescriptionLength{Bits: 64}, in).Value, 121, 0)
	in.Hierarchy = make(hierarchy.Hierarchy, 10)
	near(t, "flat", value(t, "description-length", in), 320, 0)
	in.Hierarchy, in.Codes.Data[0] = h, 3
	must.ErrorOf(named("description-length").Compute(ctx, in))(t, "codes: row 0, column 0 is 3; want an option")
	for want, broken := range map[string]hierarchy.Hierarchy{"the hierarchy of the codes is not known": nil,
		"the hierarchy of the codes has 1 dimensions": {c}} {
		in.Hierarchy = broken
		must.ErrorOf(named("description-length").Compute(ctx, in))(t, want)
	}
	must.Error(t, (&DescriptionLength{}).Validate(), "bits: 0 is out of range")
}
