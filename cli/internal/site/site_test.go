package site

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report/web"
)

// small is a source of three pages.
func small(t *testing.T) Source {
	t.Helper()
	var dot bytes.Buffer
	must.OK(t, png.Encode(&dot, image.NewGray(image.Rect(0, 0, 30, 20))))
	return Source{
		Name: "Small", Version: "v1", Front: "README.md", Repository: "https://example.com/blob/main/",
		Groups: []Group{{"Start", []string{"README.md"}}, {"More", []string{"docs/a.md", "docs/deep/b.md"}}},
		Pages: map[string][]byte{
			"README.md": []byte("# Small\n\nSee [a](docs/a.md#two-words) and [the licence](LICENSE), <https://example.com>.\n\n![a dot](docs/dot.png)\n\n" +
				"```yaml\na: \"#\" # <b>\n```\n"),
			"docs/a.md":      []byte("# A: the first\n\n## Two *words*\n\n| x | y |\n|---|---|\n| 1 | `a<b` |\n\n### `code` & more!\n\n[up](../README.md) [b](deep/b.md) [here](#code--more)\n\n## Two words\n"),
			"docs/deep/b.md": []byte("# B\n\n[a](../a.md#two-words-1)\n"),
		},
		Files: fstest.MapFS{"docs/dot.png": {Data: dot.Bytes()}},
	}
}

func TestBuild(t *testing.T) {
	files := must.Get(Build(small(t)))(t)
	for name, wanted := range map[string][]string{
		"index.html": {`<title>Small</title>`, `href="docs/a.html#two-words"`, `href="https://example.com/blob/main/LICENSE"`, `<a class="picture" href="docs/dot.png">`,
			`alt="a dot" width="30" height="20"`, `<span class="key">a</span>: <span class="text">&#34;#&#34;</span> <span class="comment"># &lt;b&gt;</span>`,
			`<a rel="next" href="docs/a.html"><span>Next</span> A</a>`, `src="assets/base.js"`},
		"docs/a.html": {`<title>A: the first - Small</title>`, `<h2 id="two-words">`, `<h2 id="two-words-1">`, `<h3 id="code--more">`, `href="../index.html"`, `href="deep/b.html"`, `href="#code--more"`,
			`<code>a&lt;b</code>`, `aria-current="page"`, `data-root="../"`, `<li class="level3"><a href="#code--more">code &amp; more!</a></li>`},
		"docs/deep/b.html":       {`href="../a.html#two-words-1"`, `href="../../index.html"`, `src="../../assets/base.js"`},
		"assets/search-index.js": {`"u":"docs/a.html#two-words","t":"A: the first","h":"Two words","x":"x y 1 a\u003cb"`},
		"docs/dot.png":           {"PNG"},
		"assets/style.css":       {"--paper"},
	} {
		for _, w := range wanted {
			if !strings.Contains(string(files[name]), w) {
				t.Errorf("%s lacks %s:\n%s", name, w, files[name])
			}
		}
	}
	again, err := Build(small(t))
	if err != nil || !maps.EqualFunc(files, again, bytes.Equal) {
		t.Errorf("a second site has other bytes, %v", err)
	}
}

// Every colour and font of the frame comes from the style of all pages.
func TestStyle(t *testing.T) {
	frame := must.Get(assets.ReadFile("assets/site.css"))(t)
	names := regexp.MustCompile(`var\(--([a-z-]+)\)`).FindAllSubmatch(frame, -1)
	for _, m := range names {
		if !strings.Contains(web.Style(), "--"+string(m[1])+":") {
			t.Errorf("the style has no --%s", m[1])
		}
	}
	if len(names) < 10 {
		t.Errorf("there are %d uses of properties, want 10 and more", len(names))
	}
}

