package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"math"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Half agrees with the definition at difficult points: ties, subnormal numbers, overflow and signs.
func TestHalf(t *testing.T) {
	for v, want := range map[float32]uint16{
		0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, float32(math.Inf(-1)): 0xfc00,
		1.0 / (1 << 14): 0x0400, 1.0 / (1 << 24): 1, 1.0 / (1 << 25): 0, 3.0 / (1 << 25): 2, 1023.0 / (1 << 24): 0x03ff,
		1 + 1.0/2048: 0x3c00, 1 + 3.0/2048: 0x3c02, 1 + 1.0/1024: 0x3c01, 1 - 1.0/8192: 0x3c00, -1e-30: 0x8000,
	} {
		must.Equal(t, float16Bits(v), want, "Half", v)
	}
	if got := float16Bits(float32(math.NaN())); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
		t.Errorf("Half(NaN) = %04x", got)
	}
}

func TestArray(t *testing.T) {
	for want, v := range map[string]any{
		`{"shape":[2],"type":"f32","data":"AACAPwAAwH8="}`: Floats([]float64{1, math.NaN()}, 2),
		`{"shape":[1,2],"type":"f16","data":"ADwAfA=="}`:   float16s([]float32{1, float32(math.Inf(1))}, 1, 2),
		`{"shape":[2],"type":"i32","data":"AQAAAP////8="}`: Integers([]int{1, -1}, 2),
		`{"shape":[0],"type":"f32","data":""}`:             Floats([]float32{}, 0),
		`[1.5,"NaN","Inf","-Inf"]`:                         []Number{1.5, Number(math.NaN()), Number(math.Inf(1)), Number(math.Inf(-1))},
	} {
		text, err := json.Marshal(v)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	var list []Number
	err := json.Unmarshal([]byte(`[2, null, "NaN", "Inf", "-Inf"]`), &list)
	if err != nil || list[0] != 2 || !math.IsNaN(float64(list[1])) || !math.IsNaN(float64(list[2])) ||
		!math.IsInf(float64(list[3]), 1) || !math.IsInf(float64(list[4]), -1) {
		t.Errorf("%v, %v", list, err)
	}
	if json.Unmarshal([]byte(`["two"]`), &list) == nil {
		t.Error("no error for a word")
	}
}

// Pages contain scripts unchanged, so scripts must not contain tags that end them. The files of each widget exist.
func TestScripts(t *testing.T) {
	end := regexp.MustCompile(`(?i)</script|<!--|<script`)
	var names []string
	for name := range widgets {
		names = append(names, name)
	}
	list := Scripts(names...)
	seen := map[string]bool{}
	for _, name := range list {
		text := Text(name)
		if end.MatchString(text) {
			t.Errorf("%s has a text that ends its element", name)
		}
		if seen[name] || text == "" {
			t.Errorf("%s is listed twice, or empty", name)
		}
		seen[name] = true
		if !strings.HasPrefix(name, "uplot/") && !strings.Contains(text, "\"use strict\";\n") {
			t.Errorf("%s is not strict", name)
		}
		if n := strings.Count(text, "\n"); n > 400 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
	must.Equal(t, list[0], Base, "comes first")
	all := must.Get(fs.Glob(files, "*.js"))(t)
	for _, name := range all {
		if !seen[name] {
			t.Errorf("no widget has %s", name)
		}
	}
	if strings.Contains(strings.ToLower(Style()), "</style") {
		t.Error("the style sheet has a text that ends its element")
	}
}

// uPlot is the file of version 1.6.32 in the npm registry, with its licence.
func TestUPlot(t *testing.T) {
	for name, want := range map[string]string{
		"uplot/uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uplot/uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
		"uplot/LICENSE":           "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
	} {
		if sum := sha256.Sum256([]byte(Text(name))); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the hash %x", name, sum)
		}
	}
}

// Of two values of a curve at one epoch, the value measured during training counts. node runs the scripts without a page.
func TestCurvesTable(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here")
	}
	script := `globalThis.matchMedia = () => ({ addEventListener() {} }); globalThis.document = { addEventListener() {} }; globalThis.addEventListener = () => {}; globalThis.localStorage = { getItem() {} };
` + Text(Base) + Text("curves.js") + `
const series = [{ name: "mig", x: [1, 2, 2, 3, 3], y: [0.1, 0.2, 0.9, 0.3, 0.8] }, { name: "dci", x: [2], y: [0.5] }];
console.log(JSON.stringify(Unravel.curvesTable(series)), Unravel.curvesSummary({ title: "t", x: "epoch", series }));`
	out, err := exec.Command(node, "-e", script).CombinedOutput()
	want := "[[1,2,3],[0.1,0.2,0.3],[null,0.5,null]] t, by epoch: mig ends at 0.3, dci ends at 0.5\n"
	if err != nil || string(out) != want {
		t.Errorf("%s%v; want %s", out, err, want)
	}
}

// JavaScript reads the written numbers from arrays. node runs base.js without a page.
func TestReadArrays(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here: arrays are read in the browser's tests only")
	}
	script := `globalThis.matchMedia = () => ({ addEventListener() {} }); globalThis.document = { addEventListener() {} }; globalThis.addEventListener = () => {}; globalThis.localStorage = { getItem() {} };
` + Text(Base) + `
const close = (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b));
const same = (a, want) => { if (a.length !== want.length || !want.every((v, i) => close(a[i], v))) throw new Error([...a] + " is not " + want); };
const read = (text) => Unravel.array(JSON.parse(text));
`
	for _, c := range []struct {
		array Array
		want  string
	}{
		{Floats([]float64{1.5, math.NaN(), math.Inf(-1)}, 3), "[1.5, NaN, -Infinity]"}, {Integers([]int{7, -7}, 2), "[7, -7]"},
		{float16s([]float32{0, -1.5, 65504, 1.0 / (1 << 24), float32(math.Inf(1)), float32(math.NaN())}, 6), "[0, -1.5, 65504, 2 ** -24, Infinity, NaN]"},
	} {
		text := must.Get(json.Marshal(c.array))(t)
		script += "same(read('" + string(text) + "'), " + c.want + ");\n"
	}
	for v, want := range map[string]string{"0": "0", "1234.56": "1235", "-0.5": "−0.5", "1e-9": "1e−9",
		"1.25e9": "1.25e+9", "NaN": "unknown", "-Infinity": "−∞", "100": "100", "0.1 + 0.2": "0.3"} {
		script += "if (Unravel.format(" + v + ") !== '" + want + "') throw new Error(Unravel.format(" + v + "));\n"
	}
	script += `same(["Inf", "-Inf", "NaN", null, 2].map(Unravel.number), [Infinity, -Infinity, NaN, NaN, 2]);`
	cmd := exec.Command(node, "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
