package drawn

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/internal/render/objects"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Turntable draws objects on black that turn about their vertical axis: the user's meshes, or generated airplanes and
// solids. It is a twin of three sets of Tonnaer et al. 2022: Airplane (1 object, 64 hues, 64 views), ModelNet40 (626
// airplanes, 64 views) and COIL-100 (100 solids, 72 views). Its factors are, with the last one fastest and without
// factors of one level,
//
//   - object: number of the object; mesh files are sorted by path (categorical)
//   - hue: hue of the object or of the light, level/Hues (circular). A hue of the object gives its colours full
//     saturation, and keeps their values relative to the brightest.
//   - rotation: rotation of the object, level/Views of a full turn from +z to +x, in degrees (circular)
//
// An object is centred by its bounding box and scaled by its farthest vertex, which no rotation changes. A single mesh
// and the built-in objects are drawn on first use of an image; the meshes of a folder are drawn once and cached.
type Turntable struct {
	Path      string    `yaml:"path" doc:"mesh file (.off, .obj, .stl, .ply) or folder of them; empty: built-in objects"`
	Draw      string    `yaml:"draw" doc:"built-in objects: airplane or solid"`
	First     int       `yaml:"first" doc:"number of the first built-in object, from 0"`
	Objects   int       `yaml:"objects" doc:"number of objects; 0: all of a folder, or 1 built-in object"`
	Round     float64   `yaml:"round,omitempty" doc:"fraction of the solids that look the same from all sides, 0 to 1"`
	Hues      int       `yaml:"hues" doc:"number of hues around the colour circle; 1: the objects' own colours"`
	Views     int       `yaml:"views" doc:"number of rotations in a full turn"`
	Paint     string    `yaml:"paint" doc:"coloured by the hue: object or light"`
	Size      int       `yaml:"size" doc:"height and width of the images, pixels"`
	Channels  int       `yaml:"channels" doc:"3, or 1 for grey images"`
	Elevation float64   `yaml:"elevation" doc:"height of the camera, degrees above the horizon"`
	Light     []float64 `yaml:"light" doc:"direction to the light: right, up, towards the viewer"`
	Up        string    `yaml:"up" doc:"upward axis of meshes: z or y"`
	Crease    float64   `yaml:"crease" doc:"smallest angle in degrees between triangles at a sharp edge; for meshes without normals"`
}

// NewTurntable returns the default settings.
func NewTurntable() *Turntable {
	return &Turntable{
		Draw: "airplane", Hues: 64, Views: 64, Paint: "object", Size: 64, Channels: 3, Elevation: 30,
		Light: []float64{0.3, 0.5, 0.8}, Up: "z", Crease: 30,
	}
}

// MaxFirst is the maximum of First, and of other numbers of objects.
const MaxFirst = 1 << 30

func (t *Turntable) turning() *painting.Turntable {
	return &painting.Turntable{Size: t.Size, Channels: t.Channels, Views: t.Views, Hues: t.Hues, Lamp: t.Paint == "light",
		Elevation: t.Elevation, Light: t.Light}
}

func (t *Turntable) Validate() error {
	if err := t.turning().Validate(); err != nil {
		return err
	}
	switch {
	case t.Draw != "airplane" && t.Draw != "solid":
		return config.Invalid("draw", "unknown object %q; want airplane or solid", t.Draw)
	case t.First < 0 || t.First > MaxFirst:
		return config.Invalid("first", "%d is out of range; want 0 to %d", t.First, MaxFirst)
	case t.First > 0 && t.Path != "":
		return config.Invalid("first", "%d does not apply to meshes of path; want 0", t.First)
	case t.Objects < 0 || t.Objects > maxObjects && t.Path == "" || t.Objects > MaxFirst:
		return config.Invalid("objects", "%d is out of range; want 0 to %d", t.Objects, maxObjects)
	case !(t.Round >= 0 && t.Round <= 1):
		return config.Invalid("round", "%v is out of range; want 0 to 1", t.Round)
	case t.Round > 0 && (t.Draw != "solid" || t.Path != ""):
		return config.Invalid("round", "%v applies to built-in solids; want 0, or draw: solid without path", t.Round)
	case t.Paint != "object" && t.Paint != "light":
		return config.Invalid("paint", "unknown value %q; want object or light", t.Paint)
	}
	return painting.ValidMesh(t.Up, t.Crease)
}

