// Package docs has the commands list and docs, which print all names for configs and command lines as text, JSON and
// pages.
package docs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel"
	"github.com/unravel-ml/unravel/cli/internal/findings"
	"github.com/unravel-ml/unravel/cli/internal/site"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Repository is the base of links to files that are not on the site.
const Repository = "https://github.com/unravel-ml/unravel/blob/main/"

// Command is `unravel docs`.
type Command struct {
	Out       string `default:"site" placeholder:"site" writes:"folder" help:"Folder to write the site to; open index.html in it." detail:"The folder must be new, empty or from an earlier call of this command."`
	Reference string `placeholder:"DIR" help:"Folder to write the pages of the reference to, as Markdown, instead of the site."`
	Man       string `placeholder:"FILE" help:"File to write the manual page unravel(1) to, instead of the site."`
	Results   string `placeholder:"FILE" writes:".md" help:"File to write the page of results to, as Markdown from the ledger, instead of the site."`
}

func (c *Command) Run(ctx context.Context, k *kong.Kong, s *ui.Streams) error {
	if c.Results != "" {
		page, err := ResultsPage(ctx)
		if err == nil {
			err = ui.WriteFile(c.Results, rundir.Bytes(page))
		}
		if err == nil {
			fmt.Fprintf(s.Log, "written to %s\n", c.Results)
		}
		return err
	}
	if c.Man != "" {
		text, err := Manual(k.Model)
		if err != nil {
			return err
		}
		return ui.WriteFile(c.Man, rundir.Bytes([]byte(text)))
	}
	reference, err := ReferencePages(k.Model)
	if err != nil {
		return err
	}
	if c.Reference != "" {
		files := map[string][]byte{}
		for _, p := range reference {
			files[path.Base(p.Path)] = []byte(p.Text)
		}
		err := site.Write(c.Reference, files)
		if err == nil {
			fmt.Fprintf(s.Log, "%d pages of the reference are in %s\n", len(files), c.Reference)
		}
		return err
	}
	source, err := Documents(reference)
	if err != nil {
		return err
	}
	files, err := site.Build(source)
	if err != nil {
		return err
	}
	if err = site.Write(c.Out, files); err == nil {
		fmt.Fprintf(s.Log, "%d pages are in %s; open %s\n", len(source.Pages), c.Out, filepath.Join(c.Out, "index.html"))
	}
	return err
}

const frontPage = "README.md" // first page of a site

// Documents returns the source of the site: the embedded pages, and this program's reference.
func Documents(reference []ReferencePage) (site.Source, error) {
	all := unravel.Documents()
	s := site.Source{Name: "Unravel", Version: version.Name(), Pages: map[string][]byte{}, Files: all, Front: frontPage,
		Repository: Repository}
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
	group := site.Group{Title: "Reference"}
	for _, p := range reference {
		s.Pages[p.Path] = []byte(p.Text)
		group.Pages = append(group.Pages, p.Path)
	}
	s.Groups = append(s.Groups, group)
	return s, nil
}

// ResultsPage returns the page of results of all tables. Trained tables use the ledger.
func ResultsPage(ctx context.Context) ([]byte, error) {
	var all []*tables.Result
	for _, name := range tables.Names() {
		t, err := tables.Open(name)
		if err != nil {
			return nil, err
		}
		r, err := Recorded(ctx, t)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	papers, err := findings.Papers()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = findings.Write(&b, all, papers)
	return b.Bytes(), err
}

// Recorded computes a table without times, which depend on the machine, at the largest scale in the ledger.
func Recorded(ctx context.Context, t *tables.Table) (*tables.Result, error) {
	o := tables.Options{Ledger: t.Ledger(), RunsOnly: t.Timed()}
	if t.Trains() || t.Quotes() {
		largest, err := t.Held(o)
		if err != nil {
			return nil, err
		}
		fallback := tables.MediumScale // for a table without runs
		if _, err := t.Scales.Find(fallback); err != nil {
			fallback = tables.QuickScale
		}
		o.Scale = cmp.Or(largest, fallback)
	}
	return t.Compute(ctx, o)
}
