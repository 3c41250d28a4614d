package weights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/weights"
)

// smallSource returns an encoder with two layers, and its parameters as tensors with elements 1, 2 and so on.
func smallSource(t *testing.T) (s weights.Source, tensors []weights.Tensor) {
	t.Helper()
	mlp := nn.NewMLP()
	mlp.Hidden = []int{3}
	settings := models.NewEncoder()
	settings.Encoder, settings.Latent = nn.EncoderChoice{Name: "mlp", Value: mlp}, 2
	data := models.Data{Height: 2, Width: 2, Channels: 1}
	model := must.Get(settings.New(data, 1))(t)
	for _, name := range model.Params().Names() {
		p := model.Params().Get(name)
		x := weights.Tensor{Name: name, Shape: slices.Clone(p.Shape()), Data: make([]float32, p.DataSize())}
		for i := range x.Data {
			x.Data[i] = float32(i + 1)
		}
		tensors = append(tensors, x)
	}
	return weights.Source{Model: model, Data: data}, tensors
}

// A file with a missing or an extra tensor is an error that names at most eight tensors. Parts of it load.
func TestLoadMismatch(t *testing.T) {
	extra := func(n int) (list []weights.Tensor) {
		for i := range n {
			list = append(list, weights.Tensor{Name: fmt.Sprintf("z%02d", i), Shape: []int{1}, Data: []float32{1}})
		}
		return list
	}
	shaped := func(name string, shape ...int) func([]weights.Tensor) []weights.Tensor {
		return func(list []weights.Tensor) []weights.Tensor {
			at := slices.IndexFunc(list, func(x weights.Tensor) bool { return x.Name == name })
			list[at].Shape = shape
			return list
		}
	}
	const eight = "z00, z01, z02, z03, z04, z05, z06, z07"
	for _, c := range []struct {
		name   string
		change func([]weights.Tensor) []weights.Tensor
		want   string
	}{
		{"one less", func(l []weights.Tensor) []weights.Tensor { return l[1:] }, "file: tensors of the model are missing: encoder/dense1/weight"},
		{"one more", func(l []weights.Tensor) []weights.Tensor { return append(l, extra(1)...) }, "file: tensors that the model does not have: z00"},
		{"one less and one more", func(l []weights.Tensor) []weights.Tensor { return append(l[1:], extra(1)...) },
			"file: tensors of the model are missing: encoder/dense1/weight; tensors that the model does not have: z00"},
		{"eight more", func(l []weights.Tensor) []weights.Tensor { return append(l, extra(8)...) }, "file: tensors that the model does not have: " + eight},
		{"nine more", func(l []weights.Tensor) []weights.Tensor { return append(l, extra(9)...) }, "file: tensors that the model does not have: " + eight + ", and 1 more"},
		{"a turned weight", shaped("encoder/dense1/weight", 3, 4), `file: tensor "encoder/dense1/weight" has shape [3 4], want [4 3]; it looks like the layout pytorch`},
		{"another shape", shaped("encoder/dense1/weight", 2, 6), `file: tensor "encoder/dense1/weight" has shape [2 6], want [4 3]`},
		{"another rank", shaped("encoder/dense1/weight", 12), `file: tensor "encoder/dense1/weight" has shape [12], want [4 3]`},
	} {
		source, tensors := smallSource(t)
		before := slices.Clone(source.Model.Params().Get("latent/code/weight").Float32s())
		f := weights.NewFile("file", c.change(tensors))
		if _, err := source.Load(f, weights.LoadOptions{}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
		if !slices.Equal(source.Model.Params().Get("latent/code/weight").Float32s(), before) {
			t.Errorf("%s: a refused file has changed the model", c.name)
		}
		loaded, err := source.Load(f, weights.LoadOptions{Partial: true, Fitting: true})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		of := source.Model.Params().Get("latent/code/weight").Float32s()
		if n := len(loaded.Names) + len(loaded.Missing) + len(loaded.Misfits); n != 4 ||
			loaded.Tensors != len(loaded.Names) || of[0] != 1 || of[len(of)-1] != float32(len(of)) {
			t.Errorf("%s: %+v, weights %v", c.name, loaded, of)
		}
		must.Equal(t, len(loaded.Misfits) == 1, strings.Contains(c.want, "has shape"), c.name, "misfits", loaded.Misfits)
	}
}

// Names with dots in the layout with slashes are an error that names the other layout, for full and partial loads.
func TestLoadNamesOfPyTorch(t *testing.T) {
	for _, partial := range []bool{false, true} {
		source, tensors := smallSource(t)
		for i := range tensors {
			tensors[i].Name = strings.ReplaceAll(tensors[i].Name, "/", ".")
		}
		_, err := source.Load(weights.NewFile("file", tensors), weights.LoadOptions{Partial: partial})
		if err == nil || !strings.HasSuffix(err.Error(), "; the names with dots look like the layout pytorch") {
			t.Errorf("partial %v: %v", partial, err)
		}
	}
}

// Only the first matching rename counts. A rename without a tensor, or to an existing name, is an error.
func TestLoadRenames(t *testing.T) {
	for _, c := range []struct {
		renames [][2]string
		want    string
	}{
		{[][2]string{{"encoder/", "e/"}, {"enc", "none"}}, `file: no tensor begins with "enc", the prefix to rename`},
		{[][2]string{{"encoder/", "e/"}, {"e/", "encoder/"}}, `file: no tensor begins with "e/", the prefix to rename`},
		{[][2]string{{"encoder/dense1/weight", "latent/code/weight"}}, `file: the tensors "encoder/dense1/weight" and "latent/code/weight" are both called "latent/code/weight" in the model; want other names`},
		{[][2]string{{"latent/code/", "encoder/dense9/"}}, ""},
	} {
		source, tensors := smallSource(t)
		loaded, err := source.Load(weights.NewFile("file", tensors), weights.LoadOptions{Renames: c.renames, Partial: true})
		if c.want == "" {
			if err != nil || loaded.Tensors != 2 || len(loaded.Missing) != 2 || len(loaded.Unknown) != 2 {
				t.Errorf("%q: %+v, %v", c.renames, loaded, err)
			}
		} else if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v\nwant %s", c.renames, err, c.want)
		}
	}
}

