package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Hinter is implemented by settings that explain some unknown keys. Hint is called after decoding the known keys.
type Hinter interface {
	Hint(key string) string // empty: no hint
}

// ValueHinter is implemented by settings of a config that explain values of a wrong kind, such as a list of seeds.
type ValueHinter interface {
	HintValue(n *Node, want string) string // empty: no hint
}

type unknownKey struct {
	key, hint string
	known     []string
}

func (e *unknownKey) Error() string {
	switch {
	case e.hint != "":
		return fmt.Sprintf("unknown key %q; %s", e.key, e.hint)
	case len(e.known) == 0:
		return fmt.Sprintf("unknown key %q; there are no options here", e.key)
	}
	return fmt.Sprintf("unknown key %q; known: %s", e.key, strings.Join(e.known, ", "))
}

type mismatch struct {
	want, hint string
	got        *Node
}

func (e *mismatch) Error() string {
	text := fmt.Sprintf("want %s, got %s", e.want, e.got.describe())
	if e.hint != "" {
		text += "; " + e.hint
	}
	return text
}

func (n *Node) unknown(key string, v reflect.Value, known []string) *Error {
	return n.keyOrValue().fail(n.path, &unknownKey{key, keyHint(v, key, known), known})
}

// keyHint guesses the meaning of a key that the struct lacks.
func keyHint(v reflect.Value, key string, known []string) string {
	if h, ok := v.Addr().Interface().(Hinter); ok {
		if text := h.Hint(key); text != "" {
			return text
		}
	}
	if hint := colonHint(key); hint != "" {
		return hint
	}
	if suggestion := registry.Near(key, known); suggestion != "" {
		return didYouMean(suggestion)
	}
	if i := slices.IndexFunc(known, func(k string) bool { return isSynonym(key, k) }); i >= 0 {
		return didYouMean(known[i])
	}
	return removed[key]
}

// removed lists the keys of earlier versions, with their replacements. docs/promise.md has the same list.
var removed = map[string]string{
	"evaluate": "metrics during training are metrics: {during: [NAME], every: EPOCHS}; " +
		"for evaluate: 0 delete the line",
	"quick":        byScale,
	"full":         byScale,
	"fixed":        "in tables, set has its place, below by_scale: set: {key.path: value}",
	"merged_share": "in tables, min_merged has its place; below 1 it is a fraction of the codes",
	"compare":      "in tables, times are compared by their ratios without it; delete the key",
	"aggregate":    "in tables, times are medians without it; delete the key",
	"subset":       "in tables, it is a key of the source: from: {entangled: {subset: N}}",
	"shipped":      "in tables, the ledger has the results of runs (docs/ledger.md); delete the key",
}

const byScale = "in tables, settings of a scale stand under by_scale: {quick: {key.path: value}}, " +
	"and full: true is scales: [full]"

func didYouMean(key string) string { return fmt.Sprintf("did you mean %q?", key) }

var noSpace = regexp.MustCompile(`^([\w.-]+):([^\s/:].*)$`)

var equals = regexp.MustCompile(`^([\w.-]+)\s*=\s*([^\s\[=].*)$`)

// colonHint corrects a key and a value without ": " between them. YAML reads them as one text.
func colonHint(text string) string {
	if m := equals.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("write a colon instead of the =: %s: %s", m[1], m[2])
	}
	if m := noSpace.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("write a space after the colon: %s: %s", m[1], m[2])
	}
	return ""
}

// hint adds hints to the mistakes of a whole config. It looks for unknown keys elsewhere in the settings.
func (e Errors) hint(n *Node, v reflect.Value) {
	values, _ := v.Addr().Interface().(ValueHinter)
	for _, one := range e {
		var key *unknownKey
		var value *mismatch
		switch {
		case errors.As(one.Err, &key) && key.hint == "":
			switch keyPath := keyFor(n, v, key.key); keyPath {
			case "":
			case key.key:
				key.hint = keyPath + " stands at the top level"
			default:
				key.hint = didYouMean(keyPath)
				if strings.Contains(one.Key, ".") && len(key.known) > 0 {
					key.hint += " Known here: " + strings.Join(key.known, ", ")
				}
			}
		case values != nil && errors.As(one.Err, &value):
			if hint := values.HintValue(value.got, value.want); hint != "" {
				value.hint = hint
			}
		}
	}
}

// KeyFor returns the path of the only key in decoded settings that ends in a name, or in Unravel's synonym of it:
// train.epochs for epochs or num_epochs. It includes options of chosen parts. n is the source of the settings. If no
// key or several keys match, KeyFor returns "".
func KeyFor(n *Node, settings any, name string) string {
	return keyFor(n, reflect.ValueOf(settings).Elem(), name)
}

