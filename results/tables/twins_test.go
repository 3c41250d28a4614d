package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/catalog"
	drawnsets "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// standIns writes small converted data sets. They have the images of twins instead of public data sets.
func standIns(t *testing.T) {
	t.Helper()
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	for _, s := range []struct {
		name, options string
		twin          datasets.Builder
	}{
		{"dsprites", "", &drawnsets.Sprites{Size: 64, Scales: 2, Orientations: 4, Positions: 4, Channels: 1}},
		{"shapes3d", "", &drawnsets.Room{Size: 64, Hues: 2, Scales: 2, Orientations: 3}},
		{"cars3d", "size=64 filter=lanczos", &drawnsets.Cars{Size: 64, Elevations: 2, Azimuths: 8, Objects: 4}},
		{"smallnorb", "size=[64 64]", &drawnsets.Norb{Size: 64, Instances: 2, Elevations: 2, Azimuths: 3, Lightings: 2, Instance: true}},
		{"coil100", "size=[64 64]", &drawnsets.Turntable{Draw: "solid", Objects: 3, Hues: 1, Views: 8, Paint: "object", Size: 64, Channels: 3, Elevation: 30, Light: []float64{0.3, 0.5, 0.8}, Up: "z", Crease: 30}},
		{"mpi3d", "variant=toy", &drawnsets.Arm{Size: 64, Colours: 2, Shapes: 2, Sizes: 2, Heights: 2, Backgrounds: 2, Horizontal: 3, Vertical: 3}},
	} {
		d := must.Get(s.twin.Build(0))(t)
		real := must.Get(catalog.Named(s.name))(t)
		key := cache.Key{Name: s.name, Options: s.options, Version: real.Value.(datasets.Public).Origin().Version}
		set, err := cache.Ensure(t.Context(), key,
			func(ctx context.Context, w *cache.Writer) error { return writeSet(ctx, w, d, s.name == "smallnorb") })
		must.OK(t, err)
		must.OK(t, set.Close())
	}
}

// writeSet writes a data set. parted adds a first factor, as in the converted SmallNORB.
func writeSet(ctx context.Context, w *cache.Writer, d datasets.Dataset, parted bool) error {
	h, width, c := d.ImageShape()
	factors, first := d.Factors(), 0
	if parted {
		factors, first = append([]factor.Factor{{Name: "part", Size: 2, Kind: factor.Categorical}}, factors...), 1
	}
	if err := w.Begin(d.Len(), h, width, c, factors); err != nil {
		return err
	}
	pixels, bytes := make([]float32, h*width*c), make([]uint8, h*width*c)
	levels, row := make([]int32, d.Len()*len(factors)), make([]int, len(d.Factors()))
	for i := range d.Len() {
		d.Image(i, pixels)
		for p, v := range pixels {
			bytes[p] = uint8(255*v + 0.5)
		}
		if err := w.WriteAt(ctx, i, bytes); err != nil {
			return err
		}
		d.FactorsAt(i, row)
		for k, l := range row {
			levels[i*len(factors)+first+k] = int32(l)
		}
		if parted {
			levels[i*len(factors)] = int32(i % 2)
		}
	}
	return w.SetLevels(levels)
}

// short has the settings for training a single step.
var short = []string{"train.epochs=1", "train.epoch_steps=1", "train.batch=16", "metrics=[]"}

// trainStep trains one step.
func trainStep(t *testing.T, c train.Config) {
	t.Helper()
	for _, s := range c.Supervision {
		if v, ok := s.Value.(*supervision.ObjectViews); ok {
			v.Objects = min(v.Objects, 2) // the small data sets have few objects
		}
	}
	e, err := train.NewExperiment(c)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	l, err := e.Loop()
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	defer l.Close()
	if err := l.Run(t.Context()); err != nil || l.Step() != 1 {
		t.Errorf("%s: step %d, %v", c.Name, l.Step(), err)
	}
}

// published has the usual names of public data sets.
var published = map[string]string{"dsprites": "dSprites", "shapes3d": "3D Shapes", "cars3d": "Cars3D",
	"smallnorb": "SmallNORB", "mpi3d": "MPI3D", "coil100": "COIL-100", "modelnet40": "ModelNet40"}

