package cli_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/files"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/report/sheet"
)

// TestDataAsk asks about a folder of pictures without labels, takes answers, asks again, and trains and measures with
// the answers.
func TestDataAsk(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	t.Setenv("UNRAVEL_DATA", must.MappedDir(t))
	must.OK(t, os.Mkdir("photos", 0o777))
	shades := map[string]int{}
	for i := range 12 {
		name := fmt.Sprintf("p%02d.png", i)
		shades[name] = i % 3
		m := image.NewGray(image.Rect(0, 0, 8, 8))
		for p := range m.Pix {
			m.Pix[p] = uint8(100 * (i % 3))
		}
		var b bytes.Buffer
		must.OK(t, png.Encode(&b, m))
		must.Write(t, "photos/"+name, b.Bytes())
	}
	o := clitest.OK(t, "data", "ask", "folder", "path=photos", "size=8", "--factors", "shade", "--count", "8", "--sheet", "sheet.png")
	if !strings.Contains(o.Log, "8 questions in pairs.csv; write same or different after each") {
		t.Errorf("log %q", o.Log)
	}
	checkSheet(t)
	answer := func() {
		lines := strings.Split(strings.TrimSpace(string(must.Read(t, "pairs.csv"))), "\n")
		for n, line := range lines {
			f := strings.Split(line, ",")
			if f[3] != "" {
				continue
			}
			if f[3] = "different"; shades[f[0]] == shades[f[1]] {
				f[3] = "same"
			}
			lines[n] = strings.Join(f, ",")
		}
		must.Write(t, "pairs.csv", strings.Join(lines, "\n"))
	}
	answer()
	clitest.Mistake(t, clitest.Run(t, "data", "ask", "folder", "path=photos", "size=8", "--factors", "shade"), 2,
		"pairs.csv has 8 answers; want --answers pairs.csv")
	clitest.OK(t, "data", "ask", "folder", "path=photos", "size=8", "--answers", "pairs.csv", "--count", "8", "--sheet", "sheet.png")
	checkSheet(t)
	answer()
	for range 3 {
		clitest.OK(t, "data", "ask", "folder", "path=photos", "size=8", "--answers", "pairs.csv", "--count", "8")
		answer()
	}
	if o = clitest.OK(t, "data", "ask", "folder", "path=photos", "size=8", "--answers", "pairs.csv", "--count",
		"5"); !strings.Contains(o.Log, "0 questions") || !strings.Contains(o.Log, "5 questions fewer than requested") {
		t.Errorf("log %q", o.Log) // 12 pictures are known after 40 answers
	}
	must.Write(t, "mine.yaml", `name: mine
dataset: {folder: {path: photos, size: 8}}
supervision: {answers: {file: pairs.csv}}
model: {encoder: {encoder: {mlp: {hidden: [8]}}, latent: 1}}
losses: [variance, separation]
train: {epochs: 2, batch: 12}
`)

	clitest.OK(t, "train", "mine.yaml", "metrics=[]", "--run", "run")
	got, log := clitest.Measure(t, "--run", "run", "--pairs", "pairs.csv", "--metrics", "variance")
	if !(got["variance"].Value >= 0) || !strings.Contains(log, "shade 3 classes of 12 rows") {
		t.Errorf("%v, log %q", got, log)
	}
	clitest.OK(t, "data", "ask", "--run", "run", "--factors", "mood", "--count", "3", "--out", "mood.csv")
	if text := string(must.Read(t, "mood.csv")); strings.Count(text, ",mood,\n") != 3 || !strings.Contains(text, ".png,") {
		t.Errorf("%s", text)
	}
	clitest.OK(t, "data", "ask", "--codes", "run/codes.npy", "--factors", "mood", "--count", "3", "--out", "codes.csv")
	clitest.OK(t, "data", "ask", "entangled", "--random", "--fill", "--count", "30", "--out", "filled.csv")
	if text := string(must.Read(t, "filled.csv")); strings.Count(text, "different\n")+strings.Count(text, "same\n") != 30 {
		t.Errorf("%s", text)
	}
}

// checkSheet compares sheet.png with the unanswered pairs in pairs.csv, under their line numbers.
func checkSheet(t *testing.T) {
	t.Helper()
	s := files.NewFolder()
	s.Path, s.Size = "photos", datasets.PictureSize{8, 8}
	d := must.Get(s.Build(0))(t)
	var pairs [][2]int
	var labels []string
	for n, line := range strings.Split(strings.TrimSpace(string(must.Read(t, "pairs.csv"))), "\n") {
		var a, b int
		if f := strings.Split(line, ","); f[3] == "" {
			must.Get(fmt.Sscanf(f[0]+" "+f[1], "p%d.png p%d.png", &a, &b))(t)
			pairs, labels = append(pairs, [2]int{a, b}), append(labels, fmt.Sprintf("line %d: shade?", n+1))
		}
	}
	m, err := sheet.Pairs(d, fmt.Sprintf("%s: %d of %[2]d questions", d.Name(), len(pairs)), "same or different", pairs, labels, 0)
	must.OK(t, err)
	var want bytes.Buffer
	must.OK(t, raster.WritePNG(&want, m))
	if !bytes.Equal(must.Read(t, "sheet.png"), want.Bytes()) {
		t.Errorf("sheet.png does not show the questions %q of pairs.csv", labels)
	}
}

func TestDataAskMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "broken.csv", "0,1,y1\n")
	must.WriteNPY(t, "codes.npy", []int{5, 2}, make([]float64, 10))
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"nothing to ask about; want the name of a data set", 2, nil},
		{"a run has its own data set", 2, []string{"entangled", "--run", "r"}},
		{"--best and --average choose weights of a run", 2, []string{"entangled", "--best"}},
		{"0 questions are out of range", 2, []string{"entangled", "--count", "0"}},
		{"explore 3 is out of range", 2, []string{"entangled", "--explore", "3"}},
		{"there is no factor to ask about", 2, []string{"--codes", "codes.npy"}},
		{"codes have 5 rows; want 1331, one for each image of dataset entangled", 1, []string{"entangled", "--codes", "codes.npy"}},
		{"broken.csv:1:1: there are 3 fields", 1, []string{"entangled", "--answers", "broken.csv"}},
		{"has no factor \"mood\" to answer by", 2, []string{"entangled", "--factors", "mood", "--fill"}},
		{"--fill: codes have no levels", 2, []string{"--codes", "codes.npy", "--factors", "mood", "--fill"}},
		{"--sheet: codes have no images", 2, []string{"--codes", "codes.npy", "--factors", "mood", "--sheet", "s.png"}},
		{`factor 1, "y1", is empty or repeated`, 2, []string{"entangled", "--factors", "y1,y1"}},
		{`factor 1, "y1", is empty or repeated`, 2, []string{"entangled", "--factors", "y1, y1"}},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"data", "ask"}, c.args...)...), c.code, c.want)
	}
}
