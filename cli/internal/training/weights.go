package training

import (
	"cmp"
	"context"
	_ "embed" // for the model card
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Formats of weights.
const safetensorsFormat, onnxFormat = "safetensors", "onnx"

// Export is `unravel export --run DIR`.
type Export struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	inputs.WeightFlags
	Format string `default:"" enum:"safetensors,onnx," placeholder:"FORMAT" help:"Format of the file: safetensors (parameters by name) or onnx (a network of operator set 17)." detail:"The name of --out gives the default, which is otherwise safetensors."`
	Part   string `enum:"encoder,decoder," default:"" placeholder:"PART" help:"Part of the model to write: encoder or decoder." detail:"The default is all parameters for safetensors, and the encoder for onnx."`
	Half   bool   `help:"Round the weights to float16, half the size (safetensors only)."`
	Layout string `enum:"unravel,pytorch" default:"unravel" help:"Order of axes: unravel for images [N, H, W, C], pytorch for images [N, C, H, W]." detail:"In safetensors, pytorch also means names and shapes of a state_dict."`
	Out    string `placeholder:"FILE" writes:".safetensors,.onnx" help:"File to write (default: weights.safetensors, encoder.onnx or decoder.onnx in the run's folder)."`
	Card   string `placeholder:"FILE" writes:".md" help:"Also write a model card: a Markdown file with training, metrics, use and config."`
	JSON   bool   `name:"json" help:"Print one JSON object on standard output."`
}

type exported struct {
	File     string           `json:"file"`
	Format   string           `json:"format"`
	Part     string           `json:"part,omitempty"`
	Layout   string           `json:"layout"`
	Tensors  int              `json:"tensors,omitempty"`
	Elements int              `json:"elements"`          // number of elements of the parameters and states in the file
	Network  *weights.Network `json:"network,omitempty"` // of onnx
	trained  int              // number of elements without states
}

func (c *Export) Run(ctx context.Context, s *ui.Streams) error {
	if err := c.chooseFormat(); err != nil {
		return err
	}
	e, err := c.Open(ctx, c.Dir, s)
	if err != nil {
		return err
	}
	source, err := weightsOf(e)
	if err != nil {
		return err
	}
	source.Half = c.Half
	part := weights.Part(c.Part)
	if c.Format == onnxFormat {
		part = cmp.Or(part, weights.Encoder)
	}
	name := cmp.Or(string(part), "weights") + "." + c.Format
	file := cmp.Or(c.Out, filepath.Join(c.Dir, c.FileName(name)))
	r := exported{File: file, Format: c.Format, Part: string(part), Layout: c.Layout}
	if r.Elements, r.trained, err = elementsOf(source, part); err != nil {
		return err
	}
	layout := weights.Layout(c.Layout)
	if err := ui.WriteFile(r.File, func(w io.Writer) error {
		if c.Format == onnxFormat {
			r.Network, err = source.WriteONNX(w, part, layout)
		} else {
			r.Tensors, err = source.WriteSafetensors(w, part, layout)
		}
		return err
	}); err != nil {
		return err
	}
	if c.Card != "" {
		card, err := newCard(c.Dir, e, source, r)
		if err == nil {
			card.Best, card.Average = c.Best, c.Average
			err = ui.WriteFile(c.Card, func(w io.Writer) error { return cardTemplate.Execute(w, card) })
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, r)
	}
	if c.Format == onnxFormat {
		fmt.Fprintf(s.Log, "%s of %s in %s: from %s to %s\n", part, c.Dir, r.File, sizes(r.Network.Input, layout),
			sizes(r.Network.Output, layout))
	} else {
		fmt.Fprintf(s.Log, "%s of %s in %s, %s\n", wording.Count(r.Tensors, "tensor"), c.Dir, r.File, layoutText[layout])
	}
	return nil
}

// elementsOf counts the elements of the parameters and states of a part, or of the whole model, and of those that train.
func elementsOf(s *weights.Source, part weights.Part) (all, trained int, err error) {
	params := s.Model.Params()
	if part == "" {
		return params.Count(), params.Trainable(), nil
	}
	network, err := s.Describe(part)
	if err != nil {
		return 0, 0, err
	}
	used := map[string]bool{}
	for _, l := range network.Layers {
		for _, name := range l.Parameters {
			used[name] = true
		}
	}
	for name := range used {
		n := params.Get(name).Shape().TotalSize()
		if all += n; !params.IsState(name) {
			trained += n
		}
	}
	return all, trained, nil
}

var layoutText = map[weights.Layout]string{
	weights.Native:  "for images [N, H, W, C] (layout unravel; --layout pytorch writes a state_dict)",
	weights.PyTorch: "for images [N, C, H, W] (layout pytorch: a state_dict)",
}

func (c *Export) chooseFormat() error {
	named := strings.TrimPrefix(strings.ToLower(filepath.Ext(c.Out)), ".")
	if named != safetensorsFormat && named != onnxFormat { // a pipe, or no name
		named = ""
	}
	if c.Format != "" && named != "" && c.Format != named {
		return ui.Usagef("--out %s: this ending is for the format %s; want a name that ends in .%s, or --format %s",
			c.Out, named, c.Format, named)
	}
	if c.Format = cmp.Or(c.Format, named, safetensorsFormat); c.Half && c.Format != safetensorsFormat {
		return ui.Usagef("--half belongs to --format %s: networks in ONNX have float32", safetensorsFormat)
	}
	return nil
}

func weightsOf(e *train.Experiment) (*weights.Source, error) {
	text, err := e.Config.Encode()
	if err != nil {
		return nil, err
	}
	return &weights.Source{Model: e.Model, Data: models.DataOf(e.Data), Views: e.Config.Views, Config: string(text),
		Version: version.Code()}, nil
}

