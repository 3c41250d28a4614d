package cli

import (
	"context"
	"fmt"
	"io/fs"
	"path"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/train/report/site"
	"github.com/unravel-ml/unravel/train/rundir"
)

// repository is the link target for files that the site does not contain.
const repository = "https://github.com/unravel-ml/unravel/blob/main/"

// docsCommand is `unravel docs`.
type docsCommand struct {
	Out       string `default:"site" placeholder:"DIR" writes:"folder" help:"Folder to write the site to; open index.html in it." detail:"The folder must be new, empty or from an earlier call of this command."`
	Reference string `placeholder:"DIR" help:"Folder to write the pages of the reference to, as Markdown, instead of the site."`
	Man       string `placeholder:"FILE" help:"File to write the manual page unravel(1) to, instead of the site."`
	Results   string `placeholder:"FILE" writes:".md" help:"File to write the page of results to, as Markdown from the ledger, instead of the site."`
}

// Run writes the site, the reference or the page of results.
func (c *docsCommand) Run(ctx context.Context, k *kong.Kong, s *streams) error {
	if c.Results != "" {
		return writeResults(ctx, s, c.Results)
	}
	if c.Man != "" {
		return writeOut(c.Man, rundir.Bytes([]byte(manual(k.Model))))
	}
	reference, err := referencePages(k.Model)
	if err != nil {
		return err
	}
	if c.Reference != "" {
		files := map[string][]byte{}
		for _, p := range reference {
			files[path.Base(p.path)] = []byte(p.text)
		}
		if err := site.Write(c.Reference, files); err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.log, "%d pages of the reference are in %s\n", len(files), c.Reference)
		return err
	}
	source, err := documents(reference)
	if err != nil {
		return err
	}
	files, err := site.Build(source)
	if err != nil {
		return err
	}
	if err := site.Write(c.Out, files); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.log, "%d pages are in %s; open %s\n", len(source.Pages), c.Out, path.Join(c.Out, "index.html"))
	return err
}

// frontPage is the first page of a site.
const frontPage = "README.md"

// documents returns the source of the site: the embedded pages, and this program's reference.
func documents(reference []referencePage) (site.Source, error) {
	all := unravel.Documents()
	s := site.Source{Name: "Unravel", Version: version.Name(), Pages: map[string][]byte{}, Files: all, Front: frontPage, Repository: repository}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/papers/*.md", "docs/decisions/*.md"} {
		names, err := fs.Glob(all, pattern)
		if err != nil {
			return s, err
		}
		for _, name := range names {
			if s.Pages[name], err = fs.ReadFile(all, name); err != nil {
				return s, err
			}
		}
	}
	const order = "docs/pages.yaml"
	text, err := fs.ReadFile(all, order)
	if err != nil {
		return s, err
	}
	if err := config.Load(order, text, &s.Groups); err != nil {
		return s, err
	}
	made := site.Group{Title: "Reference"}
	for _, p := range reference {
		s.Pages[p.path] = []byte(p.text)
		made.Pages = append(made.Pages, p.path)
	}
	s.Groups = append(s.Groups, made)
	return s, nil
}
