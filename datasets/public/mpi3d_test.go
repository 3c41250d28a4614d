package public

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

// MPI3D of smaller grids has the pixels of NumPy.
func TestMPI3D(t *testing.T) {
	files, _ := datatest.ReadGolden(t, "mpi3d")
	for file, set := range map[string]*MPI3D{
		"mpi3d_real.npz":     {Variant: "real", Sizes: files["mpi3d_real.npz"].Sizes},
		"broken/fortran.npz": {Sizes: files["mpi3d_toy.npz"].Sizes},
	} {
		want := files["mpi3d_real.npz"]
		if set.Variant == "" {
			want = files["mpi3d_toy.npz"]
		}
		publicFiles(t, "mpi3d", map[string]string{set.file(): filepath.Join("mpi3d", file)})
		d, err := set.Build(0)
		if err != nil {
			t.Error(err)
			continue
		}
		checkGolden(t, file, d, want)
	}
}

func TestMPI3DSizes(t *testing.T) {
	for n, want := range map[int][]int{1036800: {6, 6, 2, 3, 3, 40, 40}, 460800: {4, 4, 2, 3, 3, 40, 40}, 460801: nil} {
		if got, err := (&MPI3D{}).sizes(n); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%d images: %v, %v; want %v", n, got, err, want)
		}
	}
	for words, bad := range map[string]*MPI3D{
		"want toy, realistic or real": {Variant: "complex"}, "has 2 numbers; want 7": {Sizes: []int{1, 2}}, "number 6 is 0": {Sizes: []int{1, 1, 1, 1, 1, 1, 0}},
	} {
		must.ErrorOf(bad.Build(0))(t, words, bad)
	}
}

// Errors for broken files give the reason.
func TestMPI3DBroken(t *testing.T) {
	for file, words := range map[string]string{
		"float.npz": "float64); want uint8 of shape [N 64 64 3]", "object.npz": "Python objects", "rows.npz": "23 images", "nchw.npz": "([4 3 64 64], uint8); want uint8 of shape",
		"crc.npz": "images.npy: zip: checksum error", "truncated.npz": "not a .npz file",
	} {
		set := &MPI3D{}
		publicFiles(t, "mpi3d", map[string]string{set.file(): filepath.Join("mpi3d", "broken", file)})
		if file == "crc.npz" {
			set.Sizes = []int{2, 2, 1, 1, 1, 1, 1}
		}
		if _, err := set.Build(0); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), set.file()) {
			t.Errorf("%s: %v; want %q and the name of the file", file, err, words)
		}
	}
}
