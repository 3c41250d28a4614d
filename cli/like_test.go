package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestEvalLike(t *testing.T) {
	mixedFiles(t)
	files := []string{"--codes", "codes.npy", "--factors", "factors.csv", "--types", "ordinal,continuous,ordinal"}
	m, log := measure(t, append(files, "--like", "enriching", "--metrics", "fast")...)
	if mig := m["mig"]; len(m) != 2 || mig.Options["gap"] != "factors" || !slices.Contains(mig.Like, "enriching") {
		t.Errorf("like enriching: %v", m)
	}
	if want := "left out: dlsbd, modularity, med: not in enriching\n"; log != want {
		t.Errorf("log %q; want %q", log, want)
	}
	m, _ = measure(t, append(files, "--like", "disent", "--metrics", "mig", "--option", "mig.bins=10")...)
	if mig := m["mig"]; mig.Options["bins"] != 10.0 || len(mig.Like) > 0 {
		t.Errorf("a changed option: %v is like %v", mig.Options, mig.Like)
	}
	for _, test := range []struct{ args, want string }{
		{"--like disent --metrics med", "--like: med is not in disent; it has factor-vae, mig,"},
		{"--like dissent", `unknown dialect "dissent"; did you mean "disent"?`},
	} {
		if got := call(t, append(append([]string{"eval"}, files...), strings.Fields(test.args)...)...).log; !strings.Contains(got, test.want) {
			t.Errorf("%s: %q; want %q", test.args, got, test.want)
		}
	}
}

func TestListDialects(t *testing.T) {
	if out := succeed(t, "list", "dialect", "disent").out; !strings.Contains(out, "Source: disent 0.8") || !strings.Contains(out, "prune: 0.0") {
		t.Errorf("disent: %s", out)
	}
}
