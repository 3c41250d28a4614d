//go:build !gpu

package gradcheck

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/tapetest"
)

// checkDevice compares the commands for a GPU with the file of the package, if it has one. A build with the tag gpu
// compares their results with the CPU instead.
func (c Case) checkDevice(t testing.TB, values [][]float64, _ outcome) {
	t.Helper()
	if !tapetest.HasCases() {
		return
	}
	_, m, err := prepare[float32](c, values, form{gradients: true})
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	defer m.machine.Close()
	r := vulkan.NewRecorder(64 << 10)
	if err := m.machine.SetDevice(machine.NewDevice(r.Device)); err != nil {
		t.Errorf("%s on a recorder: %v", c.Name, err)
		return
	}
	tapetest.CheckCase(t, c.Name, r.Tapes())
}
