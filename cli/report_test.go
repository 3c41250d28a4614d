package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// The page of a run without figures can be made afterwards, in its folder or another folder. The rest of the folder
// does not change.
func TestReport(t *testing.T) {
	long.NotShort(t)
	dir := trained(t, linear)
	page := filepath.Join(dir, "report.html")
	if _, err := os.Stat(page); err == nil {
		t.Fatal("there is a page")
	}
	clitest.OK(t, "report", "--run", dir)
	text := must.Read(t, page)
	for _, want := range []string{"<title>linear</title>", "unravel train ", `id="data-codes"`, `id="data-explore"`, "<dt>took</dt>"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("no %q in the page", want)
		}
	}
	other := filepath.Join(t.TempDir(), "other.html")
	clitest.OK(t, "report", "--run", dir, "--out", other)
	if !bytes.Equal(must.Read(t, other), text) {
		t.Error("the page is another one elsewhere")
	}
	clitest.Mistake(t, clitest.Run(t, "report", "--run", t.TempDir()), 1, "no run there")
	clitest.Mistake(t, clitest.Run(t, "report"), 2, "--run")
}
