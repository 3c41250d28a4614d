package cli_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/serving"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// The server prints its address, takes a free port if the usual port is taken, and ends with the context.
func TestServe(t *testing.T) {
	t.Chdir(t.TempDir())
	clitest.Mistake(t, clitest.Run(t, "serve"), 2, "there is no folder runs")
	must.Write(t, "file", "")
	clitest.Mistake(t, clitest.Run(t, "serve", "file"), 2, "not a folder")
	must.OK(t, os.Mkdir("runs", 0o777))
	clitest.Mistake(t, clitest.Run(t, "serve", "--listen", "7007"), 2, "want HOST:PORT")
	clitest.Mistake(t, clitest.Run(t, "serve", "--listen", "127.0.0.1:http"), 2, "want HOST:PORT")
	if l, err := net.Listen("tcp", serving.DefaultAddress); err == nil {
		defer l.Close()
	} // otherwise the port is taken anyway
	log, page := clitest.Served(t, "serve")
	if strings.Contains(log, ":7007") || !strings.Contains(page, "<h1>Runs</h1>") || strings.Contains(log, "token=") {
		t.Errorf("%s\n%.200s", log, page)
	}
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	clitest.Mistake(t, clitest.Run(t, "serve", "--listen", taken.Addr().String()), 1, "--listen "+taken.Addr().String()+
		": the port is in use; want another one, or port 0 for any that is free")
	clitest.Mistake(t, clitest.Run(t, "serve", "--host", "a b/c"), 2, `--host "a b/c" is not the name of a machine`)
	clitest.Mistake(t, clitest.Run(t, "serve", "--host", "node7:80"), 2, "without a port")
	if log, _ := clitest.Served(t, "serve", "--listen", "0.0.0.0:0", "--host", "127.0.0.1"); !strings.Contains(log,
		"?token=") || !strings.Contains(log, "\nother machines reach it") ||
		!strings.Contains(log, "\nnothing is encrypted") || !strings.Contains(log, "ssh -L ") {
		t.Errorf("open without a token, or a word about it: %s", log)
	}
	if log, _ := clitest.Served(t, "serve", "--listen=127.0.0.1:0"); strings.Contains(log, "encrypted") {
		t.Errorf("nobody else reaches it: %s", log)
	}
	if log, _ := clitest.Served(t, "serve", "--token", "--listen=127.0.0.1:0"); !strings.Contains(log, "?token=") {
		t.Errorf("no token: %s", log)
	}
}

// Training and sweeps can start a server, which continues after they end.
func TestTrainServe(t *testing.T) {
	long.NotShort(t)
	config := clitest.TinyFile(t)
	t.Setenv(clitest.AsProgram, "1") // the server is this program
	t.Chdir(t.TempDir())
	log, page := clitest.Served(t, "train", config, "train.epochs=1", "--serve")
	if !strings.Contains(log, "run?dir=tiny_epochs1") || !strings.Contains(page, `data-run="tiny_epochs1"`) ||
		!ui.Exists(filepath.Join("runs", "tiny_epochs1", rundir.RecordFile)) {
		t.Errorf("%s\n%.200s", log, page)
	}
	_, page = clitest.Served(t, "train", config, "train.epochs=1", "--run", "elsewhere", "--serve", "--listen", "127.0.0.1:0")
	if !strings.Contains(page, `data-run="elsewhere"`) || ui.Exists(filepath.Join("elsewhere", "runs.index")) {
		t.Errorf("%.300s", page)
	}
	must.Write(t, "sweep.yaml", "name: s\nbase: "+config+"\nseeds: [1]\n")
	if _, page = clitest.Served(t, "sweep", "sweep.yaml", "--serve"); !strings.Contains(page, "<h1>Runs</h1>") {
		t.Errorf("%.300s", page)
	}
	clitest.Mistake(t, clitest.Run(t, "train", config, "--listen", "127.0.0.1:0"), 2, "--listen is the address of --serve")
	clitest.Mistake(t, clitest.Run(t, "train", config, "seed=9", "--serve", "--listen", "nowhere"), 1, "--serve: --listen nowhere: want HOST:PORT")
}
