package site

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

type page struct {
	name     string // path of the Markdown
	source   []byte
	root     ast.Node
	title    string
	headings []heading
}

// heading is a position in a page that links can refer to.
type heading struct {
	Level    int
	ID, Text string
	node     ast.Node
}

// markdown reads the pages: CommonMark with GitHub's tables and addresses.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Linkify, extension.Strikethrough))

func parse(name string, source []byte) (*page, error) {
	p := &page{name: name, source: source}
	p.root = markdown.Parser().Parse(text.NewReader(source))
	ids := slugs{}
	err := ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.HTMLBlock, *ast.RawHTML:
			return ast.WalkStop, fmt.Errorf("%s: there is HTML; want Markdown only", name)
		case *ast.Heading:
			words := p.text(n)
			p.headings = append(p.headings, heading{n.Level, ids.next(words), words, n})
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	if len(p.headings) == 0 || p.headings[0].Level != 1 || p.root.FirstChild() != p.headings[0].node {
		return nil, fmt.Errorf("%s: want a heading of the first level at the beginning, # Title", name)
	}
	for _, h := range p.headings[1:] {
		if h.Level == 1 {
			return nil, fmt.Errorf("%s: %q is a second heading of the first level; want one", name, h.Text)
		}
	}
	p.title = p.headings[0].Text
	return p, nil
}

// text returns the visible text of a node, without markup.
func (p *page) text(n ast.Node) string {
	var b strings.Builder
	// The visitor returns no errors.
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock || n.Kind() == extast.KindTableCell {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(util.ResolveEntityNames(util.UnescapePunctuations(n.Segment.Value(p.source))))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(p.source))
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(p.source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

type slugs map[string]int // creates the anchors of a page's headings in the same way as GitHub

func (s slugs) next(words string) string {
	slug := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return r
		}
		return -1
	}, strings.ToLower(words))
	n := s[slug]
	s[slug]++
	if n > 0 {
		numbered := fmt.Sprintf("%s-%d", slug, n)
		s[numbered]++
		return numbered
	}
	return slug
}

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

type link struct {
	Title, URL string
	Here       bool
}

type group struct {
	Title string
	Links []link
}

type view struct {
	Site, Title, Summary, Version string
	Root                          string // way from the page to the site's folder: "", "../" ...
	Front                         link
	Groups                        []group
	Contents                      []heading
	Body                          template.HTML
	Before, After                 *link
}

// write adds the page at an index of the order.
func (b *builder) write(at int) error {
	p := b.pages[b.order[at]]
	here := b.source.address(p.name)
	to := func(name string) link {
		short, _, _ := strings.Cut(b.pages[name].title, ": ")
		return link{short, relative(here, b.source.address(name)), name == p.name}
	}
	v := view{Site: b.source.Name, Title: p.title, Summary: b.summary(p), Version: b.source.Version,
		Root: strings.Repeat("../", strings.Count(here, "/")), Front: to(b.source.Front)}
	for _, g := range b.source.Groups {
		shown := group{Title: g.Title}
		for _, name := range g.Pages {
			shown.Links = append(shown.Links, to(name))
		}
		v.Groups = append(v.Groups, shown)
	}
	if at > 0 {
		v.Before = new(to(b.order[at-1]))
	}
	if at+1 < len(b.order) {
		v.After = new(to(b.order[at+1]))
	}
	for _, h := range p.headings {
		if h.Level == 2 || h.Level == 3 {
			v.Contents = append(v.Contents, h)
		}
	}
	if len(v.Contents) < 2 {
		v.Contents = nil
	}
	body, err := b.body(p)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	v.Body = template.HTML(body) // our pages contain no HTML
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, v); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	b.files[here] = out.Bytes()
	return nil
}

const maxSummary = 300 // maximum length, in bytes, of a page's description for search engines

func (b *builder) summary(p *page) string {
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() != ast.KindParagraph {
			continue
		}
		words := p.text(n)
		if len(words) > maxSummary {
			words = words[:strings.LastIndexByte(words[:maxSummary], ' ')] + " ..."
		}
		return words
	}
	return ""
}

func (b *builder) body(p *page) (string, error) {
	var out bytes.Buffer
	r := renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(&blocks{b, p}, 100), // takes precedence over goldmark's
		util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		util.Prioritized(html.NewRenderer(), 1000)))
	err := r.Render(&out, p.source, p.root)
	return out.String(), err
}

// indexFile is the search index of pages. It is a script, because pages opened from disk cannot fetch files.
const indexFile = "search-index.js"

// section is an entry of the index: the text below a heading.
type section struct {
	URL     string `json:"u"` // from the site's folder
	Title   string `json:"t"` // of the page
	Heading string `json:"h"` // empty: the beginning of the page
	Text    string `json:"x"`
}

// index returns the script with the sections of all pages.
func (b *builder) index() ([]byte, error) {
	var lines [][]byte
	for _, name := range b.order {
		for _, s := range b.sections(b.pages[name]) {
			text, err := json.Marshal(s) // Marshal escapes <, > and &
			if err != nil {
				return nil, err
			}
			lines = append(lines, text)
		}
	}
	return fmt.Appendf(nil, "\"use strict\";\n\nUnravel.pages = [\n%s\n];\n", bytes.Join(lines, []byte(",\n"))), nil
}

func (b *builder) sections(p *page) (list []section) {
	at := b.source.address(p.name)
	next := 0
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading && next < len(p.headings) {
			s := section{URL: at, Title: p.title}
			if h := p.headings[next]; h.Level > 1 {
				s.URL, s.Heading = at+"#"+h.ID, h.Text
			}
			list = append(list, s)
			next++
			continue
		}
		last := &list[len(list)-1]
		if last.Text != "" {
			last.Text += " "
		}
		last.Text += p.text(n)
	}
	return list
}
