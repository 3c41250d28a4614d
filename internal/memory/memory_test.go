package memory

import (
	"math"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	if have := Machine(); !(have > 1<<24) {
		t.Fatalf("the machine has %v bytes", have)
	}
	if err := Check("a cup", 1<<20); err != nil {
		t.Error(err)
	}
	for _, bytes := range []float64{1e30, math.Inf(1)} {
		if err := Check("the sea", bytes); err == nil || !strings.HasPrefix(err.Error(), "the sea would take ") ||
			!strings.Contains(err.Error(), "this machine has ") {
			t.Error(err)
		}
	}
	if Product(1<<40, 1<<40, 1<<40) != math.Pow(2, 120) {
		t.Error("a product overflows")
	}
}

func TestText(t *testing.T) {
	for bytes, want := range map[float64]string{0: "0.00 bytes", 999: "999 bytes", 1024: "1.00 KiB",
		23.4 * (1 << 30): "23.4 GiB", 512 << 30: "512 GiB", 1e30: "8.7e+11 EiB"} {
		if got := Text(bytes); got != want {
			t.Errorf("%v: %s, want %s", bytes, got, want)
		}
	}
}
