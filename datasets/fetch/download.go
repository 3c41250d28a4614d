package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/progress"
)

// part is a partly downloaded file.
type part struct {
	Options
	file   source.File
	dir    string
	url    string
	client *retryablehttp.Client

	f     *os.File
	size  int64 // bytes on disk
	most  int64 // maximum number of bytes on disk so far
	begun bool  // has bytes of an earlier call, or of a broken connection
	state partState
}

// partState is the content of NAME.part.json: the server's information about the file of a part.
type partState struct {
	URL       string `json:"url"`
	Validator string `json:"validator"`       // a strong ETag or a date, for If-Range; empty: no download can continue
	Total     int64  `json:"total,omitempty"` // bytes; 0: unknown
}

const (
	partSuffix  = ".part"
	stateSuffix = ".part.json"

	maxState = 64 << 20 // bytes of a state
)

// errRestart requests a download from the beginning of the file.
var errRestart = errors.New("the download starts over")

func download(ctx context.Context, dir string, f source.File, at string, o Options) (source.Found, error) {
	p := &part{Options: o, file: f, dir: dir, url: at}
	p.client = p.newClient()
	defer p.client.HTTPClient.CloseIdleConnections()
	if err := p.open(); err != nil {
		return source.Found{}, err
	}
	found, err := p.run(ctx)
	if err == nil {
		err = p.f.Sync()
	}
	if err2 := p.f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return source.Found{}, fmt.Errorf("%s: %w", redacted(at), err)
	}
	found.From, found.Trusted = redacted(at), o.Trust && f.Match(found) != nil
	return found, p.finish(found)
}

func (p *part) path(suffix string) string { return filepath.Join(p.dir, p.file.Name+suffix) }

// open opens the part of an earlier call, if it has the same address and can be resumed.
func (p *part) open() error {
	f, err := disk.OpenFile(p.path(partSuffix), os.O_CREATE|os.O_RDWR)
	if err != nil {
		return err
	}
	p.f = f
	text, err := disk.ReadFile(p.path(stateSuffix), maxState)
	if err != nil || json.Unmarshal(text, &p.state) != nil || p.state.URL != p.url || p.state.Validator == "" &&
		p.file.SHA256 == "" && p.file.MD5 == "" {
		p.state = partState{}
		return p.restart()
	}
	if p.size, err = f.Seek(0, io.SeekEnd); err != nil {
		return errors.Join(err, f.Close())
	}
	p.most, p.begun = p.size, p.size > 0
	return nil
}

// restart empties the part.
func (p *part) restart() error {
	p.size, p.begun = 0, false
	_, err := p.f.Seek(0, io.SeekStart)
	return errors.Join(err, p.f.Truncate(0))
}

// run downloads until the file is complete and correct. After a wrong hash of a resumed file, it starts over once.
func (p *part) run(ctx context.Context) (source.Found, error) {
	resumed, err := p.complete(ctx)
	if err != nil {
		return source.Found{}, err
	}
	found, err := p.check(ctx)
	if err == nil || !resumed || ctx.Err() != nil {
		return found, err
	}
	p.say("%s: %v; the parts belong to different files or are damaged: the download starts over", p.file.Name, err)
	if err := p.restart(); err != nil {
		return source.Found{}, err
	}
	if _, err := p.complete(ctx); err != nil {
		return source.Found{}, err
	}
	return p.check(ctx)
}

// complete downloads the missing bytes, in several attempts if necessary. It reports whether the download was resumed.
func (p *part) complete(ctx context.Context) (resumed bool, err error) {
	if p.size > 0 && p.size == p.state.Total {
		return p.begun, nil // only the final rename is missing
	}
	for failed := 0; ; {
		before, resumed := p.most, p.begun
		err := p.attempt(ctx)
		if err == nil {
			return resumed, nil
		}
		if failed++; p.most > before {
			failed = 1
		}
		if err := p.again(ctx, err, failed); err != nil {
			return false, err
		}
	}
}

