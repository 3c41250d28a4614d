package nn_test

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/config/configtest"
	"github.com/unravel-ml/unravel/graph/nn"
)

// Numbers of settings are accepted in the ranges that their messages state.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, nn.Parts.Entries, 10)
	configtest.CheckRanges(t, nn.Encoders.Entries, 11)
	configtest.CheckRanges(t, nn.Decoders.Entries, 8)
}
