package train

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
)

// everyLoss lists the tested settings of each registered loss. They suit `square`, with the factors row and column,
// and models whose codes have at least 4 columns.
var everyLoss = map[string][]struct{ settings, label string }{
	"reconstruction":    {{"reconstruction", ""}},
	"weight-decay":      {{"weight-decay", ""}},
	"kl":                {{"kl", ""}},
	"lsbd":              {{"lsbd", "own spaces"}, {"lsbd: {planes: {row: [0, 1], column: [2, 3]}}", "planes"}, {"lsbd: {project: false, spheres: [{columns: [0, 1, 3], factor: row}]}", "spheres"}},
	"variance":          {{"variance", ""}},
	"diameter":          {{"diameter", ""}},
	"mpd":               {{"mpd", ""}},
	"radius":            {{"radius", ""}},
	"mad":               {{"mad", ""}},
	"contraction":       {{"contraction", ""}},
	"separation":        {{"separation", ""}},
	"left-inverse":      {{"left-inverse", ""}},
	"tc":                {{"tc", "minibatch"}, {"tc: {estimator: adversarial, discriminator: {hidden: [8], second_batch: true}}", "adversarial"}},
	"conditional-tc":    {{"conditional-tc: {discriminator: {hidden: [8]}}", "own masks"}, {"conditional-tc: {discriminator: {hidden: [8]}, active: [{columns: [0, 1], factor: row, levels: [0, 1, 2, 3, 4, 5, 6, 7]}]}", "active"}},
	"assignment":        {{"assignment", ""}},
	"regression":        {{"regression", ""}},
	"dip-i":             {{"dip-i", ""}},
	"dip-ii":            {{"dip-ii", ""}},
	"hsic":              {{"hsic", "codes"}, {"hsic: {between: factors}", "factors"}},
	"cosine-regression": {{"cosine-regression", ""}},
	"cross-correlation": {{"cross-correlation", ""}},
	"info-nce":          {{"info-nce", ""}},
	"slow":              {{"slow", ""}},
	"score-matching":    {{"score-matching", ""}},
	"entanglement":      {{"entanglement", ""}},
	"prediction":        {{"prediction", ""}},
	"logic": {{`logic: {sentence: "forall[mean] i, j: y.row(i) = y.row(j) -> z.a(i) =[squared] z.a(j)", codes: {a: [0, 1]}}`, "similarity"},
		{`logic: {sentence: "forall[mean] i, j: y.row(i) =[absolute] y.row(j) -> z.a(i) =[squared] z.a(j)", codes: {a: [0, 1]}}`, "values"},
		{`logic: {sentence: "exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)"}`, "functions"},
		{`logic: {sentence: "exists h: z -> y in mlp {layers: [8]}: forall[mean] i: h(z(i)) =[squared] y(i)"}`, "networks"},
		{`logic: {sentence: "forall[mean] i, j, g(i, j): z.row(j) =[squared] act(g, z.row(i))", codes: {row: [0, 1]}}`, "moves"},
		{`logic: {sentence: "independent(z.a, z.b)", codes: {a: [0], b: [1]}}`, "independence"},
		{`logic: {sentence: "with z ~ q: forall[mean] i: z(i) =[squared] 0"}`, "samples"},
		{`logic: {sentence: "forall[mean] i, j: y.row(i) = y.row(j) -> z(i) =[kl] z(j)"}`, "posteriors"}},
}

