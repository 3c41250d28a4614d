package sweep_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/train/sweep"
)

// The example sweep in docs/sweeps.md has the number of runs that the page states.
func TestDocs(t *testing.T) {
	page := must.Read(t, "../../docs/sweeps.md")
	found := regexp.MustCompile("(?s)```yaml\r?\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("there is no example")
	}
	p := must.Get(Load("pairs.yaml", found[1]))(t)
	runs, err := p.Runs()
	if err != nil || len(runs) != 36 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	name := "paths_batch50_lr0.0005_warmup0_seed1"
	for _, r := range runs {
		if r.Name == name && strings.Contains(string(page), name) {
			return
		}
	}
	t.Errorf("there is no run %s, or it is not on the page", name)
}
