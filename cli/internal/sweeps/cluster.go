package sweeps

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/cluster"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// ClusterFlags are the flags of commands that can make runs on a cluster.
type ClusterFlags struct {
	On         string     `placeholder:"SCHEDULER" help:"Submit the runs as a job to slurm or kubernetes, and follow the job until all runs have ended." detail:"If the job is already there, the command follows it. ctrl-C leaves the job running."`
	Print      bool       `help:"With --on: print the job instead of submitting it."`
	Tasks      ui.Count   `placeholder:"N" help:"With --on: maximum number of tasks, which divide the runs among them (default: one task for each run)." detail:"The scheduler may allow fewer tasks."`
	Partition  nameFlag   `placeholder:"NAME" help:"With --on slurm: partition of the job."`
	Time       timeFlag   `placeholder:"TIME" help:"With --on: time limit of a task, such as 4h, 90m or 1-12:00:00." detail:"At the end of its time, a task saves its run and returns to the queue."`
	CPUs       ui.Count   `name:"cpus" placeholder:"N" help:"With --on: processors of a task."`
	Memory     memoryFlag `placeholder:"SIZE" help:"With --on: memory of a task, such as 2G." detail:"unravel train --dry-run prints the memory that a run needs."`
	ArrayLimit ui.Count   `placeholder:"N" help:"With --on: maximum number of concurrent tasks."`
	Image      nameFlag   `placeholder:"IMAGE" help:"With --on kubernetes: container image of the tasks, with unravel on its path."`
	Volume     volumeFlag `placeholder:"CLAIM:PATH" help:"With --on kubernetes: claim and path of the volume with the folder of the runs." detail:"The volume must contain the folder of the runs and the current folder. Its path must be the same on this machine and in tasks."`
	Namespace  nameFlag   `placeholder:"NAME" help:"With --on kubernetes: namespace of the job (default: the namespace of kubectl's context)."`

	Index  indexFlag `placeholder:"N" help:"Run as task number N of a job, counted from 0." detail:"The task begins with the runs N, N + M, N + 2 M and so on of the plan. Without N, the number comes from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX."`
	Of     ui.Count  `placeholder:"M" help:"With --index: number of tasks (default: one for each run)."`
	NoWait bool      `help:"Exit when other processes are training all remaining runs, instead of waiting for them."`
}

// CheckCluster returns an error for flags that exclude or need each other. A printed job would ignore the other flags.
func (f *ClusterFlags) CheckCluster(jobs int, others map[string]bool) error {
	if f.On != "" && !slices.Contains(Schedulers, f.On) {
		return ui.Usagef("--on %s: unknown scheduler; want %s", f.On, strings.Join(Schedulers, " or "))
	}
	isSet := map[string]bool{"--print": f.Print, "--tasks": f.Tasks > 0, "--partition": f.Partition != "",
		"--time": f.Time > 0, "--cpus": f.CPUs > 0, "--memory": f.Memory > 0, "--array-limit": f.ArrayLimit > 0,
		"--image": f.Image != "", "--volume": f.Volume.claim != "", "--namespace": f.Namespace != ""}
	for name, set := range isSet {
		if set && f.On == "" {
			return ui.Usagef("%s belongs to --on", name)
		}
	}
	for name, set := range others {
		if set && f.Print {
			return ui.Usagef("--print prints a job and does nothing else; want it without %s", name)
		}
	}
	switch {
	case f.Of > 0 && !f.Index.Set:
		return ui.Usagef("--of is the number of tasks of --index; want both")
	case f.On != "" && (f.Index.Set || f.NoWait || jobs > 1):
		return ui.Usagef("--on: --index, --no-wait and --jobs are for tasks; want --on alone")
	case f.On == onKubernetes && f.Partition != "":
		return ui.Usagef("--partition belongs to --on slurm")
	case f.On == onKubernetes && (f.Image == "" || f.Volume.claim == ""):
		return ui.Usagef("--on kubernetes: want --image IMAGE, with unravel on its path, and --volume CLAIM:PATH, which holds the folder of the runs")
	case f.On != onKubernetes && (f.Image != "" || f.Volume.claim != "" || f.Namespace != ""):
		return ui.Usagef("--image, --volume and --namespace belong to --on kubernetes")
	}
	return nil
}

