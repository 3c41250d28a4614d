package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/progress"
)

// Options tell Files how to fetch files.
type Options struct {
	// From is a mirror: a file or a folder of this machine, or a URL that begins with http:// or https://. A URL names
	// a file if it ends with the file's name or if a single file is wanted. Otherwise it names a folder. Empty means
	// the files' own URLs.
	From string

	// Trust accepts files of any size and hash.
	Trust bool

	// Again fetches files that already exist. A changed From has the same effect on trusted files, and on files without
	// a published hash.
	Again bool

	// Log receives events, for example a broken connection; nil: silent.
	Log *slog.Logger

	Tries   int           // attempts in a row that bring nothing new; 0: 5
	Wait    time.Duration // before the second try; it doubles with each; 0: 1 s
	MaxWait time.Duration // between two tries; 0: 30 s
	Stall   time.Duration // without a byte, after which a connection is given up; 0: 60 s
}

// defaults fills in unset options.
func (o Options) defaults() Options {
	o.Log, o.Tries, o.Wait = plain.Or(o.Log), cmp.Or(o.Tries, 5), cmp.Or(o.Wait, time.Second)
	o.MaxWait, o.Stall = cmp.Or(o.MaxWait, 30*time.Second), cmp.Or(o.Stall, time.Minute)
	return o
}

// Result is the outcome of a file.
type Result struct {
	File
	Found
	Already bool // the file existed before
}

// Files fetches files into a folder, one after another. It keeps existing files that are right. One process at a time
// works in a folder; others wait and then find the files. Bytes of progress go to the function of the context, see
// [cache.WithProgress].
//
// An incomplete file stays as NAME.part, together with NAME.part.json, and the next call continues it. If the server
// cannot continue, the download starts over.
func Files(ctx context.Context, dir string, files []File, o Options) ([]Result, error) {
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

// filesHeld is Files for the holder of the lock.
func filesHeld(ctx context.Context, dir string, files []File, o Options) ([]Result, error) {
	var results []Result
	for _, f := range files {
		at, err := o.source(f, files)
		if err != nil {
			return results, err
		}
		found, err := Verify(ctx, dir, f)
		already := err == nil && !o.Again
		switch {
		case already && o.From != "" && (!f.hashed() || found.Trusted): // another file may be meant
			if already, err = found.from(ctx, at); err != nil {
				return results, err
			}
		case errors.Is(err, errWrong) && o.Trust && o.From == "" && !o.Again:
			if found, err = trust(ctx, dir, f); err != nil {
				return results, err
			}
			already = true
		case errors.Is(err, errWrong):
			o.Log.Info(fmt.Sprintf("%v; it is fetched again", err), "event", "again", "file", f.Name)
		case err != nil && !errors.Is(err, ErrAbsent):
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

// source returns the address or the path for a file of a list.
func (o *Options) source(f File, files []File) (string, error) {
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
func (f *Found) from(ctx context.Context, at string) (bool, error) {
	if isURL(at) {
		return f.From == redacted(at), nil
	}
	now, err := find(ctx, at)
	return err == nil && now.SHA256 == f.SHA256, err
}

// redacted returns an address without a password.
func redacted(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return at
	}
	return u.Redacted()
}

// bring fetches a file from an address or a path.
func bring(ctx context.Context, dir string, f File, at string, o Options) (Found, error) {
	if isURL(at) {
		return download(ctx, dir, f, at, o)
	}
	if err := Place(ctx, dir, f, at, o.Trust); err != nil {
		return Found{}, err
	}
	return Verify(ctx, dir, f)
}

// isURL reports whether a source is an address on the network.
func isURL(from string) bool {
	return strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://")
}

// mirror returns the address of a file at a mirror.
func mirror(from, name string, files []File) (string, error) {
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
	case slices.ContainsFunc(files, func(f File) bool { return f.Name == last }):
		return u.JoinPath("..", name).String(), nil
	}
	return u.JoinPath(name).String(), nil
}

// local returns the path of a local file.
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
	if Has(filepath.Dir(from), name) { // another file of the set was named
		return filepath.Join(filepath.Dir(from), name), nil
	}
	return "", fmt.Errorf("%s is one file; want a folder with %s", from, name)
}

// Has reports whether a folder has a file.
func Has(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// statusError is the error of [Files] for an answer without a file. Code is the status of HTTP. Another address in
// Options.From may have the file.
type statusError struct{ Code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.Code, http.StatusText(e.Code))
}

// writerFunc is a function as an io.Writer.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// copyTo copies a file in pieces, reports the progress of what, and ends with the context.
func copyTo(ctx context.Context, to io.Writer, from io.Reader, what string, total int64) (int64, error) {
	done := int64(0)
	report := writerFunc(func(p []byte) (int, error) {
		done += int64(len(p))
		progress.Report(ctx, what, done, total)
		return len(p), ctx.Err()
	})
	file := struct{ io.Reader }{from} // hides a method WriteTo, which has smaller pieces
	return io.CopyBuffer(io.MultiWriter(to, report), file, make([]byte, 1<<20))
}
