package conv

import (
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/long"
)

func TestMixedConvolutions(t *testing.T) {
	long.NotShort(t)
	for i, s := range convCases {
		for _, transposed := range []bool{false, true} {
			a := kernel.Activation(i % 2) // linear or ReLU: bfloat16 represents their gradients
			t.Run(fmt.Sprintf("%+v %v %v", s, transposed, a), func(t *testing.T) {
				check := func() [][]float32 { return checkConvolution(t, s, transposed, a, true) }
				const many = 1 << 19 // multiplications; with more, emulation takes seconds
				if s.Batch*s.OutH*s.OutW*s.OutC*s.Kernel*s.Kernel*s.InC > many {
					check()
				} else {
					kerneltest.Emulated(t, check)
				}
			})
		}
	}
}
