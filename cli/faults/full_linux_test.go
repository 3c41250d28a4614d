package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// Every file that a run writes as a whole meets a full disk: the device /dev/full replaces the file's new version.
func TestFullDisk(t *testing.T) {
	long.NotShort(t)
	config, good, whole := clitest.TinyFile(t), clitest.Finished(t), clitest.Finished(t)
	longer := func(dir string, figures bool) []string {
		return []string{"train", config, "train.epochs=4", fmt.Sprint("train.figures=", figures), "--resume", "--run", dir}
	}
	clitest.OK(t, longer(whole, false)...)
	for _, name := range long.Sample([]string{"config.yaml", checkpoint, "state.json", "codes.npy", "factors.npy",
		"metrics.json", "report.html", "figures/torus.png"}, 4) {
		t.Run(name, func(t *testing.T) {
			figures := strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".png")
			dir := clitest.Finished(t)
			path := filepath.Join(dir, filepath.FromSlash(name))
			must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
			const charDevice, full = 0o20000 | 0o666, 1<<8 | 7 // links are errors
			if err := syscall.Mknod(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".unravel-tmp"), charDevice, full); err != nil {
				t.Skip("devices cannot be made here:", err)
			}
			o := clitest.Run(t, longer(dir, figures)...)
			if o.Code != 1 || o.Out != "" || strings.Count(o.Log, "unravel: ") != 1 ||
				!strings.Contains(o.Log, "writing "+path+": ") || !strings.Contains(o.Log, "no space left on device") {
				t.Error(o)
			}
			clitest.NoTrace(t, o)
			clitest.OK(t, "eval", "--run", dir)
			clitest.OK(t, longer(dir, figures)...)
			clitest.SameRun(t, "continued when there is space again", dir, whole)
		})
	}
	clitest.Mistake(t, clitest.Run(t, "encode", "--run", good, "--out", "/dev/full"), 1, "/dev/full", "no space left on device")
	clitest.Mistake(t, clitest.Run(t, "data", "show", "square", "--out", "/dev/full"), 1, "/dev/full", "no space left on device")
	if info, err := os.Lstat("/dev/full"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatal("/dev/full was replaced")
	}
}
