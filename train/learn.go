package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/runs"
)

// Learned is a hierarchy that MIMOSA learned from the codes of an autoencoder, and what it
// assigns images to.
type Learned struct {
	Hierarchy hierarchy.Hierarchy

	// Labels has a row for each image and a column for each categorical dimension: 1 + the
	// option, 0 where the image lacks the dimension, -1 where nothing is known.
	Labels []int32

	// Components has, for each image, the component of its code, and -1 if that was discarded or not
	// explored. nil: not known, of runs of older versions.
	Components []int32
}

// Files of a run that learned its hierarchy.
const (
	hierarchyFile   = "mimosa/hierarchy.json"
	assignmentsFile = "mimosa/assignments.npy"
	componentsFile  = "mimosa/components.npy"
)

// learns says whether a config's hierarchy is to be learned first.
func (c *Config) learns() (*models.COFHAE, bool) {
	m, ok := c.Model.Value.(*models.COFHAE)
	return m, ok && m.Hierarchy == models.LearnedHierarchy
}

// InitialConfig is the config of the autoencoder on whose codes a config's hierarchy is learned: its
// network, reconstruction and training, with plain codes.
func (c Config) InitialConfig() (Config, error) {
	m, ok := c.learns()
	if !ok {
		return Config{}, fmt.Errorf("the hierarchy of %s is not learned", c.Name)
	}
	c.Name += "-initial"
	c.Model = models.Choice{Name: "ae", Value: &models.AE{Networks: m.Networks, Latent: m.Mimosa.InitialDim}}
	c.Supervision = datasets.Supervised("none", &datasets.None{})
	list := c.Losses
	c.Losses = nil
	for _, l := range list {
		if _, ok := l.Value.(*losses.ReconstructionLoss); ok {
			c.Losses = append(c.Losses, l)
		}
	}
	if len(c.Losses) == 0 {
		return Config{}, c.mistake("model.cofhae.hierarchy", errors.New("mimosa needs the loss reconstruction, to learn the codes that it explores"))
	}
	c.Metrics, c.Train.Stop = defaultMeasures(), nil
	return c, nil
}

// learn trains the initial autoencoder in a folder beside the run's, unless a run beside it has trained the same one, and runs MIMOSA on its codes.
func learn(ctx context.Context, c Config, o Options) (*Learned, error) {
	m, _ := c.learns()
	initial, err := c.InitialConfig()
	if err != nil {
		return nil, err
	}
	dir, err := trainedInitial(o.Dir, initial)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		dir = o.Dir + initialSuffix
		if _, err := Run(ctx, initial, Options{Dir: dir, Resume: true, Log: o.Log}); err != nil {
			return nil, fmt.Errorf("the autoencoder to learn a hierarchy from: %w", err)
		}
	} else if o.Log != nil {
		fmt.Fprintf(o.Log, "the hierarchy is learned from the codes of %s\n", dir)
	}
	e, warning, err := OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	if warning != "" && o.Log != nil {
		fmt.Fprintln(o.Log, warning)
	}
	e.Progress = NewActivity(o.Log)
	r, err := e.Explore(ctx, m.Mimosa.Options, func(stage string) {
		if o.Log != nil {
			fmt.Fprintf(o.Log, "mimosa: %s\n", stage)
		}
	})
	if err != nil {
		return nil, err
	}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "mimosa: %d components hold %.1f %% of the codes\n%s", len(r.Components), 100*r.Coverage, r.Hierarchy)
	}
	if r.Hierarchy.Continuous() == 0 {
		return nil, fmt.Errorf("mimosa found no component of at least %d codes; want a smaller model.cofhae.mimosa.min_merged, or other codes", m.Mimosa.MinMerged)
	}
	return &Learned{r.Hierarchy, e.assignments(r), e.components(r)}, nil
}

// initialSuffix ends the names of folders of initial autoencoders.
const initialSuffix = "-initial"

// trainedInitial finds a trained initial autoencoder with a config beside a run's folder: that of this run, or of another one, such as
// one of the same grid; "" if there is none.
func trainedInitial(run string, c Config) (string, error) {
	want, err := c.Hash()
	if err != nil {
		return "", err
	}
	folder := filepath.Dir(run)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		dir := filepath.Join(folder, e.Name())
		if strings.HasSuffix(e.Name(), initialSuffix) && isTrained(dir, want) {
			return dir, nil // whose it is does not matter: the same config makes the same bits
		}
	}
	return "", nil
}

// isTrained says whether a folder holds a finished run of the config with a hash.
func isTrained(dir, hash string) bool {
	path := filepath.Join(dir, runs.Config)
	source, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	c, err := Load(path, source)
	if err != nil {
		return false
	}
	if got, err := c.Hash(); err != nil || got != hash {
		return false
	}
	r, err := ReadRecord(dir)
	return err == nil && r != nil && r.Error == ""
}

