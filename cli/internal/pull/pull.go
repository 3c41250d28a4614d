// Package pull has the command pull, which fetches trained models.
package pull

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/fetch"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/pretrained"
	"github.com/unravel-ml/unravel/internal/report"
)

// Command is `unravel pull [NAME]`.
type Command struct {
	Name string `arg:"" optional:"" help:"Name of the model (default: list the models)."`
	From string `placeholder:"FILE|DIR|URL" help:"File, folder or mirror URL of the archive (default: the release on GitHub)." detail:"A URL names a file, or a folder if it ends with /."`
	Out  string `placeholder:"DIR" help:"Folder of the run (default: runs/NAME)."`
	JSON bool   `name:"json" help:"Print one JSON object on standard output."`
}

func folder() string { return filepath.Join(cache.Root(), "models") }

func (c *Command) Run(ctx context.Context, s *ui.Streams) error {
	if c.Name == "" {
		if c.From != "" || c.Out != "" {
			return ui.Usagef("--from and --out belong to the name of a model; `unravel pull` lists the names")
		}
		return c.list(s)
	}
	m, err := pretrained.Lookup(c.Name)
	if err != nil {
		return ui.Usage(err)
	}
	c.Out = cmp.Or(c.Out, runOf(m))
	ui.Allow(ctx, ui.SavePatience)
	path, err := c.fetch(ctx, s, m)
	if err != nil {
		return err
	}
	a, err := pretrained.Open(path)
	if err != nil {
		return fmt.Errorf("%w; remove the file, and pull the model again", err)
	}
	held, err := lock.Wait(ctx, filepath.Join(folder(), ".lock"), func() {
		fmt.Fprintln(s.Log, "waiting for another process that pulls a model")
	})
	if err != nil {
		return err
	}
	defer held.Unlock() // the end of the process also releases the lock
	already, err := a.Install(c.Out)
	if err != nil {
		return err
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, struct {
			Name    string             `json:"name"`
			Run     string             `json:"run"`
			Already bool               `json:"already"` // the folder already had the model
			Ledger  pretrained.Source  `json:"ledger"`
			Metrics []pretrained.Value `json:"metrics"`
		}{m.Name, c.Out, already, a.Ledger, a.Metrics})
	}
	verb := "is in"
	if already {
		verb = "is already in"
	}
	fmt.Fprintf(s.Out, "%s %s %s: %s on %s\n", m.Name, verb, c.Out, m.Method, m.Dataset)
	for _, v := range a.Metrics {
		if v.Name == m.Metric {
			fmt.Fprintf(s.Out, "  %s %s (in the ledger, before rounding to float16: %s)\n",
				v.Name, report.Number(v.Rounded), report.Number(v.Ledger))
		}
	}
	fmt.Fprintf(s.Out, "  unravel eval --run %s measures it\n", c.Out)
	return nil
}

func runOf(m pretrained.Model) string { return filepath.Join("runs", m.Name) }

// fetch downloads the archive to the folder of archives, and returns its path.
func (c *Command) fetch(ctx context.Context, s *ui.Streams, m pretrained.Model) (string, error) {
	t := ui.NewTransfer(s.Log)
	defer t.End()
	shown := cache.WithProgress(ctx, t.Report)
	found, err := fetch.Files(shown, folder(), []source.File{m.File()}, fetch.Options{From: c.From, Log: plain.Logger(t)})
	for _, f := range found {
		if !f.Already {
			fmt.Fprintf(t, "%s: %s from %s, with the known hash\n", f.Name, memory.Text(float64(f.Found.Size)), f.Found.From)
		}
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("model %s: %w; want %s (%d bytes) in the folder %s, or named by --from",
			m.Name, err, m.Archive(), m.Size, folder())
	}
	return filepath.Join(folder(), m.Archive()), err
}

type listed struct {
	Name    string  `json:"name"`
	Method  string  `json:"method"`
	Dataset string  `json:"dataset"`
	Bytes   int64   `json:"bytes"`
	Metric  string  `json:"metric"`
	Value   float64 `json:"value"`         // value of the run in the ledger
	Run     string  `json:"run,omitempty"` // its usual folder, if that is a run
}

func (c *Command) list(s *ui.Streams) error {
	var all []listed
	for _, m := range pretrained.Models() {
		l := listed{Name: m.Name, Method: m.Method, Dataset: m.Dataset, Bytes: m.Size, Metric: m.Metric, Value: m.Value}
		if inputs.IsRun(runOf(m)) {
			l.Run = runOf(m)
		}
		all = append(all, l)
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, map[string]any{"models": all})
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMODEL\tDATA SET\tSIZE\tMETRIC\tVALUE\tRUN")
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			l.Name, l.Method, l.Dataset, memory.Text(float64(l.Bytes)), l.Metric, report.Number(l.Value), cmp.Or(l.Run, "-"))
	}
	return w.Flush()
}
