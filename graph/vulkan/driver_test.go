//go:build gpu

package vulkan

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// open opens the first GPU, or skips the test.
func open(t *testing.T) *Device {
	t.Helper()
	d, err := Open(0)
	if errors.Is(err, ErrNoLoader) || errors.Is(err, ErrNoDriver) {
		t.Skip(err)
	}
	must.OK(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func stepKernel(t *testing.T) Kernel {
	t.Helper()
	code := must.Read(t, "testdata/step.spv")
	return Kernel{Name: "step", Code: code}
}

// A tape runs its dispatches in order, sees new data in each run, and copies results to the host.
func TestRun(t *testing.T) {
	d := open(t)
	k := stepKernel(t)
	const n = 1000
	x, y, host := mustAlloc(t, d, 4*n), mustAlloc(t, d, 4*n), Buffer{}
	host = must.Get(d.AllocHost(4 * n))(t)
	tape := d.NewTape()
	tape.Fill(y, 0)
	tape.Dispatch(k, (n+63)/64, 1, 1, []uint32{n, math.Float32bits(2)}, Read(x), Update(y)) // y = 2x
	tape.Dispatch(k, (n+63)/64, 1, 1, []uint32{n, math.Float32bits(3)}, Read(y), Update(x)) // x = 7x
	tape.Copy(host, x)
	must.OK(t, tape.Compile())
	values := make([]float32, n)
	for round := range 3 {
		for i := range values {
			values[i] = float32(i + round)
		}
		must.OK(t, d.Upload(x, values))
		must.OK(t, tape.Run())
		back := make([]float32, n)
		must.OK(t, d.Download(back, x))
		for i, v := range host.Floats() {
			if want := 7 * float32(i+round); v != want || back[i] != want {
				t.Fatalf("round %d, element %d: %v and %v; want %v", round, i, v, back[i], want)
			}
		}
	}
	tape.Close()
}

func TestDriverErrors(t *testing.T) {
	d := open(t)
	x := mustAlloc(t, d, 4)
	for want, k := range map[string]Kernel{
		"no SPIR-V":          {Name: "text", Code: []byte("#version 450 void main() {}")},
		"and before 2 and 2": {Name: "step", Code: stepKernel(t).Code},
	} {
		tape := d.NewTape()
		if k.Name == "step" {
			tape.Dispatch(k, 1, 1, 1, []uint32{0, 0}, Read(x), Update(mustAlloc(t, d, 4)))
		}
		tape.Dispatch(k, 1, 1, 1, nil, Update(x))
		must.Error(t, tape.Compile(), want, k.Name)
	}
	must.ErrorOf(Open(99))(t, "there is no gpu:99")
	var memory *MemoryError
	if _, err := d.Alloc(1 << 50); !errors.As(err, &memory) {
		t.Errorf("2^50 bytes: %v", err)
	}
}

// Two devices, like in two processes, work side by side.
func TestTwoDevices(t *testing.T) {
	a, b := open(t), open(t)
	for i, d := range []*Device{a, b} {
		x := mustAlloc(t, d, 4)
		must.OK(t, d.Upload(x, []float32{float32(i)}))
		var got [1]float32
		if err := d.Download(got[:], x); err != nil || got[0] != float32(i) {
			t.Errorf("device %d: %v, %v", i, got, err)
		}
	}
}

// Without a driver, the errors name the remedy.
func TestNoDriver(t *testing.T) {
	if os.Getenv("UNRAVEL_NO_DRIVER") != "" {
		_, err := Devices()
		if !errors.Is(err, ErrNoDriver) {
			t.Fatalf("error %v, want %v", err, ErrNoDriver)
		}
		return
	}
	open(t)
	c := exec.Command(os.Args[0], "-test.run=^TestNoDriver$")
	c.Env = append(os.Environ(), "UNRAVEL_NO_DRIVER=1", "VK_ICD_FILENAMES=/nowhere.json",
		"VK_DRIVER_FILES=/nowhere.json")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