// TestConfigsOnReal trains one step of every experiment on a twin, using the public data set instead. It checks that
// the config's comment names the public data set. The default test trains one experiment for each data set.
func TestConfigsOnReal(t *testing.T) {
	long.NotShort(t)
	standIns(t)
	trained, found := map[string]bool{}, 0
	for _, name := range configs.Names() {
		source := must.Get(configs.Read(name))(t)
		c, err := train.Load(name, source)
		must.OK(t, err)
		stands, ok := catalog.RealOf(c.Dataset.Value)
		if !ok {
			continue
		}
		found++
		real := stands.Name
		if title := configs.Title(name); !strings.Contains(title, "twin of ") || !strings.Contains(title, published[real]) {
			t.Errorf("%s: the first sentence of its comment, %q, does not say that its data set is a twin of %s", name, title, published[real])
		}
		comment, _, _ := strings.Cut(string(source), "name:")
		if want := "dataset=" + real; !strings.Contains(comment, want) {
			t.Errorf("%s: its comment lacks %q", name, want)
		}
		if c, err = train.Load(name, source, append(short[:len(short):len(short)], "dataset="+real)...); err != nil || c.Dataset.Name != real {
			t.Errorf("%s: %s, %v", name, c.Dataset.Name, err)
			continue
		}
		if real == "modelnet40" { // meshes have no small stand-in here
			continue
		}
		if !trained[real] || long.Enabled() {
			trained[real] = true
			trainStep(t, c)
		}
	}
	if found < 19 {
		t.Errorf("%d experiments are on twins; want at least 19", found)
	}
}

// TestTablesOnReal plans the runs of every table on twins with --real. It trains one step of each model on each
// data set. The default test takes a sample of the tables.
func TestTablesOnReal(t *testing.T) {
	long.NotShort(t)
	standIns(t)
	done, found := map[string]bool{}, 0
	for _, name := range long.Sample(Names(), 8) {
		table := must.Get(Open(name))(t)
		stands := must.Get(table.Stands(QuickScale))(t)
		twins := slices.DeleteFunc(stands, func(s Stand) bool { return s.Real == "" })
		if len(twins) == 0 {
			continue
		}
		found++
		checkStanding(t, table, twins)
		before := must.Get(table.Runs(QuickScale))(t)
		runs := must.Get(table.OnReal().Runs(QuickScale))(t)
		runs = slices.DeleteFunc(runs, func(r sweep.Run) bool { return r.Config.Dataset.Name == "celeba" }) // CelebA has no twin and no stand-in here
		if len(runs) != len(before) {
			t.Fatalf("%s: %d runs, and %d on public data sets with twins", name, len(before), len(runs))
		}
		for i, r := range runs {
			c := r.Config
			if _, ok := catalog.RealOf(c.Dataset.Value); ok || r.Hash == before[i].Hash || r.Name == before[i].Name {
				t.Errorf("%s: the run %s is on %s", name, r.Name, c.Dataset.Name)
			}
			key := fmt.Sprint(c.Model.Name, c.Dataset.Name, len(c.Losses))
			if done[key] || c.Dataset.Name == "modelnet40" { // meshes have no small stand-in here
				continue
			}
			done[key] = true
			c.Train.Epochs, c.Train.EpochSteps, c.Train.Batch = 1, 1, 16
			c.Metrics = train.Defaults().Metrics
			trainStep(t, c)
		}
	}
	want := 3
	if long.Enabled() {
		want = 6
	}
	if found < want {
		t.Errorf("%d tables are on twins; want at least %d", found, want)
	}
}

// checkStanding checks what a table and its result say about their data sets.
func checkStanding(t *testing.T, table *Table, twins []Stand) {
	t.Helper()
	source := must.Get(readConfig(configs.Tables(), table.Name+".yaml", table.Name))(t)
	comment, _, _ := strings.Cut(string(source), "name:")
	comment = strings.Join(strings.Fields(strings.ReplaceAll(comment, "#", "")), " ")
	r := must.Get(table.Compute(t.Context(), Options{}))(t)
	real := must.Get(table.OnReal().Compute(t.Context(), Options{}))(t)
	for _, s := range twins {
		for _, want := range []string{s.Name, published[s.Real], "drawn twin", "--real"} {
			if !strings.Contains(comment, want) {
				t.Errorf("%s: its comment %q lacks %q", table.Name, comment, want)
			}
		}
		if want := s.Name + ", a twin of " + s.Real; !strings.Contains(r.StandsOn(), want) {
			t.Errorf("%s: its result says %q, which lacks %q", table.Name, r.StandsOn(), want)
		}
		if !strings.Contains(real.StandsOn(), s.Real) || strings.Contains(real.StandsOn(), "twin") {
			t.Errorf("%s: its result on public data sets says %q", table.Name, real.StandsOn())
		}
	}
}

// TestSweepOnReal plans a sweep over a twin with options and its public data set.
func TestSweepOnReal(t *testing.T) {
	plan, err := sweep.Load("sweep.yaml",
		[]byte("base: byol/sprites\nset: {train.epochs: 1}\nproduct: {dataset: [{sprites: {channels: 3}}, dsprites]}\n"))
	must.OK(t, err)
	runs, err := plan.Runs()
	if err != nil || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	text, err := config.Encode(runs[1].Config.Dataset)
	if err != nil || !strings.Contains(string(text), "channels: 3") {
		t.Errorf("%s, %v", text, err)
	}
}
