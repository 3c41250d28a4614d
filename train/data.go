package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/progress"
	"github.com/unravel-ml/unravel/train/internal/figures"
	"github.com/unravel-ml/unravel/train/rundir"
)

// PrepareData converts the files of a data set if it needs a conversion. Building the data set is then fast.
func PrepareData(ctx context.Context, d catalog.Choice, a *Activity) error {
	defer a.End()
	var lock sync.Mutex
	current := ""
	if a != nil {
		ctx = progress.WithSay(ctx, func(line string) {
			lock.Lock()
			defer lock.Unlock()
			current = ""
			a.shown.Say(line, d.Name)
		})
	}
	return d.Prepare(ctx, func(what string, done, total int64) {
		lock.Lock()
		defer lock.Unlock()
		if what != current {
			current = what
			a.Begin(what, int(max(total, 1)))
		}
		a.Step(int(done), "")
	})
}

func (c *Config) prepareData(ctx context.Context, a *Activity) error {
	for _, part := range c.dataSets() {
		if err := PrepareData(ctx, part.choice, a); err != nil {
			if ctx.Err() != nil {
				return ErrStopped
			}
			return &dataError{c.mistake(part.key+"."+part.choice.Name, err), err}
		}
	}
	return nil
}

type dataSet struct {
	key    string
	choice catalog.Choice
}

// dataSets lists the data sets of a config: for training, for validation and for metrics.
func (c *Config) dataSets() []dataSet {
	list := []dataSet{{"dataset", c.Dataset}}
	if v := c.Train.Validation; v != nil && v.Dataset != nil {
		list = append(list, dataSet{"train.validation.dataset", *v.Dataset})
	}
	for i, m := range c.Metrics.On {
		list = append(list, dataSet{fmt.Sprintf("metrics.on.%d.dataset", i), m.Dataset})
	}
	return list
}

// PrepareRun is [PrepareData] for the data set of a run. It ignores a folder without a readable config.
func PrepareRun(ctx context.Context, dir string, a *Activity) error {
	c, err := ReadConfig(dir)
	if err != nil {
		return nil
	}
	return c.prepareData(ctx, a)
}

// Inputs lists the user's files that the config names, with their hashes.
func (c *Config) Inputs(ctx context.Context, h *datasets.Hasher) ([]datasets.Input, error) {
	var list []datasets.Input
	for _, part := range c.readers() {
		for _, r := range part.Reads() {
			in, err := h.Input(ctx, part.key+"."+r.Key, r)
			if err != nil {
				return nil, err
			}
			list = append(list, in)
		}
	}
	return list, nil
}

// ChangedInputs names the files of a config's run that have changed since the run read them, or that cannot be read.
func (c *Config) ChangedInputs(ctx context.Context, recorded []datasets.Input, h *datasets.Hasher) []string {
	inputs, err := c.Inputs(ctx, h)
	if err != nil {
		return []string{err.Error()}
	}
	return datasets.ChangedInputs(recorded, inputs)
}

// reader is a file-reading part of a config.
type reader struct {
	datasets.FileReader
	key string
}

func (c *Config) readers() (list []reader) {
	add := func(key string, part any) {
		if r, ok := part.(datasets.FileReader); ok {
			list = append(list, reader{r, key})
		}
	}
	for _, d := range c.dataSets() {
		add(d.key+"."+d.choice.Name, d.choice.Value)
	}
	for i, s := range c.Supervision {
		key := "supervision."
		if len(c.Supervision) > 1 {
			key += strconv.Itoa(i) + "."
		}
		add(key+s.Name, s.Value)
	}
	add("model."+c.Model.Name, c.Model.Value)
	return list
}

// filesOf returns the files that a run reads: of a cached data set, and the user's; nil for none.
func (c *Config) filesOf(ctx context.Context, d datasets.Dataset) (*datasets.Files, error) {
	inputs, err := c.Inputs(ctx, new(datasets.Hasher))
	if err != nil {
		return nil, err
	}
	files := datasets.FilesOf(d)
	if len(inputs) == 0 {
		return files, nil
	}
	merged := *cmp.Or(files, &datasets.Files{Name: d.Name()})
	merged.Inputs = inputs
	return &merged, nil
}

// noteData records the files read by a new run in its folder. For a resumed run, it reports whether they have changed.
func (s *session) noteData(ctx context.Context) (err error) {
	if s.files, err = s.experiment.Config.filesOf(ctx, s.experiment.Data); err != nil { // metrics may see a sample of the data
		return err
	}
	recorded, err := rundir.ReadData(s.store.Dir())
	if err != nil {
		return err
	}
	if changed := s.files.Changed(recorded); changed != "" {
		s.console.Warn("data", changed)
	}
	if s.files == nil || recorded != nil {
		return nil
	}
	return s.store.Write(rundir.DataFile, rundir.JSON(s.files))
}

