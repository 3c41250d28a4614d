package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"

	"golang.org/x/sys/unix"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// onTerminal runs a command line on a terminal with a number of columns, and returns the drawn text.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	return typing(t, "", columns, args...)
}

// typing runs a command line on a terminal where a user types a text.
func typing(t *testing.T, typed string, columns uint16, args ...string) string {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	defer control.Close()
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip("there are no terminals here:", err)
	}
	number := must.Get(unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN))(t)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	must.OK(t, unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	defer func(before *os.File) { os.Stdin = before }(os.Stdin)
	os.Stdin = terminal
	must.Get(control.WriteString(typed))(t)
	var text bytes.Buffer
	drawn := make(chan struct{})
	go func() {
		_, _ = io.Copy(&text, control) // it ends with an error when the terminal closes
		close(drawn)
	}()
	code := cli.Run(context.Background(), args, terminal, terminal)
	must.OK(t, terminal.Close())
	<-drawn
	if code != 0 {
		t.Fatalf("unravel %s: exit code %d\n%s", strings.Join(args, " "), code, text.String())
	}
	return text.String()
}

// On a terminal, a table asks before it trains at a large scale.
func TestTableAsks(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "")
	own := writeOwnTable(t, filepath.Dir(file))
	withFull(t, own)
	const question = "the table own trains at the scale full: 3 of 3 runs to make, in an unknown time? [y/N] "
	for _, typed := range []string{"\n", "n\n", "x\n"} {
		if text := typing(t, typed, 80, "table", own, "--runs", dir, "--scale", "full"); !strings.Contains(text, question) || ui.Exists(dir) {
			t.Errorf("the answer %q: a folder exists: %t\n%s", typed, ui.Exists(dir), text)
		}
	}
	if text := typing(t, "y\n", 80, "table", own, "--runs", dir, "--scale", "full"); !strings.Contains(text, question) ||
		!ui.Exists(filepath.Join(dir, "r_full_seed2")) {
		t.Errorf("the answer yes: %s", text)
	}
	if text := typing(t, "", 80, "table", own, "--runs", dir, "--scale", "full"); strings.Contains(text, "y/N") {
		t.Errorf("a question where nothing is left to train: %s", text)
	}
}

// After training, the screen shows the last losses and the current work, without long pauses.
func TestProgressOnTerminal(t *testing.T) {
	long.NotShort(t)
	text := onTerminal(t, 80, "train", clitest.TinyFile(t), "train.figures=true", "--run", filepath.Join(t.TempDir(), "run"))
	for _, want := range []string{`\repoch 1/3  loss [0-9.]+ +\d+% \|`, `\repoch 3/3  supervised loss .*; unsupervised loss .* images/s\r\n`,
		`\rencoding images +0% \|.*0/256`, `\rdecoding images +0% \|`, `\rmeasuring dlsbd +0% \|.*0/1`, `\rdrawing losses +0% \|.*0/15`, `[\r\n]finished 3 epochs`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the screen never showed %s:\n%q", want, text)
		}
	}
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, " ")); n > 80 && strings.Contains(line, "% |") {
			t.Errorf("a bar of %d columns: %q", n, line)
		}
	}
}

// For runs of several experiments, the list shows the names of their choices and, as far as they fit, the settings that
// differ within a choice.
func TestMixedRuns(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	must.Write(t, "tiny.yaml", clitest.Tiny)
	vae := "model={vae: {latent: 3, encoder: {mlp: {hidden: [8]}}}}"
	for _, args := range [][]string{
		{}, {"seed=2"}, {vae, "supervision=none", "losses=[reconstruction, {kl: {weight: 4}}]", "metrics=[mig, sap, modularity, code-spread, total-correlation, wasserstein-correlation, irs]"},
		{vae, "model.vae.latent=4", "supervision=none", "losses=[reconstruction, kl]", "train.warmup=1"},
		{"dataset={arrow: {size: 16, hues: 4, rotations: 4}}", "supervision.pairs.count=8"},
	} {
		clitest.OK(t, append([]string{"train", "tiny.yaml", "train.epochs=0"}, args...)...)
	}
	wide := onTerminal(t, 400, "runs")
	header := strings.Join(strings.Fields(strings.SplitN(wide, "\n", 2)[0]), " ")
	if want := "run state dataset supervision model losses losses.1.kl.weight model.vae.latent seed supervision.pairs.count train.warmup seconds " +
		"code-spread dlsbd fit.converged irs mig modularity sap total-correlation wasserstein-correlation"; header != want {
		t.Errorf("columns %s\nwant %s", header, want)
	}
	for _, want := range []string{"square   pairs", "arrow    pairs", "square   none         vae       reconstruction+kl"} {
		if !strings.Contains(wide, want) {
			t.Errorf("%q is not in\n%s", want, wide)
		}
	}
	for _, columns := range []int{120, 80, 40} {
		text := onTerminal(t, uint16(columns), "runs")
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\r\n"); utf8.RuneCountInString(line) > columns && !strings.HasPrefix(line, "there is no room for ") {
				t.Errorf("%d of %d columns: %s", utf8.RuneCountInString(line), columns, line)
			}
		}
		if !strings.Contains(text, "there is no room for ") || !strings.Contains(text, "--csv has all columns") ||
			!strings.HasPrefix(text, "run ") {
			t.Errorf("%d columns: %s", columns, text)
		}
	}
	if text := onTerminal(t, 120, "runs"); !strings.Contains(text, "  dataset") ||
		!strings.Contains(text, "  supervision") || !strings.Contains(text, "dlsbd") {
		t.Errorf("what matters most is missing: %s", text)
	}
	if o := clitest.OK(t, "runs", "--csv", "--filter", "model=vae", "--filter", "supervision=none"); strings.Count(o.Out, "\n") != 3 {
		t.Error(o)
	}
	if o := clitest.OK(t, "runs", "--by", "dataset"); len(strings.SplitN(o.Out, "\n", 2)[0]) > ui.PlainWidth ||
		!strings.Contains(o.Log, "there is no room for ") {
		t.Error(o)
	}
	for key, want := range map[string]string{"epochs": "train.epochs", "sede": "seed", "latent": "model.vae.latent",
		"vae.latnet": "model.vae.latent", "dlsb": "dlsbd", "pairs.count": "supervision.pairs.count"} {
		clitest.Mistake(t, clitest.Run(t, "runs", "--filter", key+"=1"), 2, `no run has "`+key+`"; did you mean "`+
			want+`"? --csv has the names of all columns`)
		clitest.Mistake(t, clitest.Run(t, "runs", "--by", key), 2, `did you mean "`+want+`"?`)
	}
}