// Explore runs MIMOSA on the codes of the images that were trained on.
func (e *Experiment) Explore(ctx context.Context, o mimosa.Options, say func(stage string)) (*mimosa.Result, error) {
	images := e.Explored()
	codes, err := e.Encode(ctx, images)
	if err != nil {
		return nil, err
	}
	wide := make([]float64, len(codes))
	for i, v := range codes {
		wide[i] = float64(v)
	}
	last := ""
	r, err := mimosa.Run(ctx, wide, e.Coder.Width(), o, func(stage string, _, _ int) {
		if stage != last {
			last = stage
			say(stage)
		}
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("mimosa: %w", ErrStopped)
	}
	if err != nil {
		return nil, fmt.Errorf("mimosa: %w", err)
	}
	return r, nil
}

// Explored lists the images that Explore looks at, in the order of its results: those that
// are not held out.
func (e *Experiment) Explored() []int {
	held := make([]bool, e.Data.Len())
	for _, i := range e.Held {
		held[i] = true
	}
	var list []int
	for i, h := range held {
		if !h {
			list = append(list, i)
		}
	}
	return list
}

// assignments are a result's choices as labels of all images.
func (e *Experiment) assignments(r *mimosa.Result) []int32 {
	k := len(r.Hierarchy.Categoricals())
	labels := make([]int32, e.Data.Len()*k)
	for i := range labels {
		labels[i] = -1
	}
	for row, i := range e.Explored() {
		r.Labelled(row, labels[i*k:(i+1)*k])
	}
	return labels
}

// components are a result's components of all images.
func (e *Experiment) components(r *mimosa.Result) []int32 {
	list := slices.Repeat([]int32{-1}, e.Data.Len())
	for row, i := range e.Explored() {
		list[i] = int32(r.Labels[row])
	}
	return list
}

// explored are the components of images with what the images truly are; nil if the components are not known.
func (l *Learned) explored(d datasets.Dataset, images []int) *metrics.Explored {
	if l == nil || l.Components == nil {
		return nil
	}
	x := &metrics.Explored{Components: make([]int, len(images))}
	for row, i := range images {
		x.Components[row] = int(l.Components[i])
	}
	if h, ok := d.(datasets.Hierarchical); ok {
		x.Paths, _ = datasets.PathsOf(h, images)
	}
	return x
}

// of reports arrays that do not have a row for each of so many images; l may be nil.
func (l *Learned) of(images int) error {
	if l == nil {
		return nil
	}
	for _, a := range []struct {
		file    string
		of      []int32
		columns int
	}{{assignmentsFile, l.Labels, len(l.Hierarchy.Categoricals())}, {componentsFile, l.Components, 1}} {
		if a.of != nil && len(a.of) != images*a.columns {
			return fmt.Errorf("%s has %d numbers; want %d x %d, a row for each image", a.file, len(a.of), images, a.columns)
		}
	}
	return nil
}

// labels are the assignments as what a supervision knows; nil if there is no categorical dimension.
func (l *Learned) labels() *datasets.Labels {
	var factors []factor.Factor
	for i, n := range l.Hierarchy.Categoricals() {
		factors = append(factors, factor.Factor{Name: fmt.Sprintf("option%d", i+1), Size: n + 1, Kind: factor.Categorical})
	}
	if factors == nil {
		return nil
	}
	known := datasets.TableLabels(factors, l.Labels)
	for k := range factors {
		known.Assigned = append(known.Assigned, k)
	}
	return known
}

// join adds the assignments, as the first factors, to what else is known; it may be nil.
func (l *Learned) join(known *datasets.Labels) (*datasets.Labels, error) {
	assigned := l.labels()
	if assigned == nil || known == nil {
		return cmp.Or(assigned, known), nil
	}
	return datasets.JoinLabels(assigned, known)
}

// write stores what was learned in a run's folder.
func (l *Learned) write(store *runs.Run) error {
	if err := store.Write(hierarchyFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(l.Hierarchy) }); err != nil {
		return err
	}
	if l.Components != nil {
		if err := store.Write(componentsFile, func(w io.Writer) error { return npy.Write(w, []int{len(l.Components)}, l.Components) }); err != nil {
			return err
		}
	}
	k := len(l.Hierarchy.Categoricals())
	if k == 0 {
		return nil
	}
	return store.Write(assignmentsFile, func(w io.Writer) error { return npy.Write(w, []int{len(l.Labels) / k, k}, l.Labels) })
}

// readLearned reads what a run's folder has of a learned hierarchy; nil if it has none.
func readLearned(dir string) (*Learned, error) {
	store, err := runs.View(dir)
	if err != nil {
		return nil, nil // there is no run yet
	}
	if !store.Has(hierarchyFile) {
		return nil, nil
	}
	l := &Learned{}
	if l.Hierarchy, err = hierarchy.Read(filepath.Join(dir, hierarchyFile)); err != nil {
		return nil, err
	}
	if store.Has(componentsFile) {
		if l.Components, err = readLabels(filepath.Join(dir, componentsFile), 1); err != nil {
			return nil, err
		}
	}
	if k := len(l.Hierarchy.Categoricals()); k > 0 {
		l.Labels, err = readLabels(filepath.Join(dir, assignmentsFile), k)
	}
	return l, err
}

// readLabels reads a file of so many whole numbers for each image.
func readLabels(path string, columns int) ([]int32, error) {
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.RowLen() != columns {
		return nil, fmt.Errorf("%s has shape %v; want %d numbers for each image", path, r.Shape, columns)
	}
	labels := make([]int32, r.Rows()*columns)
	return labels, npy.Read(r, labels)
}
