package losses_test

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// Settings accept the largest values, and reject the next.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ key, most, more string }{
		{"kl.weight", "1000000000000", "1000000000001"},
		{"info-nce.temperature", "1000000", "1000001"},
	} {
		loss, key, _ := strings.Cut(c.key, ".")
		for value, ok := range map[string]bool{c.most: true, c.more: false} {
			var s struct {
				Losses []losses.Choice `yaml:"losses"`
			}
			err := config.Load("l.yaml", []byte("losses: [{"+loss+": {"+key+": "+value+"}}]"), &s)
			must.Equal(t, err == nil, ok, c.key, value, err)
		}
	}
	d := losses.Discriminator{Hidden: []int{1 << 16}, Logits: 1, LR: 1e-4, Beta1: 0.5, Beta2: 0.9}
	if err := d.Validate(); err != nil {
		t.Errorf("65536 units: %v", err)
	}
	d.Hidden[0]++
	if err := d.Validate(); err == nil {
		t.Error("no error for 65537 units")
	}
}
