package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/files"
	"github.com/unravel-ml/unravel/datasets/internal/configtest"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestConfig(t *testing.T) {
	s := must.Get(configtest.Decode("dataset: {square: {size: 32, side: 8}}\nsupervision: {pairs: {count: 512}}\n"))(t)
	if q := s.Dataset.Value.(*drawn.Square); *q != (drawn.Square{Size: 32, Side: 8, Step: 1}) {
		t.Errorf("%+v", q)
	}
	if p := s.Supervision[0].Value.(*supervision.Pairs); p.Count != 512 {
		t.Errorf("%+v", p)
	}
	text := must.Get(config.Encode(s))(t)
	again, err := configtest.Decode(string(text))
	if err != nil || *again.Dataset.Value.(*drawn.Square) != (drawn.Square{Size: 32, Side: 8, Step: 1}) {
		t.Errorf("%s: %v", text, err)
	}
	s, err = configtest.Decode("dataset: arrow\n")
	if err != nil || s.Dataset.Value.(*drawn.Arrow).Hues != 64 || s.Supervision != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if text, err = config.Encode(s); err != nil || !strings.Contains(string(text), "supervision: none") {
		t.Errorf("%s, %v", text, err)
	}
	if s, err = configtest.Decode("dataset: {grid: {path: x, kinds: [circular, ordinal]}}"); err != nil ||
		s.Dataset.Value.(*files.GridFolder).Kinds.List[1] != "ordinal" {
		t.Errorf("%+v, %v", s, err)
	}
}

// A period in brackets needs no quotes, and is unchanged after writing.
func TestKindsConfig(t *testing.T) {
	for _, text := range []string{"[circular:360, ordinal, 'circular:0.5']", "['circular:360', ordinal, circular:0.5]",
		"\n    - circular:360\n    - ordinal\n    - circular:0.5"} {
		s, err := configtest.Decode("dataset:\n  grid:\n    path: x\n    kinds: " + text + "\n")
		for range 2 {
			if err != nil || !slices.Equal(s.Dataset.Value.(*files.GridFolder).Kinds.List, []string{"circular:360", "ordinal", "circular:0.5"}) {
				t.Fatalf("%s: %+v, %v", text, s, err)
			}
			written, bad := config.Encode(s)
			if bad != nil {
				t.Fatal(bad)
			}
			s, err = configtest.Decode(string(written))
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for text, want := range map[string]string{
		"dataset: sqare":                         `did you mean "square"?`,
		"dataset: {square: {sizee: 4}}":          `did you mean "size"?`,
		"dataset: {square: {size: 16}}":          "less than size", // the default side is 16
		"dataset: {square: {side: 64}}":          "want 1 to 63",
		"dataset: grid":                          "path",
		"dataset: {grid: {path: x, kinds: [r]}}": `unknown kind "r"`,
		"supervision: {pairs: {count: -1}}":      "-1 is negative",
		"supervision: {paths: {step: 0}}":        "want 1 or more",
		"supervision: pairz":                     `did you mean "pairs"?`,
	} {
		if _, err := configtest.Decode(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "test.yaml:1:") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
