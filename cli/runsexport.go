package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/sweep/index"
	"github.com/unravel-ml/unravel/train/sweep/mlflow"
)

// sendMLflow sends runs to a server of MLflow. The environment has the credentials under MLflow's names.
func (c *runsCommand) sendMLflow(ctx context.Context, s *streams, runs []*index.Run) error {
	to := mlflow.Server{URL: c.MLflow, Token: os.Getenv("MLFLOW_TRACKING_TOKEN"),
		User: os.Getenv("MLFLOW_TRACKING_USERNAME"), Password: os.Getenv("MLFLOW_TRACKING_PASSWORD")}
	sum, failed := mlflow.Send(readingRuns(ctx, s), to, c.Dir, runs)
	for _, note := range sum.Notes {
		fmt.Fprintln(s.log, note)
	}
	if sum.Runs == 0 && failed != nil {
		return failed
	}
	_, err := fmt.Fprintf(s.out, "on the server: %s in %s, %d new or changed\n", counted(sum.Runs, "run"), counted(sum.Experiments, "experiment"), sum.Changed)
	return errors.Join(err, failed)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

// boardFile is the event file in a folder of runs. It tells TensorBoard the settings and metrics for comparing the
// runs.
const boardFile = tfevents.FilePrefix + "0.unravel-runs"

// writeTensorBoard writes the settings and metrics of runs for TensorBoard.
func (c *runsCommand) writeTensorBoard(s *streams, runs []*index.Run) error {
	var settings []tfevents.Setting
	differing := map[string]bool{}
	add := func(column index.Column) {
		if !differing[column.Name] {
			differing[column.Name] = true
			settings = append(settings, tfevents.Setting{Name: column.Name, Value: kindOf(runs, column)})
		}
	}
	keys := map[string]bool{}
	for _, key := range index.SettingKeys(runs) {
		keys[key] = true
	}
	columns := append(index.Differing(runs), index.Columns(runs)...) // TensorBoard shows the first ones
	for _, column := range columns {
		if keys[column.Name] {
			add(column)
		}
	}
	var compared []tfevents.Metric
	for _, name := range index.ResultNames(runs) {
		if !strings.Contains(name, ".") {
			compared = append(compared, tfevents.Metric{Tag: "metrics/" + name, Name: name, Description: direction(name)})
		}
	}
	w, err := tfevents.Create(filepath.Join(c.Dir, boardFile), time.Now)
	if err != nil {
		return err
	}
	err = w.Write(0, tfevents.Experiment("Runs of Unravel", settings, compared))
	if err2 := w.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s of %s and %s are in %s; to see them: tensorboard --logdir %s\n",
		counted(len(settings), "setting"), counted(len(runs), "run"), counted(len(compared), "metric"), filepath.Join(c.Dir, boardFile), c.Dir)
	return err
}

// kindOf returns an example of the kind of a column's values: a number, a boolean, or a text.
func kindOf(runs []*index.Run, column index.Column) any {
	number, truth := true, true
	for _, r := range runs {
		text, ok := column.Of(r)
		if !ok {
			continue
		}
		_, err := strconv.ParseFloat(text, 64)
		number, truth = number && err == nil, truth && (text == "true" || text == "false")
	}
	switch {
	case truth:
		return false
	case number:
		return 0.0
	}
	return ""
}

// direction says which values of a metric are good.
func direction(name string) string {
	m, err := metrics.Registry.Lookup(name)
	if err != nil {
		return ""
	}
	if m.New().Better() == metrics.HigherIsBetter {
		return "higher is better"
	}
	return "lower is better"
}
