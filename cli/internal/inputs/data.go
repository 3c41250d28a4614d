package inputs

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/weights"
)

// EncoderFlags choose an encoder of another program, and a data set for it.
type EncoderFlags struct {
	OtherData
	Encoder string    `xor:"source" placeholder:"FILE" help:"Network in the ONNX format that encodes the images of a data set." detail:"Its input has shape [N, C, H, W] or [N, H, W, C] of the data set's images, with any or a fixed number N of images. Its output has a row for each image, and each element of a row is a column of the codes."`
	Output  string    `placeholder:"NAME" help:"Output of --encoder to use as codes, if there are several."`
	Mean    []float64 `placeholder:"NUMBER" help:"Number to subtract from pixels for --encoder, one for all channels or one for each (default: 0)." detail:"Pixels x in [0, 1] become (x - mean)/std. Networks of torchvision want --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225."`
	Std     []float64 `placeholder:"NUMBER" help:"Number to divide pixels by for --encoder, one for all channels or one for each (default: 1)."`
	Sample  ui.Count  `placeholder:"N" help:"Number of random images of the data set dataset=NAME (default: all)."`
}

// Check returns an error for flags and words that require --encoder.
func (c *EncoderFlags) Check() error {
	switch {
	case c.Encoder == "" && c.Output != "":
		return ui.Usagef("--output names an output of --encoder; want --encoder FILE too, or did you mean \"--out\"?")
	case c.Encoder == "" && (c.Mean != nil || c.Std != nil):
		return ui.Usagef("--mean and --std belong to --encoder; want --encoder FILE too")
	case c.Encoder != "" && len(c.Set) == 0:
		return ui.Usagef("--encoder needs a data set; want dataset=NAME in front of its options, such as dataset=square size=32")
	case c.Sample != 0 && len(c.Set) == 0:
		return ui.Usagef("--sample belongs to a data set of the command line; want dataset=NAME")
	}
	return nil
}

// Encode returns the images of the data set, or a sample, and their codes.
func (c *EncoderFlags) Encode(ctx context.Context, s *ui.Streams) (d datasets.Dataset, codes matrix.Matrix, err error) {
	choice, err := c.choose()
	if err != nil {
		return nil, codes, err
	}
	encoder, err := weights.ReadONNX(c.Encoder, weights.ONNXOptions{Output: c.Output, Mean: c.Mean, Std: c.Std})
	if err != nil {
		return nil, codes, fmt.Errorf("encoder: %w", err)
	}
	if d, err = Build(ctx, choice, 0, s.Log); err != nil {
		return nil, codes, err
	}
	if n := int(c.Sample); n > 0 && n < d.Len() {
		d = datasets.Sample(d, train.SampledImages(d.Len(), n, 0))
	}
	progress := s.Activity()
	progress.Begin("encoding", d.Len())
	defer progress.End()
	if codes, err = encoder.Encode(ctx, d, func(done int) { progress.Step(done, "images") }); err != nil {
		return nil, codes, fmt.Errorf("encoder: %w", err)
	}
	return d, codes, nil
}

func ChooseData(name string, options []string) (catalog.Choice, error) {
	overrides := []string{"dataset=" + name}
	for _, o := range options {
		if !strings.Contains(o, "=") {
			return catalog.Choice{}, ui.Usagef("%q is not an option; want name=value", o)
		}
		// the full key of a config is also accepted
		key := strings.TrimPrefix(strings.TrimPrefix(o, "dataset."), name+".")
		overrides = append(overrides, "dataset."+name+"."+key)
	}
	return loadData(overrides)
}

func loadData(overrides []string) (catalog.Choice, error) {
	var settings struct {
		Dataset catalog.Choice `yaml:"dataset"`
	}
	err := config.Load("", []byte("{}"), &settings, overrides...)
	return settings.Dataset, err
}

// Build prepares and builds a data set, and logs its notes.
func Build(ctx context.Context, choice catalog.Choice, seed uint64, log io.Writer) (datasets.Dataset, error) {
	err := train.PrepareData(ctx, choice, ui.Activity(log))
	var d datasets.Dataset
	if err == nil {
		d, err = choice.Build(seed)
	}
	if name := "dataset " + choice.Name; err != nil && !strings.HasPrefix(err.Error(), name) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if n, ok := d.(datasets.Noted); ok && err == nil {
		for _, note := range n.Notes() {
			fmt.Fprintf(log, "%s: %s\n", choice.Name, note)
		}
	}
	return d, err
}

// SameRows checks that factors have as many rows as codes. It reads only headers, because an archive may be huge.
func SameRows(codes, factors string) error {
	n, d, err := table.Size(codes, "codes")
	if err != nil {
		return fmt.Errorf("codes: %w", err)
	}
	m, k, err := table.Size(factors, "factors")
	if err != nil {
		return fmt.Errorf("factors: %w", err)
	}
	if n > 0 && m >= 0 && n != m { // ReadCodes reports codes without rows
		return OtherRows(codes, n, d, factors, m, k)
	}
	return nil
}

// OtherRows is the error of factors, m x k, with other rows than codes, n x d.
func OtherRows(codes string, n, d int, factors string, m, k int) error {
	hint := ""
	if d == m && d > n {
		hint = fmt.Sprintf("; %s has shape [%d %d]: want it transposed", codes, n, d)
	}
	return fmt.Errorf("%s: factors have shape [%d %d], want [%d, k], a row for each row of %s%s",
		factors, m, k, n, codes, hint)
}

// ReadTable reads a table of finite numbers. In a file of several arrays, the name is the role, such as codes.
func ReadTable(path, role string) (*table.Table, error) {
	t, err := table.Read(path, role)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	if err := t.Finite(); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", role, path, err)
	}
	return t, nil
}

// ReadCodes reads a table of codes without its index column. It logs remarks on the file, unless log is nil.
func ReadCodes(path string, log io.Writer) (*table.Table, error) {
	t, err := ReadTable(path, "codes")
	if err != nil {
		return nil, err
	}
	if t.Rows == 0 || t.Cols == 0 {
		return nil, fmt.Errorf("codes: %s has shape [%d %d]; want at least one row and one column", path, t.Rows, t.Cols)
	}
	t.DropCounter()
	if names := FileNames(path); ui.Exists(names) {
		if err := t.NameRows(names); err != nil {
			return nil, err
		}
	}
	for _, note := range t.Notes {
		if log != nil {
			fmt.Fprintln(log, note)
		}
	}
	return t, nil
}

// FileNames returns the file beside codes with the names of the pictures, one a line.
func FileNames(codes string) string {
	return strings.TrimSuffix(codes, filepath.Ext(codes)) + "-files.txt"
}

func isCategorical(text string) bool {
	k, err := factor.ParseColumnKind(text)
	return err == nil && k.Kind == factor.Categorical
}

// ReadFactors reads a table of factors with the kinds of flag --types. Unknown values are NaN, and words become the
// numbers of levels.
func ReadFactors(path string, types []string) (*table.Table, error) {
	t, err := table.ReadFactors(path, "factors", func(_ string, column, columns int) bool {
		if len(types) > 1 && len(types) == columns-1 { // without an index
			column--
		}
		at := min(column, len(types)-1)
		return at >= 0 && isCategorical(types[at])
	})
	if err != nil {
		return nil, fmt.Errorf("factors: %w", err)
	}
	if err := t.Known(); err != nil {
		return nil, fmt.Errorf("factors: %s: %w", path, err)
	}
	return t, nil
}
