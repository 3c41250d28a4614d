package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// ShotsVariable is the environment variable for the folder of Shot's pictures.
const ShotsVariable = "UNRAVEL_SHOTS"

type Page struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	faults   []string
	forgiven []string
	media    map[string]string // emulated media features
}

// Page opens an address in a tab of 1280 x 800 pixels and waits until it is loaded. An error of the page before the end
// of the test fails the test.
func (b *Browser) Page(address string) *Page {
	b.t.Helper()
	p := b.Tab()
	p.Go(address)
	return p
}

// Tab opens an empty tab, for settings before the first page.
func (b *Browser) Tab() *Page {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	p := &Page{t: b.t, ctx: ctx, media: map[string]string{}}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		cancel()
		for _, f := range p.Faults() {
			b.t.Errorf("page: %s", f)
		}
	})
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, runtime.Enable, cdp.Empty{})
	p.Resize(1280, 800)
	return p
}

func (p *Page) Go(address string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(address))
}

func File(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		panic(err) // only without a working directory
	}
	whole = filepath.ToSlash(whole)
	if !strings.HasPrefix(whole, "/") {
		whole = "/" + whole
	}
	return "file://" + strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23", " ", "%20").Replace(whole)
}

// hear records failures.
func (p *Page) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.note("exception: " + thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
			p.note("console: " + said(e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			p.note(fmt.Sprintf("log: %s %s", e.Entry.Text, e.Entry.URL))
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			p.note("request: " + e.ErrorText)
		}
	}
}

// thrown describes a value thrown by a script.
func thrown(d *runtime.ExceptionDetails) string {
	if d.Exception == nil {
		return d.Text
	}
	return d.Text + " " + said([]*runtime.RemoteObject{d.Exception})
}

// said joins the arguments of a console call.
func said(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		if a.Description != "" {
			words = append(words, a.Description)
		} else {
			words = append(words, string(a.Value))
		}
	}
	return strings.Join(words, " ")
}

func (p *Page) note(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fault)
}

// Forgive allows failures that contain a text, past and future ones.
func (p *Page) Forgive(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgiven = append(p.forgiven, text)
}

// Faults lists the failures so far.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
next:
	for _, f := range p.faults {
		for _, text := range p.forgiven {
			if strings.Contains(f, text) {
				continue next
			}
		}
		list = append(list, f)
	}
	return list
}

// Do runs actions in order. A failed action ends the test.
func (p *Page) Do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	run(p, chromedp.Steps(actions...))
}

// steady repeats an action on an element if the page has replaced the element in the meantime.
func (p *Page) steady(action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	const tries = 20
	for i := range tries {
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		err := chromedp.Do(ctx, action)
		cancel()
		if err == nil {
			return
		}
		if i == tries-1 || !strings.Contains(err.Error(), "Could not find node") {
			p.t.Fatalf("page: %v; faults: %v", err, p.Faults())
		}
	}
}

// run runs an action and returns its value. A failed action ends the test.
func run[T any](p *Page, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("page: %v; faults: %v", err, p.Faults())
	}
	return v
}

// call sends a protocol command.
func call[P, R any](p *Page, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	return run(p, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) })
}

// Eval evaluates an expression, waits for a promise, and stores the value in out. A nil out discards the value.
func (p *Page) Eval(expression string, out any) {
	p.t.Helper()
	value := run(p, chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise))
	if out == nil {
		return
	}
	if err := json.Unmarshal(value, out); err != nil {
		p.t.Fatalf("page: %s is %s: %v", expression, value, err)
	}
}

// Wait waits until an expression is true, even if the tab loads another page in the meantime.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	poll := chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0))
	err := chromedp.Do(ctx, poll)
	for err != nil && ctx.Err() == nil && gone(err) {
		err = chromedp.Do(ctx, poll)
	}
	if err != nil {
		p.t.Fatalf("page: %s does not become true: %v; faults: %v", expression, err, p.Faults())
	}
}

// gone reports whether an expression has no value because the tab has left the page.
func gone(err error) bool {
	return strings.Contains(err.Error(), "context") || strings.Contains(err.Error(), "target navigated")
}