// again prepares another attempt after an error, and waits. It returns an error if another attempt is useless.
func (p *part) again(ctx context.Context, err error, failed int) error {
	var status *statusError
	var wrong *permanentError
	if ctx.Err() != nil || errors.As(err, &status) || errors.As(err, &wrong) {
		return err
	}
	if errors.Is(err, errRestart) {
		if err := p.restart(); err != nil {
			return err
		}
	}
	if failed >= p.Tries {
		return fmt.Errorf("given up after %d tries in a row without new data: %w", failed, err)
	}
	p.begun = p.size > 0
	wait := min(p.Wait<<(failed-1), p.MaxWait)
	p.say("%s: %v; trying again in %v, from byte %d", p.file.Name, err, wait, p.size)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return nil
	}
}

// permanentError is an error that another attempt cannot fix.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

func (p *part) say(format string, args ...any) {
	p.Log.Info(fmt.Sprintf(format, args...), "event", "download", "file", p.file.Name, "bytes", p.size)
}

// attempt requests and appends the missing bytes.
func (p *part) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return &permanentError{err}
	}
	request.Header.Set("Accept-Encoding", "identity")
	if p.size > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
		if p.state.Validator != "" {
			request.Header.Set("If-Range", p.state.Validator)
		}
	}
	response, err := p.client.Do(request)
	if err != nil {
		return unanswered(err)
	}
	defer response.Body.Close()
	if err := p.accept(response); err != nil || p.state.Total > 0 && p.size == p.state.Total {
		return err
	}
	watch := time.AfterFunc(p.Stall, func() { cancel(fmt.Errorf("no byte came for %v", p.Stall)) })
	defer watch.Stop()
	buf := make([]byte, 1<<17)
	for {
		n, err := response.Body.Read(buf)
		if n > 0 {
			watch.Reset(p.Stall)
			if err := p.append(ctx, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF && p.state.Total > p.size:
			return fmt.Errorf("the connection ended after %d of %d bytes", p.size, p.state.Total)
		case err == io.EOF:
			return nil
		case err != nil && context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("the connection broke after %d bytes: %w", p.size, err)
		}
	}
}

