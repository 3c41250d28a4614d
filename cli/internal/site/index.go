package site

import (
	"bytes"
	"encoding/json"

	"github.com/yuin/goldmark/ast"
)

// indexFile is the search index of pages. It is a script, because pages opened from a disk cannot fetch files.
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
	var all []section
	for _, name := range b.order {
		all = append(all, b.sections(b.pages[name])...)
	}
	var out bytes.Buffer
	out.WriteString("\"use strict\";\n\nUnravel.pages = [\n")
	for i, s := range all {
		text, err := json.Marshal(s) // Marshal escapes <, > and &
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		out.Write(text)
	}
	out.WriteString("\n];\n")
	return out.Bytes(), nil
}

// sections cuts a page at its headings.
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
