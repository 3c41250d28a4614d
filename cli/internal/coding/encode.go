// Package coding has the commands encode, decode and mimosa: they compute codes, decode codes, and learn hierarchies
// from codes.
package coding

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/files"
	"github.com/unravel-ml/unravel/internal/picture"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Encode is `unravel encode (--run DIR | --encoder FILE dataset=NAME ...)`.
type Encode struct {
	Dir string `name:"run" xor:"source" placeholder:"DIR" help:"Folder of the run."`
	inputs.WeightFlags
	inputs.DeviceFlags
	inputs.EncoderFlags
	Images string   `placeholder:"PATH" help:"Other images to encode: a folder of pictures, a picture, or a file or folder of arrays." detail:"Pictures are resized to the images of the run, as the data set folder does, and the names of the pictures are written next to the codes. Arrays are read as by the data set grid. --out is required."`
	Option []string `sep:"none" placeholder:"KEY=VALUE" help:"Option of the data set folder or grid for --images; repeatable."`
	Out    string   `placeholder:"FILE" writes:".npy" help:"File of the codes, float32 [n, d] (default: codes.npy in the run's folder, or here)." detail:"With --best or --average, the default is codes-best.npy or codes-average.npy. Factors [n, k] go into a second file beside it: levels as int64, or as float64 with NaN for unknown levels. For hierarchical data, the second file has the true values, and a third file has the levels."`
}

func (c *Encode) Run(ctx context.Context, s *ui.Streams) error {
	if err := c.check(); err != nil {
		return err
	}
	var d datasets.Dataset
	var codes matrix.Matrix
	var err error
	if c.Encoder != "" {
		d, codes, err = c.Encode(ctx, s)
	} else {
		d, codes, err = c.encodeRun(ctx, s)
	}
	if err != nil {
		return err
	}
	out := cmp.Or(c.Out, filepath.Join(c.Dir, c.FileName(rundir.CodesFile)))
	if err := inputs.WriteInRun(out, rundir.WriteCodes(codes)); err != nil {
		return err
	}
	line := fmt.Sprintf("%s of %s in %s", wording.Count(codes.Rows, "code"), wording.Count(codes.Cols, "column"), out)
	if f := d.Factors(); c.Images == "" || len(f) > 1 || f[0].Size > 1 { // pictures have no factors
		for name, write := range rundir.FactorFiles(d) {
			if err := inputs.WriteInRun(BesideCodes(out, name), write); err != nil {
				return err
			}
		}
		line += ", their factors in " + BesideCodes(out, rundir.FactorsFile)
	}
	if named, ok := d.(datasets.FileNamed); ok && c.Images != "" {
		file := inputs.FileNames(out)
		var names strings.Builder
		for i := range d.Len() {
			fmt.Fprintln(&names, named.FileName(i))
		}
		if err := ui.WriteFile(file, rundir.Bytes([]byte(names.String()))); err != nil {
			return err
		}
		line += ", the names of their files in " + file
	}
	fmt.Fprintln(s.Log, line)
	return nil
}

func (c *Encode) check() error {
	if err := cmp.Or(c.EncoderFlags.Check(), c.DeviceFlags.Check(c.Dir)); err != nil {
		return err
	}
	switch {
	case c.Dir == "" && c.Encoder == "":
		return ui.Usagef("nothing to encode; want --run DIR, or --encoder FILE dataset=NAME")
	case c.Encoder != "" && (c.Best || c.Average):
		return ui.Usagef("--best and --average choose weights of a run; want --run DIR")
	case c.Encoder != "" && c.Images != "":
		return ui.Usagef("--images belongs to --run; want dataset=NAME for --encoder")
	case c.Images != "" && len(c.Set) > 0:
		return ui.Usagef("both --images and %s are given; want only one", c.Set[0])
	case c.Images == "" && c.Option != nil:
		return ui.Usagef("--option belongs to --images; want --images PATH too")
	case c.Encoder == "" && c.Out == "" && (c.Images != "" || len(c.Set) > 0):
		return ui.Usagef("want --out FILE: codes.npy of the run's folder has the codes of the run's own images")
	}
	return nil
}

