package pages

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// wholePages have most commands, so their lines run to the end even by default. With -long, the lines of all pages do.
var wholePages = []string{"tour.md", "weights.md"}

// seeds returns the seeds for a page's sweep: two, or by default one if the runs also differ in other settings.
func seeds(sweep string) string {
	if !long.Enabled() && (strings.Contains(sweep, "\nlist:") || strings.Contains(sweep, "\nproduct:")) {
		return "[0]"
	}
	return "[0, 1]"
}

// ownLength returns overrides that shorten an experiment of a page.
func ownLength() []string {
	if long.Enabled() {
		return []string{"train.epochs=3"}
	}
	return []string{"train.epochs=1", "train.epoch_steps=2", "train.figures=false"}
}

// needed reports whether the default test runs a command to its end, because later lines read its output.
func needed(words []string) bool {
	if slices.Contains(words, "--dry-run") {
		return false
	}
	has := func(text string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, text) })
	}
	switch words[0] {
	case "sweep", "encode", "export", "import", "data", "list", "pull":
		return true
	case "train":
		return has("train.keep.best")
	case "decode":
		return has("traversals")
	}
	return false
}

// cuts replace numbers in command lines by smaller numbers in the default test. Names of run folders contain some of
// these numbers.
var cuts = []struct {
	number *regexp.Regexp
	with   string
}{
	{regexp.MustCompile(`epochs(=?)\d\d+`), "epochs${1}1"},
	{regexp.MustCompile(`metrics\.every=\d+`), "metrics.every=1"},
	{regexp.MustCompile(`epoch_steps=\d+`), "epoch_steps=2"},
	{regexp.MustCompile(`objects: \d\d+`), "objects: 4"},
	{regexp.MustCompile(`views: \d\d+`), "views: 8"},
	{regexp.MustCompile(`rows: \d\d+`), "rows: 200"},
	{regexp.MustCompile(`metrics\.sample=\d+`), "metrics.sample=200"},
	{regexp.MustCompile(`^(runs/\w+/[a-z]+)_seed0$`), "$1"}, // the only seed
	{regexp.MustCompile(`dataset=square$`), "dataset={square: {step: 2}}"},
	{regexp.MustCompile(`dataset=room$`), "dataset={room: {hues: 3, scales: 2, orientations: 3}}"},
}

// brief shortens a command line: fewer epochs, images, pixels and trees.
func brief(words []string) []string {
	words = slices.Clone(words)
	for i := range words {
		for _, c := range cuts {
			words[i] = c.number.ReplaceAllString(words[i], c.with)
		}
	}
	at := func(command ...string) bool {
		first := slices.Index(words, command[0])
		return first >= 0 && slices.Equal(words[first:min(first+len(command), len(words))], command)
	}
	switch {
	case at("eval") && slices.Contains(words, "all"):
		words = append(words, "--option", "dci.rounds=2", "--option", "dci-regression.rounds=2")
	case at("data", "show", "room"):
		words = append(words, "size=16")
	}
	return words
}

// A command stopped when its work begins still reports the mistakes of a line: commands, flags, files, configs, keys
// and names of parts.
func TestBegun(t *testing.T) {
	long.NotShort(t)
	clitest.HierarchicalFiles(t)
	must.Write(t, "study.yaml", "base: none.yaml\nseeds: [0]\n")
	for _, line := range []string{
		"trane", "train none/such", "train train.epoch=1", "train --dry-run quickstart model.vea=1", "train metrics=[mgi]", "train --rnu x", "train none.yaml", "train --find-rate none",
		"eval --run runs/none", "eval --codes none.npy --factors factors.csv", "eval --codes codes.npy --factors factors.csv --metrics mgi", "eval --codes codes.npy --facs factors.csv",
		"eval --codes codes.npy --factors factors.csv --metrics mig --option mig.bns=3", "compare runs/none codes.npy", "decode --run runs/none", "table none", "table --chekc 1", "table enriching-table3 --scale qick",
		"sweep study.yaml --dry-run", "sweep none.yaml --dry-run", "mimosa --codes none.npy", "report --run runs/none", "runs runs/none", "serve runs/none --listen x",
	} {
		if o := begun(t, strings.Fields(line)...); o.Code == 0 {
			t.Errorf("unravel %s: %v; want a mistake", line, o)
		}
	}
	for _, line := range []string{"train train.figures=false", "train --dry-run",
		"eval --codes codes.npy --factors factors.csv --metrics mig", "table enriching-table3"} {
		if o := begun(t, strings.Fields(line)...); o.Code != 0 {
			t.Errorf("unravel %s: %v", line, o)
		}
	}
}
