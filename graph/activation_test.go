package graph

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/must"
)

// An activation has the same number as the kernel's activation.
func TestActivationNames(t *testing.T) {
	want := map[Activation]string{Linear: "linear", ReLU: "relu", Sigmoid: "sigmoid", Tanh: "tanh", Softplus: "softplus",
		LeakyReLU: "leaky-relu", ELU: "elu", GELU: "gelu", SiLU: "silu"}
	must.Equal(t, len(kernel.ActivationNames()), len(want), len(want), "activations")
	for a, name := range want {
		got, err := ParseActivation(name)
		if err != nil || got != a || a.String() != name {
			t.Errorf("activation %d is %q, and %q is %d, %v; want %d", a, a, name, got, err, a)
		}
	}
	if _, err := ParseActivation("swish"); err == nil {
		t.Error("an unknown activation is no error")
	}
}
