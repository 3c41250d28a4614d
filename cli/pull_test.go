package cli_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// modelArchives is the folder with the archives of trained models.
var modelArchives = filepath.Join("..", "results", "models")

// A pulled model is a run for the other commands.
func TestPull(t *testing.T) {
	ownData(t)
	from, dir := modelArchives, t.TempDir()
	run := filepath.Join(dir, "model")
	var pulled struct {
		Name, Run string
		Already   bool
		Ledger    struct {
			Folder, Scale, Run, Config string
			Seed                       uint64
		}
		Metrics []struct {
			Name, Better    string
			Ledger, Rounded float64
		}
	}
	clitest.JSON(t, clitest.OK(t, "pull", "cofhae-chopsticks", "--from", from, "--out", run, "--json").Out, &pulled)
	if pulled.Name != "cofhae-chopsticks" || pulled.Run != run || pulled.Ledger.Folder != "hierarchical-benchmark" ||
		pulled.Already || len(pulled.Metrics) == 0 || pulled.Metrics[0].Name != "r4c" {
		t.Errorf("%+v", pulled)
	}
	if o := clitest.OK(t, "check", run); o.Out != run+": as the run wrote it\n" {
		t.Error(o)
	}
	if o := clitest.OK(t, "runs", dir, "--filter", "state=finished"); !strings.Contains(o.Out, "model") || !strings.Contains(o.Out, "0.9982") {
		t.Error(o)
	}
	if o := clitest.OK(t, "pull", "cofhae-chopsticks", "--out", run); !strings.Contains(o.Out, "cofhae-chopsticks is already in "+run) {
		t.Error(o) // from the folder of downloads
	}
	if !long.Enabled() {
		return
	}
	clitest.OK(t, "encode", "--run", run, "--out", filepath.Join(dir, "codes.npy"))
	clitest.OK(t, "decode", "--run", run, "--what", "traversals", "--out", filepath.Join(dir, "traversals"))
	clitest.OK(t, "export", "--run", run, "--format", "onnx", "--out", filepath.Join(dir, "encoder.onnx"))
	clitest.OK(t, "report", "--run", run)
	clitest.OK(t, "train", "--run", run, "--resume", "train.epochs=1")
	clitest.Mistake(t, clitest.Run(t, "pull", "cofhae-chopsticks", "--out", run), 1,
		"holds the model, changed: it was trained further; want another folder, named by --out")
}

// The list names every model, and the usual folder of existing models.
func TestPullList(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "runs/vae-sprites/config.yaml", "")
	var list struct {
		Models []struct {
			Name, Method, Dataset, Metric, Run string
			Bytes                              int64
			Value                              float64
		}
	}
	clitest.JSON(t, clitest.OK(t, "pull", "--json").Out, &list)
	table := clitest.OK(t, "pull").Out
	for _, m := range list.Models {
		if m.Bytes == 0 || (m.Name == "vae-sprites") != (m.Run == filepath.Join("runs", "vae-sprites")) ||
			!strings.Contains(table, "\n"+m.Name+" ") {
			t.Errorf("%+v\n%s", m, table)
		}
	}
	must.Equal(t, len(list.Models), 5, "models")
}

// A mirror serves archives. Wrong archives change nothing.
func TestPullMistakes(t *testing.T) {
	long.NotShort(t)
	ownData(t)
	good := must.Read(t, filepath.Join(modelArchives, "cofhae-chopsticks.zip"))
	dir := t.TempDir()
	run := filepath.Join(dir, "model")
	archive := filepath.Join(dir, "cofhae-chopsticks.zip")
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	for _, test := range []struct {
		content []byte
		want    string
	}{
		{good[:len(good)/2], "bytes; want 3"},
		{append(append([]byte{}, good[:len(good)-1]...), 1), "its SHA-256 is"},
	} {
		must.Write(t, archive, test.content)
		for _, from := range []string{dir, archive, s.URL + "/"} {
			clitest.Mistake(t, clitest.Run(t, "pull", "cofhae-chopsticks", "--from", from, "--out", run), 1, test.want, "want cofhae-chopsticks.zip (")
		}
	}
	clitest.Mistake(t, clitest.Run(t, "pull", "cofhae-chopsticks", "--from", s.URL+"/other/", "--out", run), 1, "404 Not Found")
	if _, err := os.Stat(run); err == nil {
		t.Error("a run of a wrong archive")
	}
	must.Write(t, archive, good)
	o := clitest.OK(t, "pull", "cofhae-chopsticks", "--from", s.URL+"/", "--out", run)
	if want := " from " + s.URL + "/cofhae-chopsticks.zip, with the known hash\n"; !strings.Contains(o.Log, want) {
		t.Errorf("%v; want %q", o, want)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"pull", "cofhae-chopstick"}, 2, `there is no trained model "cofhae-chopstick"; did you mean "cofhae-chopsticks"?`},
		{[]string{"pull", "--out", run}, 2, "--from and --out belong to the name of a model"},
		{[]string{"pull", "cofhae-chopsticks", "--out", dir}, 1, dir + " holds other files; want another folder, named by --out"},
	} {
		clitest.Mistake(t, clitest.Run(t, test.args...), test.code, test.want)
	}
}
