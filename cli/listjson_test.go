package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/data"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/safetensors"
)

func TestListJSON(t *testing.T) {
	var all struct{ Kinds []docs.ListedKind }
	clitest.JSON(t, clitest.OK(t, "list", "--json").Out, &all)
	kindsByName := map[string]docs.ListedKind{}
	for _, k := range all.Kinds {
		kindsByName[k.Kind] = k
	}
	if len(kindsByName) != len(docs.Kinds()) || len(kindsByName["losses"].Parts) < 20 {
		t.Fatalf("%d kinds, %d losses", len(kindsByName), len(kindsByName["losses"].Parts))
	}
	var losses docs.ListedKind
	clitest.JSON(t, clitest.OK(t, "list", "losses", "--json").Out, &losses)
	must.Equal(t, len(losses.Parts), len(kindsByName["losses"].Parts), "losses alone")
	var kl docs.ListedPart
	clitest.JSON(t, clitest.OK(t, "list", "loss", "kl", "--json").Out, &kl)
	options := map[string]config.Option{}
	for _, o := range kl.Options {
		options[o.Key] = o
	}
	if o := options["capacity.to"]; kl.Name != "kl" || kl.Source == "" || o.Type == "" || o.Doc == "" || options["weight"].Default != "1.0" {
		t.Errorf("%+v", kl)
	}
	var quickstart docs.ListedPart
	clitest.JSON(t, clitest.OK(t, "list", "configs", "quickstart", "--json").Out, &quickstart)
	must.Equal(t, quickstart.YAML, clitest.OK(t, "list", "configs", "quickstart").Out, "the config has the text")
	var dialect docs.ListedPart
	if clitest.JSON(t, clitest.OK(t, "list", "dialects", "disent", "--json").Out, &dialect); !strings.HasPrefix(dialect.YAML, "metrics:\n") {
		t.Errorf("%+v", dialect)
	}
	clitest.Mistake(t, clitest.Run(t, "list", "losses", "kll", "--json"), 2, `there is no "kll"`, `did you mean "kl"?`)
}

func TestDataListJSON(t *testing.T) {
	t.Setenv("UNRAVEL_DATA", must.MappedDir(t))
	var all struct {
		Folder   string
		Datasets []data.ListedSet
	}
	clitest.JSON(t, clitest.OK(t, "data", "list", "--json").Out, &all)
	found := map[string]data.ListedSet{}
	for _, s := range all.Datasets {
		found[s.Name] = s
	}
	if found["square"].Public != nil || found["square"].Doc == "" {
		t.Errorf("square: %+v", found["square"])
	}
	if p := found["dsprites"].Public; p == nil || p.Ready || p.Converted != 0 || p.Downloaded != 0 || p.Download != 0 ||
		!strings.HasPrefix(p.State, "not here") {
		t.Errorf("dsprites: %+v", p)
	}
}

func TestQuiet(t *testing.T) {
	o := clitest.OK(t, "train", clitest.TinyFile(t), "--run", t.TempDir()+"/run", "-q")
	if o.Log != "" || !strings.Contains(o.Out, "dlsbd") {
		t.Errorf("standard error %q, standard output %q; want only results", o.Log, o.Out)
	}
	clitest.Mistake(t, clitest.Run(t, "train", "vae/squar", "-q"), 2, `did you mean "vae/square"?`)
}

// A card describes the file, and its command lines work.
func TestModelCard(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	clitest.OK(t, "export", "--run", clitest.Finished(t), "--out", "w.safetensors", "--card", "card.md")
	card := string(must.Read(t, "card.md"))
	for _, want := range []string{"library_name: unravel", "`w.safetensors`, safetensors, layout unravel",
		"| `dlsbd` |", "unravel import --from w.safetensors --run runs/again", "```yaml\nname: "} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
	if strings.Contains(card, "last weights") {
		t.Errorf("a card of the last weights: %s", card)
	}
	stopped := clitest.Finished(t) // with results of an earlier end
	must.OK(t, os.Remove(stopped+"/run.json"))
	clitest.OK(t, "export", "--run", stopped, "--out", "stopped.safetensors", "--card", "stopped.md")
	if card := string(must.Read(t, "stopped.md")); strings.Contains(card, "## Metrics") {
		t.Errorf("a card of an unfinished run has metrics: %s", card)
	}
	clitest.OK(t, "import", "--from", "w.safetensors", "--run", "runs/again")
	elements := 0 // of the encoder
	for _, file := range []struct{ name, use string }{
		{"part.safetensors", "unravel import --from part.safetensors --partial "},
		{"part.onnx", "unravel encode --encoder part.onnx "}} {
		var x struct{ Elements int }
		o := clitest.OK(t, "export", "--run", clitest.Finished(t), "--part", "encoder", "--out", file.name, "--card", "part.md", "--json")
		must.OK(t, json.Unmarshal([]byte(o.Out), &x))
		if elements == 0 {
			for _, tensor := range must.Get(safetensors.ReadFile(file.name))(t).Tensors {
				n := 1
				for _, size := range tensor.Shape {
					n *= size
				}
				elements += n
			}
		}
		card := string(must.Read(t, "part.md"))
		if x.Elements != elements || !strings.Contains(card, fmt.Sprintf("| parameters | %d |", x.Elements)) ||
			!strings.Contains(card, file.use) {
			t.Errorf("%s: %d elements, want %d:\n%s", file.name, x.Elements, elements, card)
		}
	}
	clitest.Mistake(t, clitest.Run(t, "export", "--run", clitest.Finished(t), "--card", "card.txt"), 2, "--card card.txt", ".md")
}