// unanswered returns the error of a request that got no answer after all retries.
func unanswered(err error) error {
	if err = withoutAddress(err); isDial(err) {
		err = fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return &permanentError{err}
}

// withoutAddress removes the address from the error of a request; the log or the caller adds it.
func withoutAddress(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func isDial(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial"
}

// errUnreachable is the error of [Files] without a network, or if the server does not exist. To continue, download the
// files elsewhere and set Options.From to their folder.
var errUnreachable = errors.New("the server cannot be reached")

// accept checks the header of a response, and prepares the part for the body.
func (p *part) accept(r *http.Response) error {
	total := int64(0)
	switch r.StatusCode {
	case http.StatusOK:
		if p.size > 0 {
			p.say("%s: the server does not continue the file, or has another one; it starts over", p.file.Name)
			if err := p.restart(); err != nil {
				return err
			}
		}
		total = max(0, r.ContentLength)
	case http.StatusPartialContent:
		from, all, ok := contentRange(r.Header.Get("Content-Range"))
		if !ok || from != p.size || p.state.Total > 0 && all > 0 && all != p.state.Total {
			return fmt.Errorf("%w: the server continues with %q; want byte %d",
				errRestart, r.Header.Get("Content-Range"), p.size)
		}
		total = max(all, p.state.Total)
	case http.StatusRequestedRangeNotSatisfiable:
		if _, all, ok := contentRange(r.Header.Get("Content-Range")); ok && all == p.size && p.size > 0 {
			p.state.Total = all
			return nil // the part is complete
		}
		return fmt.Errorf("%w: the server has no byte %d", errRestart, p.size)
	default:
		return &statusError{r.StatusCode}
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return &permanentError{fmt.Errorf("the server packs the file as %q; want it unpacked", e)}
	}
	if page := r.Header.Get("Content-Type"); strings.HasPrefix(page, "text/html") &&
		!strings.HasSuffix(p.file.Name, ".html") {
		return &permanentError{errors.New("the server answers with a page, not with the file")}
	}
	if want := p.file.Size; want > 0 && total > 0 && total != want && !p.Trust {
		return &permanentError{fmt.Errorf("%w: the server has %d bytes; want %d", source.ErrWrong, total, want)}
	}
	if p.state.Total = total; total == 0 && !p.Trust {
		p.state.Total = p.file.Size
	}
	if err := disk.CheckFree(p.dir, p.state.Total-p.size); err != nil {
		return &permanentError{err}
	}
	return p.remember(r.Header)
}

// remember stores the server's information about the file.
func (p *part) remember(h http.Header) error {
	p.state.URL, p.state.Validator = p.url, h.Get("ETag")
	if p.state.Validator == "" || strings.HasPrefix(p.state.Validator, "W/") {
		p.state.Validator = h.Get("Last-Modified")
	}
	return disk.WriteFile(p.path(stateSuffix), func(w io.Writer) error { return json.NewEncoder(w).Encode(p.state) },
		false)
}

// contentRange parses a header such as "bytes 10-99/100" or "bytes */100".
func contentRange(text string) (from, total int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, all, found := strings.Cut(text, "/")
	if !ok || !found {
		return 0, 0, false
	}
	if all != "*" {
		n, err := strconv.ParseInt(all, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		total = n
	}
	if span == "*" {
		return 0, total, true
	}
	first, _, _ := strings.Cut(span, "-")
	from, err := strconv.ParseInt(first, 10, 64)
	return from, total, err == nil && from >= 0
}

func (p *part) append(ctx context.Context, b []byte) error {
	if p.state.Total > 0 && p.size+int64(len(b)) > p.state.Total {
		return &permanentError{fmt.Errorf("%w: the server sends more than the %d bytes of the file",
			source.ErrWrong, p.state.Total)}
	}
	if _, err := p.f.Write(b); err != nil {
		return &permanentError{err}
	}
	p.size += int64(len(b))
	p.most = max(p.most, p.size)
	progress.Report(ctx, "downloading "+p.file.Name, p.size, p.state.Total)
	return nil
}

// check returns the facts about the complete part. It empties a part with a wrong size or hash, which cannot be resumed.
func (p *part) check(ctx context.Context) (source.Found, error) {
	found, err := source.Find(ctx, p.path(partSuffix))
	if err != nil || p.Trust {
		return found, err
	}
	if err := p.file.Match(found); err != nil {
		return found, errors.Join(err, p.f.Truncate(0))
	}
	return found, nil
}

// finish renames the complete file and records it.
func (p *part) finish(found source.Found) error {
	if err := os.Rename(p.path(partSuffix), p.path("")); err != nil {
		return err
	}
	return errors.Join(source.Record(p.dir, p.file.Name, found), disk.SyncDir(p.dir), os.Remove(p.path(stateSuffix)))
}

// newClient returns a client that retries requests without a response, or with the status 429 or 5xx.
func (p *part) newClient() *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = p.Tries-1, p.Wait, p.MaxWait
	c.Backoff = func(least, most time.Duration, attempt int, r *http.Response) time.Duration {
		return min(most, retryablehttp.DefaultBackoff(least, most, attempt, r)) // a server may request a wait of a day
	}
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.CheckRetry = func(ctx context.Context, r *http.Response, err error) (bool, error) {
		if errors.Is(err, errRedirect) || isDial(err) && p.most == 0 { // no network
			return false, nil
		}
		again, err2 := retryablehttp.DefaultRetryPolicy(ctx, r, err)
		if again && err2 == nil {
			p.say("%s: %s; trying again", p.file.Name, reason(r, err))
		}
		return again, err2
	}
	if t, ok := c.HTTPClient.Transport.(*http.Transport); ok {
		t.ResponseHeaderTimeout, t.DisableCompression = p.Stall, true
	}
	c.HTTPClient.CheckRedirect = checkRedirect
	return c
}

// errRedirect is the error of a refused redirect.
var errRedirect = errors.New("the redirect is not followed")

func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return fmt.Errorf("%w: it is the 10th in a row", errRedirect)
	}
	if via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return fmt.Errorf("%w: %s is not encrypted; want https", errRedirect, r.URL.Redacted())
	}
	return nil
}

// reason explains why a request is retried.
func reason(r *http.Response, err error) string {
	if err != nil {
		return withoutAddress(err).Error()
	}
	return (&statusError{r.StatusCode}).Error()
}
