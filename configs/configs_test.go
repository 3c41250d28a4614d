package configs

import (
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestNames(t *testing.T) {
	names := Names()
	for _, want := range []string{"quickstart", "lsbd-vae/square", "lsbd-vae/square-paper", "lsbd-vae/square-paths",
		"lsbd-vae/square-paths-summed", "lsbd-vae/arrow", "delta-vae/square", "vae/square"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %v", want, names)
		}
	}
	for _, name := range names {
		if source, err := Read(name); err != nil || len(source) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(source), err)
		}
		if title := Title(name); title == "" || strings.ContainsAny(title, "#\n") || strings.HasSuffix(title, " al") ||
			strings.Count(title, "(") != strings.Count(title, ")") {
			t.Errorf("%s has the title %q", name, title)
		}
	}
}

func TestReadUnknown(t *testing.T) {
	must.ErrorOf(Read("quikstart"))(t, `"quickstart"`)
	if _, err := Read("../go"); err == nil {
		t.Error("a path outside was read")
	}
}

func TestSuggest(t *testing.T) {
	for name, want := range map[string]string{
		"square-small":   "; did you mean lsbd-vae/square-small?",
		"square-paths":   "; did you mean lsbd-vae/square-paths?",
		"chopsticks":     "; did you mean ae/chopsticks or ",
		"quickstart.yml": "; did you mean the experiment quickstart?",
		"delta-vae":      "; known: delta-vae/",
		"nothing":        "; `unravel list configs` lists the experiments",
		"nothing.yaml":   "",
	} {
		if got := suggest(name); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: the hint is %q; want %q", name, got, want)
		}
	}
}
