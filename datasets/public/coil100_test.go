package public

import (
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestCOIL100(t *testing.T) {
	files, _ := datatest.ReadGolden(t, "coil-100")
	publicFiles(t, "coil100", map[string]string{coilFile: filepath.Join("coil-100", coilFile)})
	d := must.Get((&COIL100{}).Build(0))(t)
	checkRows(t, d, files[coilFile])
	if f := d.Factors(); f[0].Value(3) != 100 || f[1].Value(71) != 355 {
		t.Errorf("values of %+v", f)
	}
}

func TestCOIL100Broken(t *testing.T) {
	for file, words := range map[string][]string{
		"dotdot.zip": {`".."`}, "angle.zip": {"7 degrees"}, "missing.zip": {"obj2__355.png is missing"}, "size.zip": {"obj1__5.png", "64"},
		"png.zip": {"obj1__10.png", "early"}, "twice.zip": {"obj1__0.png", "twice"}, "bomb.zip": {"obj1__0.png", "60000 x 60000"}, "truncated.zip": {"whole zip"},
	} {
		publicFiles(t, "coil100", map[string]string{coilFile: filepath.Join("coil-100", "broken", file)})
		_, err := (&COIL100{}).Build(0)
		for _, w := range append(words, coilFile) {
			must.Error(t, err, w, file)
		}
	}
}
