package docs

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
)

// networkFlags are the flags of `unravel list encoder NAME` and `unravel list decoder NAME`.
type networkFlags struct {
	Image  string `placeholder:"HxWxC" help:"List the layers of an encoder or decoder for images of this shape, such as 64x64x3." detail:"The shape is height, width and channels. The list has shapes, parameters and the FLOP of the forward pass of one image."`
	Codes  int    `default:"10" help:"With --image: number of code columns, the input of a decoder."`
	Layers bool   `help:"Print an encoder or decoder as a list of layers, to copy into a config."`
	JSON   bool   `name:"json" help:"Print one JSON object on standard output." detail:"Without --image, the object has the parts with their options, defaults and sources."`
}

// given reports whether a flag about one network was set.
func (f *networkFlags) given() bool { return f.Image != "" || f.Layers }

// Summary is the output of `unravel list encoder NAME --image`.
type Summary struct {
	Network    string            `json:"network"`
	Input      []int             `json:"input"`
	Layers     []nn.LayerSummary `json:"layers"`
	Parameters int               `json:"parameters"`
	FLOP       float64           `json:"flop"`
}

// network prints an encoder or decoder by name, or the encoder or decoder of a config.
func (f *networkFlags) network(w io.Writer, kind, name string, overrides []string) error {
	s := Summary{Network: kind + " " + name}
	switch isConfig := namesConfig(name); {
	case isConfig && f.Image != "":
		return ui.Usagef("--image belongs to a %s by name; a config takes the images of its data set", kind)
	case !isConfig || f.Layers:
		return f.ofName(w, &s, kind, name, overrides)
	}
	if err := f.ofConfig(&s, kind, name, overrides); err != nil {
		return err
	}
	return f.print(w, &s)
}

// namesConfig reports whether a name is a config (a file or an experiment) instead of an encoder or decoder.
func namesConfig(name string) bool {
	return filepath.Ext(name) == ".yaml" || filepath.Ext(name) == ".yml" || slices.Contains(configs.Names(), name)
}

// ofName prints a registered network, with options changed as in a config.
func (f *networkFlags) ofName(w io.Writer, s *Summary, kind, name string, overrides []string) error {
	var c struct {
		Encoder nn.EncoderChoice `yaml:"encoder"`
		Decoder nn.DecoderChoice `yaml:"decoder"`
	}
	for i, o := range overrides {
		overrides[i] = kind + "." + name + "." + o
	}
	if err := ui.Once(overrides); err != nil {
		return err
	}
	if err := config.Load("arguments", []byte(kind+": {"+strconv.Quote(name)+": {}}"), &c, overrides...); err != nil {
		return ui.Usage(err)
	}
	if f.Layers {
		return printLayers(w, kind, name, c.Encoder.Value, c.Decoder.Value)
	}
	image, err := parseImage(f.Image)
	if err != nil {
		return err
	}
	s.Input = image
	if kind == "encoder" {
		s.Layers, err = nn.SummariseEncoder(c.Encoder.Value, image)
	} else {
		s.Input = []int{f.Codes}
		s.Layers, err = nn.SummariseDecoder(c.Decoder.Value, f.Codes, image)
	}
	if err != nil {
		return err
	}
	return f.print(w, s)
}

func printLayers(w io.Writer, kind, name string, encoder nn.Encoder, decoder nn.Decoder) error {
	var list *nn.Layers
	if e, ok := encoder.(nn.EncoderParts); ok {
		list = e.EncoderLayers()
	}
	if d, ok := decoder.(nn.DecoderParts); ok && kind == "decoder" {
		list = d.DecoderLayers()
	}
	if list == nil {
		return fmt.Errorf("the %s %s is not a list of layers; want one of --layers, such as small-conv", kind, name)
	}
	text, err := list.YAML(kind)
	fmt.Fprint(w, text)
	return err
}

func parseImage(text string) (tensor.Shape, error) {
	var s tensor.Shape
	for _, word := range strings.Split(text, "x") {
		if n, err := strconv.Atoi(word); err == nil && n >= 1 {
			s = append(s, n)
		}
	}
	if len(s) != 3 || Sides(s) != text {
		return nil, ui.Usagef("--image %q: want HxWxC, such as 64x64x3", text)
	}
	return s, nil
}

// ofConfig describes the encoder or decoder of a config's model, on the images of its data set.
func (f *networkFlags) ofConfig(s *Summary, kind, file string, overrides []string) error {
	file, source, err := inputs.ReadConfig(file)
	if err := cmp.Or(err, ui.Once(overrides)); err != nil {
		return err
	}
	c, err := train.Load(file, source, overrides...)
	if err != nil {
		return err
	}
	e, err := train.NewExperiment(c)
	if err != nil {
		return err
	}
	data := models.DataOf(e.Data)
	g := nn.NewGraph(e.Model.Params())
	name, shape, build := "images", []int{1, data.Height, data.Width, data.Channels}, e.Model.Encode
	if kind == "decoder" {
		d, ok := e.Model.(models.Decoder)
		if !ok {
			return errors.New("the config's model has no decoder; want one such as vae")
		}
		name, shape, build = "codes", []int{1, e.Coder.Width()}, d.Decode
	}
	in, err := g.Input(name, shape...)
	if err != nil {
		return err
	}
	out, err := build(g, in)
	if err != nil {
		return err
	}
	s.Input, s.Layers = in.Shape()[1:], nn.Summarise(g, in, out)
	return nil
}

func (f *networkFlags) print(w io.Writer, s *Summary) error {
	for _, l := range s.Layers {
		s.Parameters += l.Parameters
		s.FLOP += l.FLOP
	}
	if f.JSON {
		return ui.WriteJSON(w, s)
	}
	fmt.Fprintf(w, "%s of %s\n", s.Network, Sides(s.Input))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "  LAYER\tOPERATION\tOUTPUT\tPARAMETERS\tFLOP")
	for _, l := range s.Layers {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%s\n", l.Name, l.Operation, Sides(l.Output), l.Parameters, count(l.FLOP))
	}
	fmt.Fprintf(t, "  total\t\t\t%d\t%s\n", s.Parameters, count(s.FLOP))
	return t.Flush()
}

func Sides(shape []int) string {
	words := make([]string, len(shape))
	for i, n := range shape {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, "x")
}

// count formats a large number with a unit.
func count(v float64) string {
	for _, u := range []struct {
		unit string
		of   float64
	}{{" G", 1e9}, {" M", 1e6}, {" k", 1e3}} {
		if v >= u.of {
			return strconv.FormatFloat(v/u.of, 'f', 2, 64) + u.unit
		}
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}
