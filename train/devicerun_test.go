//go:build gpu

package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// A run on a GPU continues with the same bits after a stop, and can continue on the CPU. Its record names the GPU. Both
// devices encode the same codes.
func TestDeviceRun(t *testing.T) {
	if _, err := vulkan.Devices(); errors.Is(err, vulkan.ErrNoLoader) || errors.Is(err, vulkan.ErrNoDriver) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	whole, parts, mixed := filepath.Join(dir, "whole"), filepath.Join(dir, "parts"), filepath.Join(dir, "mixed")
	result := trainIn(t, whole, load(t, "train.device=gpu"), false)
	cpu := trainIn(t, filepath.Join(dir, "cpu"), load(t), false)
	if a, b := result.Metrics[0].Value, cpu.Metrics[0].Value; !(math.Abs(a-b) <= 1e-2*b) {
		t.Errorf("dlsbd is %v on the GPU, %v on the CPU", a, b)
	}
	for _, at := range []string{parts, mixed} {
		if _, err := Run(endAfter(5), load(t, "train.device=gpu"), Options{Dir: at}); !errors.Is(err, ErrStopped) {
			t.Fatalf("the run was not stopped: %v", err)
		}
	}
	trainIn(t, parts, load(t, "train.device=gpu"), true)
	sameBits(t, parts, bits(t, parts), bits(t, whole))
	trainIn(t, mixed, load(t), true)
	for at, want := range map[string]string{whole: "", mixed: "train.device was gpu, and is cpu now"} {
		r := must.Get(rundir.ReadRecord(at))(t)
		if other := r.History.Other(); !strings.Contains(other, want) || want == "" && other != "" {
			t.Errorf("%s: the history says %q, want %q", at, other, want)
		}
		if !strings.Contains(r.History[0].Kernels, " + ") {
			t.Errorf("%s: the record names the kernels %q, want a GPU among them", at, r.History[0].Kernels)
		}
	}
	e, _, err := OpenExperiment(whole)
	must.OK(t, err)
	want := must.Get(e.Codes(context.Background()))(t)
	must.OK(t, e.Coder.UseDevice("gpu"))
	got := must.Get(e.Codes(context.Background()))(t)
	for i, w := range want.Data {
		if !(math.Abs(got.Data[i]-w) <= 1e-4) {
			t.Fatalf("element %d of the codes: %v on the GPU, %v on the CPU", i, got.Data[i], w)
		}
	}
}
