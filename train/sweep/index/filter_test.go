package index_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// some returns three runs. The last run has no results.
func some() []*index.Run {
	run := func(dir, seed, weight string, mig float64) *index.Run {
		r := &index.Run{Dir: dir, State: sweep.Finished, Ended: "now", Seconds: 2,
			Results: index.NewResults(map[string]float64{"mig": mig, "mig.x": 1}), Settings: index.NewSettings(map[string]string{
				"seed": seed, "model.vae.latent": "10", "losses.0.reconstruction.likelihood": "bernoulli", "losses.1.kl.weight": weight})}
		if math.IsNaN(mig) {
			r.State, r.Ended, r.Results = sweep.Failed, "", index.Results{}
		}
		return r
	}
	return []*index.Run{run("a", "0", "1", 0.25), run("b", "1", "1.0", 0.75), run("c", "0", "4", math.NaN())}
}

func TestFilter(t *testing.T) {
	for filters, want := range map[string]string{
		"": "a b c", "seed=0": "a c", "seed!=0": "b", "losses.1.kl.weight=1": "a b", "losses.1.kl.weight>1": "c", "mig<0.5": "a", "mig!=0.25": "b c",
		"mig>=0.75": "b", "mig>=0.25": "a b", "mig<=0.25": "a", "seed<=0": "a c", "state!=finished": "c", "state=unfinished": "",
		"state=failed": "c", "losses=reconstruction+kl": "a b c", "model=vae seed=0 mig>0": "a", "run=b": "b", "seconds=2.0": "a b",
	} {
		runs := some()
		kept, err := index.Filter(runs, strings.Fields(filters)...)
		if err != nil {
			t.Errorf("%s: %v", filters, err)
		}
		var names []string
		for _, r := range kept {
			names = append(names, r.Dir)
		}
		if got := strings.Join(names, " "); got != want || runs[2].Dir != "c" {
			t.Errorf("%s: %q, want %q", filters, got, want)
		}
	}
	for filter, want := range map[string]string{
		"seed": "filter seed: want KEY=VALUE, KEY!=VALUE, KEY<VALUE, KEY<=VALUE, KEY>VALUE or KEY>=VALUE", "=3": "filter =3: want", "mig<x": `filter mig<x: "x" is not a number`,
		"state=finsihed": `filter state=finsihed: no state is "finsihed"; did you mean "finished"?`, "state!=done": `filter state!=done: no state is "done"; known: finished, failed,`,
		"kl.weigt=1": `no run has "kl.weigt"; did you mean "losses.1.kl.weight"?`,
	} {
		if _, err := index.Filter(some(), filter); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %s", filter, err, want)
		}
	}
	var unknown *index.UnknownColumnError
	if _, err := index.FindColumn(some(), "nothing"); !errors.As(err, &unknown) || unknown.Name != "nothing" || unknown.Nearest != "" {
		t.Errorf("an unknown column: %v", err)
	}
	if none, err := index.Filter(nil, "seed=1"); err != nil || len(none) != 0 {
		t.Errorf("no runs: %v, %v", none, err)
	}
}

func TestGroupBy(t *testing.T) {
	groups, err := index.GroupBy(some(), "seed", "losses")
	if err != nil || len(groups) != 2 {
		t.Fatal(groups, err)
	}
	if g := groups[0]; g.Runs != 2 || fmt.Sprint(g.Values) != "[0 reconstruction+kl]" || g.Mean["mig"] != 0.25 || g.Count["mig"] != 1 {
		t.Errorf("first group %+v", g)
	} else if std, ok := g.Std["mig"]; ok { // of one run
		t.Errorf("one result has the deviation %v", std)
	}
	all, err := index.GroupBy(some(), "model")
	if err != nil || len(all) != 1 || all[0].Mean["mig"] != 0.5 || !(math.Abs(all[0].Std["mig"]-math.Sqrt(0.125)) <= 1e-15) {
		t.Errorf("all: %+v, %v", all, err)
	}
	runs := some()
	slices.Reverse(runs)
	if sorted, err := index.GroupBy(runs, "losses.1.kl.weight"); err != nil || sorted[len(sorted)-1].Values[0] != "4" {
		t.Errorf("numbers are not in their order: %+v, %v", sorted, err)
	}
	copied := *runs[len(runs)-1]
	copied.Dir = "copy"
	again := copied
	again.Dir, again.Results = "again", index.NewResults(map[string]float64{"mig": 0.5})
	for hash, want := range map[string]string{"": "4 [] map[mig:4 mig.x:3]", "h": "3 [copy] map[mig:3 mig.x:2]"} {
		list := some()[:2]
		for _, r := range []index.Run{copied, again} {
			list = append(list, &r)
		}
		for _, r := range list {
			r.Hash = hash
		}
		got, err := index.GroupBy(list, "model")
		if err != nil || len(got) != 1 || fmt.Sprint(got[0].Runs, got[0].Repeats, got[0].Count) != want {
			t.Errorf("hash %q: %+v, %v; want %s", hash, got, err, want)
		}
	}
	if _, err := index.GroupBy(some(), "sead"); err == nil {
		t.Error("no error for an unknown column")
	}
}