// A digest depends on names, shapes and elements, but not on tensors that the options omit.
func TestDigest(t *testing.T) {
	_, tensors := smallSource(t)
	digest := func(change func([]weights.Tensor), o weights.LoadOptions) string {
		t.Helper()
		_, list := smallSource(t)
		change(list)
		return must.Get(weights.NewFile("file", list).Digest(o))(t)
	}
	same := func([]weights.Tensor) {}
	only := weights.LoadOptions{Only: []string{"encoder/*/*"}}
	whole, part := digest(same, weights.LoadOptions{}), digest(same, only)
	if len(whole) != 32 || whole == part {
		t.Errorf("digests %s, %s", whole, part)
	}
	last := len(tensors) - 1 // outside the encoder
	for name, c := range map[string]struct {
		change          func([]weights.Tensor)
		changes, ofPart bool
	}{
		"order":   {slices.Reverse[[]weights.Tensor], false, false},
		"element": {func(l []weights.Tensor) { l[last].Data[0]++ }, true, false},
		"inside":  {func(l []weights.Tensor) { l[0].Data[0]++ }, true, true},
		"shape":   {func(l []weights.Tensor) { slices.Reverse(l[0].Shape) }, true, true},
		"name":    {func(l []weights.Tensor) { l[last].Name += "s" }, true, false},
	} {
		must.Equal(t, digest(c.change, weights.LoadOptions{}) != whole, c.changes, name, "the digest changes")
		must.Equal(t, digest(c.change, only) != part, c.ofPart, name, "the digest of the part changes")
	}
}
