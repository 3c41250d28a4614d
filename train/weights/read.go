package weights

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/models"
)

// File is a file of tensors from any program.
type File struct {
	path string
	file *safetensors.File
}

// Open reads a safetensors file. The checksum is optional, but it must be correct if the file has one.
func Open(path string) (*File, error) {
	f, err := safetensors.ReadForeign(path)
	if err != nil && strings.HasSuffix(path, ".onnx") {
		return nil, fmt.Errorf("%w; weights cannot be read from an ONNX network, want its weights as safetensors", err)
	}
	if err != nil {
		return nil, err
	}
	return &File{path, f}, nil
}

// Tensor is a named array.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// NewFile returns tensors as a File in the layout [Native]. Messages use its name.
func NewFile(name string, tensors []Tensor) *File {
	f := &safetensors.File{}
	for _, t := range tensors {
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
	}
	return &File{name, f}
}

// Config returns the experiment of the file's model in YAML, or "" if the file does not contain it.
func (f *File) Config() string { return f.file.Metadata[configKey] }

// Layout returns the layout that the file specifies, or [Native] if it specifies none.
func (f *File) Layout() Layout { return cmp.Or(Layout(f.file.Metadata["unravel.layout"]), Native) }

// LoadOptions specify how to load the tensors of a file into parameters.
type LoadOptions struct {
	Layout  Layout      // layout of the tensors; empty: as the file specifies
	Renames [][2]string // prefixes of names, and their replacements in the model
	Only    []string    // patterns of the model's names (nn.Match): Load only sets and checks these; empty: all
	Partial bool        // keep parameters that are not in the file, and skip tensors that are not in the model
	Fitting bool        // also skip tensors with other shapes than in the model
}

// Loaded is the result of Load.
type Loaded struct {
	Tensors  int      `json:"tensors"`            // number of tensors of the file that are in the model
	Elements int      `json:"elements"`           // number of parameter elements that were set
	Missing  []string `json:"missing"`            // tensors of the model that are not in the file
	Unknown  []string `json:"unknown"`            // tensors of the file that are not in the model
	Misfits  []string `json:"misfits,omitempty"`  // with Fitting: tensors with other shapes, and both shapes
	Counters []string `json:"counters,omitempty"` // batch counters of PyTorch's batch norm, which no network uses
	Names    []string `json:"-"`                  // parameters that were set
	Derived  []string `json:"-"`                  // states that the model computed from these parameters, see [models.Starter]
	Warning  string   `json:"warning,omitempty"`  // about a convolution that another program may pad in another way
}

// Load sets the parameters and states of a model from the tensors of a file, by name and shape. It accepts elements of
// 16, 32 or 64 bits and rounds them to float32. If the file does not contain an EMA target, the target becomes a copy
// of the parameters that were set. After an error, nothing has been set.
func (s *Source) Load(f *File, o LoadOptions) (*Loaded, error) {
	l := cmp.Or(o.Layout, f.Layout())
	err := l.check()
	var conversions map[string]conversion
	if err == nil && l == PyTorch {
		conversions, err = s.conversions()
	}
	if err == nil {
		err = o.patternsFit(s.Model.Params())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	tensors, err := f.renamed(o.Renames, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	report, values, err := s.match(tensors, conversions, l, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	params := s.Model.Params()
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: none of its %d tensors is a parameter of the model, such as %q%s",
			f.path, len(tensors), params.Names()[0], namesHint(tensors, params.Names(), l))
	}
	for _, name := range params.Names() {
		if v, ok := values[name]; ok {
			copy(params.Get(name).Float32s(), v)
			report.Elements += len(v)
			report.Names = append(report.Names, name)
			if note := conversions[name].paddingNote; note != "" && report.Warning == "" && f.Layout() == Native {
				report.Warning = name + ": " + note
			}
		}
	}
	if m, ok := s.Model.(models.Starter); ok {
		report.Derived = m.Started(func(name string) bool { return values[name] != nil })
	}
	return report, nil
}

func (s *Source) match(tensors map[string]safetensors.Tensor, conversions map[string]conversion, l Layout,
	o LoadOptions) (*Loaded, map[string][]float32, error) {
	report := &Loaded{Missing: []string{}, Unknown: []string{}}
	params := s.Model.Params()
	values := map[string][]float32{}
	known := map[string]bool{}
	for _, name := range params.Names() {
		t := params.Get(name)
		wanted := layoutTensors(name, t.Shape(), t.Float32s(), l, conversions)
		var data []float32
		for _, a := range wanted {
			known[a.name] = true
			if !o.selects(name) {
				continue
			}
			x, ok := tensors[a.name]
			if !ok {
				report.Missing = append(report.Missing, a.name)
				continue
			}
			if o.Fitting && !slices.Equal(x.Shape, a.shape) {
				report.Misfits = append(report.Misfits, fmt.Sprintf("%s (%v, want %v)", a.name, x.Shape, a.shape))
				continue
			}
			v, err := toFloat32(x, a.shape)
			if err != nil {
				return nil, nil, fmt.Errorf("%w%s", err, layoutHint(x.Shape, t.Shape(), l))
			}
			report.Tensors++
			data = append(data, v...)
		}
		if len(data) < t.DataSize() {
			continue
		}
		if err := checkVariances(name, t.Shape(), data, wanted); err != nil {
			return nil, nil, err
		}
		if fm, ok := conversions[name]; ok {
			data = fm.restore(data)
		}
		values[name] = data
	}
	report.addUnused(tensors, known, l, o)
	if o.Partial {
		return report, values, nil
	}
	if err := report.mismatch(slices.Sorted(maps.Keys(tensors)), slices.Sorted(maps.Keys(known))); err != nil {
		return nil, nil, fmt.Errorf("%w%s", err, namesHint(tensors, report.Missing, l))
	}
	return report, values, nil
}

// namesHint returns a hint if the tensors of the file have the names of the other layout.
func namesHint(tensors map[string]safetensors.Tensor, missing []string, l Layout) string {
	dotted := func(name string) bool { _, ok := tensors[strings.ReplaceAll(name, "/", ".")]; return ok }
	if l == Native && slices.ContainsFunc(missing, dotted) {
		return fmt.Sprintf("; the names with dots look like the layout %s", PyTorch)
	}
	return ""
}

// addUnused lists the tensors that belong to no parameter.
func (r *Loaded) addUnused(tensors map[string]safetensors.Tensor, known map[string]bool, l Layout, o LoadOptions) {
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		switch {
		case known[name] || !o.selects(modelName(name, l)):
		case l == PyTorch && isCounter(tensors[name], name, known):
			r.Counters = append(r.Counters, name)
		default:
			r.Unknown = append(r.Unknown, name)
		}
	}
}

