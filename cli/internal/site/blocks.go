package site

import (
	"bytes"
	"fmt"
	"html/template"
	"image"
	"path"

	_ "image/gif" // sizes of pictures
	_ "image/jpeg"
	_ "image/png"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// blocks renders nodes in this site's way: headings with anchors, code with colours, wide tables, and pictures.
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
	var h heading
	for _, h = range r.p.headings {
		if h.node == n {
			break
		}
	}
	if entering {
		fmt.Fprintf(w, `<h%d id="%s">`, level, template.HTMLEscapeString(h.ID))
		return ast.WalkContinue, nil
	}
	if level > 1 {
		fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to this section">#</a>`, template.HTMLEscapeString(h.ID))
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

// table puts a table into a box that scrolls if the table is wide.
func (r *blocks) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, err := w.WriteString("<div class=\"table\" role=\"region\" aria-label=\"Table\" tabindex=\"0\"><table>\n")
		return ast.WalkContinue, err
	}
	_, err := w.WriteString("</table></div>\n")
	return ast.WalkContinue, err
}

// image gives the size of a picture, which keeps the text below it in place during loading.
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