// dataWarning reports files of the run that have changed since it began, or returns "".
func dataWarning(dir string, e *Experiment) (string, error) {
	recorded, err := rundir.ReadData(dir)
	if recorded == nil || err != nil {
		return "", err
	}
	current, err := e.Config.filesOf(context.Background(), e.Data)
	if err != nil {
		return "", err
	}
	if changed := current.Changed(recorded); changed != "" {
		return "warning: " + changed, nil
	}
	return "", nil
}

func (c *Config) buildData() (datasets.Dataset, error) {
	d, err := c.Dataset.Build(c.Seed)
	if err != nil {
		return nil, &dataError{c.mistake("dataset."+c.Dataset.Name, err), err}
	}
	return d, nil
}

// holdOut removes images that are held out for metrics and for validation from the split.
func (e *Experiment) holdOut() error {
	n, c := e.Data.Len(), &e.Config
	if e.HeldOut = datasets.HoldOut(n, c.Train.HoldOut, c.Seed); e.HeldOut == nil && c.Train.HoldOut > 0 {
		return fmt.Errorf("%v of %d images holds out no image for metrics; want a larger fraction, or 0", c.Train.HoldOut, n)
	}
	if v := c.Train.Validation; v != nil && v.Fraction > 0 {
		images := e.TrainingImages()
		e.validated = figures.Gather(images, datasets.HoldOut(len(images), v.Fraction, c.Seed))
		if len(e.validated) == 0 {
			return fmt.Errorf("%v of %d images leaves no image for validation; want a larger fraction", v.Fraction, len(images))
		}
	}
	if e.HeldOut == nil && e.validated == nil {
		return nil
	}
	if e.Split.GroupCount() > 0 {
		return errors.New("the supervision has groups of images, which may contain validation images; want 0, or a supervision without groups")
	}
	mask := e.heldOutMask()
	e.Split.Unlabelled = slices.DeleteFunc(e.Split.Unlabelled, func(i int) bool { return mask[i] })
	if len(e.Split.Unlabelled) == 0 {
		return fmt.Errorf("%d of %d images are held out, and no image is left to train on; want a smaller fraction",
			len(e.HeldOut)+len(e.validated), n)
	}
	if known := e.Split.Known; known != nil && !known.Without(mask) {
		return errors.New("the images left to train on have no label, or no pair; want a smaller fraction, or more labels")
	}
	return nil
}

func (e *Experiment) heldOutMask() []bool {
	mask := make([]bool, e.Data.Len())
	for _, i := range slices.Concat(e.HeldOut, e.validated) {
		mask[i] = true
	}
	return mask
}

// TrainingImages lists the images for training in ascending order, without held-out images.
func (e *Experiment) TrainingImages() []int {
	var list []int
	for i, h := range e.heldOutMask() {
		if !h {
			list = append(list, i)
		}
	}
	return list
}

// On returns the experiment on another data set, for encoding and measuring. The images must have the shape, channels
// and pixel range of the model's images; factors may differ. All images are measured, and none is held out.
func (e *Experiment) On(c catalog.Choice, d datasets.Dataset) (*Experiment, error) {
	if err := e.Coder.suits(d); err != nil {
		return nil, err
	}
	other := *e
	other.Config.Dataset, other.Config.Metrics.Sample = c, 0
	other.Data, other.HeldOut, other.validated, other.images, other.explored, other.Learned, other.others = d, nil, nil,
		nil, nil, nil, nil
	other.Split = &supervision.Split{Unlabelled: allImages(d), Rotations: e.Split.Rotations, Actions: e.Split.Actions}
	return &other, nil
}

// suits returns an error for a data set with images that the model cannot encode.
func (c *Coder) suits(d datasets.Dataset) error {
	h, w, channels := d.ImageShape()
	trained := c.data
	switch {
	case h != trained.Height || w != trained.Width || channels != trained.Channels:
		return fmt.Errorf("%s has images of %s; want %s, the images of the model",
			d.Name(), shapeText(h, w, channels), shapeText(trained.Height, trained.Width, trained.Channels))
	case datasets.RealValued(d) != trained.Real:
		return fmt.Errorf("%s has %s; want %s, as the model was trained",
			d.Name(), pixelText(!trained.Real), pixelText(trained.Real))
	}
	return nil
}

func shapeText(height, width, channels int) string {
	return fmt.Sprintf("%d x %d x %d (height, width, channels)", height, width, channels)
}

func pixelText(real bool) string {
	if real {
		return "real-valued pixels"
	}
	return "pixels in [0, 1]"
}