// isCounter reports whether a tensor is the batch counter of a batch norm of the model.
func isCounter(t safetensors.Tensor, name string, known map[string]bool) bool {
	norm, ok := strings.CutSuffix(name, counter)
	_, isInteger := t.Data.([]int64)
	return ok && isInteger && known[norm+runningVariance]
}

// checkVariances rejects negative running variances: their roots are not numbers. They are in the last array.
func checkVariances(name string, shape []int, data []float32, arrays []layoutTensor) error {
	if !isRunning(name, shape) {
		return nil
	}
	for i, v := range data[shape[2]:] {
		if v < 0 {
			return fmt.Errorf("tensor %q: the running variance of channel %d is %v; want 0 or more",
				arrays[len(arrays)-1].name, i, v)
		}
	}
	return nil
}

// modelName returns the model's name for a tensor of a layout, for matching patterns.
func modelName(name string, l Layout) string {
	if l == PyTorch {
		return strings.ReplaceAll(name, ".", "/")
	}
	return name
}

// selects reports whether the options select a parameter.
func (o *LoadOptions) selects(name string) bool {
	return len(o.Only) == 0 || slices.ContainsFunc(o.Only, func(p string) bool { return nn.Match(p, name) })
}

// patternsFit returns an error for a pattern that matches no parameter, unless Partial is set.
func (o *LoadOptions) patternsFit(params *nn.Params) error {
	for _, p := range o.Only {
		if _, err := params.Matching(p); err != nil && !o.Partial {
			return err
		}
	}
	return nil
}

// Digest returns a hash of the tensors that the options select: their names in the model, their shapes and their
// elements. The hash depends neither on the model nor on other tensors of the file.
func (f *File) Digest(o LoadOptions) (string, error) {
	l := cmp.Or(o.Layout, f.Layout())
	tensors, err := f.renamed(o.Renames, l)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.path, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", l)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if !o.selects(modelName(name, l)) {
			continue
		}
		t := tensors[name]
		fmt.Fprintf(h, "%q %v %T\n", name, t.Shape, t.Data)
		if err := binary.Write(h, binary.LittleEndian, t.Data); err != nil {
			return "", fmt.Errorf("%s: tensor %q: %w", f.path, name, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// renamed returns the tensors by their names in the model. For PyTorch it also accepts slashes.
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
			return nil, fmt.Errorf("the tensors %q and %q are both called %q in the model; want other names",
				other.Name, t.Name, name)
		}
		tensors[name] = t
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("no tensor begins with %q, the prefix to rename", renames[i][0])
	}
	return tensors, nil
}

func toFloat32(t safetensors.Tensor, shape []int) ([]float32, error) {
	var data []float32
	switch v := t.Data.(type) {
	case []float32:
		data = v
	case []float64:
		for _, x := range v {
			data = append(data, float32(x))
		}
	default:
		return nil, fmt.Errorf("tensor %q holds %T; want floats of 16, 32 or 64 bits", t.Name, t.Data)
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("tensor %q has shape %v, want %v", t.Name, t.Shape, shape)
	}
	if i := slices.IndexFunc(data, func(x float32) bool {
		return math.IsNaN(float64(x)) ||
			math.IsInf(float64(x), 0)
	}); i >= 0 {
		return nil, fmt.Errorf("tensor %q: element %d is %v as float32; want a finite number", t.Name, i, data[i])
	}
	return data, nil
}

// layoutHint returns a hint if the shape would match in the other layout.
func layoutHint(got, native []int, l Layout) string {
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

const maxNames = 8

// mismatch returns an error for missing and unknown tensors, or nil if all match.
func (l *Loaded) mismatch(tensors, known []string) error {
	var problems []string
	if len(l.Missing) > 0 {
		problems = append(problems, "tensors of the model are missing: "+joinNames(l.Missing, tensors))
	}
	if len(l.Unknown) > 0 {
		problems = append(problems, "tensors that the model does not have: "+joinNames(l.Unknown, known))
	}
	if problems == nil {
		return nil
	}
	return errors.New(strings.Join(problems, "; "))
}

// joinNames joins the first names, each with similar names from others.
func joinNames(names, others []string) string {
	list := make([]string, 0, maxNames+1)
	for _, name := range names[:min(len(names), maxNames)] {
		if suggestion := registry.Suggest(name, others); strings.Contains(suggestion, "did you mean") { // otherwise suggestion lists all of them
			name += " (" + strings.TrimPrefix(suggestion, "; ") + ")"
		}
		list = append(list, name)
	}
	if remaining := len(names) - len(list); remaining > 0 {
		list = append(list, fmt.Sprintf("and %d more", remaining))
	}
	return strings.Join(list, ", ")
}
