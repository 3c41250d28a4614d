package site

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"

	"github.com/yuin/goldmark/ast"
)

// links points the links of a page to files of the site, and copies the pictures of the page.
func (b *builder) links(p *page) error {
	var mistakes []error
	// The visitor returns no errors.
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.Link:
			var to string
			if to, err = b.resolve(p, string(n.Destination)); err == nil {
				n.Destination = []byte(to)
			}
		case *ast.Image:
			err = b.picture(p, string(n.Destination))
			if p.text(n) == "" {
				err = errors.Join(err, fmt.Errorf("%s: the picture %s has no description; want ![description](%[2]s)",
					p.name, n.Destination))
			}
		}
		if err != nil {
			mistakes = append(mistakes, err)
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(mistakes...)
}

// resolve returns the target of a page's link within the site.
func (b *builder) resolve(p *page, destination string) (string, error) {
	u, err := url.Parse(destination)
	if err != nil {
		return "", fmt.Errorf("%s: link %q: %w", p.name, destination, err)
	}
	if u.IsAbs() {
		return destination, nil
	}
	target, name := p, p.name
	if u.Path != "" {
		name = path.Join(path.Dir(p.name), u.Path)
		target = b.pages[name]
	}
	switch {
	case target == nil && !fs.ValidPath(name):
		return "", fmt.Errorf("%s: the link %s leads out of the project", p.name, destination)
	case target == nil && b.exists(name):
		return relative(b.source.address(p.name), name), b.take(name)
	case target == nil && path.Ext(name) == ".md":
		return "", fmt.Errorf("%s: the link %s leads nowhere: there is no page %s", p.name, destination, name)
	case target == nil:
		return b.source.Repository + name, nil
	case u.Fragment != "" && !slices.ContainsFunc(target.headings, func(h heading) bool { return h.ID == u.Fragment }):
		return "", fmt.Errorf("%s: the link %s leads nowhere: %s has no heading #%s", p.name, destination, name, u.Fragment)
	}
	to := ""
	if target != p {
		to = relative(b.source.address(p.name), b.source.address(name))
	}
	if u.Fragment != "" {
		to += "#" + u.EscapedFragment()
	}
	return cmp.Or(to, path.Base(b.source.address(name))), nil
}

func (b *builder) picture(p *page, destination string) error {
	name := path.Join(path.Dir(p.name), destination)
	if !fs.ValidPath(name) || !b.exists(name) {
		return fmt.Errorf("%s: there is no picture %s", p.name, destination)
	}
	return b.take(name)
}

func (b *builder) exists(name string) bool {
	info, err := fs.Stat(b.source.Files, name)
	return err == nil && info.Mode().IsRegular()
}

func (b *builder) take(name string) error {
	content, err := fs.ReadFile(b.source.Files, name)
	if err == nil {
		b.files[name] = content
	}
	return err
}
