package rundir

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Log appends JSON objects to a file, one per line. It is not safe for concurrent use.
type Log struct {
	path string
	f    *os.File
	size int64
}

// ResumeLog opens the log of a run that continues from a step, and creates it if it is missing. It removes incomplete
// objects, objects with a larger "step", and objects without a "step" that follow these.
func (r *Run) ResumeLog(name string, step int64) (*Log, error) {
	if err := r.prepare(name); err != nil {
		return nil, err
	}
	if err := r.Held(); err != nil {
		return nil, err
	}
	err := disk.Own(r.Path(name))
	if err == nil {
		err = r.rewindLog(name, step)
	}
	if err != nil {
		return nil, fmt.Errorf("continuing %s: %w", r.Path(name), err)
	}
	f, err := disk.OpenFile(r.Path(name), os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Log{r.Path(name), f, size}, nil
}

// Append writes v as a JSON object. After an error, the log keeps its earlier content if the disk permits.
func (l *Log) Append(v any) error {
	line, err := json.Marshal(v)
	if err == nil && line[0] != '{' {
		err = fmt.Errorf("%T is not a JSON object", v)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", l.path, err)
	}
	if _, err := l.f.WriteAt(append(line, '\n'), l.size); err != nil {
		return fmt.Errorf("writing %s: %w", l.path, errors.Join(err, l.f.Truncate(l.size)))
	}
	l.size += int64(len(line)) + 1
	return nil
}

// Sync waits until all lines are on disk.
func (l *Log) Sync() error {
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", l.path, err)
	}
	return nil
}

// Close closes the log.
func (l *Log) Close() error {
	if err := l.f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", l.path, err)
	}
	return nil
}

// rewindLog removes the lines of later steps, and incomplete lines, from a log, if there are any.
func (r *Run) rewindLog(name string, step int64) error {
	text, err := r.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	rewound := rewind(text, step)
	if err != nil || len(rewound) == len(text) {
		return err
	}
	return r.Write(name, Bytes(rewound))
}

// rewind returns the lines of a log up to and including a step.
func rewind(log []byte, step int64) (lines []byte) {
	later := false
	for line := range bytes.Lines(log) {
		object, ok := parseLine(line)
		if ok && object.Step != nil {
			later = *object.Step > float64(step)
		}
		if ok && !later && bytes.HasSuffix(line, []byte("\n")) {
			lines = append(lines, line...)
		}
	}
	return lines
}

// stepLine holds the step of a log line. Steps are integers, but any number is accepted.
type stepLine struct {
	Step *float64 `json:"step"`
}

func parseLine(line []byte) (object stepLine, ok bool) {
	if !bytes.HasPrefix(line, []byte("{")) {
		return object, false
	}
	return object, json.Unmarshal(line, &object) == nil
}

// Losses holds mean losses over an epoch, by objective and name.
type Losses map[string]map[string]float64

// Line is a line of [LogFile]: a finished epoch or an evaluation.
type Line struct {
	Step    int                `json:"step"`              // total number of steps so far
	Epoch   int                `json:"epoch"`             // number of finished epochs
	Images  int                `json:"images,omitempty"`  // number of images in the epoch
	Seconds float64            `json:"seconds,omitempty"` // duration of the epoch's steps, or of an evaluation during training
	Losses  Losses             `json:"losses,omitempty"`  // losses of an epoch
	Metrics map[string]float64 `json:"metrics,omitempty"` // metrics of an evaluation
}

// WriteTable returns a function that writes the lines of a log as CSV, with one row per number: epoch, step, name and
// value. The name of a loss is loss/OBJECTIVE/NAME, and the name of a metric is metric/NAME. Of a metric measured twice
// after the same step, the table has the last value.
func WriteTable(lines []Line) func(io.Writer) error {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		add := func(l Line, prefix string, values map[string]float64) error {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				if err := c.Write([]string{strconv.Itoa(l.Epoch), strconv.Itoa(l.Step), prefix + name,
					strconv.FormatFloat(values[name], 'g', -1, 64)}); err != nil {
					return err
				}
			}
			return nil
		}
		err := c.Write([]string{"epoch", "step", "name", "value"})
		for i, l := range lines {
			for _, objective := range slices.Sorted(maps.Keys(l.Losses)) {
				err = errors.Join(err, add(l, "loss/"+objective+"/", l.Losses[objective]))
			}
			last := maps.Clone(l.Metrics)
			maps.DeleteFunc(last, func(name string, _ float64) bool { return l.Again(lines[i+1:], name) })
			err = errors.Join(err, add(l, "metric/", last))
		}
		c.Flush()
		return errors.Join(err, c.Error())
	}
}

// Again reports whether the lines after l have a metric of l's step, as the end of a run does that measured other
// images during training.
func (l Line) Again(after []Line, metric string) bool {
	for _, next := range after {
		if next.Step != l.Step {
			break
		}
		if _, ok := next.Metrics[metric]; ok {
			return true
		}
	}
	return false
}

// ReadLog calls f for every line of the log.
func (r *Run) ReadLog(f func(Line)) error {
	text, err := r.Read(LogFile)
	if err != nil {
		return err
	}
	for raw := range bytes.Lines(text) {
		var line Line
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("%s: %w", r.Path(LogFile), err)
		}
		f(line)
	}
	return nil
}
