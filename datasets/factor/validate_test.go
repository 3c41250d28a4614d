package factor

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestValidate(t *testing.T) {
	identity := [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	good := []Factor{
		{Name: "angle", Size: 2, Angles: []float64{0, 1}}, {Name: "size", Size: 2, Kind: Ordinal, Values: []float64{1, 3}},
		{Name: "pose", Size: 1, Kind: Categorical, Rotations: [][9]float64{identity}},
	}
	if err := Validate(good); err != nil {
		t.Error(err)
	}
	for want, f := range map[string][]Factor{
		"factor 0 has no name":                  {{Size: 1}},
		`two factors have the name "a"`:         {{Name: "a", Size: 1}, {Name: "a", Size: 1}},
		`factor "a": size 0 is out of range`:    {{Name: "a"}},
		`size 1073741825 is out of range`:       {{Name: "a", Size: MaxSize + 1}},
		"kind Kind(9) is unknown":               {{Name: "a", Size: 1, Kind: 9}},
		"1 values; want none, or one for each":  {{Name: "a", Size: 2, Values: []float64{1}}},
		"it is ordinal and has angles":          {{Name: "a", Size: 1, Kind: Ordinal, Angles: []float64{1}}},
		"it is circular and has rotations":      {{Name: "a", Size: 1, Rotations: [][9]float64{identity}}},
		"level 1 has the angle -90; want at mo": {{Name: "a", Size: 2, Angles: []float64{0, -90}}},
		"level 1 stands for NaN":                {{Name: "a", Size: 2, Values: []float64{1, math.NaN()}}},
		"level 0: [1 1 1 1 1 1 1 1 1] is no ro": {{Name: "a", Size: 1, Kind: Categorical, Rotations: [][9]float64{{1, 1, 1, 1, 1, 1, 1, 1, 1}}}},
	} {
		must.Error(t, Validate(f), want)
	}
}
