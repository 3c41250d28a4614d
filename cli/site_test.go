package cli_test

import (
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/cli/internal/site"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// siteFiles returns the files of the site with all pages. Build fails if docs/pages.yaml lacks a page, or if the target
// of a link, an anchor or a picture is missing.
func siteFiles(t *testing.T) map[string][]byte {
	t.Helper()
	return must.Get(builtSite())(t)
}

// builtSite builds the site once.
var builtSite = sync.OnceValues(func() (map[string][]byte, error) {
	pages, err := currentPages()
	if err != nil {
		return nil, err
	}
	source, err := docs.Documents(pages)
	if err != nil {
		return nil, err
	}
	return site.Build(source)
})

// madePages returns the pages made from the code.
func madePages(t *testing.T) []docs.ReferencePage {
	t.Helper()
	return must.Get(currentPages())(t)
}

// currentPages makes the pages of the registered parts.
func currentPages() ([]docs.ReferencePage, error) {
	parser, err := cli.NewParser()
	if err != nil {
		return nil, err
	}
	return docs.ReferencePages(parser.Model)
}

var (
	linkAttribute = regexp.MustCompile(` (?:href|src)="([^"]*)"`)
	idAttribute   = regexp.MustCompile(` id="([^"]*)"`)
	listOfOne     = regexp.MustCompile(`<ol>\s*<li>([^<]*)</li>\s*</ol>`) // a line of text that begins with a number
)

// Everything that a page of the site names exists: pages, anchors, pictures and scripts in the site, other files in the
// repository.
func TestSiteLinks(t *testing.T) {
	long.NotShort(t)
	files := siteFiles(t)
	ids := map[string][]string{}
	for name, text := range files {
		for _, m := range idAttribute.FindAllStringSubmatch(string(text), -1) {
			id := html.UnescapeString(m[1])
			if slices.Contains(ids[name], id) {
				t.Errorf("%s: the id %s is listed twice", name, id)
			}
			ids[name] = append(ids[name], id)
		}
	}
	count := 0
	for name, text := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		if m := listOfOne.FindSubmatch(text); m != nil {
			t.Errorf("%s: a list has one item, a line that begins with a number: %s", name, m[1])
		}
		for _, m := range linkAttribute.FindAllStringSubmatch(string(text), -1) {
			count++
			link := html.UnescapeString(m[1])
			if file, ok := strings.CutPrefix(link, docs.Repository); ok {
				if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(file))); err != nil {
					t.Errorf("%s: the link %s leads to no file of the repository", name, link)
				}
				continue
			}
			if strings.HasPrefix(link, "https://") || strings.HasPrefix(link, "http://") {
				continue
			}
			to, fragment, _ := strings.Cut(link, "#")
			anchor, err := url.PathUnescape(fragment)
			if err != nil {
				t.Errorf("%s: the link %s: %v", name, link, err)
			}
			target := name
			if to != "" {
				target = path.Join(path.Dir(name), to)
			}
			if files[target] == nil || anchor != "" && !slices.Contains(ids[target], anchor) {
				t.Errorf("%s: the link %s leads nowhere", name, link)
			}
		}
	}
	if count < 2000 {
		t.Errorf("there are %d links, want the 2000 and more of the navigation", count)
	}
}

