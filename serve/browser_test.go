package serve

import (
	"testing"

	"github.com/unravel-ml/unravel/internal/browser"
)

// The pages at three widths, light and dark.
func TestPages(t *testing.T) {
	b := browser.Open(t)
	_, h := started(t, folder(t, "one", "deep/er/two"), Options{})
	for name, page := range map[string]struct{ address, ready string }{
		"list": {"/", `document.querySelectorAll("#runs tbody tr").length === 2`},
		"run":  {"/run?dir=deep/er/two", `document.querySelector("#explore canvas") !== null && document.querySelector("#curves canvas") !== null`},
	} {
		p := b.Page(h.URL + page.address)
		p.Wait(page.ready)
		if list := p.Unnamed(); len(list) > 0 {
			t.Errorf("%s: controls without a name: %v", name, list)
		}
		for _, size := range []struct {
			name   string
			width  int64
			height int64
		}{{"390", 390, 844}, {"1280", 1280, 900}, {"3840", 3840, 2160}} {
			for _, dark := range []bool{false, true} {
				p.Resize(size.width, size.height)
				p.Dark(dark)
				p.Eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", nil)
				if wider := p.Overflow(); wider > 0 {
					t.Errorf("%s at %s: %d pixels too wide", name, size.name, wider)
				}
				suffix := "-light"
				if dark {
					suffix = "-dark"
				}
				p.Shot("serve-" + name + "-" + size.name + suffix)
			}
		}
	}
}