// Columns are fixed columns, choices, settings and results. Differing lists only differing settings and choices.
func TestColumns(t *testing.T) {
	names := func(list []index.Column) (names []string) {
		for _, c := range list {
			names = append(names, c.Name)
		}
		return names
	}
	all := names(index.Columns(some()))
	if all[0] != "run" || !slices.Contains(all, "losses") || !slices.Contains(all, "model.vae.latent") || all[len(all)-1] != "mig.x" {
		t.Errorf("columns %q", all)
	}
	must.EqualSlices(t, names(index.Differing(some())), []string{"losses.1.kl.weight", "seed"}, "differing columns")
	for history, want := range map[string]string{"": "losses.1.kl.weight seed", "same": "losses.1.kl.weight seed history",
		"one": "history losses.1.kl.weight seed"} {
		runs := some()
		for i, r := range runs {
			settings := map[string]string{"seed": strconv.Itoa(i % 2), "losses.1.kl.weight": strconv.Itoa(i)}
			if history == "same" || history == "one" && i == 0 {
				settings["history"] = "edited"
			}
			r.Settings = index.NewSettings(settings)
		}
		must.Equal(t, strings.Join(names(index.Shown(runs)), " "), want, "history", history, "columns")
	}
}

// TestChoicesWithinChoices checks columns of runs that have the same choices, but differ within them.
func TestChoicesWithinChoices(t *testing.T) {
	for name, test := range map[string]struct {
		runs []string // settings of each run
		want string   // differing columns
	}{
		"encoders": {[]string{"model.vae.encoder.mlp.hidden=8 model.vae.latent=4", "model.vae.encoder.conv64.features=9 model.vae.latent=4"},
			"model.vae.encoder=mlp,conv64"},
		"a ramp":         {[]string{"losses.0.kl.weight=1", "losses.0.kl.weight.from=0 losses.0.kl.weight.to=1"}, "losses.0.kl.weight=1,{from: 0, to: 1}"},
		"no columns":     {[]string{"losses.0.tc.codes={}", "losses.0.tc.codes.x=[0]"}, "losses.0.tc.codes={},{x: [0]}"},
		"layers":         {[]string{"model.ae.layers.0.dense.n=1", "model.ae.layers.0.dense.n=1 model.ae.layers.1.conv.n=1"}, "model.ae.layers=dense,dense+conv"},
		"other models":   {[]string{"model.vae.latent=1", "model.ae.latent=1"}, "model=vae,ae"},
		"other losses":   {[]string{"losses.0.kl.weight=1", "losses.0.tc.weight=1 losses.1.kl.weight=1"}, "losses=kl,tc+kl"},
		"no validation":  {[]string{"train.validation=null", "train.validation.every=1"}, "train.validation=null,- train.validation.every=-,1"},
		"common setting": {[]string{"dataset.a.x=1 dataset.a.y.b.z=1", "dataset.a.x=2 dataset.a.y.b.z=1"}, "dataset.a.x=1,2"},
	} {
		var runs []*index.Run
		for _, text := range test.runs {
			settings := map[string]string{}
			for _, one := range strings.Fields(text) {
				settings[one[:strings.Index(one, "=")]] = one[strings.Index(one, "=")+1:]
			}
			runs = append(runs, &index.Run{Settings: index.NewSettings(settings)})
		}
		var got []string
		for _, c := range index.Differing(runs) {
			var cells []string
			for _, r := range runs {
				text, ok := c.Of(r)
				if !ok {
					text = "-"
				}
				cells = append(cells, text)
			}
			got = append(got, c.Name+"="+strings.Join(cells, ","))
		}
		must.Equal(t, strings.Join(got, " "), test.want, name)
		if groups, err := index.GroupBy(runs, strings.Split(test.want, "=")[0]); err != nil || len(groups) != 2 {
			t.Errorf("%s: groups %v, error %v", name, groups, err)
		}
	}
}

// A run without a value has no cell in a column, even for columns of numbers.
func TestCells(t *testing.T) {
	cells := func(r *index.Run) string {
		var list []string
		for _, c := range index.Columns([]*index.Run{r}) {
			if text := c.Cell(r); text != nil {
				list = append(list, c.Name+"="+*text)
			}
		}
		return strings.Join(list, " ")
	}
	machine := rundir.Machine{OS: "linux", Arch: "amd64", Kernels: "avx2", Cores: 8, Threads: 4, Go: "go1"}
	for want, r := range map[string]*index.Run{
		"run=a state=planned":                                                     {Dir: "a", State: "planned", Seconds: 3, Epochs: 2, Steps: 1},
		"run=a state=x problem=p begun=b version=v hash=h":                        {Dir: "a", State: "x", Problem: "p", Begun: "b", Version: "v", Hash: "h"},
		"run=a state=x seconds=1.5 epochs_done=2 steps_done=3 ended=e":            {Dir: "a", State: "x", Seconds: 1.5, Epochs: 2, Steps: 3, Ended: "e"},
		"run=a state=x os=linux arch=amd64 kernels=avx2 cores=8 threads=4 go=go1": {Dir: "a", State: "x", Machine: machine},
	} {
		must.Equal(t, cells(r), want)
	}
}
