package public

import (
	"archive/zip"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/must"
)

func modelnet(change func(*ModelNet40)) *ModelNet40 {
	m := NewModelNet40()
	m.Size, m.Views = 16, 4
	change(m)
	return m
}

func TestModelNet40(t *testing.T) {
	publicFiles(t, "modelnet40", map[string]string{modelnetFile: filepath.Join("modelnet", modelnetFile)})
	d := datatest.Build(t, modelnet(func(*ModelNet40) {}))
	if f := d.Factors(); d.Len() != 8 || len(f) != 2 || f[0].Name != "object" || f[0].Size != 2 ||
		f[1].Name != "rotation" || f[1].Kind != factor.Circular {
		t.Errorf("%d images of %+v", d.Len(), f)
	}
	if all := datatest.Build(t, modelnet(func(m *ModelNet40) { m.Part = "all" })); all.Len() != 12 ||
		!slices.Equal(datatest.ImageAt(all, 1, 3), datatest.ImageAt(d, 1, 3)) {
		t.Errorf("%d images of both parts; want 12, and those of train first", all.Len())
	}
	if one := datatest.Build(t, modelnet(func(m *ModelNet40) { m.Class, m.Part = "night_stand", "test" })); one.Len() != 4 {
		t.Errorf("%d images of one object", one.Len())
	}
	for want, change := range map[string]func(*ModelNet40){
		`no meshes of the class "sofa" in the part train; want one of: airplane, chair, night_stand`: func(m *ModelNet40) { m.Class = "sofa" },
		"objects: 3, and there are 2 of the class airplane":                                          func(m *ModelNet40) { m.Objects = 3 },
		`class: "../x" is no class`:         func(m *ModelNet40) { m.Class = "../x" },
		`part: unknown part "valid"`:        func(m *ModelNet40) { m.Part = "valid" },
		"channels: 2 is out of range":       func(m *ModelNet40) { m.Channels = 2 },
		"views: 5000 is out of range":       func(m *ModelNet40) { m.Views = 5000 },
		"crease: -1 is out of range":        func(m *ModelNet40) { m.Crease = -1 },
		"objects: -1 is out of range; want": func(m *ModelNet40) { m.Objects = -1 },
	} {
		must.ErrorOf(modelnet(change).Build(0))(t, want)
	}
	publicFiles(t, "modelnet40", map[string]string{modelnetFile: filepath.Join("modelnet", "broken", "dotdot.zip")})
	must.ErrorOf(modelnet(func(*ModelNet40) {}).Build(0))(t, `..`)
}

// meshes places an archive of ModelNet40 with the given files.
func meshes(t *testing.T, files map[string]string) {
	t.Helper()
	publicFiles(t, "modelnet40", nil)
	path := filepath.Join(t.TempDir(), modelnetFile)
	f := must.Get(os.Create(path))(t)
	z := zip.NewWriter(f)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w := must.Get(z.Create(name))(t)
		must.Get(w.Write([]byte(files[name])))(t)
	}
	must.OK(t, errors.Join(z.Close(), f.Close()))
	must.OK(t, source.Place(t.Context(), cache.Downloads("modelnet40"), source.File{Name: modelnetFile}, path, true))
}

// Meshes stand upright, with z up, in numerical order.
func TestModelNet40Meshes(t *testing.T) {
	upright, flat := datatest.Pole(2), datatest.Pole(1)
	meshes(t, map[string]string{
		"ModelNet40/airplane/train/airplane_10.off":      flat,
		"ModelNet40/airplane/train/airplane_9.off":       upright,
		"ModelNet40/airplane/test/airplane_3.off":        flat,
		"ModelNet40/airplane/train/.airplane_1.off":      "",
		"__MACOSX/airplane/train/airplane_2.off":         "",
		"ModelNet40/airplane/train/airplane_1.txt":       "",
		"ModelNet40/airplane/other/airplane_1.off":       "",
		"ModelNet40/night_stand/train/night_stand_1.off": flat,
	})
	d := datatest.Build(t, modelnet(func(m *ModelNet40) { m.Objects, m.Size = 1, 32 }))
	must.Equal(t, d.Len(), 4, "images")
	datatest.CheckUpright(t, d)
	for want, name := range map[string]string{
		"airplane_x.off is no mesh of the class airplane; want airplane_0001.off":                    "a/airplane/train/airplane_x.off",
		"chair_1.off is no mesh of the class airplane":                                               "a/airplane/train/chair_1.off",
		"a/airplane/train/airplane_007.off and a/airplane/train/airplane_7.off have the same number": "a/airplane/train/airplane_007.off",
	} {
		meshes(t, map[string]string{name: upright, "a/airplane/train/airplane_7.off": upright})
		must.ErrorOf(modelnet(func(*ModelNet40) {}).Build(0))(t, want)
	}
}