// encodeRun returns images and their codes: of the run, of a data set, or of --images.
func (c *Encode) encodeRun(ctx context.Context, s *ui.Streams) (d datasets.Dataset, codes matrix.Matrix, err error) {
	e, err := c.OpenData(ctx, c.Dir, &c.OtherData, c.DeviceFlags, s)
	if err != nil {
		return nil, codes, err
	}
	switch {
	case c.Images != "":
		choice, clean, err := imagesOf(e, c.Images, c.Option)
		defer clean()
		if err != nil {
			return nil, codes, err
		}
		if e, err = inputs.OnData(ctx, e, choice, s); err != nil {
			return nil, codes, fmt.Errorf("--images: %w (--option KEY=VALUE sets options of the data set %s)", err, choice.Name)
		}
	case len(c.Set) > 0:
		e = e.Some(int(c.Sample))
	default:
		e = e.Sample()
	}
	codes, err = e.Codes(ctx)
	return e.Data, codes, err
}

// BesideCodes returns a file beside codes: factors.npy for codes.npy, and other-factors.npy for other.npy.
func BesideCodes(codes, name string) string {
	dir, base := filepath.Split(codes)
	if base == rundir.CodesFile {
		return dir + name
	}
	return dir + strings.TrimSuffix(base, filepath.Ext(base)) + "-" + strings.TrimSuffix(name, ".npy") + filepath.Ext(base)
}

var arrayEndings = []string{".npy", ".npz", ".h5", ".hdf5", ".mat"} // file extensions of the data set grid

// imagesOf returns arrays, or pictures resized to the images of the run, as a data set. clean removes temporary files.
func imagesOf(e *train.Experiment, path string, options []string) (choice catalog.Choice, clean func(), err error) {
	clean = func() {}
	info, err := os.Stat(path)
	if err != nil {
		return choice, clean, fmt.Errorf("--images: %w", err)
	}
	arrays := slices.Contains(arrayEndings, strings.ToLower(filepath.Ext(path)))
	if info.IsDir() {
		matches, err := filepath.Glob(filepath.Join(path, "images*.npy"))
		arrays = err == nil && len(matches) > 0
	}
	if arrays {
		choice, err = inputs.ChooseData("grid",
			append([]string{fmt.Sprintf("path=%q", path), fmt.Sprintf("real=%t", datasets.RealValued(e.Data))}, options...))
		return choice, clean, err
	}
	if !info.IsDir() { // the data set folder reads folders
		data, err := os.ReadFile(path)
		if err != nil {
			return choice, clean, fmt.Errorf("--images: %w", err)
		}
		if _, err := picture.Read(data); err != nil {
			return choice, clean, fmt.Errorf("--images %s: %w, or a folder of pictures, or arrays (%s)",
				path, err, strings.Join(arrayEndings, " "))
		}
		dir, err := os.MkdirTemp("", "unravel-picture")
		if err != nil {
			return choice, clean, err
		}
		clean = func() { _ = os.RemoveAll(dir) }
		if err := ui.WriteFile(filepath.Join(dir, filepath.Base(path)), rundir.Bytes(data)); err != nil {
			return choice, clean, err
		}
		path = dir
	}
	h, w, channels := e.Data.ImageShape()
	if channels != 1 && channels != 3 {
		return choice, clean, fmt.Errorf("--images %s: the model takes images of %d channels, and pictures have 1 or 3; want a file of arrays", path, channels)
	}
	pictureOptions := []string{fmt.Sprintf("path=%q", path), "labels=none", fmt.Sprintf("size=[%d,%d]", h, w),
		fmt.Sprintf("channels=%d", channels)}
	if f, ok := e.Config.Dataset.Value.(*files.Folder); ok { // resized as the pictures of the run
		pictureOptions = append(pictureOptions, "fit="+f.Fit, "filter="+f.Filter)
	}
	choice, err = inputs.ChooseData("folder", append(pictureOptions, options...))
	return choice, clean, err
}