// Click clicks the first element that matches a CSS selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.steady(chromedp.Click(chromedp.CSS(selector)))
}

// asKeyboard makes an event look like a keyboard event: if a page handles the key, the browser does not type it.
func asKeyboard(e *input.DispatchKeyEventParams) {
	if e.Type == kb.KeyDown {
		e.Type = kb.KeyRawDown
	}
}

// Press focuses the first element that matches a CSS selector and presses keys (package chromedp/kb has names for keys
// without a letter).
func (p *Page) Press(selector, keys string) {
	p.t.Helper()
	p.steady(chromedp.Focus(chromedp.CSS(selector)))
	p.Do(chromedp.KeyEvent(keys, asKeyboard))
}

// Drag presses the mouse in the middle of an element that matches a CSS selector, moves it in ten steps, and releases
// it.
func (p *Page) Drag(selector string, dx, dy float64) {
	p.t.Helper()
	var at [2]float64
	p.steady(chromedp.ScrollIntoView(chromedp.CSS(selector)))
	p.Eval(fmt.Sprintf("(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width/2, r.y + r.height/2]; })()", selector), &at)
	p.Do(chromedp.DragAndDropXY(at[0], at[1], at[0]+dx, at[1]+dy))
}

// Resize sets the size of the window in CSS pixels.
func (p *Page) Resize(width, height int64) {
	p.t.Helper()
	p.Do(chromedp.EmulateViewport(width, height))
}

// Dark emulates the system setting for dark or light colours.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	value := "light"
	if dark {
		value = "dark"
	}
	p.medium("prefers-color-scheme", value)
}

// Still emulates the system setting for reduced motion.
func (p *Page) Still() {
	p.t.Helper()
	p.medium("prefers-reduced-motion", "reduce")
}

func (p *Page) medium(feature, value string) {
	p.t.Helper()
	p.media[feature] = value
	var list []*emulation.MediaFeature
	for name, value := range p.media {
		list = append(list, &emulation.MediaFeature{Name: name, Value: value})
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: list})
}

// Overflow returns the number of pixels by which the page is wider than its window.
func (p *Page) Overflow() int {
	p.t.Helper()
	var wider int
	p.Eval("document.scrollingElement.scrollWidth - document.documentElement.clientWidth", &wider)
	return wider
}

// Broken lists words of at most 16 letters, outside of code, that are broken across lines.
func (p *Page) Broken() (words []string) {
	p.t.Helper()
	p.Eval(`(() => {
		const list = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
		for (let text; (text = texts.nextNode());) {
			if (!text.parentElement.checkVisibility() || text.parentElement.closest("pre, script, noscript, svg")) continue;
			for (const word of text.data.matchAll(/[\p{L}\p{N}_.−]+/gu)) {
				range.setStart(text, word.index);
				range.setEnd(text, word.index + word[0].length);
				if (word[0].length <= 16 && new Set([...range.getClientRects()].map((r) => Math.round(r.y))).size > 1) list.push(word[0]);
			}
		}
		return list;
	})()`, &words)
	return words
}

// Unnamed lists the controls without an accessible name: roles with their HTML.
func (p *Page) Unnamed() []string {
	p.t.Helper()
	var list []string
	for _, n := range call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if role := text(n.Role); !n.Ignored && controls[role] && text(n.Name) == "" {
			list = append(list, fmt.Sprintf("%s (node %d)", role, n.BackendDOMNodeID))
		}
	}
	return list
}

// controls are the roles that need a name.
var controls = map[string]bool{
	"button": true, "checkbox": true, "combobox": true, "image": true, "img": true, "link": true, "listbox": true, "menuitem": true, "radio": true,
	"radiogroup": true, "searchbox": true, "slider": true, "spinbutton": true, "switch": true, "tab": true, "textbox": true,
}

// text returns a value of the accessibility tree as text.
func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(strings.Trim(string(v.Value), `"`))
}

// Shot saves a picture of the whole page as NAME.png in the folder of ShotsVariable, if it is set.
func (p *Page) Shot(name string) {
	p.t.Helper()
	dir := os.Getenv(ShotsVariable)
	if dir == "" {
		return
	}
	png := run(p, chromedp.FullScreenshot(100))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
