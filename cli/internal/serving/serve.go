// Package serving has the command serve, and the flags of commands that show their work in a browser.
package serving

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/serve"
)

// Command is `unravel serve [DIR]`.
type Command struct {
	Dir    string   `arg:"" optional:"" default:"runs" help:"Folder of a run, or folder that contains runs at any depth."`
	Listen string   `placeholder:"HOST:PORT" help:"Address to listen on (default: 127.0.0.1:7007, or another port if 7007 is taken)." detail:"If other machines can reach the address, browsers need a token, which the command creates and prints."`
	Host   []string `placeholder:"NAME" help:"Host name that browsers use for this server, such as the machine's name; repeatable." detail:"The server rejects unknown names. It knows the machine's own names."`
	Token  bool     `help:"Require a token from browsers on this machine, too, for machines with several users."`

	// Set by a command that starts this one as a child.
	Attached bool   `hidden:"" help:"Print a line on standard output when the server listens, and stop when standard input ends."`
	Single   bool   `hidden:"" help:"Treat the folder as a single run, even before the run starts."`
	Page     string `hidden:"" help:"Name of the run to link to."`
}

// DefaultAddress is the address of the server if the user gives none.
const DefaultAddress = "127.0.0.1:7007"

func (c *Command) Run(ctx context.Context, s *ui.Streams) error {
	ui.Yield(ctx)
	if err := c.check(); err != nil {
		return err
	}
	l, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	host, _, _ := net.SplitHostPort(c.Listen) // listen has checked it
	o := c.options(l.Addr(), host)
	o.Log, o.Preview = plain.Logger(s.Log), serve.PreviewProcess(program, "preview")
	server, err := serve.New(ctx, c.Dir, o)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	fmt.Fprintf(s.Log, "%s: see %s (ctrl-C ends)\n", c.Dir, address(l.Addr(), host, c.Page, o.Token))
	if !isLoopback(l.Addr()) {
		fmt.Fprintln(s.Log, openTo(l.Addr(), c.Page, o.Token))
	}
	if c.Attached {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes its end
			cancel()
		}()
		fmt.Fprintln(s.Out, "listening")
	}
	return server.Serve(ctx, l)
}

func (c *Command) check() error {
	info, err := os.Stat(c.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ui.Usagef("there is no folder %s", c.Dir)
	case err != nil:
		return err
	case !info.IsDir():
		return ui.Usagef("%s is not a folder; want a folder of runs, or a run", c.Dir)
	}
	for _, name := range c.Host {
		if _, err := netip.ParseAddr(name); err != nil && !hostName.MatchString(name) {
			return ui.Usagef("--host %q is not the name of a machine; want one such as node7.example.org, without a port", name)
		}
	}
	return nil
}

// options returns the hosts that requests may name, and a token for other machines.
func (c *Command) options(at net.Addr, host string) serve.Options {
	o := serve.Options{Single: c.Single}
	for _, name := range append(c.Host, host) {
		if name != "" {
			o.Hosts = append(o.Hosts, strings.ToLower(name))
		}
	}
	if name, err := os.Hostname(); err == nil && !isLoopback(at) {
		o.Hosts = append(o.Hosts, strings.ToLower(name))
	}
	if c.Token || !isLoopback(at) {
		var random [24]byte
		_, _ = rand.Read(random[:]) // never fails
		o.Token = base64.RawURLEncoding.EncodeToString(random[:])
	}
	return o
}

