package lock

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ClaimsVariable is the environment variable for the use of claims in addition to the system's locks: auto, always or
// never. The value only means claims without locks.
const ClaimsVariable = "UNRAVEL_CLAIMS"

// AfterVariable is the environment variable for the time without a heartbeat after which a claim is taken over.
const AfterVariable = "UNRAVEL_CLAIMS_AFTER"

// defaultAfter is the default for this time. It is much longer than the pauses of an overloaded machine and the cache
// times of network file systems.
const defaultAfter = time.Minute

// The values of ClaimsVariable.
const (
	auto   = "auto"
	always = "always"
	never  = "never"
	only   = "only"
)

var begun = time.Now()

// machine returns the world of this machine and its settings.
func machine() (*world, error) {
	w := &world{files: system{}, now: func() time.Duration { return time.Since(begun) }, after: defaultAfter, me: self,
		lock: tryLock, mode: auto, network: network}
	if mode := os.Getenv(ClaimsVariable); mode != "" {
		if !slices.Contains([]string{auto, always, never, only}, mode) {
			return nil, fmt.Errorf("%s=%q: want %s, %s, %s or %s", ClaimsVariable, mode, auto, always, never, only)
		}
		w.mode = mode
	}
	if text := os.Getenv(AfterVariable); text != "" {
		after, err := time.ParseDuration(text)
		if err != nil || after <= 0 {
			return nil, fmt.Errorf("%s=%q: want a time above 0 such as 60s", AfterVariable, text)
		}
		w.after = after
	}
	return w, nil
}

// CheckEnvironment returns an error for invalid settings of claims in the environment. With such settings, every lock
// fails.
func CheckEnvironment() error {
	_, err := machine()
	return err
}

// self describes this process as the holder of a path.
func self(path string) holder {
	host, _ := os.Hostname() // "": not known
	return holder{Process: os.Getpid(), Host: host, Boot: bootID(), Device: device(filepath.Dir(path)), ID: rand.Text()}
}

type system struct{}

func (system) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

func (system) List(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (system) Read(path string) ([]byte, error) {
	return os.ReadFile(path) // on NFS, opening a file shows all earlier writes
}

func (system) Create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func (system) Rewrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return errors.Join(err, f.Close()) // on NFS, others see the write after the close
}

func (system) Rename(from, to string) error { return os.Rename(from, to) }

func (system) Remove(path string) error { return os.Remove(path) }

// notEmpty reports whether a folder could not be removed because it is not empty.
func notEmpty(err error) bool { return errors.Is(err, fs.ErrExist) }

// gone reports whether a file or its folder does not exist.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || stale(err) }
