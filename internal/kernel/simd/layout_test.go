package simd

import (
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// The assembly expects these fields of structs at these bytes.
func TestLayouts(t *testing.T) {
	for of, want := range map[reflect.Type]map[string]uintptr{
		reflect.TypeFor[Tile](): {"A": 0, "B": 24, "C": 48, "Bias": 72, "Rows": 96, "CRows": 120, "Steps": 144, "AStep": 152, "Segs": 160, "ASeg": 168,
			"Blocks": 176, "ABlk": 184, "BStep": 192, "BSeg": 200, "BBlk": 208, "Flags": 216, "scratch": 224, "ahead": 272, "last": 280},
		reflect.TypeFor[Panel](): {"A": 0, "B": 24, "C": 48, "Bias": 72, "ARow": 96, "AStep": 104, "BStep": 112, "CRow": 120, "Rows": 128, "Steps": 136,
			"Flags": 144, "Ahead": 152, "Lines": 176, "Columns": 200, "AheadRow": 216, "aheadAt": 224},
	} {
		for name, at := range want {
			f, ok := of.FieldByName(name)
			must.Equal(t, ok, true, of, name)
			must.Equal(t, f.Offset, at, of, name)
		}
	}
}
