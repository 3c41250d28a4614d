package weights

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/internal/safetensors"
)

// Keys of a file's metadata.
const (
	formatKey  = "unravel.format"
	configKey  = "unravel.config"
	formatName = "weights 1"
)

// WriteSafetensors writes the parameters and states of a model, or of one part unless p is empty, under their names.
// The metadata contain the order of axes, the operations with their tensors and settings, the normalisation of images,
// the spaces of the code, and the model's config. In the layout [PyTorch], names are as in a state_dict.
func (s *Source) WriteSafetensors(w io.Writer, p Part, l Layout) (tensors int, err error) {
	if err := l.check(); err != nil {
		return 0, err
	}
	params := s.Model.Params()
	names := params.Names()
	parts := s.Parts()
	if p != "" {
		parts = []Part{p}
		if names, err = s.parametersOf(p); err != nil {
			return 0, err
		}
	}
	var conversions map[string]conversion
	if l == PyTorch {
		if conversions, err = s.conversions(); err != nil {
			return 0, err
		}
	}
	f := &safetensors.File{}
	for _, name := range names {
		t := params.Get(name)
		for _, a := range layoutTensors(name, t.Shape(), t.Float32s(), l, conversions) {
			var data any = a.data
			if s.Half {
				data = safetensors.Half(a.data)
			}
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: a.name, Shape: a.shape, Data: data})
		}
	}
	if f.Metadata, err = s.metadata(l, parts...); err != nil {
		return 0, err
	}
	return len(f.Tensors), safetensors.Write(w, f)
}

// parametersOf lists the parameters of a part, in the order of their creation.
func (s *Source) parametersOf(p Part) ([]string, error) {
	t, err := s.trace(p)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(s.Model.Params().Names(), func(name string) bool {
		return !slices.ContainsFunc(t.steps, func(x step) bool { return x.parameter == name })
	}), nil
}

var layouts = map[Layout]map[string]string{
	Native: {"images": "[N, H, W, C]", "convolution": "[height, width, in, out]", "transposed convolution": "[height, width, out, in]",
		"dense": "[in, out]", "flatten": "rows, columns, channels", "running": "[1, 2, channels]: means, variances"},
	PyTorch: {"images": "[N, C, H, W]", "convolution": "[out, in, height, width]", "transposed convolution": "[in, out, height, width]",
		"dense": "[out, in]", "flatten": "channels, rows, columns", "running": "running_mean and running_var, [channels]"},
}

func (s *Source) metadata(l Layout, parts ...Part) (map[string]string, error) {
	networks := map[Part]*Network{}
	for _, p := range parts {
		n, err := s.Describe(p)
		if err != nil {
			return nil, err
		}
		networks[p] = n
	}
	type image struct {
		Height   int    `json:"height"`
		Width    int    `json:"width"`
		Channels int    `json:"channels"`
		Pixels   string `json:"pixels"`
		Plain    any    `json:"normalise,omitempty"` // normalisation of the encoder's input
	}
	images := image{s.Data.Height, s.Data.Width, s.Data.Channels, "[0, 1]", nil}
	if s.Data.Real {
		images.Pixels = "any"
	}
	if s.Views != nil {
		if plain := s.Views.Pipeline.Plain(); plain != nil {
			images.Plain = plain
		}
	}
	type space struct {
		Name  string `json:"name"`
		First int    `json:"first"`
		Width int    `json:"width"`
	}
	var spaces []space
	for _, x := range s.Model.Spaces() {
		spaces = append(spaces, space{x.Name, x.First, x.Width})
	}
	metadata := map[string]string{formatKey: formatName, "unravel.layout": string(l),
		"unravel.code_width": strconv.Itoa(s.width())}
	for key, value := range map[string]any{"layouts": layouts[l], "networks": networks, "images": images, "spaces": spaces} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("metadata %s: %w", key, err)
		}
		metadata["unravel."+key] = string(text)
	}
	if s.Config != "" {
		metadata[configKey] = s.Config
	}
	if s.Version != "" {
		metadata["unravel.version"] = s.Version
	}
	return metadata, nil
}
