package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/inputs"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/train"
)

var (
	unknownFlag    = regexp.MustCompile(`^unknown flag (--?[\w.-]+)`)
	unexpectedWord = regexp.MustCompile(`^unexpected argument (.+)`)
	missingWord    = regexp.MustCompile(`^expected "(<[^>]+>.*)"$`)
	missingValue   = regexp.MustCompile(`^(--[\w.-]+): (?:expected \w+ value but got "EOL"|missing value)`)
	notOneOf       = regexp.MustCompile(`^(\S+) must be one of (.+) but got (".*")$`)
)

// failedCommand returns the command of a parser error, or the program if the error has no command.
func failedCommand(err error) *kong.Node {
	parse := new(kong.ParseError)
	if !errors.As(err, &parse) || parse.Context == nil {
		return nil
	}
	if command := parse.Context.Selected(); command != nil {
		return command
	}
	return parse.Context.Model.Node
}

// foreignWord returns an error for a word that should be the name of a data set but is not.
func foreignWord(k *kong.Context) error {
	command := k.Selected()
	if command == nil || !command.Target.CanAddr() {
		return nil
	}
	if c, ok := command.Target.Addr().Interface().(interface{ Foreign() string }); ok && c.Foreign() != "" {
		return fmt.Errorf("unexpected argument %s", c.Foreign())
	}
	return nil
}

// usageMessage returns the parser's message with a better hint: the parser only compares letters.
func usageMessage(err error, command *kong.Node, args []string) string {
	text, _, _ := strings.Cut(err.Error(), ", did you mean")
	if command == nil {
		return text
	}
	if m := unexpectedWord.FindStringSubmatch(text); m != nil {
		if flag := flagBefore(command, m[1], args); flag != "" {
			text = "unknown flag " + flag
		}
	}
	if m := missingWord.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("the argument %s is missing", m[1])
	}
	if m := missingValue.FindStringSubmatch(text); m != nil {
		return m[1] + " is without its value"
	}
	if m := notOneOf.FindStringSubmatch(text); m != nil {
		known := strings.Split(strings.ReplaceAll(strings.TrimSuffix(m[2], `,""`), `"`, ""), ",")
		return fmt.Sprintf("%s: unknown value %s; want %s", m[1], m[3], strings.Join(known, ", "))
	}
	hint := ""
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		hint = flagHint(command, m[1], args)
	} else if m := unexpectedWord.FindStringSubmatch(text); m != nil {
		hint = wordHint(command, m[1])
	}
	if hint != "" {
		text += "; " + hint
	}
	return text
}

func flagHint(command *kong.Node, flag string, args []string) string {
	value := valueOf(flag, args)
	for _, f := range otherFlags {
		if slices.Contains(f.names, flag) && (len(f.commands) == 0 || slices.Contains(f.commands, command.Path())) {
			return strings.ReplaceAll(f.hint, "VALUE", value)
		}
	}
	if command.Path() == "train" {
		if hint := settingHint(flag, value, args); hint != "" {
			return hint
		}
	}
	if near := registry.Near(flag, flagsOf(command)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	for _, f := range otherFlags { // a typo in a flag of another program
		if near := registry.Near(flag, f.names); near != "" && slices.Contains(f.commands, command.Path()) {
			return strings.ReplaceAll(f.hint, "VALUE", value)
		}
	}
	return ""
}

func flagsOf(command *kong.Node) (names []string) {
	for _, group := range command.AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
			if f.Tag.Negatable != "" {
				names = append(names, "--no-"+f.Name)
			}
		}
	}
	return names
}

// flagBefore returns the unknown flag before a word, or "". The parser takes the value of such a flag as an argument,
// and complains about a later word.
func flagBefore(command *kong.Node, word string, args []string) string {
	i, known := slices.Index(args, word), flagsOf(command)
	for k, a := range args[:max(0, i)] {
		name, _, hasValue := strings.Cut(a, "=")
		isFlag := strings.HasPrefix(a, "--") || k == i-1 && !hasValue && strings.HasPrefix(a, "-")
		switch {
		case a == "--": // arguments follow
			return ""
		case isFlag && !slices.Contains(known, name):
			return name
		}
	}
	return ""
}

