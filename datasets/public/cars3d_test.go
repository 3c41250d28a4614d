package public

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// Cars3D with three cars has the pixels of SciPy, resized by Pillow.
func TestCars3D(t *testing.T) {
	long.NotShort(t)
	files, _ := datatest.ReadGolden(t, "cars3d")
	publicFiles(t, "cars3d", map[string]string{cars3DFile: filepath.Join("cars3d", cars3DFile)})
	whole := files[cars3DFile]
	for name, set := range map[string]*Cars3D{cars3DFile: {Size: 128}, "lanczos_64": {}, "bilinear_64": {Filter: "bilinear"}} {
		want := files[name]
		want.Sizes = whole.Sizes
		d, err := set.Build(0)
		if err != nil {
			t.Error(err)
			continue
		}
		checkGolden(t, name, d, want)
	}
	twin := must.Get((&drawn.Cars{Size: 64, Elevations: 4, Azimuths: 24, Objects: 3}).Build(0))(t)
	d := must.Get((&Cars3D{}).Build(0))(t)
	for k, f := range twin.Factors() {
		if g := d.Factors()[k]; g.Name != f.Name || g.Kind != f.Kind || g.Size != f.Size {
			t.Errorf("factor %v; want that of the twin, %v", g, f)
		}
	}
	for words, bad := range map[string]*Cars3D{"want 64 or 128": {Size: 32}, "want lanczos or bilinear": {Filter: "box"}} {
		must.ErrorOf(bad.Build(0))(t, words, bad)
	}
}

// carArchive replaces the set's file by an archive of one car.
func carArchive(t *testing.T, mat []byte) { carArchiveOf(t, mat, "x.mat\r\n") }

// carArchiveOf makes an archive with a list of cars. Only x.mat exists.
func carArchiveOf(t *testing.T, mat []byte, list string) {
	t.Helper()
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	must.OK(t, os.MkdirAll(cache.Downloads("cars3d"), 0o777))
	path := filepath.Join(cache.Downloads("cars3d"), cars3DFile)
	f := must.Get(os.Create(path))(t)
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, member := range []struct {
		name string
		data []byte
	}{{"data/cars/x.mat", mat}, {"data/cars/list.txt", []byte(list)}} {
		must.OK(t, w.WriteHeader(&tar.Header{Name: member.name, Mode: 0o644, Size: int64(len(member.data))}))
		must.Get(w.Write(member.data))(t)
	}
	for _, close := range []func() error{w.Close, z.Close, f.Close} {
		must.OK(t, close())
	}
	info := must.Get(os.Stat(path))(t)
	trusted := map[string]map[string]any{cars3DFile: {"size": info.Size(), "modified": info.ModTime().UTC(), "trusted": true}}
	text := must.Get(json.Marshal(trusted))(t)
	must.Write(t, filepath.Join(filepath.Dir(path), "sources.json"), text)
}

// Errors for broken archives and broken files in archives give the reason.
func TestCars3DBroken(t *testing.T) {
	read := func(name string) []byte {
		return must.Read(t, filepath.Join("testdata/cars3d", name))
	}
	car := read("car_001_mesh.mat")
	carArchive(t, car)
	if d, err := (&Cars3D{}).Build(0); err != nil || d.Len() != 96 {
		t.Fatal(err)
	}
	mats := map[string][]byte{"truncated.mat": car[:len(car)*2/3]}
	wanted := map[string]string{
		"cell.mat": "x.mat: im ([1 2]) is a cell array", "dims.mat": "x.mat: im ([128 128 3 24], uint8); want uint8 of shape [128 128 3 24 4]", "double.mat": "float64); want uint8",
		"hdf5.mat": "a file of MATLAB 7.3, which is HDF5", "noim.mat": "no variable im", "text.mat": "not a MATLAB file", "truncated.mat": "the file is damaged or cut off",
	}
	for name, words := range wanted {
		if mats[name] == nil {
			mats[name] = read(filepath.Join("broken", name))
		}
		carArchive(t, mats[name])
		if _, err := (&Cars3D{}).Build(0); err == nil || !strings.Contains(err.Error(), words) ||
			!strings.Contains(err.Error(), cars3DFile+": data/cars/x.mat") {
			t.Errorf("%s: %v; want %q and the name of the file", name, err, words)
		}
	}
	for name, words := range map[string]string{
		"dotdot.tar.gz": `".."`, "missing.tar.gz": "list.txt names car_300_mesh, but there is no data/cars/car_300_mesh.mat", "nolist.tar.gz": "has no data/cars/list.txt",
	} {
		publicFiles(t, "cars3d", map[string]string{cars3DFile: filepath.Join("cars3d", "broken", name)})
		if _, err := (&Cars3D{}).Build(0); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), cars3DFile) {
			t.Errorf("%s: %v; want %q and the name of the file", name, err, words)
		}
	}
	carArchiveOf(t, car, "first\nx\n")
	must.ErrorOf((&Cars3D{}).Build(0))(t, "list.txt names first, but there is no data/cars/first.mat")
	whole := read(cars3DFile)
	must.ErrorOf(readCarList(writeTemp(t, whole[:len(whole)/2])))(t, "ends early")
}

// writeTemp writes a file to a temporary folder.
func writeTemp(t *testing.T, data []byte) string {
	t.Helper()
	return must.Write(t, filepath.Join(t.TempDir(), "file"), data)
}