// listen opens the port. If no address is given and the default port is in use, it opens any free port.
func listen(ctx context.Context, at string) (net.Listener, error) {
	var config net.ListenConfig
	if at == "" {
		l, err := config.Listen(ctx, "tcp", DefaultAddress)
		if isTaken(err) {
			return config.Listen(ctx, "tcp", "127.0.0.1:0")
		}
		return l, err
	}
	_, port, err := net.SplitHostPort(at)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
		return nil, ui.Usagef("--listen %s: want HOST:PORT, such as %s; port 0 is a free one", at, DefaultAddress)
	}
	l, err := config.Listen(ctx, "tcp", at)
	var failed *net.OpError
	switch {
	case err == nil:
		return l, nil
	case isTaken(err):
		return nil, fmt.Errorf("--listen %s: the port is in use; want another one, or port 0 for any that is free", at)
	case errors.As(err, &failed):
		err = failed.Err // the rest repeats the address
	}
	return nil, fmt.Errorf("--listen %s: %w", at, err)
}

// hostName matches names by which a browser may call a machine, besides addresses.
var hostName = regexp.MustCompile(`^[\pL\pN_]([\pL\pN_.-]*[\pL\pN_.])?$`)

// openTo describes who can reach an address from other machines.
func openTo(a net.Addr, page, token string) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return ""
	}
	ip := at.Addr()
	if ip.IsUnspecified() {
		list, _ := net.InterfaceAddrs() // without one there is no line about it
		ip = reachable(list)
	}
	text := "other machines reach it"
	if ip.IsValid() {
		text += ", also at " + address(a, ip.String(), page, token)
	}
	return text + "\nnothing is encrypted: others in the network can read along; better without --listen, through ssh -L 7007:" + DefaultAddress + " USER@MACHINE"
}

// reachable returns the first global address, of version 4 if there is one.
func reachable(list []net.Addr) (ip netip.Addr) {
	for _, one := range list {
		p, err := netip.ParsePrefix(one.String())
		if at := p.Addr(); err == nil && at.IsGlobalUnicast() && (!ip.IsValid() || at.Is4() && !ip.Is4()) {
			ip = at
		}
	}
	return ip
}

// isTaken reports whether a port is in use.
func isTaken(err error) bool {
	const onWindows = syscall.Errno(10048)
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, onWindows)
}

// isLoopback reports whether an address is only reachable from this machine.
func isLoopback(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	return err == nil && at.Addr().IsLoopback()
}

func address(a net.Addr, host, run, token string) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	if named, err := netip.ParseAddr(host); host == "" || err == nil && named.IsUnspecified() {
		host = "127.0.0.1"
		if !at.Addr().IsLoopback() {
			if name, err := os.Hostname(); err == nil {
				host = name
			}
		}
	}
	text := fmt.Sprintf("http://%s/", net.JoinHostPort(host, strconv.Itoa(int(at.Port()))))
	q := url.Values{}
	if run != "" {
		text += "run"
		q.Set("dir", run)
	}
	if token != "" {
		q.Set("token", token)
	}
	if len(q) > 0 {
		text += "?" + q.Encode()
	}
	return text
}

// Preview is the process that opens a checkpoint for a server.
type Preview struct {
	Dir string `arg:""`
}

func (c *Preview) Run(ctx context.Context, s *ui.Streams) error {
	ui.Yield(ctx)
	text, err := serve.NewPreview(ctx, c.Dir)
	if err != nil {
		return err
	}
	_, err = s.Out.Write(text)
	return err
}

// Flags are the flags of commands that show their work in a browser.
type Flags struct {
	Serve  bool   `help:"Show progress in a browser until ctrl-C, even after training ends." detail:"The server is unravel serve in a separate process."`
	Listen string `placeholder:"HOST:PORT" help:"Address of --serve; see unravel serve."`
}

// Content is the content of a server started by a command.
type Content struct {
	Dir    string // folder to serve; created if missing
	Single bool   // Dir is the folder of one run
	Page   string // name of the run to link to; empty: all runs
}

// Serving calls work. With --serve, it also starts a server, which continues until the context ends.
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

const serverPatience = 2 * time.Second // maximum time for the server to end

// start starts the server and waits until it listens. The server ends when end is called or this process ends.
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

// starting holds back the log of a server until the server listens, because the log may explain a failure.
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
