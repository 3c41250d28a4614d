// Package cli is the command line of Unravel as a library. A program registers its parts and calls [Main]. Configs and
// all commands, such as list, train, measure, sweep and export, then support these parts.
//
//	func main() {
//		err := errors.Join(losses.Register(...), models.Register(...))
//		if err != nil {
//			log.Fatal(err)
//		}
//		cli.Main()
//	}
//
// Messages for people go to standard error, and results to standard output. Exit codes are 0 (done), 1 (failed), 2
// (wrong usage or config) and 130 (stopped by a signal, after saving).
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/coding"
	"github.com/unravel-ml/unravel/cli/internal/data"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/cli/internal/eval"
	"github.com/unravel-ml/unravel/cli/internal/papers"
	"github.com/unravel-ml/unravel/cli/internal/pull"
	"github.com/unravel-ml/unravel/cli/internal/runs"
	"github.com/unravel-ml/unravel/cli/internal/serving"
	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/training"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/pages"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
)

// Main runs the command line of the process and exits with the command's exit code. It limits the memory that the
// garbage collector lets the process use. On signals, commands save and exit. Register parts before calling Main. A
// sweep starts this program (os.Executable) once per run.
func Main() {
	if have := memory.Machine(); !math.IsInf(have, 1) { // near the limit, the collector works harder
		debug.SetMemoryLimit(int64(have * memory.Share))
	}
	os.Exit(Run(ui.OnSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

type commands struct {
	Train    training.Train  `cmd:"" help:"Train a model (default: the quickstart)."`
	Eval     eval.Command    `cmd:"" help:"Measure the codes of a run, of an ONNX encoder, or in files."`
	Compare  runs.Compare    `cmd:"" help:"Compare runs or files of codes: metrics side by side, ranks, Kendall's tau, UDR."`
	Encode   coding.Encode   `cmd:"" help:"Write the codes and factors of a run or of an ONNX encoder as .npy files."`
	Decode   coding.Decode   `cmd:"" help:"Draw images from a run's decoder: samples, traversals, grids, interpolations or codes of a file."`
	Report   runs.Report     `cmd:"" help:"Write the report page of a run again, from its stored results."`
	Export   training.Export `cmd:"" help:"Write the weights of a run, as safetensors or as an ONNX network."`
	Import   training.Import `cmd:"" help:"Create a run from a file of weights."`
	Pull     pull.Command    `cmd:"" help:"Fetch a trained model as a run (default: list the models)."`
	Table    papers.Command  `cmd:"" help:"Compute a table of a paper next to the printed values (default: list the tables)."`
	Sweep    sweeps.Command  `cmd:"" help:"Train the missing runs of a sweep over settings and seeds."`
	Runs     runs.Command    `cmd:"" help:"List, filter, compare and export runs."`
	Check    runs.Check      `cmd:"" help:"Check the files and data of runs against the hashes in their records."`
	Serve    serving.Command `cmd:"" help:"Show runs in a browser, also during training."`
	Preview  serving.Preview `cmd:"" hidden:"" help:"Draw a checkpoint for a server, in a separate process."`
	Worker   sweeps.Worker   `cmd:"" hidden:"" help:"Train one run of a sweep, in a separate process."`
	Rehearse sweeps.Rehearse `cmd:"" hidden:"" help:"Estimate the time of a run, in a separate process."`
	Mimosa   coding.Mimosa   `cmd:"" help:"Learn a hierarchy of dimensions from codes."`
	Data     data.Command    `cmd:"" help:"List, draw and fetch data sets."`
	List     docs.List       `cmd:"" help:"List the parts for configs, with options, defaults and sources."`

	Docs docs.Command `cmd:"" help:"Write the documents and the reference as a site."`

	Help       helpCommand       `cmd:"" help:"Show the help of all commands or of one."`
	Version    versionCommand    `cmd:"" help:"Print the version of the code, of Go and of the kernels."`
	Completion completionCommand `cmd:"" help:"Print a script that completes command lines in bash, zsh or fish."`
	Complete   completeCommand   `cmd:"" hidden:"" help:"List candidates for the completion script."`

	Quiet bool `short:"q" help:"Print only results and errors."`

	Root string `name:"data" placeholder:"DIR" help:"Folder of public data sets and of converted files, for this command and its runs (default: the variable UNRAVEL_DATA)." detail:"Without the variable UNRAVEL_DATA, the folder is unravel in the user's folder for caches."`
}

// Run runs a command line, without the program's name, and returns its exit code. Results go to stdout, and messages
// for people to stderr. When the context ends, a command that trains saves and stops. Run is for tests and for programs
// that embed commands. Sweeps start the program itself as a child process, which must call [Main].
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	out, log := plain.NewWriter(stdout), plain.NewLog(stderr)
	defer func() {
		if p := recover(); p != nil {
			code = ui.ExitFailed
			reportPanic(log, p)
		}
	}()
	exited, s := -1, &ui.Streams{Out: out, Log: log}
	var line commands
	parser, err := newParser(&line, kong.Writers(out, log), kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s))
	if err != nil {
		return exitCode(err, out, log)
	}
	_, err = kernel.InstructionSet()
	if err := cmp.Or(err, lock.CheckEnvironment()); err != nil {
		return exitCode(ui.Usage(err), out, log)
	}
	k, err := parser.Parse(flagsLast(parser.Model, asCommand(args)))
	if out.Err() != nil {
		return exitCode(out.Err(), out, log)
	}
	if exited >= 0 { // --help
		return exited
	}
	command := failedCommand(err)
	if err == nil {
		command, err = k.Selected(), foreignWord(k)
	}
	if err != nil {
		fmt.Fprintf(log, "unravel: %s\nSee %s --help.\n", usageMessage(err, command, args), helpOf(command))
		return ui.ExitUsage
	}
	if err := cmp.Or(ui.CheckWritten(k.Flags()), line.Table.CheckRoot(k.Command(), line.Root)); err != nil {
		return exitCode(err, out, log)
	}
	if line.Quiet {
		s.Log = io.Discard
	}
	restore, err := setRoot(line.Root)
	if err == nil {
		err = k.Run()
	}
	err = errors.Join(err, restore())
	if err == nil {
		err = out.Err()
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = train.ErrStopped
	}
	return exitCode(err, out, log)
}

func reportPanic(log io.Writer, p any) {
	failed, _ := p.(error)
	if lost, ok := errors.AsType[*pages.LostError](failed); ok {
		fmt.Fprintln(log, "unravel:", lost)
		return
	}
	fmt.Fprintln(log, "unravel:", parallel.Recovered(p))
}

func newParser(line *commands, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(line, append(options, kong.Name("unravel"),
		kong.Description("Trains and measures disentangled representations."), kong.UsageOnError(),
		kong.KindMapper(reflect.Slice, kong.MapperFunc(decodeList)))...)
}

// decodeList decodes lists like kong, and also accepts spaces around the separators of a flag: "a, b" is "a,b".
func decodeList(ctx *kong.DecodeContext, target reflect.Value) error {
	text, ok := ctx.Scan.Peek().Value.(string)
	if sep := ctx.Value.Tag.Sep; ok && sep != -1 && ctx.Value.Flag != nil && ctx.Scan.Peek().IsValue() {
		parts := kong.SplitEscaped(text, sep)
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		ctx.Scan.PushTyped(kong.JoinEscaped(parts, sep), ctx.Scan.Pop().Type)
	}
	return kong.NewRegistry().RegisterDefaults().ForType(target.Type()).Decode(ctx, target)
}

func exitCode(err error, out *plain.Writer, log io.Writer) int {
	if err == nil {
		return ui.ExitDone
	}
	if gone := out.Err(); errors.Is(gone, syscall.EPIPE) && errors.Is(err, gone) {
		return ui.ExitFailed // the reader of the results has closed the pipe
	}
	fmt.Fprintln(log, "unravel:", err)
	switch {
	case errors.Is(err, train.ErrStopped):
		return ui.ExitStopped
	case errors.As(err, new(ui.UsageError)), errors.As(err, new(*config.Error)), errors.As(err, new(config.Errors)):
		return ui.ExitUsage
	}
	return ui.ExitFailed
}

// setRoot sets the folder of data sets for this process and its children. An empty dir has no effect.
func setRoot(dir string) (restore func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	before, had := os.LookupEnv(cache.RootVariable)
	restore = func() error {
		if had {
			return os.Setenv(cache.RootVariable, before)
		}
		return os.Unsetenv(cache.RootVariable)
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return restore, err
	}
	return restore, os.Setenv(cache.RootVariable, whole)
}

// flagsLast moves flags after the arguments, because kong requires adjacent arguments. Words after "--" stay.
func flagsLast(model *kong.Application, args []string) []string {
	takesValue := map[string]func(arg string) bool{}
	// The visitor returns no errors.
	_ = kong.Visit(model, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok && !f.IsBool() {
			takesValue["--"+f.Name] = func(arg string) bool { return takes(f, arg) }
		}
		return next(nil)
	})
	var words, flags []string
	for len(args) > 0 && args[0] != "--" {
		n := 1
		if takes := takesValue[args[0]]; takes != nil && len(args) > 1 && takes(args[1]) {
			n = 2
		}
		if strings.HasPrefix(args[0], "-") {
			flags = append(flags, args[:n]...)
		} else {
			words = append(words, args[0])
		}
		args = args[n:]
	}
	return append(append(words, flags...), args...)
}

// takes reports whether the word after a flag is the flag's value.
func takes(f *kong.Flag, arg string) bool {
	if optional, ok := f.Target.Addr().Interface().(interface{ Takes(arg string) bool }); ok {
		return optional.Takes(arg)
	}
	return !f.IsBool()
}

// helpCommand is `unravel help [COMMAND ...]`, which asCommand rewrites as `unravel COMMAND --help`.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"Command to explain (default: all commands)."`
}

// Run does nothing, because every such command becomes --help.
func (*helpCommand) Run() error { return nil }

// asCommand rewrites `help train` as `train --help`, and `--version` as `version`.
func asCommand(args []string) []string {
	switch {
	case len(args) > 0 && args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	case len(args) == 0 || args[0] != "help" || slices.Contains(args, "--help"):
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}