// The site works in a browser from files: no page is wider than its window, the search finds pages, colours change, and
// all controls have names.
func TestSitePages(t *testing.T) {
	b := browser.Open(t)
	dir := filepath.Join(t.TempDir(), "a site")
	files := siteFiles(t)
	must.OK(t, site.Write(dir, files))
	address := func(name string) string { return browser.File(filepath.Join(dir, filepath.FromSlash(name))) }
	p := b.Page(address("index.html"))
	for _, width := range []int64{390, 1280, 3840} {
		p.Resize(width, 900)
		for _, dark := range []bool{false, true} {
			p.Dark(dark)
			p.Shot(fmt.Sprintf("site-%d-%t", width, dark))
		}
	}
	p.Dark(false)
	p.Resize(390, 800)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool { return path.Ext(name) != ".html" })
	for _, name := range long.Sample(names, 6) {
		p.Go(address(name))
		if wider := p.Overflow(); wider > 0 {
			t.Errorf("%s is %d pixels wider than a window of 390", name, wider)
		}
	}
	p.Go(address("docs/training.html"))
	p.Click(".menu")
	p.Wait(`document.querySelector("#pages").checkVisibility() && document.activeElement.closest("#pages") !== null`)
	if list := p.Unnamed(); len(list) > 0 {
		t.Errorf("controls without a name: %v", list)
	}
	p.Resize(1280, 900)
	if wider := p.Overflow(); wider > 0 {
		t.Errorf("a page is %d pixels wider than a window of 1280", wider)
	}
	var before, after string
	const background = `getComputedStyle(document.body).backgroundColor`
	p.Eval(background, &before)
	p.Click(".theme")
	p.Eval(background, &after)
	if before == after {
		t.Errorf("the colours stay, %s", before)
	}
	p.Go(address("docs/metrics.html"))
	var cut int
	if p.Eval(`Math.max(...[...document.querySelectorAll(".table")].map((t) => t.scrollWidth - t.clientWidth))`, &cut); cut > 0 {
		t.Errorf("a table of the metrics is %d pixels wider than its column in a window of 1280", cut)
	}
	p.Go(address("docs/reference/losses.html"))
	p.Eval(background, &before)
	must.Equal(t, before, after, "the next page forgets the colours")
	p.Press("main", "/")
	p.Wait(`document.activeElement.type === "search"`)
	var typed string
	if p.Eval(`document.activeElement.value`, &typed); typed != "" {
		t.Errorf("the key that leads to the search types %q into it", typed)
	}
	p.Press("[type=search]", "train.accumulate")
	p.Wait(`document.querySelectorAll("[role=option]").length > 0`)
	p.Shot("site-search")
	var first string
	p.Eval(`document.querySelector("[role=option] b").textContent`, &first)
	p.Press("[type=search]", "\r")
	p.Wait(`location.pathname.endsWith(".html") && !location.pathname.endsWith("losses.html") && document.readyState === "complete"`)
	var shown bool
	p.Eval(`document.querySelector("main").textContent.includes("train.accumulate")`, &shown)
	if !shown {
		t.Errorf("the page that the search leads to, %s, does not say train.accumulate", first)
	}
	p.Press("[type=search]", "zyzzyva")
	p.Wait(`document.querySelector("#found").textContent === "Nothing found"`)
}

// The reference has each exit code, and each command with each visible flag.
func TestReferenceCommands(t *testing.T) {
	text := madePages(t)[1].Text
	for _, want := range []string{"## train\n", "## data fetch\n", "`--find-rate`", "`--scale=NAME`",
		"| 130 | stopped by a signal", "`UNRAVEL_DATA`", "### "} {
		if strings.Contains(text, want) == (want == "### ") {
			t.Errorf("commands: %q", want)
		}
	}
	if strings.Contains(text, "worker") {
		t.Error("a hidden command is in the reference")
	}
}

// Every key in the reference has a meaning, and a part registered by a program gets a section.
func TestReferenceKeys(t *testing.T) {
	pages, rows := madePages(t), 0
	for _, p := range pages {
		for line := range strings.Lines(p.Text) {
			if strings.HasPrefix(line, "| `") {
				rows++
				if strings.HasSuffix(strings.TrimSpace(line), "|  |") && !strings.HasSuffix(p.Path, "tables.md") {
					t.Errorf("%s: no meaning: %s", p.Path, line)
				}
			}
		}
	}
	if rows < 500 {
		t.Errorf("there are %d rows, want 500 and more", rows)
	}
	metrics := pages[slices.IndexFunc(pages, func(p docs.ReferencePage) bool { return strings.HasSuffix(p.Path, "/metrics.md") })].Text
	for _, want := range []string{"## mig\n", "Range: 0 to 1. Better: higher.", "Source: Chen et al. 2018", "Range: 0 and more. Better: lower."} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics: no %q", want)
		}
	}
}

