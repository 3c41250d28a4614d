package public

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/painting"
	"github.com/unravel-ml/unravel/datasets/internal/render"
	"github.com/unravel-ml/unravel/datasets/source"
	"github.com/unravel-ml/unravel/internal/archive"
)

// ModelNet40 renders meshes of a class of ModelNet40 (Wu et al. 2015) that turn about their vertical axis. With the 626
// airplanes of the training part and 64 views, it is the set ModelNet40 of Tonnaer et al. 2022. The paper rendered its
// pictures with Blender, with an unstated camera and light; we use our own renderer, as in drawn.Turntable. The factors
// are the factors of Turntable: object, sorted by file number, and rotation.
type ModelNet40 struct {
	Class     string    `yaml:"class" doc:"class of the objects, such as airplane or night_stand"`
	Part      string    `yaml:"part" doc:"part of the published split: train, test or all"`
	Objects   int       `yaml:"objects" doc:"number of objects, from the first; 0: all"`
	Views     int       `yaml:"views" doc:"number of rotations in a full turn"`
	Size      int       `yaml:"size" doc:"height and width of the images, pixels"`
	Channels  int       `yaml:"channels" doc:"1 for the white objects, or 3 equal channels"`
	Elevation float64   `yaml:"elevation" doc:"height of the camera, degrees above the horizon"`
	Light     []float64 `yaml:"light" doc:"direction to the light: right, up, towards the viewer"`
	Crease    float64   `yaml:"crease" doc:"smallest angle in degrees between triangles at a sharp edge"`
}

// NewModelNet40 returns the default settings.
func NewModelNet40() *ModelNet40 {
	return &ModelNet40{Class: "airplane", Part: "train", Views: 64, Size: 64, Channels: 1, Elevation: 30,
		Light: []float64{0.3, 0.5, 0.8}, Crease: 30}
}

const modelnetFile = "ModelNet40.zip"

func (m *ModelNet40) Origin() datasets.Origin {
	return datasets.Origin{
		Files:   []source.File{{Name: modelnetFile, URL: "http://modelnet.cs.princeton.edu/" + modelnetFile}},
		Licence: "not stated; the authors of the models have the copyright",
		Citation: "Zhirong Wu, Shuran Song, Aditya Khosla, Fisher Yu, Linguang Zhang, Xiaoou Tang and Jianxiong Xiao: 3D ShapeNets: a deep representation for volumetric shapes. " +
			"CVPR 2015",
		Terms: "for the convenience of academic research",
		Bytes: int64(626*m.Views) * (int64(m.Channels*m.Size*m.Size) + 2*4), Version: painting.TurntableVersion,
	}
}

func (m *ModelNet40) turning() *painting.Turntable {
	return &painting.Turntable{Size: m.Size, Channels: m.Channels, Views: m.Views, Hues: 1, Elevation: m.Elevation,
		Light: m.Light}
}

var modelnetClass = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

func (m *ModelNet40) Validate() error {
	switch {
	case !modelnetClass.MatchString(m.Class):
		return config.Invalid("class", "%q is no class; want a name such as airplane or night_stand", m.Class)
	case !slices.Contains([]string{"train", "test", "all"}, m.Part):
		return config.Invalid("part", "unknown part %q; want train, test or all", m.Part)
	case m.Objects < 0 || m.Objects > drawn.MaxFirst:
		return config.Invalid("objects", "%d is out of range; want 0 or more", m.Objects)
	}
	if err := m.turning().Validate(); err != nil {
		return err
	}
	return painting.ValidMesh("z", m.Crease)
}

func (m *ModelNet40) Prepare(ctx context.Context, progress datasets.Progress) error {
	return prepare(ctx, progress, m.build)
}

// Build opens the drawn set.
func (m *ModelNet40) Build(uint64) (datasets.Dataset, error) { return m.build(context.Background()) }

func (m *ModelNet40) build(ctx context.Context) (datasets.Dataset, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("class=%s part=%s objects=%d crease=%v %s",
		m.Class, m.Part, m.Objects, m.Crease, m.turning().Text())
	return buildPublic(ctx, "modelnet40", options, m.Origin(), m.convert)
}

func (m *ModelNet40) convert(ctx context.Context, dir string, w *cache.Writer) error {
	z, err := archive.OpenZip(filepath.Join(dir, modelnetFile), archive.Limits{Member: render.MaxFile})
	if err != nil {
		return err
	}
	defer z.Close() // nothing was written
	members, err := m.members(z.Names())
	if err != nil {
		return fmt.Errorf("%s: %w", modelnetFile, err)
	}
	return m.turning().Convert(ctx, w, len(members), func(i int) ([]render.Part, error) {
		data, err := z.Read(members[i], nil)
		if err != nil {
			return nil, err
		}
		return painting.ReadObject(modelnetFile+": "+z.Names()[members[i]], data, true, m.Crease)
	})
}

// members returns the indices of the selected members of the archive, sorted by the numbers in their names.
func (m *ModelNet40) members(names []string) ([]int, error) {
	type mesh struct{ member, number int }
	var meshes []mesh
	classes := map[string]bool{}
	for i, name := range names {
		parts := strings.Split(name, "/")
		n := len(parts)
		if n < 3 || !strings.HasSuffix(parts[n-1], ".off") || strings.HasPrefix(parts[0], "__") ||
			strings.HasPrefix(parts[n-1], ".") {
			continue
		}
		class, part := parts[n-3], parts[n-2]
		if part != "train" && part != "test" {
			continue
		}
		classes[class] = true
		digits, ok := strings.CutPrefix(strings.TrimSuffix(parts[n-1], ".off"), class+"_")
		number, err := strconv.Atoi(digits)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s is no mesh of the class %s; want %s_0001.off and so on", name, class, class)
		}
		if class == m.Class && (m.Part == "all" || m.Part == part) {
			meshes = append(meshes, mesh{i, number})
		}
	}
	slices.SortFunc(meshes, func(a, b mesh) int { return a.number - b.number })
	if len(meshes) == 0 {
		known := slices.Sorted(maps.Keys(classes))
		return nil, fmt.Errorf("it has no meshes of the class %q in the part %s; want one of: %s",
			m.Class, m.Part, strings.Join(known, ", "))
	}
	if m.Objects > len(meshes) {
		return nil, config.Invalid("objects",
			"%d, and there are %d of the class %s in the part %s; want at most these, or 0 for all",
			m.Objects, len(meshes), m.Class, m.Part)
	}
	if m.Objects > 0 {
		meshes = meshes[:m.Objects]
	}
	members := make([]int, len(meshes))
	for i, f := range meshes {
		if i > 0 && f.number == meshes[i-1].number {
			return nil, fmt.Errorf("%s and %s have the same number; want only one of them",
				names[meshes[i-1].member], names[f.member])
		}
		members[i] = f.member
	}
	return members, nil
}
