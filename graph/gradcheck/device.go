//go:build gpu

package gradcheck

import (
	"fmt"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
)

// device opens the first GPU, once for all cases. It returns nil if there is none.
var device = sync.OnceValue(func() *machine.Device {
	gpu, err := vulkan.Open(0)
	if err != nil {
		return nil
	}
	return machine.NewDevice(gpu)
})

// checkDevice compares value and gradients on a GPU with float64, with the tolerance for float32. A second run must
// give the same bits. Without a GPU, it does nothing.
func (c Case) checkDevice(t testing.TB, values [][]float64, want outcome) {
	t.Helper()
	d := device()
	if d == nil {
		return
	}
	run := func() (outcome, error) {
		g, m, err := prepare[float32](c, values, form{gradients: true})
		if err != nil {
			return outcome{}, err
		}
		defer m.machine.Close()
		if err := m.machine.SetDevice(d); err != nil {
			return outcome{}, err
		}
		return m.run(g)
	}
	first, err := run()
	if err != nil {
		t.Errorf("%s on a GPU: %v", c.Name, err)
		return
	}
	again, err := run()
	if err != nil {
		t.Errorf("%s on a GPU again: %v", c.Name, err)
		return
	}
	for k, x := range first.tensors() {
		if j := differs(again.tensors()[k], x); j >= 0 {
			t.Errorf("%s on a GPU: element %d of tensor %d differs between runs", c.Name, j, k)
		}
	}
	c.compare32(t, "value on a GPU", first.value, want.value)
	for k, i := range c.varied() {
		c.compare32(t, fmt.Sprintf("gradient of input %d on a GPU", i), first.gradients[k], want.gradients[k])
	}
}
