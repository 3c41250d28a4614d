// Package fetch brings the source files of public data sets to a folder: from the network, from a mirror, or from a
// local file or folder. It resumes partial downloads, and checks and records the files with package source.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/plain"
)

// Options are the options of source.Files.
type Options struct {
	// From is a mirror: a local file or folder, or a URL that begins with http:// or https://. A URL means a file if it
	// ends with the file's name or if only one file is wanted. Otherwise it is a folder. Empty: the URLs of the files.
	From string

	// Trust accepts files of any size and hash.
	Trust bool

	// Again fetches files that already exist. A changed From has the same effect on trusted files and on files without
	// a published hash.
	Again bool

	// Log receives events, for example a broken connection; nil: silent.
	Log *slog.Logger

	Tries   int           // maximum number of consecutive attempts without a new byte; 0: 5
	Wait    time.Duration // before the second attempt; it doubles with each; 0: 1 s
	MaxWait time.Duration // maximum wait between two attempts; 0: 30 s
	Stall   time.Duration // time without a byte after which a connection is closed; 0: 60 s
}

// defaults fills in unset options.
func (o Options) defaults() Options {
	o.Log, o.Tries, o.Wait = plain.Or(o.Log), cmp.Or(o.Tries, 5), cmp.Or(o.Wait, time.Second)
	o.MaxWait, o.Stall = cmp.Or(o.MaxWait, 30*time.Second), cmp.Or(o.Stall, time.Minute)
	return o
}

// Result describes a fetched file.
type Result struct {
	source.File
	source.Found
	Already bool // the file already existed
}

// Files fetches files to a folder, one after another. It keeps existing files that are correct. One process at a time
// works in a folder; others wait and then find the files. The function in the context receives the progress in bytes,
// see [cache.WithProgress].
//
// An incomplete file stays as NAME.part, together with NAME.part.json, and the next call resumes the download. If the
// server cannot resume, the download starts over.
func Files(ctx context.Context, dir string, files []source.File, o Options) ([]Result, error) {
	o = o.defaults()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("the folder of downloads: %w", err)
	}
	held, err := lock.Wait(ctx, filepath.Join(dir, ".lock"), func() {
		o.Log.Info("waiting for another process to fetch into "+dir, "event", "wait", "dir", dir)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	results, err := filesHeld(ctx, dir, files, o)
	return results, errors.Join(err, held.Unlock())
}

// filesHeld is Files for a caller that holds the lock.
func filesHeld(ctx context.Context, dir string, files []source.File, o Options) ([]Result, error) {
	var results []Result
	for _, f := range files {
		at, err := o.address(f, files)
		if err != nil {
			return results, err
		}
		found, err := source.Verify(ctx, dir, f)
		already := err == nil && !o.Again
		switch {
		case already && o.From != "" && (f.SHA256 == "" && f.MD5 == "" || found.Trusted): // the user may mean another file
			if already, err = from(ctx, found, at); err != nil {
				return results, err
			}
		case errors.Is(err, source.ErrWrong) && o.Trust && o.From == "" && !o.Again:
			if found, err = trust(ctx, dir, f); err != nil {
				return results, err
			}
			already = true
		case errors.Is(err, source.ErrWrong):
			o.Log.Info(fmt.Sprintf("%v; it is fetched again", err), "event", "again", "file", f.Name)
		case err != nil && !errors.Is(err, source.ErrAbsent):
			return results, err
		}
		if !already {
			if found, err = bring(ctx, dir, f, at, o); err != nil {
				return results, err
			}
		}
		results = append(results, Result{f, found, already})
	}
	return results, nil
}

// address returns the address or the path of a file in a list.
func (o *Options) address(f source.File, files []source.File) (string, error) {
	switch {
	case o.From == "" && f.URL == "":
		return "", fmt.Errorf("%s has no address; want --from", f.Name)
	case o.From == "":
		return f.URL, nil
	case isURL(o.From):
		return mirror(o.From, f.Name, files)
	}
	return local(o.From, f.Name, len(files) == 1)
}

// from reports whether a file came from an address, or has the content of a local file.
func from(ctx context.Context, f source.Found, at string) (bool, error) {
	if isURL(at) {
		return f.From == redacted(at), nil
	}
	now, err := source.Find(ctx, at)
	return err == nil && now.SHA256 == f.SHA256, err
}

// trust records a file in the folder without checking it.
func trust(ctx context.Context, dir string, f source.File) (source.Found, error) {
	found, err := source.Find(ctx, filepath.Join(dir, f.Name))
	if err != nil {
		return source.Found{}, err
	}
	found.Trusted = f.Match(found) != nil
	return found, source.Record(dir, f.Name, found)
}

// redacted returns an address without a password.
func redacted(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	return u.Redacted()
}

// bring fetches a file from an address or copies it from a path.
func bring(ctx context.Context, dir string, f source.File, at string, o Options) (source.Found, error) {
	if isURL(at) {
		return download(ctx, dir, f, at, o)
	}
	if err := source.Place(ctx, dir, f, at, o.Trust); err != nil {
		return source.Found{}, err
	}
	return source.Verify(ctx, dir, f)
}

func isURL(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
}

func mirror(from, name string, files []source.File) (string, error) {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is not an address; want one such as https://host/folder/", from)
	}
	last := path.Base(u.Path)
	switch {
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		return u.JoinPath(name).String(), nil
	case last == name || len(files) == 1:
		return from, nil
	case slices.ContainsFunc(files, func(f source.File) bool { return f.Name == last }):
		return u.JoinPath("..", name).String(), nil
	}
	return u.JoinPath(name).String(), nil
}

func local(from, name string, single bool) (string, error) {
	info, err := os.Stat(from)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return filepath.Join(from, name), nil
	}
	if single || filepath.Base(from) == name {
		return from, nil
	}
	beside := filepath.Join(filepath.Dir(from), name) // From names another file of the set
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	return "", fmt.Errorf("%s is one file; want a folder with %s", from, name)
}

// statusError is the error of [Files] for a response without a file. Code is the HTTP status. Another address in
// Options.From may have the file.
type statusError struct{ Code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code))
}
