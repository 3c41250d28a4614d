//go:build gpu

package kernels_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// generate.sh names a compiler that compiles the sources to the committed SPIR-V.
func TestGenerated(t *testing.T) {
	long.Only(t)
	version, err := exec.Command("glslangValidator", "--version").Output()
	if err != nil {
		t.Skip("glslangValidator is missing: apt-get install glslang-tools spirv-tools")
	}
	if !bytes.Contains(version, []byte("Glslang Version: 11:12.0.0")) {
		t.Skipf("another compiler gives other bytes; want glslang 12.0.0, got %s", bytes.SplitN(version, []byte("\n"), 2)[0])
	}
	folder := t.TempDir()
	if out, err := exec.Command("sh", "generate.sh", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, _ := filepath.Glob(filepath.Join(folder, "*.spv"))
	kept, _ := filepath.Glob("*.spv")
	if len(made) != len(kept) || len(made) == 0 {
		t.Errorf("%d files are kept; want %d", len(kept), len(made))
	}
	for _, path := range made {
		want := must.Read(t, path)
		if got, err := os.ReadFile(filepath.Base(path)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from its source (%v); want: go generate ./internal/device/kernels", filepath.Base(path), err)
		}
	}
}
