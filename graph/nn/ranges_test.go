package nn_test

import (
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/configtest"
)

// Settings accept numbers in the ranges of their error messages.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/layerranges.txt", nn.Parts.Entries)
	configtest.CheckRanges(t, "testdata/encoderranges.txt", nn.Encoders.Entries)
	configtest.CheckRanges(t, "testdata/decoderranges.txt", nn.Decoders.Entries)
}
