//go:build unix

package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// stepsEnv is the environment variable that makes the test binary one of the processes that store the steps of a
// folder.
const stepsEnv = "UNRAVEL_TEST_STEPS"

func TestMain(m *testing.M) {
	if dir := os.Getenv(stepsEnv); dir != "" {
		if err := makeSteps(dir, 60); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// makeSteps stores steps up to the given number. It does so only while it holds the lock of the folder.
func makeSteps(dir string, steps int) error {
	w := NewWatch()
	for {
		l, err := w.Try(filepath.Join(dir, "lock"))
		if errors.Is(err, ErrHeld) {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		at := 0
		if text, err := os.ReadFile(filepath.Join(dir, "step")); err == nil {
			if at, err = strconv.Atoi(string(text)); err != nil {
				return err
			}
		}
		for n := 0; n < 5 && at < steps && err == nil; n++ {
			at++
			temporary := filepath.Join(l.Dir(), "step")
			if err = os.WriteFile(temporary, []byte(strconv.Itoa(at)), 0o666); err != nil {
				break
			}
			if err = os.Rename(temporary, filepath.Join(dir, "step")); err != nil {
				break
			}
			mark, err := os.OpenFile(filepath.Join(dir, "made", strconv.Itoa(at)), os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return fmt.Errorf("step %d was made twice: %w", at, err)
			}
			_ = mark.Close() // the file is empty
			time.Sleep(3 * time.Millisecond)
		}
		lost := l.Unlock()
		if err != nil && !gone(err) || lost != nil && !errors.Is(lost, ErrLost) {
			return errors.Join(err, lost)
		}
		if at == steps {
			return nil
		}
	}
}

// Processes that are suspended, continued and killed at random times store each step once, on a file system without
// locks.
func TestProcessesWithoutLocks(t *testing.T) {
	long.NotShort(t)
	dir := t.TempDir()
	must.OK(t, os.Mkdir(filepath.Join(dir, "made"), 0o777))
	random := rand.New(rand.NewPCG(4, 2))
	ended := make(chan error)
	running := map[*exec.Cmd]bool{}
	begin := func() {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), stepsEnv+"="+dir, ClaimsVariable+"="+only, AfterVariable+"=100ms")
		var log strings.Builder
		c.Stderr = &log
		must.OK(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill() })
		running[c] = true
		go func() {
			err := c.Wait()
			if err != nil && log.Len() > 0 {
				err = errors.New(log.String())
			}
			ended <- err
		}()
	}
	for range 4 {
		begin()
	}
	kills, stops := 0, 0
	for left := 4; left > 0; {
		select {
		case err := <-ended:
			left--
			if err != nil && !strings.Contains(err.Error(), "signal: killed") {
				t.Fatal(err)
			}
			if err != nil {
				begin()
				left++
			}
		case <-time.After(10 * time.Millisecond):
			for c := range running { // in random order
				switch random.IntN(12) {
				case 0:
					if kills < 8 && c.Process.Kill() == nil {
						kills++
						delete(running, c)
					}
				case 1, 2:
					if c.Process.Signal(syscall.SIGSTOP) == nil {
						stops++
						time.AfterFunc(time.Duration(50+random.IntN(500))*time.Millisecond, func() { _ = c.Process.Signal(syscall.SIGCONT) })
					}
				}
				break
			}
		}
	}
	t.Logf("%d kills, %d stops", kills, stops)
	if text, err := os.ReadFile(filepath.Join(dir, "step")); err != nil || string(text) != "60" {
		t.Errorf("the last step is %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the system's lock was taken: %q", text)
	}
}

// If the system refuses a lock, or grants it to everybody, only the claim counts. A lock that works shows immediately
// that its holder is dead.
func TestLocksThatDoNotWork(t *testing.T) {
	for name, lock := range map[string]func(*os.File) (bool, error){
		"refused": func(*os.File) (bool, error) { return false, errRefused },
		"no-op":   func(*os.File) (bool, error) { return true, nil },
		"works":   tryLock,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			watch := func() *Watch {
				w := NewWatch()
				w.world.lock, w.world.network = lock, func(string) bool { return name == "works" }
				return w
			}
			one, err := watch().Try(path)
			if err != nil || one.Dir() == "" {
				t.Fatal(err)
			}
			if _, err := watch().Try(path); !errors.Is(err, ErrHeld) {
				t.Errorf("held twice: %v", err)
			}
			close(one.end) // the process dies, and the system ends its lock
			must.OK(t, one.kernel.close())
			two, err := watch().Try(path)
			if works := name == "works"; works != (err == nil) {
				t.Fatalf("after the death of the holder: %v", err)
			}
			if err != nil {
				return
			}
			if !two.TakenOver() {
				t.Error("it was not taken over")
			}
			if err := two.Unlock(); err != nil {
				t.Error(err)
			}
			three, err := watch().Try(path)
			if err != nil || three.TakenOver() {
				t.Errorf("after it was released: %v", err)
			}
		})
	}
}
