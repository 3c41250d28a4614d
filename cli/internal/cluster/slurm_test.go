//go:build unix

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// commands replaces Slurm's commands by scripts. Other commands are missing.
func commands(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o777))
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	if _, ok := scripts["sbatch"]; !ok {
		t.Setenv("PATH", dir)
	}
}

func TestSlurmText(t *testing.T) {
	j := &Job{Name: "unravel-a", Command: []string{"/x y/unravel", "sweep", "it's.yaml"},
		Env: []string{"UNRAVEL_DATA=/a b"}, Work: "/w", Dir: "/d/100%", Tasks: 8,
		Request: Request{Partition: "long", Time: 90 * time.Minute, CPUs: 4, Memory: 2 << 30, Limit: 3}}
	text := must.Get(Slurm{}.Text(j))(t)
	for _, want := range []string{"#!/bin/bash\n", "--array=0-7%3\n", "--partition=long\n", "--time=0-01:30:00\n",
		"--signal=B:TERM@60\n", "--cpus-per-task=4\n", "--mem=2097152K\n", "--requeue\n",
		"--output=/d/100%%/.jobs/unravel-a-%a.txt\n", "export UNRAVEL_DATA='/a b'\n", `'/x y/unravel' sweep 'it'\''s.yaml' --index --of 8 --no-wait &`, "scontrol requeue \"$me\"\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	j.Time = 0 // the partition's time
	if text, err := (Slurm{}).Text(j); err != nil || !strings.Contains(string(text), "--signal=B:TERM@60\n") ||
		strings.Contains(string(text), "--time") {
		t.Errorf("%v\n%s", err, text)
	}
	j.Work = "a\nb"
	if _, err := (Slurm{}).Text(j); err == nil {
		t.Error("a line break is in the script")
	}
}

// The output of Slurm's commands, including nonsense, becomes tasks or an error that quotes it.
func TestSlurmCommands(t *testing.T) {
	ctx := t.Context()
	j := &Job{Name: "n", Work: "/", Dir: "/", Tasks: 1}
	for script, want := range map[string]string{
		"cat >/dev/null; echo 12": "", "cat >/dev/null; echo '12;cluster'": "", "cat >/dev/null; echo Submitted": `"Submitted"; want the number of a job`,
		"cat >/dev/null; echo 'sbatch: error: invalid partition specified: x' >&2; exit 1": "invalid partition specified: x",
	} {
		commands(t, map[string]string{"sbatch": script})
		id, err := Slurm{}.Submit(ctx, j)
		if want == "" && (err != nil || id != "12") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v", script, id, err)
		}
	}
	commands(t, nil)
	must.ErrorOf((Slurm{}).Submit(ctx, j))(t, "there is no command sbatch")
	for script, want := range map[string]Tasks{
		`echo 'PENDING|Resources'; echo 'RUNNING|None'; echo 'COMPLETING|None'`: {Waiting: 1, Running: 2, Why: "Resources"},
		`echo 'COMPLETED|None'; echo 'TIMEOUT|TimeLimit'`:                       {Done: 1, Lost: 1, Why: "TIMEOUT"},
		`echo 'CANCELLED|None'`: {Cancelled: 1},
	} {
		commands(t, map[string]string{"sbatch": "", "squeue": script})
		must.Equal(t, must.Get((Slurm{}).Look(ctx, "1"))(t), want, script)
	}
	invalid := "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
	for _, c := range []struct {
		squeue, sacct string
		tasks         Tasks
		unknown, bad  bool
	}{
		{invalid, "echo 'CANCELLED by 1000'; echo COMPLETED", Tasks{Done: 1, Cancelled: 1}, false, false},
		{invalid, "echo 'Slurm accounting storage is disabled' >&2; exit 1", Tasks{}, true, false},
		{"echo 'Unable to contact slurm controller' >&2; exit 1", "", Tasks{}, false, true},
		{"echo hello", "", Tasks{}, false, true},
	} {
		commands(t, map[string]string{"sbatch": "", "squeue": c.squeue, "sacct": c.sacct})
		got, err := Slurm{}.Look(ctx, "1")
		if got != c.tasks || errors.Is(err, ErrUnknown) != c.unknown || (err != nil) != (c.unknown || c.bad) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for text, want := range map[string]int{"MaxArraySize            = 401": 401, "nothing": UsualArray, "MaxArraySize = 1": -1, "MaxArraySize = 2": 2} {
		commands(t, map[string]string{"sbatch": "", "scontrol": "echo '" + text + "'"})
		if n, err := (Slurm{}).Most(ctx); n != want && want > 0 || (err != nil) != (want < 0) {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
}

// fake is a scheduler with scripted answers: looks holds the result of each look, and works does the work of a task.
type fake struct {
	Slurm
	submitted int
	looks     []any // Tasks or error
	works     func(look int)
	cancelled bool
	at        int
}

func (f *fake) Most(context.Context) (int, error)            { return 2, nil }
func (f *fake) Submit(context.Context, *Job) (string, error) { f.submitted++; return "7", nil }
func (f *fake) Find(context.Context, string) (string, error) { return "", nil }
func (f *fake) Cancel(context.Context, string) error         { f.cancelled = true; return nil }
func (f *fake) Look(context.Context, string) (Tasks, error) {
	look := f.looks[min(f.at, len(f.looks)-1)]
	if f.works != nil {
		f.works(f.at)
	}
	f.at++
	if err, ok := look.(error); ok {
		return Tasks{}, err
	}
	return look.(Tasks), nil
}

// A job is submitted once, followed through failures of the scheduler, and submitted again after a loss. A job without
// progress or a cancelled job is abandoned.
func TestFollow(t *testing.T) {
	config := "dataset: {square: {size: 8, side: 2}}\nmodel: {vae: {latent: 2, encoder: {mlp: {hidden: [4]}}}}\nlosses: [reconstruction, kl]\ntrain: {epochs: 1, batch: 32, figures: false}\n"
	c := must.Get(train.Load("tiny.yaml", []byte(config)))(t)
	run := must.Get(sweep.NewRun("one", c))(t)
	running, lost := Tasks{Running: 1}, Tasks{Lost: 1, Why: "NODE_FAIL"}
	for name, test := range map[string]struct {
		looks     []any
		makes     int // number of the look that makes the run; -1: never
		submitted int
		want      string
	}{
		"plain":     {[]any{running, running, Tasks{Waiting: 1}}, 1, 1, ""},
		"silent":    {[]any{running, errors.New("Unable to contact slurm controller"), running}, 2, 1, ""},
		"lost":      {[]any{running, lost, running}, 2, 2, ""},
		"forgotten": {[]any{running, ErrUnknown, running}, 2, 2, ""},
		"useless":   {[]any{lost}, -1, maxIdle, "without a step of a run"},
		"cancelled": {[]any{Tasks{Cancelled: 1}}, -1, 1, "job 7 was cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := &fake{looks: test.looks}
			f.works = func(look int) {
				if look == test.makes {
					if _, err := sweep.Execute(t.Context(), dir, []sweep.Run{run}, sweep.Options{}); err != nil {
						t.Error(err)
					}
				}
			}
			outcomes, err := Execute(t.Context(), f, Job{Name: "n", Dir: dir}, []sweep.Run{run}, Options{Every: time.Millisecond})
			if test.want == "" && (err != nil || outcomes[0].State != sweep.Finished) ||
				test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, %+v", err, outcomes)
			}
			must.Equal(t, f.submitted, test.submitted, "submitted", "times")
		})
	}
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	f := &fake{looks: []any{running}, works: func(look int) {
		if look == 2 {
			stop()
		}
	}}
	if _, err := Execute(ctx, f, Job{Name: "n", Dir: dir}, []sweep.Run{run}, Options{Every: time.Millisecond}); !errors.Is(err, train.ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
	f.works = func(int) { _, _ = sweep.Execute(t.Context(), dir, []sweep.Run{run}, sweep.Options{}) } // an error shows below
	if out, err := Execute(t.Context(), f, Job{Name: "n", Dir: dir}, []sweep.Run{run},
		Options{Every: time.Millisecond}); err != nil || out[0].State != sweep.Finished || f.submitted != 1 {
		t.Errorf("followed again: %v, submitted %d times", err, f.submitted)
	}
}