// everyModel has small settings for each registered model, and the loss that trains it.
var everyModel = map[string]struct{ settings, loss string }{
	"encoder":      {"latent: 4", "dip-i"},
	"ae":           {"latent: 4", "reconstruction"},
	"vae":          {"latent: 4", "reconstruction"},
	"delta-vae":    {"", "reconstruction"},
	"lsbd-vae":     {"", "reconstruction"},
	"quessard":     {"dim: 4", "reconstruction"},
	"forward-vae":  {"", "reconstruction"},
	"ice-beem":     {"width: 4", "score-matching: {dequantise: false}"},
	"gvae":         {"latent: 4", "reconstruction"},
	"ml-vae":       {"latent: 4", "reconstruction"},
	"ada-gvae":     {"latent: 4", "reconstruction"},
	"ada-ml-vae":   {"latent: 4", "reconstruction"},
	"slow-vae":     {"latent: 4", "reconstruction"},
	"joint-vae":    {"latent: 4, categorical: [2]", "reconstruction"},
	"cascade-vae":  {"latent: 4, categories: 2, closed: 0", "reconstruction"},
	"cofhae":       {"hierarchy: HIERARCHY", "reconstruction"},
	"byol":         {"hidden: 8, projected: 4, predictor: 8", "cosine-regression"},
	"simsiam":      {"hidden: 8, projected: 4, predictor: 8", "cosine-regression"},
	"barlow-twins": {"hidden: 8", "cross-correlation"},
	"moco":         {"width: 4, queue: 64", "info-nce"},
	"moco-v2":      {"width: 4, queue: 64", "info-nce"},
}

// Reasons why a loss does not fit a model.
const (
	noImages    = "it needs images, which this model does not have"
	noDecoder   = "it needs a reconstruction"
	noPosterior = "it needs posteriors of the codes"
	noGaussian  = "it needs log variances"
	noHierarchy = "it needs a hierarchy of codes"
	noMasks     = "it needs masks of active codes"
	noSpaces    = "want planes, such as {row: [0, 1]}, or the model lsbd-vae"
	noTargets   = "it needs predictions of another view"
	noViews     = "it needs projections of two views"
	noQueue     = "it needs a queue of keys"
	noEnergy    = "it needs an energy of images"
	noRotations = "it needs actions that rotate the codes"
	noPredicted = "it needs codes predicted by actions"
	noNormal    = "it needs Gaussian posteriors"
	noSamples   = "it needs samples of posteriors"
)

var (
	twoViewModels = []string{"byol", "simsiam", "barlow-twins", "moco", "moco-v2"}
	pairModels    = []string{"gvae", "ml-vae", "ada-gvae", "ada-ml-vae", "slow-vae"}
	actionModels  = []string{"quessard", "forward-vae"}
	oneViewModels = slices.Concat([]string{"encoder", "ae", "vae", "delta-vae", "lsbd-vae", "joint-vae", "cascade-vae",
		"cofhae", "ice-beem"}, actionModels, pairModels)
)

// others lists all models except one.
func others(model string) []string {
	return slices.DeleteFunc(models.Registry.Names(), func(n string) bool { return n == model })
}