// sizes writes the shape of an input or output for people: [N, 64, 64, 3].
func sizes(shape []int, l weights.Layout) string {
	if l == weights.PyTorch && len(shape) == 4 {
		shape = []int{shape[0], shape[3], shape[1], shape[2]}
	}
	list := make([]string, len(shape))
	for i, n := range shape {
		if list[i] = fmt.Sprint(n); n < 0 {
			list[i] = "N"
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

//go:embed card.md.tmpl
var cardText string

var cardTemplate = template.Must(template.New("card").Funcs(template.FuncMap{"number": report.Number}).Parse(cardText))

// modelCard is the data of a model card: Markdown with the front matter of Hugging Face's model cards.
type modelCard struct {
	exported
	Config  *train.Config
	Text    string         // the config as YAML
	Best    bool           // the file has the weights of the best evaluation
	Average bool           // the file has the moving average of the weights
	Shape   [3]int         // of the images
	Trained int            // number of elements of the parameters in the file, without states
	Width   int            // columns of a code
	Record  *rundir.Record // nil: the run has not ended
	Metrics []metrics.Result
}

func newCard(dir string, e *train.Experiment, source *weights.Source, x exported) (*modelCard, error) {
	h, w, channels := e.Data.ImageShape()
	c := &modelCard{exported: x, Config: &e.Config, Text: source.Config, Shape: [3]int{h, w, channels},
		Width: e.Coder.Width(), Trained: x.trained}
	c.File = filepath.Base(x.File)
	var err error
	if c.Record, err = rundir.ReadRecord(dir); err != nil {
		return nil, err
	}
	if !rundir.Ended(dir) {
		c.Record = nil
		return c, nil
	}
	stored, err := rundir.ReadFile(dir, rundir.MetricsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(stored, &c.Metrics)
	}
	return c, err
}

// Import is `unravel import [CONFIG] [key=value ...] --from FILE --run DIR`.
type Import struct {
	Args    []string `arg:"" optional:"" name:"config" help:"YAML file or embedded experiment, then overrides key.path=value." detail:"The default is the experiment that the file was exported from."`
	From    string   `required:"" placeholder:"FILE" help:"Safetensors file, written by unravel export or another program." detail:"The file needs no checksum."`
	Dir     string   `name:"run" required:"" placeholder:"DIR" help:"Folder of the new run."`
	Layout  string   `enum:"unravel,pytorch," default:"" placeholder:"LAYOUT" help:"Order of axes in the file, unravel or pytorch (default: the order that the file states, or unravel)." detail:"pytorch means filters [out, in, k, k], dense layers [out, in] and names of a state_dict."`
	Rename  []string `placeholder:"OLD=NEW" sep:"none" help:"Replace OLD by NEW at the beginning of names in the file; repeatable." detail:"The command tries several renamings in order, and the first that fits counts."`
	Partial bool     `help:"Load only tensors that the model has; missing parameters keep their initial values."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output."`
}

func (c *Import) Run(s *ui.Streams) error {
	f, err := weights.Open(c.From)
	if err != nil {
		return err
	}
	settings, err := c.config(f)
	if err != nil {
		return err
	}
	o := weights.LoadOptions{Layout: weights.Layout(c.Layout), Partial: c.Partial}
	for _, r := range c.Rename {
		from, to, ok := strings.Cut(r, "=")
		if !ok || from == "" {
			return ui.Usagef("--rename %q: want OLD=NEW, such as net.0.=encoder/conv1/", r)
		}
		o.Renames = append(o.Renames, [2]string{from, to})
	}
	var loaded *weights.Loaded
	if _, err = train.Begin(settings, c.Dir, nil, func(e *train.Experiment) error {
		source, err := weightsOf(e)
		if err == nil {
			loaded, err = source.Load(f, o)
		}
		return err
	}); err != nil {
		return err
	}
	if c.JSON {
		return ui.WriteJSON(s.Out, struct {
			Run string `json:"run"`
			*weights.Loaded
		}{c.Dir, loaded})
	}
	if replaced := ui.Once(c.Args); replaced != nil {
		fmt.Fprintln(s.Log, "note:", replaced)
	}
	fmt.Fprintf(s.Log, "%s of %s in %s\n", wording.Count(loaded.Tensors, "tensor"), c.From, c.Dir)
	if loaded.Warning != "" {
		fmt.Fprintln(s.Log, "note:", loaded.Warning)
	}
	if n := len(loaded.Missing); n > 0 {
		fmt.Fprintf(s.Log, "not in the file: %s of the model, such as %s\n", wording.Count(n, "tensor"), loaded.Missing[0])
	}
	if n := len(loaded.Counters); n > 0 {
		fmt.Fprintf(s.Log, "%d batch counters are left out, such as %s: no network needs them\n", n, loaded.Counters[0])
	}
	if n := len(loaded.Unknown); n > 0 {
		fmt.Fprintf(s.Log, "left out: %s of the file, such as %s\n", wording.Count(n, "tensor"), loaded.Unknown[0])
	}
	return nil
}

// config reads the experiment named by the arguments or by the file.
func (c *Import) config(f *weights.File) (train.Config, error) {
	if len(c.Args) > 0 && !strings.Contains(c.Args[0], "=") {
		settings, _, err := (&Train{Args: c.Args}).Config()
		return settings, err
	}
	if f.Config() == "" {
		return train.Config{}, ui.Usagef("%s does not name its experiment; want a config, such as unravel import vae/square --from %s --run %s", c.From, c.From, c.Dir)
	}
	return train.LoadWhole(c.From+": config", []byte(f.Config()), c.Args...)
}
