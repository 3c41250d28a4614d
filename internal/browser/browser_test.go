package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

const text1 = `<!doctype html><html lang="en"><title>t</title><meta name="viewport" content="width=device-width">
<style>:root { color-scheme: light dark } #box { width: 600px }</style>
<div id="box"><button id="named">go</button><button id="nameless"></button><input type="range" aria-label="value" id="range" min="0" max="100" value="50"></div>
<script>
document.getElementById("named").addEventListener("click", () => { document.title = "clicked"; });
window.dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
window.still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
%s
</script></html>`

// write creates a page with a script and returns its address.
func write(t *testing.T, script string) string {
	t.Helper()
	path := must.Write(t, filepath.Join(t.TempDir(), "a page#1.html"), fmt.Appendf(nil, text1, script))
	return File(path)
}

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// Tests that share a Chromium do not see stored data of other tests.
func TestProfiles(t *testing.T) {
	long.NotShort(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>t</title><link rel="icon" href="data:,"></html>`)
	}))
	defer server.Close()
	p := Open(t).Page(server.URL)
	p.Eval(`localStorage.setItem("key", "value")`, nil)
	for want, b := range map[string]*Browser{"value": {t: p.t, ctx: p.ctx}, "": Open(t)} {
		var got string
		b.Page(server.URL).Eval(`localStorage.getItem("key") ?? ""`, &got)
		must.Equal(t, got, want, "stored")
	}
}

func TestPage(t *testing.T) {
	long.NotShort(t)
	b := Open(t)
	p := b.Page(write(t, ""))
	p.Click("#named")
	p.Wait(`document.title === "clicked"`)
	var dark, still bool
	p.Dark(true)
	p.Still()
	p.Eval("dark()", &dark)
	p.Eval("still()", &still)
	if !dark || !still {
		t.Errorf("dark %v, still %v; want both", dark, still)
	}
	must.Equal(t, p.Overflow(), 0, "overflow of", "pixels at 1280")
	p.Resize(390, 800)
	if wider := p.Overflow(); wider < 200 {
		t.Errorf("overflow of %d pixels at 390, want more than 200", wider)
	}
	if list := p.Unnamed(); len(list) != 1 || !strings.HasPrefix(list[0], "button") {
		t.Errorf("controls without a name: %v, want the button", list)
	}
	var before, after string
	p.Eval(`document.getElementById("range").value`, &before)
	p.Drag("#range", 30, 0)
	p.Eval(`Promise.resolve(document.getElementById("range").value)`, &after)
	if before == after {
		t.Errorf("the slider stays at %s", after)
	}
}

// Wait waits across several page loads. Each page leaves at another time during the wait.
func TestWaitAcrossPages(t *testing.T) {
	long.NotShort(t)
	pages := 20
	if long.Enabled() {
		pages = 150
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>%d</title><link rel="icon" href="data:,"><script>
if (%[1]d < %d) setTimeout(() => location.replace("/%d"), %d);
</script></html>`, n, pages, n+1, n%7)
	}))
	defer server.Close()
	b := Open(t)
	p := b.Page(server.URL + "/0")
	p.Wait(fmt.Sprintf(`document.title === "%d"`, pages))
}

func TestFaults(t *testing.T) {
	long.NotShort(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	b := Open(t)
	for name, script := range map[string]string{
		"exception": `throw new Error("broken");`,
		"promise":   `Promise.reject(new Error("broken"));`,
		"console":   `console.error("broken");`,
		"request":   fmt.Sprintf(`fetch("%s/broken", {mode: "no-cors"}).catch(() => {});`, server.URL),
	} {
		t.Run(name, func(t *testing.T) {
			p := b.Tab()
			p.Forgive("") // failures are intended here
			p.Go(write(t, script))
			p.Wait("document.readyState === 'complete'")
			var heard []string
			for range 1000 { // a busy browser reports it later
				p.mu.Lock()
				heard = slices.Clone(p.faults)
				p.mu.Unlock()
				if slices.ContainsFunc(heard, func(f string) bool { return strings.Contains(f, "broken") }) {
					return
				}
				p.Eval("new Promise(done => setTimeout(done, 20))", nil)
			}
			t.Errorf("faults %q", heard)
		})
	}
}
