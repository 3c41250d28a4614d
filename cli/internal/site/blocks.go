package site

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"html/template"
	"image"
	_ "image/gif" // sizes of pictures
	_ "image/jpeg"
	_ "image/png"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// blocks renders nodes for this site: headings with anchors, highlighted code, wide tables, and pictures.
type blocks struct {
	b *builder
	p *page
}

// RegisterFuncs tells goldmark which nodes these are.
func (r *blocks) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHeading, r.heading)
	reg.Register(ast.KindFencedCodeBlock, r.code)
	reg.Register(ast.KindCodeBlock, r.code)
	reg.Register(ast.KindImage, r.image)
	reg.Register(extast.KindTable, r.table)
}

func (r *blocks) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	level := n.(*ast.Heading).Level
	h := r.p.headings[slices.IndexFunc(r.p.headings, func(h heading) bool { return h.node == n })]
	if entering {
		fmt.Fprintf(w, `<h%d id="%s">`, level, template.HTMLEscapeString(h.ID))
		return ast.WalkContinue, nil
	}
	if level > 1 {
		fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to this section">#</a>`,
			template.HTMLEscapeString(h.ID))
	}
	fmt.Fprintf(w, "</h%d>\n", level)
	return ast.WalkContinue, nil
}

func (r *blocks) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok {
		language = string(fenced.Language(source))
	}
	code := string(n.Lines().Value(source))
	fmt.Fprintf(w, "<div class=\"code\"><pre tabindex=\"0\"><code data-language=\"%s\">%s</code></pre></div>\n",
		template.HTMLEscapeString(language), highlight(language, code))
	return ast.WalkSkipChildren, nil
}

// table wraps a table in a box that scrolls if the table is wide.
func (r *blocks) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		text = "<div class=\"table\" role=\"region\" aria-label=\"Table\" tabindex=\"0\"><table>\n"
	}
	_, err := w.WriteString(text)
	return ast.WalkContinue, err
}

// image sets the size of a picture: the text below then does not move during loading.
func (r *blocks) image(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	to := string(n.(*ast.Image).Destination)
	name := path.Join(path.Dir(r.p.name), to)
	c, _, err := image.DecodeConfig(bytes.NewReader(r.b.files[name]))
	if err != nil {
		return ast.WalkStop, fmt.Errorf("the picture %s: %w", to, err)
	}
	to = template.HTMLEscapeString(relative(r.b.source.address(r.p.name), name))
	picture := fmt.Sprintf(`<img src="%s" alt="%s" width="%d" height="%d" loading="lazy" decoding="async">`,
		to, template.HTMLEscapeString(r.p.text(n)), c.Width, c.Height)
	if _, linked := n.Parent().(*ast.Link); !linked {
		picture = fmt.Sprintf(`<a class="picture" href="%s">%s</a>`, to, picture)
	}
	_, err = w.WriteString(picture)
	return ast.WalkSkipChildren, err
}

type piece struct{ code, class string } // code with a class: key, text, number, comment, or none

// highlight returns code as HTML, with classes for comments, texts, numbers and keys of known languages.
func highlight(language, code string) template.HTML {
	var pieces []piece
	switch language {
	case "go":
		pieces = goPieces(code)
	case "yaml":
		pieces = hashPieces(code, true)
	case "sh", "python":
		pieces = hashPieces(code, false)
	default:
		pieces = []piece{{code: code}}
	}
	var b strings.Builder
	for _, p := range pieces {
		text := template.HTMLEscapeString(p.code)
		if p.class != "" {
			text = `<span class="` + p.class + `">` + text + `</span>`
		}
		b.WriteString(text)
	}
	return template.HTML(b.String())
}

// goPieces splits Go code, complete or not, into pieces.
func goPieces(code string) (pieces []piece) {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(code))
	var s scanner.Scanner
	s.Init(file, []byte(code), nil, scanner.ScanComments)
	end := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if literal == "" || literal == "\n" && tok == token.SEMICOLON {
			continue // operators, and inserted semicolons
		}
		start := file.Offset(pos)
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "comment"
		case tok == token.STRING, tok == token.CHAR:
			class = "text"
		case tok == token.INT, tok == token.FLOAT, tok == token.IMAG:
			class = "number"
		case tok.IsKeyword():
			class = "key"
		}
		if start < end || start+len(literal) > len(code) || class == "" {
			continue
		}
		pieces = append(pieces, piece{code: code[end:start]}, piece{code[start : start+len(literal)], class})
		end = start + len(literal)
	}
	return append(pieces, piece{code: code[end:]})
}

// hashTokens find texts, which may hold a #, comments and, in YAML, keys, in groups 1 to 3.
var hashTokens = map[bool]*regexp.Regexp{
	false: regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?:^|\s)(#.*)`),
	true:  regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?:^|\s)(#.*)|([\w./$*-]+):(?:\s|$)`),
}

// hashPieces splits code with # comments into pieces.
func hashPieces(code string, keys bool) (pieces []piece) {
	end := 0
	for _, m := range hashTokens[keys].FindAllStringSubmatchIndex(code, -1) {
		for group, class := range []string{"text", "comment", "key"}[:len(m)/2-1] {
			start, stop := m[2*group+2], m[2*group+3]
			if start < 0 {
				continue
			}
			pieces = append(pieces, piece{code: code[end:start]}, piece{code[start:stop], class})
			end = stop
		}
	}
	return append(pieces, piece{code: code[end:]})
}
