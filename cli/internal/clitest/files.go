// Package clitest has code shared by tests of the command line and of documentation pages. It runs command lines, also
// as processes, writes data, shortens Unravel's experiments, and reads served pages.
package clitest

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/must"
)

// HierarchyText is the hierarchy of HierarchicalFiles: z1 is active with option 2 alone.
const HierarchyText = `[{"type": "categorical", "options": [[], [{"type": "continuous"}]]}, {"type": "continuous"}]`

// HierarchicalFiles writes factors, codes (monotone functions of the factors), and their hierarchy and components.
func HierarchicalFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	var factors strings.Builder
	var codes []float64
	var components []int64
	factors.WriteString("kind,size,x\n")
	for i := range 400 {
		kind, size, x := 1+i%2, 0.0, math.Mod(0.501+float64(i)*0.618, 1)
		if kind == 2 {
			size = math.Sqrt(float64(i))
		}
		fmt.Fprintf(&factors, "%d,%v,%v\n", kind, size, x)
		codes = append(codes, float64(kind), -size, math.Exp(x))
		components = append(components, int64(kind+4))
	}
	components[7] = -1
	must.WriteNPY(t, "codes.npy", []int{400, 3}, codes)
	must.WriteNPY(t, "components.npy", []int{400}, components)
	must.Write(t, "factors.csv", factors.String())
	must.Write(t, "hierarchy.json", HierarchyText)
	must.Write(t, "flat.json", `[{"type": "continuous"}, {"type": "continuous"}]`)
}

// WritePhotos writes pictures and a table of labels, with a cache for the test.
func WritePhotos(t *testing.T) {
	t.Helper()
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	must.OK(t, os.Mkdir("photos", 0o777))
	labels := "file,brightness,half\n"
	for i := range 40 {
		var b bytes.Buffer
		m := image.NewGray(image.Rect(0, 0, 64, 64))
		for p := range m.Pix {
			m.Pix[p] = uint8(50*(i%5) + p%32)
		}
		must.OK(t, png.Encode(&b, m))
		name := fmt.Sprintf("%d.png", i)
		must.Write(t, filepath.Join("photos", name), b.Bytes())
		labels += fmt.Sprintf("%s,%d,%d\n", name, i%5, i/20)
	}
	must.Write(t, "labels.csv", labels)
}