// otherFlags are flags of other programs; VALUE means the user's value.
var otherFlags = []struct {
	names    []string
	commands []string // empty: all
	hint     string
}{
	{[]string{"-v", "-V"}, nil, "unravel version prints the version"},
	{[]string{"--config", "-c", "--cfg", "--config-name", "--config-path", "--config_name", "-cn", "-cp", "--gin_config",
		"--gin-config"}, []string{"train", "sweep"}, "the config is an argument without a flag, behind the command: VALUE"},
	{[]string{"-m", "--multirun", "--grid", "--hparams-search"}, []string{"train"},
		"runs of several values are a sweep: unravel sweep FILE"},
	{[]string{"-m", "--metric"}, []string{"eval", "compare"}, "did you mean \"--metrics\"?"},
	{[]string{"-o", "--out", "--output", "--output-dir", "--output_dir", "--out-dir", "--logdir", "--log-dir", "--log_dir",
		"--save-dir", "--save_dir", "--model-dir", "--model_dir", "--exp-dir", "--name", "-d", "--dir"},
		[]string{"train"}, "the folder of the run is --run VALUE"},
	{[]string{"-o", "--output", "--output-dir", "--output_dir", "--out-dir", "--out_dir", "--outdir"},
		nil, "did you mean \"--out\"?"},
	{[]string{"--dir", "--model", "--checkpoint", "--ckpt", "--model-dir", "--model_dir", "--logdir", "--path"},
		[]string{"eval", "encode", "decode", "report", "export"}, "the folder of a run is --run VALUE"},
	{[]string{"--representations", "--representation", "--embeddings", "--latents", "--latent", "-z", "--z"},
		[]string{"eval"}, "codes are --codes VALUE"},
	{[]string{"--labels", "--targets", "--ground-truth", "--ground_truth", "-y", "--y"}, []string{"eval", "compare"},
		"factors are --factors VALUE"},
	{[]string{"--kinds", "--kind", "--factor-types", "--factor_types", "--factor-kinds"}, []string{"eval", "compare"},
		"did you mean \"--types\"?"},
	{[]string{"-j", "-n", "--workers", "--parallel", "--num-workers", "--n-jobs", "--n_jobs"}, []string{"sweep", "table"},
		"runs at a time are --jobs VALUE"},
	{[]string{"--continue", "--restart", "--load"}, []string{"train"}, "did you mean \"--resume\"?"},
	{[]string{"-n", "--dryrun", "--check", "--validate"}, []string{"train", "sweep"}, "did you mean \"--dry-run\"?"},
	{[]string{"--sort", "--sort-by", "--order", "--order-by"}, []string{"runs"},
		"unravel serve sorts by any column, and other programs sort the table of --csv"},
	{[]string{"--address", "--addr", "--bind"}, []string{"serve"}, "did you mean \"--listen\"?"},
	{[]string{"--port", "-p"}, []string{"serve"}, "the port is part of --listen localhost:VALUE"},
}

// settingHint suggests how to set a setting that has the name of an unknown flag of train.
func settingHint(flag, value string, args []string) string {
	name := strings.ReplaceAll(strings.TrimLeft(flag, "-"), "-", "_")
	file, source := namedConfig(args)
	c, n := train.Defaults(), (*config.Node)(nil)
	if read, err := train.Load(file, source); err == nil {
		c = read
		n, _ = configs.Parse(file, source, c) // it was parsed before
	}
	key := config.KeyFor(n, &c, name)
	if key == "" {
		return c.Hint(name)
	}
	for _, text := range []string{value, "[" + value + "]"} {
		if _, err := train.Load(file, source, key+"="+text); err == nil {
			return fmt.Sprintf("settings of the config have no dashes: %s=%s", key, text)
		}
	}
	return fmt.Sprintf("settings of the config have no dashes: %s=...", key)
}

// namedConfig returns the config that the arguments of train name, or the quickstart.
func namedConfig(args []string) (file string, source []byte) {
	for _, name := range append(args[1:], configs.Quickstart) {
		if strings.HasPrefix(name, "-") || strings.Contains(name, "=") {
			continue
		}
		if file, source, err := inputs.ReadConfig(name); err == nil {
			return file, source
		}
	}
	return "", nil
}

func valueOf(flag string, args []string) string {
	for i, a := range args {
		if value, ok := strings.CutPrefix(a, flag+"="); ok {
			return value
		}
		if a == flag && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			return args[i+1]
		}
	}
	return "..."
}

func wordHint(command *kong.Node, word string) string {
	if hint := otherCommands[word]; hint != "" && command.Parent == nil {
		return "did you mean \"unravel " + hint + "\"?"
	}
	if near := registry.Near(word, childNames(command)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if info, err := os.Stat(word); err == nil {
		names := []string{"codes", "from"}
		if info.IsDir() {
			names = []string{"run"}
		}
		for _, name := range names {
			for _, f := range command.Flags {
				if f.Name == name {
					return fmt.Sprintf("write --%s %s", name, word)
				}
			}
		}
	}
	return ""
}

var otherCommands = map[string]string{
	"fit": "train", "evaluate": "eval", "score": "eval", "measure": "eval", "metrics": "list metrics", "models": "list models", "losses": "list losses",
	"configs": "list configs", "experiments": "list configs", "datasets": "data list", "download": "data fetch", "fetch": "data fetch", "embed": "encode", "predict": "encode",
	"sample": "decode", "traverse": "decode", "visualize": "decode", "reconstruct": "decode", "tune": "sweep", "search": "sweep", "multirun": "sweep", "grid": "sweep",
	"ls": "runs", "gui": "serve", "ui": "serve", "dashboard": "serve", "tensorboard": "serve", "diff": "compare", "convert": "export", "tables": "table", "reproduce": "table",
	"show": "data show", "resume": "train --resume", "doc": "docs",
}

// helpOf returns the words before --help for a failed command, or the program's name.
func helpOf(command *kong.Node) string {
	if command == nil || command.Type == kong.ApplicationNode {
		return "unravel"
	}
	return command.FullPath()
}
