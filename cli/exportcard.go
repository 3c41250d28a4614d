package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// modelCard is the Markdown that describes exported weights, with the front matter of Hugging Face's model cards.
type modelCard struct {
	experiment *train.Experiment
	exported   exported
	record     *rundir.Record // nil: the run has not ended
	metrics    []metrics.Result
	config     string
}

// newCard collects the card of a run's exported weights.
func newCard(dir string, e *train.Experiment, x exported) (*modelCard, error) {
	c := &modelCard{experiment: e, exported: x}
	text, err := e.Config.Encode()
	if err != nil {
		return nil, err
	}
	c.config = string(text)
	if c.record, err = rundir.ReadRecord(dir); err != nil {
		return nil, err
	}
	stored, err := rundir.ReadFile(dir, rundir.MetricsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(stored, &c.metrics)
	}
	return c, err
}

// write writes the card.
func (c *modelCard) write(w io.Writer) error {
	e, x := c.experiment, c.exported
	h, width, channels := e.Data.ImageShape()
	var b strings.Builder
	fmt.Fprintf(&b, "---\nlibrary_name: unravel\ntags: [disentanglement, representation-learning, %s]\n---\n\n", e.Config.Model.Name)
	fmt.Fprintf(&b, "# %s\n\n", e.Config.Name)
	fmt.Fprintf(&b, "A model of the kind `%s`, trained on `%s` with seed %d.\n\n", e.Config.Model.Name, e.Config.Dataset.Name, e.Config.Seed)
	b.WriteString("| | |\n|---|---|\n")
	row := func(name, format string, values ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, fmt.Sprintf(format, values...))
	}
	row("file", "`%s`, %s, layout %s", filepath.Base(x.File), x.Format, x.Layout)
	row("images", "%d x %d x %d (height, width, channels)", h, width, channels)
	row("code", "%d columns", e.Coder.Width())
	row("parameters", "%d", x.Elements)
	if c.record != nil {
		row("training", "%d epochs, %d steps", c.record.Epochs, c.record.Steps)
		row("version", "unravel %s", c.record.Version)
	}
	if len(c.metrics) > 0 {
		b.WriteString("\n## Metrics\n\nOf the codes at the end of training.\n\n| metric | value | better | rows |\n|---|---:|---|---:|\n")
		for _, m := range c.metrics {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %d |\n", m.Name, report.Number(m.Value), m.Better, m.Basis.Rows)
		}
	}
	fmt.Fprintf(&b, "\n## Use\n\n```sh\nunravel import --from %s --run runs/again\nunravel encode --run runs/again --out codes.npy\n```\n", filepath.Base(x.File))
	fmt.Fprintf(&b, "\n## Config\n\n```yaml\n%s```\n", c.config)
	_, err := io.WriteString(w, b.String())
	return err
}
