package weights_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/train/weights"
)

// played are the cases for a page: every kind of layer, every decoder, and every operation added by a model, with few
// weights.
func played(t *testing.T) (list []testCase) {
	for _, all := range []map[string]func(g *nn.Graph, x *gorgonia.Node) (*gorgonia.Node, error){ownEncoders(), pixelEncoders()} {
		for name, encode := range all {
			list = append(list, *ownCase(t, name, encode))
		}
	}
	seen := map[string]bool{}
	for _, s := range cases() {
		c := s.build(t)
		_, decoder, _ := strings.Cut(s.more, "decoder: ")
		layers := strings.Contains(s.more, "layers") || decoder != "" && !seen[decoder]
		seen[decoder] = true
		for _, p := range c.source.Parts() {
			o, err := c.source.Operations(p)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			size := 0
			for _, w := range o.Constants {
				size += len(w.Floats)
			}
			if size > 300_000 || !fresh(o, seen) && !layers {
				continue
			}
			list = append(list, c)
			break
		}
	}
	return list
}

// fresh reports whether a network has an operation outside seen, and adds its operations to seen.
func fresh(o *weights.Operations, seen map[string]bool) (fresh bool) {
	for _, n := range o.List {
		form := fmt.Sprint(n.Name, n.Attributes["mode"], n.Attributes["keepdims"], len(n.Inputs))
		fresh = fresh || !seen[form]
		seen[form] = true
	}
	return fresh
}

// A page computes the results of graph/machine, for every operation of exported networks.
func TestPageComputesNetworks(t *testing.T) {
	long.NotShort(t)
	path := filepath.Join(t.TempDir(), "page.html")
	html := `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">`
	for _, name := range web.Scripts("explore") {
		html += "<script>" + web.Text(name) + "</script>"
	}
	must.Write(t, path, []byte(html))
	page := browser.Open(t).Page(browser.File(path))
	const n = 3
	count, worst, used := 0, 0.0, map[string]bool{}
	for _, c := range played(t) {
		codes := c.encode(t, n)
		for _, p := range c.source.Parts() {
			in, want := c.images(n), codes
			if p == weights.Decoder {
				in, want = codes, c.decode(t, codes, n)
			}
			d := difference(computed(t, page, &c, p, in, n, used), want)
			if worst = max(worst, d); !(d <= 1e-5) {
				t.Errorf("%s: %s: differs by %.2g of its scale, want at most 1e-5", c.name, p, d)
			}
			count++
		}
	}
	t.Logf("%d networks; the greatest difference is %.2g of the scale", count, worst)
	var known []string
	page.Eval("Object.keys(Unravel.operations)", &known)
	for _, name := range known {
		if !used[name] {
			t.Errorf("no network has the operation %s", name)
		}
	}
}

// computed runs a part of a model in the page, with weights in single precision.
func computed(t *testing.T, page *browser.Page, c *testCase, p weights.Part, in []float32, n int, used map[string]bool) []float32 {
	t.Helper()
	o, err := c.source.Operations(p)
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	for _, operation := range o.List {
		used[operation.Name] = true
	}
	d := web.NewDecoder(o)
	for i, w := range o.Constants {
		if w.Ints == nil {
			d.Constants[i].Values = web.Floats(w.Floats, append([]int{}, w.Shape...)...)
		}
	}
	text := must.Get(json.Marshal([]any{d, web.Floats(in, n, len(in)/n)}))(t)
	var out []float32
	page.Eval(fmt.Sprintf(`(() => {
		const [network, rows] = %s, x = Unravel.array(rows), [n, width] = x.shape, d = Unravel.decoder(network), out = [];
		for (let i = 0; i < n; i++) out.push(...d.decode(x.subarray(i * width, (i + 1) * width)));
		return out;
	})()`, text), &out)
	return out
}
