package sweeps

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/ui"
)

// CountFlag is a number of at least 1; 0 means that the flag is absent.
type CountFlag int

// UnmarshalText reads a number.
func (c *CountFlag) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("got %q; want 1 or more", text)
	}
	*c = CountFlag(n)
	return nil
}

// nameFlag is a name; an empty name means that the flag is absent.
type nameFlag string

// UnmarshalText reads a name.
func (n *nameFlag) UnmarshalText(text []byte) error {
	if len(text) == 0 || strings.ContainsAny(string(text), " \t\r\n\"'") {
		return fmt.Errorf("got %q; want a name without spaces and quotes", text)
	}
	*n = nameFlag(text)
	return nil
}

// volumeFlag is a claim and the path of its volume.
type volumeFlag struct{ claim, path string }

// UnmarshalText reads CLAIM:PATH.
func (v *volumeFlag) UnmarshalText(text []byte) error {
	var ok bool
	if v.claim, v.path, ok = strings.Cut(string(text), ":"); !ok || v.claim == "" || !strings.HasPrefix(v.path, "/") {
		return fmt.Errorf("%q is no volume; want CLAIM:PATH, such as data:/shared", text)
	}
	return nil
}

// timeFlag is a time in the notation of Go or Slurm.
type timeFlag time.Duration

// leastTime is the shortest time of a task that still allows some work.
const leastTime = 2 * time.Minute

var slurmTime = regexp.MustCompile(`^(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?$`)

// UnmarshalText reads a time.
func (t *timeFlag) UnmarshalText(text []byte) error {
	d, err := parseTime(string(text))
	if err == nil && d < leastTime {
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
		return 0, fmt.Errorf("%q is no time; want 4h, 90m, HH:MM:SS or D-HH:MM:SS", text)
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

// memoryFlag is a number of bytes.
type memoryFlag int64

var memorySize = regexp.MustCompile(`^(\d+(?:\.\d+)?)([KMGT])(?:i?B|i)?$`)

// UnmarshalText reads a size such as 2G, in powers of 1024.
func (m *memoryFlag) UnmarshalText(text []byte) error {
	found := memorySize.FindStringSubmatch(string(text))
	if found == nil {
		return fmt.Errorf("%q is no size; want 512M or 2G", text)
	}
	n, err := strconv.ParseFloat(found[1], 64)
	bytes := n * math.Pow(1024, float64(strings.Index("KMGT", found[2])+1))
	if err != nil || !(bytes >= 1) || bytes > 1<<60 {
		return fmt.Errorf("%q is out of range; want 512M or 2G", text)
	}
	*m = memoryFlag(bytes)
	return nil
}

// indexFlag is the number of a task, or a request to read the number from the scheduler's variable.
type indexFlag struct {
	Set  bool
	text string // empty: the scheduler's variable
}

// Decode implements kong.MapperValue.
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

// number returns the number of the task.
func (f *indexFlag) number() (int, error) {
	text, from := f.text, "--index"
	for _, name := range indexVariables {
		if text == "" {
			text, from = os.Getenv(name), name
		}
	}
	if text == "" {
		return 0, ui.Usagef("--index: none of %s is set; want a number, or a task of a scheduler", strings.Join(indexVariables, " and "))
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, ui.Usagef("%s %s: want 0 or more", from, text)
	}
	return n, nil
}
