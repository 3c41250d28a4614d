package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/weights"
)

// importCommand is `unravel import [CONFIG] [key=value ...] --from FILE --run DIR`.
type importCommand struct {
	Args    []string `arg:"" optional:"" name:"config" help:"YAML file or embedded experiment, then overrides key.path=value." detail:"The default is the experiment that the file was exported from."`
	From    string   `required:"" placeholder:"FILE" help:"Safetensors file of unravel export or of another program." detail:"The file needs no checksum."`
	Dir     string   `name:"run" required:"" placeholder:"DIR" help:"Folder of the new run."`
	Layout  string   `enum:"unravel,pytorch," default:"" placeholder:"LAYOUT" help:"Order of axes in the file, unravel or pytorch (default: as the file says, or unravel)." detail:"pytorch means filters [out, in, k, k], dense layers [out, in] and names of a state_dict."`
	Rename  []string `placeholder:"OLD=NEW" sep:"none" help:"Replace OLD by NEW at the beginning of names in the file; repeatable." detail:"The command tries several renamings in order, and the first that fits counts."`
	Partial bool     `help:"Take only tensors that the model has, and keep the initial values of missing parameters."`
	JSON    bool     `name:"json" help:"Print one JSON object on standard output."`
}

// Run makes a run from the weights in a file.
func (c *importCommand) Run(s *streams) error {
	f, err := weights.Open(c.From)
	if err != nil {
		return err
	}
	settings, err := c.config(f)
	if err != nil {
		return err
	}
	o := weights.LoadOptions{Layout: weights.Layout(c.Layout), Partial: c.Partial}
	for _, r := range c.Rename {
		from, to, ok := strings.Cut(r, "=")
		if !ok || from == "" {
			return usagef("--rename %q: want OLD=NEW, such as net.0.=encoder/conv1/", r)
		}
		o.Renames = append(o.Renames, [2]string{from, to})
	}
	var loaded *weights.Loaded
	if _, err = train.Begin(settings, c.Dir, func(e *train.Experiment) error {
		source, err := weightsOf(e)
		if err == nil {
			loaded, err = source.Load(f, o)
		}
		return err
	}); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.out).Encode(struct {
			Run string `json:"run"`
			*weights.Loaded
		}{c.Dir, loaded})
	}
	fmt.Fprintf(s.log, "%d tensors of %s in %s\n", loaded.Tensors, c.From, c.Dir)
	if n := len(loaded.Missing); n > 0 {
		fmt.Fprintf(s.log, "%d that the model has are not in the file, such as %s\n", n, loaded.Missing[0])
	}
	if n := len(loaded.Counters); n > 0 {
		fmt.Fprintf(s.log, "%d batch counters are left out, such as %s: no network needs them\n", n, loaded.Counters[0])
	}
	if n := len(loaded.Unknown); n > 0 {
		fmt.Fprintf(s.log, "%d of the file are left out, such as %s\n", n, loaded.Unknown[0])
	}
	return nil
}

// config reads the experiment named by the arguments or by the file.
func (c *importCommand) config(f *weights.File) (train.Config, error) {
	if len(c.Args) > 0 && !strings.Contains(c.Args[0], "=") {
		settings, _, err := (&trainCommand{Args: c.Args}).config()
		return settings, err
	}
	if f.Config() == "" {
		return train.Config{}, usagef("%s does not name its experiment; want a config, such as unravel import vae/square --from %s --run %s", c.From, c.From, c.Dir)
	}
	return train.LoadWhole(c.From+": config", []byte(f.Config()), c.Args...)
}
