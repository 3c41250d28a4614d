package weights

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/registry"
)

// File is a file of tensors that any program wrote.
type File struct {
	path string
	file *safetensors.File
}

// Open reads a safetensors file. It needs no checksum; one that is there must be right.
func Open(path string) (*File, error) {
	f, err := safetensors.ReadForeign(path)
	if err != nil && strings.HasSuffix(path, ".onnx") {
		return nil, fmt.Errorf("%w; an ONNX network cannot be read, want its weights as safetensors", err)
	}
	if err != nil {
		return nil, err
	}
	return &File{path, f}, nil
}

// Config returns the experiment that the file's model is of, in YAML; empty if it does not say.
func (f *File) Config() string { return f.file.Metadata[configKey] }

// Layout returns the layout that the file says it has; [Native] if it does not say.
func (f *File) Layout() Layout {
	if l := f.file.Metadata["unravel.layout"]; l != "" {
		return Layout(l)
	}
	return Native
}

// LoadOptions say how the tensors of a file become parameters.
type LoadOptions struct {
	Layout  Layout      // of the tensors; empty: as the file says
	Renames [][2]string // beginnings of names, and what stands for them in the model
	Partial bool        // parameters that are not in the file stay as they are, and tensors that the model lacks are left out
}

// Loaded says what became of the tensors of a file.
type Loaded struct {
	Tensors  int      `json:"tensors"`  // of the file that the model has
	Elements int      `json:"elements"` // of parameters that were set
	Missing  []string `json:"missing"`  // tensors that the model has and the file has not
	Unknown  []string `json:"unknown"`  // tensors that the file has and the model has not
}

// Load sets the parameters and states of a model to the tensors of a file, by name and shape. Elements may be of 16, 32 or 64
// bits and are rounded to float32. Nothing is set if there is an error.
func (s *Source) Load(f *File, o LoadOptions) (*Loaded, error) {
	l := o.Layout
	if l == "" {
		l = f.Layout()
	}
	err := l.check()
	var forms map[string]form
	if err == nil && l == PyTorch {
		forms, err = s.forms()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	given, err := f.renamed(o.Renames, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	report := &Loaded{Missing: []string{}, Unknown: []string{}}
	params := s.Model.Params()
	values := map[string][]float32{}
	known := map[string]bool{}
	for _, name := range params.Names() {
		t := params.Get(name)
		wanted := arrays(name, t.Shape(), t.Float32s(), l, forms)
		var data []float32
		for _, a := range wanted {
			known[a.name] = true
			x, ok := given[a.name]
			if !ok {
				report.Missing = append(report.Missing, a.name)
				continue
			}
			v, err := read(x, a.shape)
			if err != nil {
				return nil, fmt.Errorf("%s: %w%s", f.path, err, hint(x.Shape, t.Shape(), l))
			}
			report.Tensors++
			data = append(data, v...)
		}
		if len(data) < t.DataSize() {
			continue
		}
		if fm, ok := forms[name]; ok {
			data = fm.restore(data)
		}
		values[name] = data
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			report.Unknown = append(report.Unknown, name)
		}
	}
	if !o.Partial {
		if err := report.mismatch(slices.Sorted(maps.Keys(given)), slices.Sorted(maps.Keys(known))); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: none of its %d tensors is a parameter of the model, such as %q", f.path, len(given), params.Names()[0])
	}
	for name, v := range values {
		copy(params.Get(name).Float32s(), v)
		report.Elements += len(v)
	}
	return report, nil
}

// renamed returns the tensors by the names that they have in the model. In the layout of PyTorch names of the model, with slashes, are
// taken too.
func (f *File) renamed(renames [][2]string, l Layout) (map[string]safetensors.Tensor, error) {
	tensors := map[string]safetensors.Tensor{}
	used := make([]bool, len(renames))
	for _, t := range f.file.Tensors {
		name := t.Name
		for i, r := range renames {
			if rest, ok := strings.CutPrefix(name, r[0]); ok {
				name, used[i] = r[1]+rest, true
				break
			}
		}
		if l == PyTorch {
			name = strings.ReplaceAll(name, "/", ".")
		}
		if other, ok := tensors[name]; ok {
			return nil, fmt.Errorf("the tensors %q and %q are both called %q in the model; want other names", other.Name, t.Name, name)
		}
		tensors[name] = t
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("no tensor begins with %q, which is to be renamed", renames[i][0])
	}
	return tensors, nil
}

// read returns the elements of a tensor as float32.
func read(t safetensors.Tensor, shape []int) ([]float32, error) {
	var data []float32
	switch v := t.Data.(type) {
	case []float32:
		data = v
	case []float64:
		for _, x := range v {
			data = append(data, float32(x))
		}
	default:
		return nil, fmt.Errorf("tensor %q holds %T; want numbers of 16, 32 or 64 bits with a fraction", t.Name, t.Data)
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("tensor %q has shape %v, want %v", t.Name, t.Shape, shape)
	}
	if i := slices.IndexFunc(data, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }); i >= 0 {
		return nil, fmt.Errorf("tensor %q: element %d is %v as float32; want a finite number", t.Name, i, data[i])
	}
	return data, nil
}

// hint says what a shape looks like that would fit in the other layout.
func hint(got, native []int, l Layout) string {
	n := len(got)
	switch {
	case l != Native || n != len(native):
		return ""
	case n == 2 && got[0] == native[1] && got[1] == native[0],
		n == 4 && got[0] == native[3] && got[1] == native[2] && got[2] == native[0] && got[3] == native[1]:
		return fmt.Sprintf("; it looks like the layout %s", PyTorch)
	}
	return ""
}

// mostNames bounds the names in an error.
const mostNames = 8

// mismatch reports tensors that are missing or unknown; nil if there are none.
func (l *Loaded) mismatch(given, known []string) error {
	var parts []string
	if len(l.Missing) > 0 {
		parts = append(parts, "tensors of the model are missing: "+listed(l.Missing, given))
	}
	if len(l.Unknown) > 0 {
		parts = append(parts, "tensors that the model does not have: "+listed(l.Unknown, known))
	}
	if parts == nil {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// listed joins the first names with those of others that are near to them.
func listed(names, others []string) string {
	list := make([]string, 0, mostNames+1)
	for _, name := range names[:min(len(names), mostNames)] {
		if near := registry.Suggest(name, others); strings.Contains(near, "did you mean") { // else it lists all of them
			name += " (" + strings.TrimPrefix(near, "; ") + ")"
		}
		list = append(list, name)
	}
	if more := len(names) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}