// unravel docs writes the site, and rejects folders that it has not made.
func TestDocsCommand(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	o := clitest.OK(t, "docs")
	if !strings.Contains(o.Log, filepath.Join("site", "index.html")) {
		t.Errorf("%v", o)
	}
	must.Read(t, "site/docs/reference/losses.html")
	clitest.OK(t, "docs", "--out", "site")
	must.Write(t, "mine.txt", "")
	clitest.Mistake(t, clitest.Run(t, "docs", "--out", "."), 1, "the folder holds files that unravel docs has not made, such as mine.txt")
}

// CITATION.cff uses keys of the Citation File Format 1.2.0, with values of their types.
func TestCitation(t *testing.T) {
	type author struct {
		Name   string `yaml:"name"`
		Family string `yaml:"family-names"`
		Given  string `yaml:"given-names"`
	}
	type work struct {
		Type       string   `yaml:"type"`
		Title      string   `yaml:"title"`
		Year       int      `yaml:"year"`
		Authors    []author `yaml:"authors"`
		URL        string   `yaml:"url"`
		Notes      string   `yaml:"notes"`
		Conference struct {
			Name string `yaml:"name"`
		} `yaml:"conference"`
	}
	var c struct {
		Version    string   `yaml:"cff-version"`
		Message    string   `yaml:"message"`
		Title      string   `yaml:"title"`
		Abstract   string   `yaml:"abstract"`
		Type       string   `yaml:"type"`
		Authors    []author `yaml:"authors"`
		License    string   `yaml:"license"`
		Code       string   `yaml:"repository-code"`
		Keywords   []string `yaml:"keywords"`
		References []work   `yaml:"references"`
	}
	must.OK(t, config.Load("CITATION.cff", must.Read(t, filepath.Join("..", "CITATION.cff")), &c))
	if c.Version != "1.2.0" || c.Message == "" || c.Title == "" || len(c.Authors) == 0 || c.Type != "software" ||
		!strings.HasPrefix(docs.Repository, c.Code) {
		t.Errorf("%+v", c)
	}
	readme := string(must.Read(t, filepath.Join("..", "README.md")))
	for _, r := range c.References {
		if !strings.Contains(readme, r.URL) || r.Year < 2000 || len(r.Authors) == 0 || !strings.HasPrefix(r.URL, "https://") {
			t.Errorf("README.md does not link to %q, or it lacks something: %+v", r.URL, r)
		}
	}
	must.Equal(t, len(c.References), 5, "there are", "papers")
}

// The reference lists every file of a run.
func TestReferenceFiles(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	must.Write(t, "run.yaml", clitest.Short(t, "quickstart"))
	clitest.OK(t, "train", "run.yaml", "train.keep={best: dlsbd}", "metrics={final: [dlsbd], during: [dlsbd], every: 1}", "--run", "made")
	count := 0
	err := filepath.WalkDir("made", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		name := strings.TrimPrefix(filepath.ToSlash(p), "made/")
		if !slices.ContainsFunc(rundir.Files(), func(f rundir.File) bool { ok, _ := path.Match(f.Name, name); return ok }) {
			t.Errorf("%s is not among the files of a run", name)
		}
		return nil
	})
	if err != nil || count < 12 {
		t.Errorf("%d files, %v", count, err)
	}
}

// The stored pages of docs/reference equal the pages made from this code.
func TestReferenceStored(t *testing.T) {
	dir := filepath.Join("..", filepath.FromSlash(docs.ReferenceFolder))
	const renew = "go run ./cmd/unravel docs --reference " + docs.ReferenceFolder
	all := datasets.Registered.Entries
	defer func() { datasets.Registered.Entries = all }()
	datasets.Registered.Entries = slices.DeleteFunc(slices.Clone(all),
		func(e registry.Entry[datasets.Builder]) bool { return strings.HasPrefix(e.Name, "test-") })
	pages := madePages(t)
	for _, p := range pages {
		stored, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(p.Path)))
		if err != nil || string(stored) != p.Text {
			t.Errorf("%s is not what the code makes (%v): run %s", p.Path, err, renew)
		}
	}
	if stored, err := filepath.Glob(filepath.Join(dir, "*.md")); err != nil || len(stored) != len(pages) {
		t.Errorf("%s holds %d pages, want %d: run %s", docs.ReferenceFolder, len(stored), len(pages), renew)
	}
}
