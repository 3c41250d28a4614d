// Package browser opens pages in Chromium for tests of what a page draws, prints and does. A JavaScript error, an error
// on the console or a failed request fails the test.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// RequiredVariable is the environment variable with the value "required" if tests must fail without a browser.
const RequiredVariable = "UNRAVEL_BROWSER"

// patience is the time limit of one action; test machines are busy.
const patience = 3 * time.Minute

// places are the names of the browser, and paths outside of PATH on some systems.
var places = []string{
	"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless-shell",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
	`C:\Program Files\Google\Chrome\Application\chrome.exe`, `C:\Program Files (x86)\Google\Chrome\Application\chrome.exe`,
}

// Browser is a running Chromium with its own profile.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

type process struct {
	ctx context.Context
	end func()
}

// common is the Chromium shared by all tests of a package, if TestMain calls Main.
var common struct {
	on      bool
	start   sync.Once
	process *process
	err     error
}

// Main is [long.Run] with one shared Chromium for all tests of the package.
func Main(m *testing.M) int {
	common.on = true
	defer func() {
		if common.process != nil {
			common.process.end()
		}
	}()
	return long.Run(m)
}

// Open starts Chromium until the end of the test, or opens a profile in the Chromium shared by Main. In short mode it
// skips the test. Without Chromium it also skips the test, or fails if RequiredVariable requires a browser.
func Open(t testing.TB) *Browser {
	t.Helper()
	long.NotShort(t)
	path, ok := find()
	if !ok {
		const missing = "no Chromium here: the test of pages in a browser is left out; to run it, install Chromium or Chrome (Debian: apt-get install chromium)"
		if os.Getenv(RequiredVariable) == "required" {
			t.Fatalf("%s=required, and %s", RequiredVariable, missing)
		}
		t.Skip(missing)
	}
	if !common.on {
		p := must.Get(start(path))(t)
		t.Cleanup(p.end)
		return &Browser{t: t, ctx: p.ctx}
	}
	common.start.Do(func() { common.process, common.err = start(path) })
	if common.err != nil {
		t.Fatal(common.err)
	}
	ctx, cancel := chromedp.NewContext(common.process.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // creates the profile
		t.Fatalf("open a profile: %v", err)
	}
	return &Browser{t: t, ctx: ctx}
}

func start(path string) (*process, error) {
	profile, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options(path, profile)...)
	ctx, cancel := chromedp.NewContext(allocated)
	p := &process{ctx, func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		stop()
		for range 50 { // its processes still write for a moment
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}}
	if err := chromedp.Do(ctx); err != nil { // starts Chromium
		p.end()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	return p, nil
}

// find returns the path of the browser.
func find() (string, bool) {
	for _, name := range places {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// options configure a browser that only connects to the pages of the test.
func options(path, profile string) []chromedp.ExecAllocatorOption {
	list := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if runtime.GOOS == "linux" && os.Geteuid() == 0 { // Chromium's sandbox does not work for root
		list = append(list, chromedp.NoSandbox)
	}
	return list
}
