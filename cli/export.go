package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/weights"
)

// Formats of weights.
const (
	safetensorsFormat = "safetensors"
	onnxFormat        = "onnx"
)

// exportCommand is `unravel export --run DIR`.
type exportCommand struct {
	Dir string `name:"run" required:"" placeholder:"DIR" help:"Folder of the run."`
	weightsFlags
	Format string `default:"" enum:"safetensors,onnx," placeholder:"FORMAT" help:"Format of the file: safetensors (parameters by name) or onnx (a network of operator set 17)." detail:"The name of --out gives the default, which is otherwise safetensors."`
	Part   string `enum:"encoder,decoder," default:"" placeholder:"PART" help:"Part of the model to write: encoder or decoder." detail:"The default is all parameters for safetensors, and the encoder for onnx."`
	Layout string `enum:"unravel,pytorch" default:"unravel" help:"Order of axes: unravel for images [N, H, W, C], pytorch for images [N, C, H, W]." detail:"In safetensors, pytorch also means names and shapes of a state_dict."`
	Out    string `placeholder:"FILE" writes:".safetensors,.onnx" help:"File to write (default: weights.safetensors, encoder.onnx or decoder.onnx in the run's folder)."`
	Card   string `placeholder:"FILE" writes:".md" help:"Also write a model card: a Markdown file with training, metrics, use and config."`
	JSON   bool   `name:"json" help:"Print one JSON object on standard output."`
}

// exported is the output of --json for an export.
type exported struct {
	File     string           `json:"file"`
	Format   string           `json:"format"`
	Part     string           `json:"part,omitempty"`
	Layout   string           `json:"layout"`
	Tensors  int              `json:"tensors,omitempty"`
	Elements int              `json:"elements"`          // number of elements of all the model's parameters
	Network  *weights.Network `json:"network,omitempty"` // of onnx
}

// Run writes the weights of a run.
func (c *exportCommand) Run(ctx context.Context, s *streams) error {
	if err := c.chooseFormat(); err != nil {
		return err
	}
	e, err := c.open(ctx, c.Dir, s)
	if err != nil {
		return err
	}
	source, err := weightsOf(e)
	if err != nil {
		return err
	}
	part, name := weights.Part(c.Part), "weights.safetensors"
	if c.Format == onnxFormat {
		if part == "" {
			part = weights.Encoder
		}
		name = string(part) + ".onnx"
	} else if part != "" {
		name = string(part) + ".safetensors"
	}
	r := exported{File: c.Out, Format: c.Format, Part: string(part), Layout: c.Layout, Elements: e.Model.Params().Count()}
	if r.File == "" {
		r.File = filepath.Join(c.Dir, c.name(name))
	}
	layout := weights.Layout(c.Layout)
	if err := writeOut(r.File, func(w io.Writer) error {
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
		card, err := newCard(c.Dir, e, r)
		if err == nil {
			err = writeOut(c.Card, card.write)
		}
		if err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(r)
	}
	if c.Format == onnxFormat {
		fmt.Fprintf(s.log, "%s of %s in %s: from %s to %s\n", part, c.Dir, r.File, sizes(r.Network.Input, layout), sizes(r.Network.Output, layout))
	} else {
		fmt.Fprintf(s.log, "%d tensors of %s in %s, %s\n", r.Tensors, c.Dir, r.File, layoutText[layout])
	}
	return nil
}

// layoutText describes layouts of safetensors.
var layoutText = map[weights.Layout]string{
	weights.Native:  "for images [N, H, W, C] (layout unravel; --layout pytorch writes a state_dict)",
	weights.PyTorch: "for images [N, C, H, W] (layout pytorch: a state_dict)",
}

// chooseFormat takes the format from the name of the file.
func (c *exportCommand) chooseFormat() error {
	named := strings.TrimPrefix(strings.ToLower(filepath.Ext(c.Out)), ".")
	if named != safetensorsFormat && named != onnxFormat { // a pipe, or no name
		named = ""
	}
	if c.Format != "" && named != "" && c.Format != named {
		return usagef("--out %s: the name is one of %s; want a name that ends in .%s, or --format %s", c.Out, named, c.Format, named)
	}
	c.Format = cmp.Or(c.Format, named, safetensorsFormat)
	return nil
}

// weightsOf returns the model of an experiment with an export's metadata.
func weightsOf(e *train.Experiment) (*weights.Source, error) {
	text, err := e.Config.Encode()
	if err != nil {
		return nil, err
	}
	return &weights.Source{Model: e.Model, Data: models.DataOf(e.Data), Views: e.Config.Views, Config: string(text), Version: version.Code()}, nil
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
