package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

type line struct {
	Step int     `json:"step"`
	Loss float64 `json:"loss"`
}

func TestLog(t *testing.T) {
	r := newRun(t)
	l := must.Get(r.ResumeLog("log.jsonl", 0))(t)
	for i := range 3 {
		must.OK(t, l.Append(line{i, 0.5}))
	}
	must.Error(t, l.Append(line{4, math.NaN()}), "writing "+r.Path("log.jsonl"))
	must.Error(t, l.Append(3), "int is not a JSON object")
	must.OK(t, errors.Join(l.Sync(), l.Close()))
	wantFile(t, r.Path("log.jsonl"), `{"step":0,"loss":0.5}`+"\n"+`{"step":1,"loss":0.5}`+"\n"+`{"step":2,"loss":0.5}`+"\n")
	for _, err := range []error{l.Append(line{}), l.Sync(), l.Close()} {
		must.Error(t, err, "writing "+r.Path("log.jsonl"))
	}
	must.OK(t, os.Mkdir(r.Path("folder"), 0o777))
	must.ErrorOf(r.ResumeLog("folder", 3))(t, "continuing "+r.Path("folder"))
}

func TestResumeLog(t *testing.T) {
	r := newRun(t)
	for _, test := range []struct {
		name, before string
		step         int64
		want         string
	}{
		{"all stays", `{"step":1}` + "\n" + `{"a":2}` + "\n", 1, `{"step":1}` + "\n" + `{"a":2}` + "\n"},
		{"later steps go", `{"step":1}` + "\n" + `{"step":2}` + "\n" + `{"step":3}` + "\n", 2, `{"step":1}` + "\n" + `{"step":2}` + "\n"},
		{"with what follows them", `{"step":1}` + "\n" + `{"a":1}` + "\n" + `{"step":3}` + "\n" + `{"a":3}` + "\n", 2, `{"step":1}` + "\n" + `{"a":1}` + "\n"},
		{"in any order", `{"step":3}` + "\n" + `{"step":1}` + "\n" + `{"step":4,"x":1}` + "\n", 2, `{"step":1}` + "\n"},
		{"torn", `{"step":1}` + "\n" + `{"step":2`, 5, `{"step":1}` + "\n"},
		{"torn but complete", `{"step":1}` + "\n" + `{"step":2}`, 5, `{"step":1}` + "\n"},
		{"zeros", `{"step":1}` + "\n\x00\x00\x00\n" + `{"step":2}` + "\n", 5, `{"step":1}` + "\n" + `{"step":2}` + "\n"},
		{"no objects", "3\n\n[1]\n{\n{\"step\":\"x\"}\n", 5, ""},
		{"nothing", `{"step":1}` + "\n", -1, ""},
		{"empty", "", 3, ""},
		{"null", `{"step":null}` + "\n", 3, `{"step":null}` + "\n"},
	} {
		must.Write(t, r.Path("log.jsonl"), test.before)
		l := must.Get(r.ResumeLog("log.jsonl", test.step))(t)
		must.OK(t, errors.Join(l.Append(line{9, 1}), l.Close()))
		t.Log(test.name)
		wantFile(t, r.Path("log.jsonl"), test.want+`{"step":9,"loss":1}`+"\n")
	}
	l := must.Get(r.ResumeLog("new/log.jsonl", 3))(t)
	must.OK(t, errors.Join(l.Append(line{1, 1}), l.Close()))
	wantNames(t, r.Dir(), ".lock", Config, "log.jsonl", "new")
}

// FuzzResumeLog checks that ResumeLog keeps only complete objects up to the step, in any file.
func FuzzResumeLog(f *testing.F) {
	f.Add([]byte(`{"step":1}`+"\n"+`{"step":7}`+"\n{"), int64(3))
	f.Add([]byte(`{"step":1e3}`+"\n\n"+`{"STEP":7}`+"\n"), int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, step int64) {
		lines := rewind(data, step)
		for l := range strings.Lines(string(lines)) {
			var x map[string]any
			if err := json.Unmarshal([]byte(l), &x); err != nil || !strings.HasSuffix(l, "\n") {
				t.Fatalf("%q: %v", l, err)
			}
			if s, ok := x["step"].(float64); ok && s > float64(step) {
				if o, _ := parseLine([]byte(l)); o.Step != nil && *o.Step > float64(step) {
					t.Fatalf("%q stays at %d", l, step)
				}
			}
		}
		if again := rewind(lines, step); !bytes.Equal(again, lines) {
			t.Fatalf("%q changes again: %q", lines, again)
		}
	})
}

func TestWriteTable(t *testing.T) {
	lines := []Line{
		{Step: 20, Epoch: 1, Losses: Losses{"unsupervised": {"loss": 2.5, "kl": 0.1}, "supervised": {"loss": 3}}},
		{Step: 20, Epoch: 1, Metrics: map[string]float64{"mig": 0.5, "med": 0.2}}, // during training, of fewer images
		{Step: 20, Epoch: 1, Metrics: map[string]float64{"mig": 1e-9, `a,"b"`: 1}},
	}
	var b strings.Builder
	must.OK(t, WriteTable(lines)(&b))
	want := "epoch,step,name,value\n1,20,loss/supervised/loss,3\n1,20,loss/unsupervised/kl,0.1\n1,20,loss/unsupervised/loss,2.5\n" +
		"1,20,metric/med,0.2\n1,20,\"metric/a,\"\"b\"\"\",1\n1,20,metric/mig,1e-09\n"
	must.Equal(t, b.String(), want)
	if err := WriteTable(lines)(full{}); err == nil {
		t.Error("a full disk is no error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }
