package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// Every file that a run writes as a whole meets a full disk: the device /dev/full replaces the file's new version.
func TestFullDisk(t *testing.T) {
	long.NotShort(t)
	config, good, whole := tinyFile(t), finished(t), finished(t)
	longer := func(dir string, figures bool) []string {
		return []string{"train", config, "train.epochs=4", fmt.Sprint("train.figures=", figures), "--resume", "--run", dir}
	}
	succeed(t, longer(whole, false)...)
	for _, name := range long.Sample([]string{"config.yaml", checkpoint, "state.json", "codes.npy", "factors.npy",
		"metrics.json", "report.html", "figures/torus.png"}, 4) {
		t.Run(name, func(t *testing.T) {
			figures := strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".png")
			dir := finished(t)
			path := filepath.Join(dir, filepath.FromSlash(name))
			must.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
			const charDevice, full = 0o20000 | 0o666, 1<<8 | 7 // links are errors
			if err := syscall.Mknod(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".unravel-tmp"), charDevice, full); err != nil {
				t.Skip("devices cannot be made here:", err)
			}
			o := call(t, longer(dir, figures)...)
			if o.code != 1 || o.out != "" || strings.Count(o.log, "unravel: ") != 1 ||
				!strings.Contains(o.log, "writing "+path+": ") || !strings.Contains(o.log, "no space left on device") {
				t.Error(o)
			}
			checkNoTrace(t, o)
			succeed(t, "eval", "--run", dir)
			succeed(t, longer(dir, figures)...)
			sameRun(t, "continued when there is space again", dir, whole)
		})
	}
	checkMistake(t, call(t, "encode", "--run", good, "--out", "/dev/full"), 1, "/dev/full", "no space left on device")
	checkMistake(t, call(t, "data", "show", "square", "--out", "/dev/full"), 1, "/dev/full", "no space left on device")
	if info, err := os.Lstat("/dev/full"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Fatal("/dev/full was replaced")
	}
}