func TestMistakes(t *testing.T) {
	for want, change := range map[string]func(s *Source){
		"docs/a.md: the link no.md leads nowhere: there is no page docs/no.md":            page1("[x](no.md)"),
		"docs/a.md: the link ../README.md#no leads nowhere: README.md has no heading #no": page1("[x](../README.md#no)"),
		"docs/a.md: the link #no leads nowhere: docs/a.md has no heading #no":             page1("[x](#no)"),
		"docs/a.md: the link ../../etc leads out of the project":                          page1("[x](../../etc)"),
		"docs/a.md: there is no picture no.png":                                           page1("![x](no.png)"),
		"docs/a.md: the picture dot.png has no description":                               page1("![](dot.png)"),
		"docs/a.md: there is HTML; want Markdown only":                                    page1("a <b>c</b>"),
		`docs/a.md: "B" is a second heading of the first level`:                           page1("# B"),
		"docs/a.md: want a heading of the first level at the beginning": func(s *Source) {
			s.Pages["docs/a.md"] = []byte("text\n\n# A\n")
		},
		"navigation: docs/c.md is missing":                func(s *Source) { s.Pages["docs/c.md"] = []byte("# C\n") },
		"navigation: More: there is no page docs/c.md":    func(s *Source) { s.Groups[1].Pages = append(s.Groups[1].Pages, "docs/c.md") },
		"navigation: More: docs/a.md is listed twice":     func(s *Source) { s.Groups[1].Pages = append(s.Groups[1].Pages, "docs/a.md") },
		"navigation: the front page index.md is missing":  func(s *Source) { s.Front = "index.md" },
		"README.md: the link docs/a.md#two-words leads n": func(s *Source) { s.Pages["docs/a.md"] = []byte("# A\n") },
	} {
		s := small(t)
		change(&s)
		must.ErrorOf(Build(s))(t, want)
	}
}

// page1 appends a text to a page.
func page1(text string) func(*Source) {
	return func(s *Source) {
		s.Pages["docs/a.md"] = append(s.Pages["docs/a.md"], "\n"+text+"\n"...)
	}
}

func TestHighlight(t *testing.T) {
	for _, c := range []struct{ language, code, want string }{
		{"go", "x := f(1) // one\n\"a`", "x := f(<span class=\"number\">1</span>) <span class=\"comment\">// one</span>\n<span class=\"text\">&#34;a`</span>"},
		{"go", "func f() {}\n", "<span class=\"key\">func</span> f() {}\n"},
		{"sh", "a '# b' # c\n", "a <span class=\"text\">&#39;# b&#39;</span> <span class=\"comment\"># c</span>\n"},
		{"yaml", "a: {b.c: 1}\n# d\n", "<span class=\"key\">a</span>: {<span class=\"key\">b.c</span>: 1}\n<span class=\"comment\"># d</span>\n"},
		{"", "<i>", "&lt;i&gt;"},
	} {
		must.Equal(t, string(highlight(c.language, c.code)), c.want, c.language, c.code)
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"index.html", "docs/a.html", "docs/a.html"}, {"docs/a.html", "index.html", "../index.html"}, {"docs/a.html", "docs/b.html", "b.html"},
		{"docs/deep/a.html", "docs/b.html", "../b.html"}, {"docs/a.html", "docs/deep/b.html", "deep/b.html"}, {"x/y/a.html", "z/y/b.html", "../../z/y/b.html"},
	} {
		must.Equal(t, relative(c[0], c[1]), c[2], "from", c[0], "to", c[1])
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	write := func(files ...string) error {
		all := map[string][]byte{}
		for _, f := range files {
			all[f] = []byte(f)
		}
		return Write(dir, all)
	}
	must.OK(t, write("index.html", "docs/a.html", "old/b.html"))
	own := filepath.Join(dir, "CNAME")
	must.Write(t, own, "mine")
	must.OK(t, write("index.html", "docs/c.html"))
	var names []string
	for _, pattern := range []string{"*", "docs/*", "old/*"} {
		found := must.Get(filepath.Glob(filepath.Join(dir, pattern)))(t)
		for _, f := range found {
			rel, _ := filepath.Rel(dir, f)
			names = append(names, filepath.ToSlash(rel))
		}
	}
	must.EqualSlices(t, names, []string{"CNAME", "docs", "index.html", Manifest, "docs/c.html"}, "files")
	if err := write("CNAME"); !errors.Is(err, ErrForeign) {
		t.Errorf("a file of somebody else: %v", err)
	}
	if text, err := os.ReadFile(own); err != nil || string(text) != "mine" {
		t.Errorf("it is %q now, %v", text, err)
	}
	for _, text := range []string{"mine\n", manifest.Head + "\n../secret\n", manifest.Head + "\n/etc/passwd\n", manifest.Head + "\n.\n", ""} {
		must.Write(t, filepath.Join(dir, Manifest), text)
		if err := write("index.html"); err == nil {
			t.Errorf("no error of the manifest %q", text)
		}
	}
	foreign := t.TempDir()
	must.Write(t, filepath.Join(foreign, "thesis.tex"), "")
	if err := Write(foreign, map[string][]byte{"index.html": nil}); !errors.Is(err, ErrForeign) ||
		!strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("a folder of somebody else: %v", err)
	}
	if err := Write(filepath.Join(foreign, "thesis.tex"), nil); err == nil {
		t.Error("no error of a file in place of the folder")
	}
}