func (t *Turntable) Reads() []datasets.Read {
	if t.Path == "" {
		return nil
	}
	return []datasets.Read{{Key: "path", Path: t.Path, Folder: pictures.Meshes, InSet: true}}
}

func (t *Turntable) Prepare(ctx context.Context, progress datasets.Progress) error {
	_, err := t.build(cache.WithProgress(ctx, cache.Progress(progress)))
	return err
}

// Build reads or creates the objects, and draws the meshes of a folder.
func (t *Turntable) Build(uint64) (datasets.Dataset, error) { return t.build(context.Background()) }

func (t *Turntable) build(ctx context.Context) (datasets.Dataset, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if t.Path == "" {
		all := make([][]render.Part, max(t.Objects, 1))
		parallel.For(len(all), func(_, n int) { all[n] = t.object(uint64(t.First + n)) })
		return turningSet(t.turning(), all), nil
	}
	info, err := os.Stat(t.Path)
	if err != nil {
		return nil, fmt.Errorf("data set turntable: %w", err)
	}
	read := t.fromFolder
	if !info.IsDir() {
		read = t.fromFile
	}
	d, err := read(ctx)
	if err != nil {
		return nil, fmt.Errorf("data set turntable: %w", err)
	}
	return d, nil
}

func (t *Turntable) object(seed uint64) []render.Part {
	switch {
	case t.Draw != "solid":
		return objects.Airplane(seed)
	case math.Floor(float64(seed+1)*t.Round) > math.Floor(float64(seed)*t.Round): // spread evenly over the objects
		return objects.Round(seed)
	}
	return objects.Solid(seed)
}

// turningSet returns a data set of objects. Images are drawn on first use.
func turningSet(t *painting.Turntable, objects [][]render.Part) datasets.Dataset {
	set := gridSet{name: "turntable", shape: [3]int{t.Size, t.Size, t.Channels}, grid: t.Grid(len(objects))}
	return newRendered(set, func() painter {
		d := t.NewTurner()
		return func(i int, dst []uint8) {
			view, rest := i%t.Views, i/t.Views
			d.Draw(objects[rest/t.Hues], rest%t.Hues, view, dst)
		}
	})
}

func (t *Turntable) fromFile(context.Context) (datasets.Dataset, error) {
	if t.Objects > 1 {
		return nil, config.Invalid("objects", "%d, and %s is one file; want 1, or a folder", t.Objects, t.Path)
	}
	data, err := disk.ReadFile(t.Path, render.MaxFile)
	if err != nil {
		return nil, err
	}
	object, err := painting.ReadObject(t.Path, data, t.Up == "z", t.Crease)
	if err != nil {
		return nil, err
	}
	return turningSet(t.turning(), [][]render.Part{object}), nil
}

// fromFolder returns the cached data set of the meshes below a folder.
func (t *Turntable) fromFolder(ctx context.Context) (datasets.Dataset, error) {
	list, err := pictures.ListMeshes(t.Path)
	if err != nil {
		return nil, err
	}
	if t.Objects > len(list.Files) {
		return nil, config.Invalid("objects", "%d, and %s has %d meshes; want at most these, or 0 for all",
			t.Objects, t.Path, len(list.Files))
	}
	if t.Objects > 0 {
		list.Files = list.Files[:t.Objects]
	}
	files, err := list.Hash(ctx)
	if err != nil {
		return nil, err
	}
	key := cache.Key{Name: "turntable", Options: fmt.Sprintf("%s up=%s crease=%v files=%s", t.turning().Text(), t.Up,
		t.Crease, files), Version: painting.TurntableVersion}
	set, err := cache.Ensure(ctx, key, func(ctx context.Context, w *cache.Writer) error {
		w.SetSources([]cache.Source{{Name: t.Path}})
		return t.turning().Convert(ctx, w, len(list.Files), func(i int) ([]render.Part, error) {
			name := filepath.Join(t.Path, filepath.FromSlash(list.Files[i].Name))
			data, err := disk.ReadFile(name, render.MaxFile)
			if err == nil {
				err = list.Files[i].Check(data)
			}
			if err != nil {
				return nil, err
			}
			return painting.ReadObject(name, data, t.Up == "z", t.Crease)
		})
	})
	if err != nil {
		return nil, err
	}
	return stored.FromCache(set), nil
}