// impossible lists, with reasons, the models that do not fit a loss or one of its settings.
var impossible = map[string]map[string][]string{
	"reconstruction":             {noImages: twoViewModels, noDecoder: {"encoder", "ice-beem"}},
	"kl":                         {noPosterior: append([]string{"encoder", "ae", "cofhae", "quessard", "ice-beem"}, twoViewModels...)},
	"lsbd (own spaces)":          {noSpaces: slices.Concat([]string{"encoder", "ae", "vae", "delta-vae", "joint-vae", "cascade-vae", "cofhae", "ice-beem"}, actionModels, pairModels, twoViewModels)},
	"tc (minibatch)":             {noGaussian: append([]string{"encoder", "ae", "delta-vae", "lsbd-vae", "cofhae", "quessard", "ice-beem"}, twoViewModels...)},
	"conditional-tc (own masks)": {noMasks: slices.Concat([]string{"encoder", "ae", "vae", "delta-vae", "lsbd-vae", "joint-vae", "cascade-vae", "ice-beem"}, actionModels, pairModels, twoViewModels)},
	"assignment":                 {noHierarchy: slices.Concat([]string{"encoder", "ae", "vae", "delta-vae", "lsbd-vae", "cascade-vae", "ice-beem"}, actionModels, pairModels, twoViewModels)},
	"regression":                 {noHierarchy: slices.Concat([]string{"encoder", "ae", "vae", "delta-vae", "lsbd-vae", "cascade-vae", "ice-beem"}, actionModels, pairModels, twoViewModels)},
	"dip-ii":                     {noGaussian: append([]string{"encoder", "ae", "delta-vae", "lsbd-vae", "cofhae", "quessard", "ice-beem"}, twoViewModels...)},
	"slow":                       {noGaussian: append([]string{"encoder", "ae", "delta-vae", "lsbd-vae", "cofhae", "quessard", "ice-beem"}, twoViewModels...)},
	"cosine-regression":          {noTargets: append([]string{"barlow-twins", "moco", "moco-v2"}, oneViewModels...)},
	"cross-correlation":          {noViews: append([]string{"moco", "moco-v2"}, oneViewModels...)},
	"score-matching":             {noEnergy: others("ice-beem")},
	"entanglement":               {noRotations: others("quessard")},
	"prediction":                 {noPredicted: others("forward-vae")},
	"logic (samples)":            {noSamples: append([]string{"encoder", "ae", "cofhae", "quessard", "ice-beem"}, twoViewModels...)},
	"logic (posteriors)":         {noNormal: append([]string{"encoder", "ae", "delta-vae", "lsbd-vae", "cofhae", "quessard", "ice-beem"}, twoViewModels...)},
	"info-nce":                   {noQueue: append([]string{"byol", "simsiam", "barlow-twins"}, oneViewModels...)},
}

// TestEveryLossWithEveryModel takes some steps of every loss with every model; the default test takes every third
// possible pair. It compares docs/objectives.md with the list of impossible pairs.
func TestEveryLossWithEveryModel(t *testing.T) {
	long.NotShort(t)
	hierarchy := matrixHierarchy(t)
	if unknown := slices.DeleteFunc(slices.Collect(maps.Keys(everyLoss)),
		func(n string) bool { return slices.Contains(losses.Registry.Names(), n) }); len(unknown) > 0 {
		t.Errorf("unknown losses %v", unknown)
	}
	var table []string // rows of losses that do not fit some models
	var rows int
	for _, loss := range losses.Registry.Names() {
		if len(everyLoss[loss]) == 0 {
			t.Errorf("%s is tried with no model: everyLoss has no entry for it", loss)
		}
		for _, l := range everyLoss[loss] {
			name := loss
			if l.label != "" {
				name += " (" + l.label + ")"
			}
			var suited []string
			for i, model := range models.Registry.Names() {
				want := whyNot(name, model)
				if want != "" || (rows+i)%3 == 0 || long.Enabled() {
					t.Run(name+"/"+model, func(t *testing.T) { tryLoss(t, loss, l.settings, model, hierarchy, "float32", want) })
				}
				if want == "" {
					suited = append(suited, "`"+model+"`")
				}
			}
			if cells := " | " + strings.Join(suited, ", ") + " |\n"; len(suited) < len(models.Registry.Names()) {
				label := "`" + loss + "`" + strings.TrimPrefix(name, loss)
				if k := slices.IndexFunc(table, func(row string) bool { return strings.HasSuffix(row, cells) }); k >= 0 {
					table[k] = strings.TrimSuffix(table[k], cells) + ", " + label + cells
				} else {
					table = append(table, "| "+label+cells)
				}
			}
			rows++
		}
	}
	page := must.Read(t, "../docs/objectives.md")
	if want := "| loss | models |\n|---|---|\n" + strings.Join(table, ""); !strings.Contains(string(page), want) {
		t.Errorf("docs/objectives.md does not have this table:\n%s", want)
	}
}

// matrixHierarchy writes the hierarchy for COFHAE in the test of every loss.
func matrixHierarchy(t *testing.T) string {
	return must.Write(t, filepath.Join(t.TempDir(), "hierarchy.json"),
		`[{"type": "continuous"}, {"type": "continuous"}, {"type": "categorical", "options": [[{"type": "continuous"}], [{"type": "continuous"}]]}]`)
}