func keyFor(n *Node, v reflect.Value, name string) string {
	var all []string
	pathsOf(n, "", v, 0, func(path string) { all = append(all, path) })
	last := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	for _, same := range []func(key string) bool{
		func(key string) bool { return registry.Fold(key) == registry.Fold(name) },
		func(key string) bool { return isSynonym(name, key) },
	} {
		best, depth, ties := "", maxDepth, 0
		for _, path := range all {
			switch d := strings.Count(path, "."); {
			case !same(last(path)) || d > depth:
			case d == depth:
				ties++
			default:
				best, depth, ties = path, d, 0
			}
		}
		if best != "" && ties == 0 {
			return best
		}
	}
	return ""
}

// pathsOf visits the paths of all keys in v that an override of n can set. It skips elements missing from n.
func pathsOf(n *Node, path string, v reflect.Value, depth int, visit func(path string)) {
	if depth > maxDepth {
		return
	}
	if name, value, ok := choiceIn(v); ok {
		if name != "" && n.chooses(name) {
			pathsOf(n.Get(name), joinPath(path, name), value, depth+1, visit)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() && v.Type() != nodeType {
			pathsOf(n, path, v.Elem(), depth+1, visit)
		}
	case reflect.Slice:
		pathsOfList(n, path, v, depth, visit)
	case reflect.Struct:
		if decodesItself(v.Type()) {
			return
		}
		for _, f := range fieldsOf(v.Type()) {
			key := joinPath(path, f.name)
			visit(key)
			pathsOf(n.Get(f.name), key, v.FieldByIndex(f.index), depth+1, visit)
		}
	}
}

func pathsOfList(n *Node, path string, v reflect.Value, depth int, visit func(path string)) {
	if n != nil && n.kind == listNode && len(n.items) == v.Len() {
		for i, item := range n.items {
			pathsOf(item, joinPath(path, strconv.Itoa(i)), v.Index(i), depth+1, visit)
		}
	} else if n != nil && decodesItself(v.Type()) && v.Len() == 1 { // a list of one element, which may have no brackets
		pathsOf(n, path, v.Index(0), depth+1, visit)
	}
}

// chooses reports whether n chooses this name, or makes no choice. A choice with mistakes may not be made yet.
func (n *Node) chooses(name string) bool {
	return n == nil || n.kind == nullNode || n.kind == scalarNode && n.text == name || n.Get(name) != nil
}

// isSynonym reports whether other programs use a name for one of our keys, in any spelling.
func isSynonym(name, key string) bool { return slices.Contains(synonyms[key], registry.Fold(name)) }

// synonyms lists the names of our keys in other programs, folded.
var synonyms = map[string][]string{
	"latent":      {"zdim", "zdims", "zsize", "nz", "latentdim", "latentdims", "latentsize", "nlatent", "nlatents", "numlatent", "numlatents", "latents", "codedim", "codesize"},
	"batch":       {"batchsize", "trainbatchsize", "minibatchsize", "bs"},
	"epochs":      {"nepochs", "numepochs", "maxepochs", "trainepochs", "trainingepochs"},
	"epoch_steps": {"stepsperepoch", "limittrainbatches"},
	"lr":          {"learningrate"},
	"decay":       {"weightdecay"},
	"threads":     {"numworkers", "workers", "numthreads", "nthreads", "njobs"},
	"clip":        {"gradclip", "clipgrad", "clipnorm", "gradclipnorm", "maxgradnorm", "gradientclipval"},
	"accumulate":  {"accumulategradbatches", "gradientaccumulationsteps"},
	"warmup":      {"warmupepochs"},
	"seed":        {"randomseed", "randomstate", "manualseed"},
	"dataset":     {"data", "datamodule"},
	"losses":      {"criterion", "objective", "lossfn", "lossfunction"},
	"model":       {"arch", "architecture"},
	"optimizer":   {"optimiser", "opt"},
	"schedule":    {"scheduler", "lrscheduler", "lrschedule"},
	"name":        {"experiment", "experimentname", "expname", "runname"},
	"average":     {"ema"},
	"hold_out":    {"valsplit", "testsplit", "validationsplit", "valfraction", "testfraction", "testsize"},
	"hidden":      {"hiddendim", "hiddendims", "hiddensize", "hiddensizes", "hiddenunits"},
	"weight":      {"coefficient", "coef", "lossweight"},
	"path":        {"root", "dir", "datadir", "datapath", "filename"},
	"size":        {"imagesize", "imgsize", "resolution"},
	"figures":     {"plots", "plot"},
}
