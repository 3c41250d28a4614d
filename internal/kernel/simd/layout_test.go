package simd

import (
	"testing"
	"unsafe"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestTileLayout(t *testing.T) {
	var x Tile
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"a", unsafe.Offsetof(x.A), 0}, {"b", unsafe.Offsetof(x.B), 24}, {"c", unsafe.Offsetof(x.C), 48}, {"bias", unsafe.Offsetof(x.Bias), 72},
		{"rows", unsafe.Offsetof(x.Rows), 96}, {"cRows", unsafe.Offsetof(x.CRows), 120}, {"steps", unsafe.Offsetof(x.Steps), 144},
		{"aStep", unsafe.Offsetof(x.AStep), 152}, {"segs", unsafe.Offsetof(x.Segs), 160}, {"aSeg", unsafe.Offsetof(x.ASeg), 168},
		{"blocks", unsafe.Offsetof(x.Blocks), 176}, {"aBlk", unsafe.Offsetof(x.ABlk), 184}, {"bStep", unsafe.Offsetof(x.BStep), 192},
		{"bSeg", unsafe.Offsetof(x.BSeg), 200}, {"bBlk", unsafe.Offsetof(x.BBlk), 208}, {"flags", unsafe.Offsetof(x.Flags), 216},
		{"scratch", unsafe.Offsetof(x.scratch), 224}, {"ahead", unsafe.Offsetof(x.ahead), 272}, {"last", unsafe.Offsetof(x.last), 280},
	} {
		must.Equal(t, c.got, c.want, "tile.", c.name, "is at", "the assembly expects")
	}
}

func TestPanelLayout(t *testing.T) {
	var x Panel
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"a", unsafe.Offsetof(x.A), 0}, {"b", unsafe.Offsetof(x.B), 24}, {"c", unsafe.Offsetof(x.C), 48}, {"bias", unsafe.Offsetof(x.Bias), 72},
		{"aRow", unsafe.Offsetof(x.ARow), 96}, {"aStep", unsafe.Offsetof(x.AStep), 104}, {"bStep", unsafe.Offsetof(x.BStep), 112},
		{"cRow", unsafe.Offsetof(x.CRow), 120}, {"rows", unsafe.Offsetof(x.Rows), 128}, {"steps", unsafe.Offsetof(x.Steps), 136},
		{"flags", unsafe.Offsetof(x.Flags), 144}, {"ahead", unsafe.Offsetof(x.Ahead), 152}, {"lines", unsafe.Offsetof(x.Lines), 176}, {"columns", unsafe.Offsetof(x.Columns), 200},
		{"aheadRow", unsafe.Offsetof(x.AheadRow), 216}, {"aheadAt", unsafe.Offsetof(x.aheadAt), 224},
	} {
		must.Equal(t, c.got, c.want, "panel.", c.name, "is at", "the assembly expects")
	}
}
