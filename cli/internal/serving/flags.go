package serving

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/disk"
)

// Flags are the flags of commands that show their work in a browser.
type Flags struct {
	Serve  bool   `help:"Show progress in a browser, also after the end, until ctrl-C." detail:"The server is unravel serve in a separate process."`
	Listen string `placeholder:"HOST:PORT" help:"Address of --serve; see unravel serve."`
}

// Content is the content of a server started by a command.
type Content struct {
	Dir    string // folder to open; made if missing
	Single bool   // dir is the folder of one run
	Page   string // name of the run to link to; empty: all runs
}

// Serving runs work. With --serve it also starts a server, which goes on until the context ends.
func (f *Flags) Serving(ctx context.Context, s *ui.Streams, what Content, work func() error) error {
	if f.Listen != "" && !f.Serve {
		return ui.Usagef("--listen is the address of --serve; want both")
	}
	if !f.Serve {
		return work()
	}
	if err := disk.MakeDir(what.Dir); err != nil {
		return err
	}
	end, err := f.start(s, what)
	if err != nil {
		return err
	}
	defer end()
	if err := work(); err != nil {
		return err
	}
	fmt.Fprintln(s.Log, "its page stays until ctrl-C")
	<-ctx.Done()
	return nil
}

// serverPatience is the time for a server to end.
const serverPatience = 2 * time.Second

// start starts the server and waits until it listens. The server ends when end is called, or this process ends.
func (f *Flags) start(s *ui.Streams, what Content) (end func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--attached"}
	if what.Single {
		args = append(args, "--single")
	}
	if what.Page != "" {
		args = append(args, "--page="+what.Page)
	}
	if f.Listen != "" {
		args = append(args, "--listen="+f.Listen)
	}
	cmd := exec.Command(program, append(args, "--", what.Dir)...)
	said := &starting{w: s.Log}
	cmd.Stderr = said
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe() // the pipe closes with this process, even if it is killed
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() {
		_ = in.Close()
		late := time.AfterFunc(serverPatience, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		_ = cmd.Wait() // the server has logged its error
	}
	if n, _ := out.Read(make([]byte, 16)); n == 0 {
		end()
		return nil, fmt.Errorf("--serve: %s", strings.TrimPrefix(strings.TrimSpace(said.text.String()), "unravel: "))
	}
	return end, said.begun()
}

// starting is the log of a starting server. It is held back until the server listens, because it may explain a
// failure.
type starting struct {
	lock sync.Mutex
	w    io.Writer
	text bytes.Buffer
	on   bool
}

func (s *starting) Write(p []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.on {
		return s.w.Write(p)
	}
	return s.text.Write(p)
}

// begun passes on the held text, and everything after it.
func (s *starting) begun() error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.on = true
	_, err := s.text.WriteTo(s.w)
	return err
}