// whyNot returns the reason why a loss does not fit a model, or "".
func whyNot(loss, model string) string {
	for reason, list := range impossible[loss] {
		if slices.Contains(list, model) {
			return reason
		}
	}
	return ""
}

// tryLoss trains a model with its own loss and another loss.
func tryLoss(t *testing.T, loss, settings, model, hierarchy, precision, want string) {
	m, ok := everyModel[model]
	if !ok {
		t.Fatalf("the model %s is not tried", model)
	}
	options := []string{"encoder: {mlp: {hidden: [12]}}"}
	if m.settings != "" {
		options = append(options, strings.Replace(m.settings, "HIERARCHY", hierarchy, 1))
	}
	data, supervision, views := "{square: {size: 8, side: 2}}", "{labels: {fraction: 0.5}}", ""
	switch {
	case loss == "prediction" || slices.Contains(actionModels, model):
		supervision = "[{walks: {episodes: 12, actions: 1}}, {labels: {fraction: 0.5}}]"
	case loss == "lsbd" || loss == "slow" || strings.Contains(settings, "act(") || model == "lsbd-vae":
		supervision = "[{pairs: {count: 12}}, {labels: {fraction: 0.5}}]"
	case slices.Contains(pairModels, model):
		supervision = "[{changes: {k: 1, count: 12}}, {labels: {fraction: 0.5}}]"
	}
	if (loss == "assignment" || loss == "regression") && !slices.Contains(actionModels, model) { // its factors have no moves
		data, supervision = "{chopsticks: {variant: inter, depth: 2, samples: 64}}", "{labels: {fraction: 0.5}}"
		options[len(options)-1] = strings.Replace(options[len(options)-1], hierarchy, "truth", 1)
		for i, o := range options { // as many continuous dimensions as the data
			if model == "joint-vae" {
				options[i] = strings.Replace(o, "latent: 4", "latent: 2", 1)
			}
		}
		if model == "lsbd-vae" || model == "delta-vae" {
			options = append(options, "latent: [{euclidean: {dim: 4}}]")
		}
	}
	if loss == "separation" {
		supervision = strings.Replace(supervision, "{labels: {fraction: 0.5}}", "{similarity: {count: 30, different: 0.5}}", 1)
	}
	if slices.Contains(twoViewModels, model) {
		views = "views: {pipeline: [{crop: {scale: [0.8, 1]}}], count: 2}\n"
	}
	list := "- " + settings
	if !strings.HasPrefix(m.loss, loss) {
		list = "- " + m.loss + "\n- " + settings
	}
	source := fmt.Sprintf("name: matrix\ndataset: %s\nsupervision: %s\n%smodel: {%s: {%s}}\nlosses:\n%s\ntrain: {epochs: 1, epoch_steps: 3, batch: 24, precision: %s}\n",
		data, supervision, views, model, strings.Join(options, ", "), list, precision)
	c, err := Load("matrix.yaml", []byte(source))
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	seen, err := someSteps(c, loss)
	switch {
	case want == "" && err != nil:
		t.Errorf("%v\n%s", err, source)
	case want == "" && !seen:
		t.Errorf("no step has the loss %s\n%s", loss, source)
	case want != "" && (err == nil || !strings.Contains(err.Error(), "loss "+loss+": ") || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want %q\n%s", err, want, source)
	}
}

// someSteps trains for an epoch and reports whether a loss had a finite value.
func someSteps(c Config, loss string) (seen bool, err error) {
	e, err := NewExperiment(c)
	if err != nil {
		return false, err
	}
	loop, err := e.Loop()
	if err != nil {
		return false, err
	}
	defer loop.Close()
	loop.AddHook(engine.Hook{Name: "matrix", OnStep: func(_ context.Context, _ *engine.Loop, r *engine.StepReport) error {
		if at := slices.Index(r.Names, loss); at >= 0 && finite(r.Values[at]) {
			seen = true
		}
		return nil
	}})
	return seen, loop.Run(context.Background())
}
