package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

type settings struct{ Size int }

var table = Registry[*settings]{Kind: "shape", Entries: []Entry[*settings]{
	{Name: "square", New: func() *settings { return &settings{Size: 4} }},
	{Name: "circle", New: func() *settings { return &settings{Size: 1} }},
}}

func TestLookup(t *testing.T) {
	e, err := table.Lookup("circle")
	if err != nil || e.New().Size != 1 {
		t.Errorf("Lookup(circle) = %v, %v", e.Name, err)
	}
	if first, second := e.New(), e.New(); first == second {
		t.Error("two settings are the same")
	}
	for name, want := range map[string]string{
		"sqare":    `unknown shape "sqare"; did you mean "square"?`,
		"triangle": `unknown shape "triangle"; known: square, circle`,
		"":         `unknown shape ""; known: square, circle`,
	} {
		if _, err := table.Lookup(name); err == nil || err.Error() != want {
			t.Errorf("Lookup(%q): %v, want %s", name, err, want)
		}
	}
}

func TestMore(t *testing.T) {
	own := &Registry[*settings]{Kind: "shape"}
	all := Registry[*settings]{Kind: "shape", Entries: table.Entries, More: own}
	for _, name := range []string{"star", "circle"} {
		must.OK(t, own.Register(Entry[*settings]{Name: name, Doc: "a shape", New: func() *settings { return &settings{Size: 7} }}))
	}
	must.Equal(t, strings.Join(all.Names(), " "), "square circle star circle", "names")
	if e, err := all.Lookup("star"); err != nil || e.New().Size != 7 {
		t.Errorf("star: %v", err)
	}
	want := `shape "circle" is built in, and the program registers it too; want another name for its own`
	if _, err := all.Lookup("circle"); err == nil || err.Error() != want {
		t.Errorf("circle: %v, want %s", err, want)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"epochs", "epoch", 1},
		{"ab", "ba", 1}, {"vea", "vae", 1}, {"ca", "abc", 3}} {
		must.Equal(t, editDistance(c.a, c.b), c.want, "Distance", c.a, c.b)
	}
}

// A wrong hint is worse than no hint.
func TestNear(t *testing.T) {
	known := []string{"j", "reconstruction", "kl", "mig", "mad", "mae", "mse", "dci", "ml-vae", "vae", "gvae", "beta-vae",
		"moco-v2", "conv64", "runs", "name", "losses", "adam", "sgd", "modularity", "epochs", "epoch_steps", "dip-i", "dip-ii", "batch"}
	for name, want := range map[string]string{
		"MIG": "mig", "betavae": "beta-vae", "Beta_VAE": "beta-vae", "mlvae": "ml-vae", "epoch-steps": "epoch_steps", "Conv64": "conv64",
		"vea": "vae", "jj": "j", "avriance": "", "migg": "mig", "mi": "mig", "dic": "dci", "epoch": "epochs", "bacth": "batch", "batches": "batch", "adaming": "adam", "adamw": "adam", "adamwd": "", "batsh": "batch", "loss": "losses",
		"recon": "reconstruction", "modu": "modularity", "reconstrution": "reconstruction", "recontsructon": "reconstruction", "kld": "kl", "kk": "kl", "lk": "kl", "mu": "", "mug": "mig", "sise": "", "miig": "mig", "names": "name",
		"fid": "", "mcc": "", "rmse": "", "vq-vae": "", "cvae": "", "wae": "", "dae": "", "vqvae": "", "tune": "", "base": "", "moco-v3": "", "conv32": "", "conv46": "conv64", "conv644": "conv64", "conv4": "", "conv634": "",
		"nadam": "", "radam": "", "dip": "", "ma": "", "k": "", "": "", "gan": "", "asgd": "", "adamm": "adam",
	} {
		must.Equal(t, Near(name, known), want, "Near", name)
	}
	must.Equal(t, Near("Square", []string{"square", "Square2"}), "square", "a spelling")
	must.Equal(t, Near("side", []string{"sides", "sides"}), "sides", "one name twice")
	hinted := Registry[*settings]{Kind: "shape", Entries: table.Entries, Hints: map[string]string{"two-d": "a hint", "squire": ""}}
	if _, err := hinted.Lookup("Two_D"); err == nil || err.Error() != `unknown shape "Two_D"; a hint` {
		t.Error(err)
	}
	if _, err := hinted.Lookup("square circle"); err == nil ||
		err.Error() != `unknown shape "square circle"; want commas between names: square, circle` {
		t.Error(err)
	}
	if _, err := hinted.Lookup("squire"); err == nil || err.Error() != `unknown shape "squire"; known: square, circle` {
		t.Error(err)
	}
	hinted.Hints[""] = "draw others"
	if _, err := hinted.Lookup("art"); err == nil || !strings.HasSuffix(err.Error(), "known: square, circle; draw others") {
		t.Error(err)
	}
}

func ExampleSuggest() {
	fmt.Println(Suggest("epocs", []string{"batch", "epochs"}))
	fmt.Println(Suggest("figure", []string{"figure4", "table1", "figure5"}))
	// Output:
	// ; did you mean "epochs"?
	// ; want one of figure4, figure5
}

func TestRegister(t *testing.T) {
	own := Registry[*settings]{Kind: "shape"}
	good := Entry[*settings]{Name: "my-shape", Doc: "a shape", New: func() *settings { return &settings{} }}
	must.OK(t, own.Register(good))
	if c, err := own.Named("my-shape"); err != nil || c.Name != "my-shape" || c.Value == nil {
		t.Errorf("the registered shape is %v, %v", c, err)
	}
	for wanted, change := range map[string]func(*Entry[*settings]){
		`shape "my-shape" is registered already`: func(*Entry[*settings]) {},
		`shape "My shape": want a name`:          func(e *Entry[*settings]) { e.Name = "My shape" },
		`shape "": want a name`:                  func(e *Entry[*settings]) { e.Name = "" },
		`shape "a" has no Doc`:                   func(e *Entry[*settings]) { e.Name, e.Doc = "a", "" },
		`shape "a" has no New`:                   func(e *Entry[*settings]) { e.Name, e.New = "a", nil },
		`shape "a": New returns <nil>`:           func(e *Entry[*settings]) { e.Name, e.New = "a", func() *settings { return nil } },
	} {
		bad := good
		change(&bad)
		must.Error(t, own.Register(bad), wanted)
	}
	if names := own.Names(); len(names) != 1 {
		t.Errorf("the registry holds %v after refusals", names)
	}
}
