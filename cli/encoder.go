package cli

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/weights"
)

// encoderFlags choose an encoder of another program, and a data set for it.
type encoderFlags struct {
	otherData
	Encoder string    `xor:"source" placeholder:"FILE" help:"Network in the ONNX format that encodes the images of a data set." detail:"Its input has shape [N, C, H, W] or [N, H, W, C] of the data set's images, with any or a fixed number N of images. Its output has a row for each image, and each element of a row is a column of the codes."`
	Output  string    `placeholder:"NAME" help:"Output of --encoder to take for the codes, if it has several."`
	Mean    []float64 `placeholder:"NUMBER" help:"Number to subtract from pixels for --encoder, one for all channels or one for each (default: 0)." detail:"Pixels x in [0, 1] become (x - mean)/std. Networks of torchvision want --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225."`
	Std     []float64 `placeholder:"NUMBER" help:"Number to divide pixels by for --encoder, one for all channels or one for each (default: 1)."`
	Sample  int       `placeholder:"N" help:"Number of random images of the data set dataset=NAME (default: all)."`
}

// check returns an error for flags and words without --encoder.
func (c *encoderFlags) check() error {
	switch {
	case c.Encoder == "" && c.Output != "":
		return usagef("--output names an output of --encoder, which is absent; did you mean \"--out\"?")
	case c.Encoder == "" && (c.Mean != nil || c.Std != nil):
		return usagef("--mean and --std belong to --encoder, which is absent")
	case c.Encoder != "" && len(c.Set) == 0:
		return usagef("--encoder needs a data set; want dataset=NAME in front of its options, such as dataset=square size=32")
	case c.Sample != 0 && len(c.Set) == 0:
		return usagef("--sample belongs to a data set of the command line; want dataset=NAME")
	case c.Sample < 0:
		return usagef("--sample %d is negative; want at least one image", c.Sample)
	}
	return nil
}

// encode returns the images of the data set, or a sample, and their codes.
func (c *encoderFlags) encode(ctx context.Context, s *streams) (d datasets.Dataset, codes matrix.Matrix, err error) {
	choice, err := c.choose()
	if err != nil {
		return nil, codes, err
	}
	encoder, err := weights.ReadONNX(c.Encoder, weights.ONNXOptions{Output: c.Output, Mean: c.Mean, Std: c.Std})
	if err != nil {
		return nil, codes, fmt.Errorf("encoder: %w", err)
	}
	if err := train.PrepareData(ctx, choice, s.activity()); err != nil {
		return nil, codes, ofSet(choice.Name, err)
	}
	if d, err = choice.Build(0); err != nil {
		return nil, codes, ofSet(choice.Name, err)
	}
	if c.Sample > 0 && c.Sample < d.Len() {
		d = datasets.Sample(d, train.SampledImages(d.Len(), c.Sample, 0))
	}
	progress := s.activity()
	progress.Begin("encoding", d.Len())
	defer progress.End()
	if codes, err = encoder.Encode(ctx, d, func(done int) { progress.Step(done, "images") }); err != nil {
		return nil, codes, fmt.Errorf("encoder: %w", err)
	}
	return d, codes, nil
}

// openEncoder encodes a data set, and takes its factors or the answers of --pairs.
func (c *evalCommand) openEncoder(ctx context.Context, e *evaluation, s *streams) error {
	d, codes, err := c.encode(ctx, s)
	if err != nil {
		return err
	}
	images := make([]int, codes.Rows)
	for i := range images {
		images[i] = i
	}
	if e.in = train.InputOf(d, codes, images); c.Pairs != "" {
		return c.readPairs(e, supervision.RowsOf(d))
	}
	return nil
}