// Values of --on.
const onSlurm, onKubernetes = "slurm", "kubernetes"

// Schedulers are the values of --on.
var Schedulers = []string{onSlurm, onKubernetes}

func (f *ClusterFlags) scheduler() cluster.Scheduler {
	if f.On == onKubernetes {
		return &cluster.Kubernetes{Image: string(f.Image), Claim: f.Volume.claim, Mount: f.Volume.path,
			Namespace: string(f.Namespace), User: os.Getuid(), Group: os.Getgid()}
	}
	return cluster.Slurm{}
}

// Memory of a task if no flag sets it.
const (
	memorySamples = 8       // number of runs to estimate
	memoryFactor  = 1.25    // times the estimate
	minMemory     = 1 << 28 // bytes
)

// allotMemory sets the memory of tasks to the largest need of the runs, unless a flag sets it.
func (f *ClusterFlags) allotMemory(ctx context.Context, s *ui.Streams, j *cluster.Job, runs []sweep.Run) error {
	if f.On != onKubernetes || j.Memory > 0 || len(runs) == 0 {
		return nil
	}
	n, largest := min(len(runs), memorySamples), 0.0
	for i := range n {
		r := runs[i*len(runs)/n]
		peak, err := train.PeakMemory(ctx, train.Here(r.Config))
		if ctx.Err() != nil {
			return train.ErrStopped
		}
		if err != nil {
			return fmt.Errorf("the memory of run %s: %w; want --memory", r.Name, err)
		}
		largest = max(largest, peak)
	}
	j.Memory = max(minMemory, int64(math.Ceil(memoryFactor*largest)))
	fmt.Fprintf(s.Log, "memory of a task: %d MiB, %g times the estimate of the largest of %d runs; --memory sets another limit\n", (j.Memory+(1<<20)-1)>>20, memoryFactor, n)
	return nil
}

// task sets the options of one task: its number, and one thread for each of its processors.
func (f *ClusterFlags) task(o *sweep.Options, runs int) error {
	o.NoWait = f.NoWait
	if !f.Index.Set {
		return nil
	}
	n, err := f.Index.number()
	if err != nil {
		return err
	}
	o.Index, o.Of = n, int(f.Of)
	if f.Of == 0 {
		o.Of = max(runs, 1)
		if f.Index.text == "" { // an array may have more tasks than runs
			o.Of = max(runs, n+1)
		}
	}
	if n >= o.Of {
		return ui.Usagef("--index %d of %d tasks: want 0 to %d", n, o.Of, o.Of-1)
	}
	allot()
	return nil
}

