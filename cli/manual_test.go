package cli_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/internal/must"
)

// The manual page has every command and flag, no text that roff takes for a request, and no groff warning.
func TestManual(t *testing.T) {
	parser := must.Get(cli.NewParser())(t)
	page := must.Get(docs.Manual(parser.Model))(t)
	for _, want := range []string{".TH UNRAVEL 1", "\n.SS train ", "\\fB\\-\\-dry\\-run\\fR", "\n.SS data fetch ",
		".SH EXIT STATUS", "\\fB130\\fR", "UNRAVEL_DATA", "run.json"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	requests := map[string]bool{".TH": true, ".SH": true, ".SS": true, ".TP": true, ".B": true, ".I": true}
	for l := range strings.Lines(page) {
		if word, _, _ := strings.Cut(strings.TrimSpace(l), " "); (strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'")) && !requests[word] {
			t.Errorf("a request that the page does not use: %q", l)
		}
	}
	must.Equal(t, docs.ManualText(`.hidden a\b`), `\&.hidden a\eb`)
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is missing, so its warnings are not tested")
	}
	c := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z")
	c.Stdin = strings.NewReader(page)
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
