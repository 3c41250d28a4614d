package nn_test

import (
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		fits          bool
	}{
		{"encoder/*", "encoder/conv1/weight", true},
		{"encoder/*", "target/encoder/conv1/weight", false},
		{"*encoder/*", "target/encoder/conv1/weight", true},
		{"encoder/conv*", "encoder/conv12/bias", true},
		{"encoder/conv1/*", "encoder/conv12/bias", false},
		{"*/bias", "encoder/conv12/bias", true},
		{"*/bias", "bias", false},
		{"*", "", true},
		{"a*b*a", "aba", true},
		{"a*a", "a", false},
		{"a*bc*c", "abc", false},
		{"a*b*", "ab", true},
		{"encoder", "encoder", true},
		{"encoder", "encoder/conv1", false},
		{"", "a", false},
	} {
		must.Equal(t, nn.Match(c.pattern, c.name), c.fits, "Match", c.pattern, c.name)
	}
}

func TestMatching(t *testing.T) {
	p := nn.NewParams(1)
	for _, name := range []string{"encoder/conv2/weight", "encoder/conv1/weight", "decoder/conv1/weight"} {
		must.Get(p.Create(name, tensor.Shape{1}, nn.Zeros))(t)
	}
	got, err := p.Matching("encoder/*")
	if want := []string{"encoder/conv2/weight", "encoder/conv1/weight"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Matching = %v, %v; want %v", got, err, want)
	}
	for pattern, want := range map[string]string{
		"encoder/conv1/weights": `; did you mean "encoder/conv1/weight"?`,
		"encodr/*":              `; did you mean "encoder/*"?`,
		"encoder/con1/*":        `; did you mean "encoder/conv1/*"?`,
		"nothing of the kind":   "; want, for example, encoder/*, decoder/*",
	} {
		if _, err := p.Matching(pattern); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v of %q; want %s", err, pattern, want)
		}
	}
}