// allot limits threads to the processors that Slurm gives a task. Go already respects control groups and affinity.
func allot() {
	n, err := strconv.Atoi(os.Getenv("SLURM_CPUS_PER_TASK"))
	if err == nil && n > 0 && os.Getenv("GOMAXPROCS") == "" && n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// taskEnv lists the submitter's variables that tasks need, because a site may not pass on the environment.
var taskEnv = []string{"UNRAVEL_DATA", kernel.Variable, lock.ClaimsVariable, lock.AfterVariable}

// Job describes a command's job. Its tasks run the program with args.
func (f *ClusterFlags) Job(name, dir string, args ...string) (cluster.Job, error) {
	program, err := os.Executable()
	if err != nil {
		return cluster.Job{}, err
	}
	work, err := os.Getwd()
	if err != nil {
		return cluster.Job{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return cluster.Job{}, err
	}
	j := cluster.Job{Command: append([]string{program}, args...), Work: work, Dir: dir, Tasks: int(f.Tasks),
		Request: cluster.Request{Partition: string(f.Partition), Time: time.Duration(f.Time), CPUs: int(f.CPUs),
			Memory: int64(f.Memory), Limit: int(f.ArrayLimit)}}
	for _, name := range taskEnv {
		if value, ok := os.LookupEnv(name); ok {
			j.Env = append(j.Env, name+"="+value)
		}
	}
	j.Name = jobName(name, dir, args)
	return j, nil
}

var notInJobs = regexp.MustCompile(`[^a-z0-9]+`)

func jobName(name, dir string, args []string) string {
	const letters = 40 // of 63
	name = strings.Trim(notInJobs.ReplaceAllString(strings.ToLower(name), "-"), "-")
	sum := sha256.Sum256([]byte(dir + "\x00" + strings.Join(args, "\x00")))
	return strings.Trim("unravel-"+name[:min(len(name), letters)], "-") + "-" + hex.EncodeToString(sum[:4])
}

// countMissing returns the number of runs that a job would make, and the numbers of finished and failed runs.
func countMissing(dir string, runs []sweep.Run, retry bool) (missing, finished, failed int, err error) {
	entries, err := sweep.Scan(dir)
	if err != nil {
		return 0, 0, 0, err
	}
	entryOf := sweep.Find(entries)
	for _, r := range runs {
		switch entryOf[r.Hash].State {
		case sweep.Finished:
			finished++
		case sweep.Failed:
			failed++
		}
	}
	missing = len(runs) - finished
	if !retry {
		missing -= failed
	}
	return missing, finished, failed, nil
}

// PrintJob writes the job that would be submitted for runs.
func (f *ClusterFlags) PrintJob(ctx context.Context, s *ui.Streams, j cluster.Job, runs []sweep.Run) error {
	missing, finished, failed, err := countMissing(j.Dir, runs, false)
	if err != nil {
		return err
	}
	if missing == 0 {
		fmt.Fprintf(s.Log, "nothing to submit: %s finished, %d failed\n", wording.Count(finished, "run"), failed)
		return nil
	}
	scheduler := f.scheduler()
	maxTasks, err := scheduler.Most(ctx)
	if err != nil {
		maxTasks = cluster.UsualArray
		fmt.Fprintf(s.Log, "Slurm does not say how many tasks an array may have; %d are assumed\n", maxTasks)
	}
	j.Tasks = cluster.Size(j.Tasks, maxTasks, missing)
	if err := f.allotMemory(ctx, s, &j, runs); err != nil {
		return err
	}
	text, err := scheduler.Text(&j)
	if err != nil {
		return err
	}
	if output := filepath.Join(j.Dir, cluster.OutputDir); f.On == onSlurm && !ui.Exists(output) {
		fmt.Fprintf(s.Log, "make the folder %s before you submit the job: Slurm does not make it\n", output)
	}
	_, err = s.Out.Write(text)
	return err
}

// Submit makes runs on the cluster and shows progress.
func (f *ClusterFlags) Submit(ctx context.Context, s *ui.Streams, j cluster.Job, runs []sweep.Run,
	retry bool) ([]sweep.Outcome, error) {
	if k, ok := f.scheduler().(*cluster.Kubernetes); ok {
		if err := k.Check(&j); err != nil { // before the command creates folders
			return nil, ui.Usage(err)
		}
	}
	missing, _, _, err := countMissing(j.Dir, runs, retry)
	if err != nil {
		return nil, err
	}
	if missing > 0 { // before the command creates folders
		if _, err := f.scheduler().Find(ctx, j.Name); err != nil {
			words, _, _ := strings.Cut(err.Error(), "\n")
			return nil, fmt.Errorf("%s does not answer, so no job was submitted: %s", f.On, words)
		}
	}
	if err := f.allotMemory(ctx, s, &j, runs); err != nil {
		return nil, err
	}
	p := newProgress(s.Log)
	defer p.clear()
	return cluster.Execute(ctx, f.scheduler(), j, runs,
		cluster.Options{Retry: retry, Log: plain.Logger(p), Observe: p.observe})
}

type nameFlag string // name; an empty name means that the flag is absent

func (n *nameFlag) UnmarshalText(text []byte) error {
	if len(text) == 0 || strings.ContainsAny(string(text), " \t\r\n\"'") {
		return fmt.Errorf("got %q; want a name without spaces and quotes", text)
	}
	*n = nameFlag(text)
	return nil
}

type volumeFlag struct{ claim, path string } // claim and the path of its volume

func (v *volumeFlag) UnmarshalText(text []byte) error {
	var ok bool
	if v.claim, v.path, ok = strings.Cut(string(text), ":"); !ok || v.claim == "" || !strings.HasPrefix(v.path, "/") {
		return fmt.Errorf("%q is not a volume; want CLAIM:PATH, such as data:/shared", text)
	}
	return nil
}

type timeFlag time.Duration // time in the notation of Go or Slurm

const minTime = 2 * time.Minute // shortest time of a task that still allows some work

var slurmTime = regexp.MustCompile(`^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$`)

func (t *timeFlag) UnmarshalText(text []byte) error {
	d, err := parseTime(string(text))
	if err == nil && d < minTime {
		err = fmt.Errorf("%q is too short; want 2m or more, as tasks save a minute before their end", text)
	}
	*t = timeFlag(d)
	return err
}

// parseTime reads 1h30m, or a time of Slurm: MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS.
func parseTime(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && text != "0" {
		return d, nil
	}
	m := slurmTime.FindStringSubmatch(text)
	if m == nil || m[1] == "" && m[3] == "" { // a bare number means minutes in Slurm, but hours to many people
		return 0, fmt.Errorf("%q is not a duration; want 4h, 90m, HH:MM:SS or D-HH:MM:SS", text)
	}
	var n [5]float64
	for i, s := range m[1:] {
		n[i], _ = strconv.ParseFloat("0"+s, 64) // digits
	}
	seconds := 0.0
	switch {
	case m[1] != "":
		seconds = ((n[0]*24+n[1])*60+n[2])*60 + n[3]
	case m[4] != "":
		seconds = (n[1]*60+n[2])*60 + n[3]
	default:
		seconds = n[1]*60 + n[2]
	}
	if seconds > math.MaxInt64/1e9 {
		return 0, fmt.Errorf("%q is longer than 292 years", text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

type memoryFlag int64

var memorySize = regexp.MustCompile(`^(\d+(?:\.\d+)?)([KMGT])(?:i?B|i)?$`)

// UnmarshalText reads a size such as 2G, in powers of 1024.
func (m *memoryFlag) UnmarshalText(text []byte) error {
	match := memorySize.FindStringSubmatch(string(text))
	if match == nil {
		return fmt.Errorf("%q is not a size; want 512M or 2G", text)
	}
	n, err := strconv.ParseFloat(match[1], 64)
	bytes := n * math.Pow(1024, float64(strings.Index("KMGT", match[2])+1))
	if err != nil || !(bytes >= 1) || bytes > 1<<60 {
		return fmt.Errorf("%q is out of range; want a size such as 512M or 2G", text)
	}
	*m = memoryFlag(bytes)
	return nil
}

// indexFlag is the number of a task, or a request to read the number from the scheduler's variable.
type indexFlag struct {
	Set  bool
	text string // empty: the scheduler's variable
}

func (f *indexFlag) Decode(ctx *kong.DecodeContext) error {
	f.Set, f.text = true, ""
	if t := ctx.Scan.Peek(); t.Type == kong.FlagValueToken || t.Type == kong.UntypedToken && f.Takes(fmt.Sprint(t.Value)) {
		f.text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	return nil
}

// Takes reports whether the word after the flag is its value.
func (*indexFlag) Takes(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// indexVariables hold the number of a task, by scheduler.
var indexVariables = []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}

func (f *indexFlag) number() (int, error) {
	text, from := f.text, "--index"
	for _, name := range indexVariables {
		if text == "" {
			text, from = os.Getenv(name), name
		}
	}
	if text == "" {
		return 0, ui.Usagef("--index: none of %s is set; want a number, or a task of a scheduler",
			strings.Join(indexVariables, " and "))
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, ui.Usagef("%s %s: want 0 or more", from, text)
	}
	return n, nil
}
