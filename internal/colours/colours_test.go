package colours

import (
	"image/color"
	"math"
	"strings"
	"testing"
)

var (
	themes = []*Theme{&Light, &Dark}
	eyes   = map[string]Vision{"normal": Normal, "protanopia": Protanopia, "deuteranopia": Deuteranopia, "tritanopia": Tritanopia}
)

// For every kind of colour vision, the distance of any two colours in the palette is at least four times the just
// noticeable difference (three times for rare tritanopia). All colours stand out from paper and panels.
func TestPalette(t *testing.T) {
	for _, theme := range themes {
		for i, a := range theme.Palette {
			for _, back := range []color.RGBA{theme.Paper, theme.Panel} {
				if c := Contrast(a, back); !(c >= 2.8) {
					t.Errorf("%s: colour %d has a contrast of %.2f", theme.Name, i, c)
				}
			}
			for j, b := range theme.Palette[:i] {
				for name, v := range eyes {
					least := 0.08
					if v == Tritanopia {
						least = 0.06
					}
					if d := Distance(v.Sees(a), v.Sees(b)); !(d >= least) {
						t.Errorf("%s, %s: colours %d and %d are %.3f apart", theme.Name, name, j, i, d)
					}
				}
			}
		}
	}
}

// Text meets WCAG's level AA on paper and panels. The contrast of control borders is at least 3.
func TestContrast(t *testing.T) {
	for _, theme := range themes {
		for _, back := range []color.RGBA{theme.Paper, theme.Panel} {
			for name, c := range map[string]color.RGBA{"ink": theme.Ink, "faint": theme.Faint, "accent": theme.Accent, "good": theme.Good, "bad": theme.Bad} {
				if got := Contrast(c, back); !(got >= 4.5) {
					t.Errorf("%s: %s has a contrast of %.2f", theme.Name, name, got)
				}
			}
			if got := Contrast(theme.Line, back); !(got >= 3) {
				t.Errorf("%s: lines have a contrast of %.2f", theme.Name, got)
			}
		}
	}
	for i := range 256 {
		for _, c := range []color.RGBA{{uint8(i), uint8(i), uint8(i), 255}, Light.Sequential(float64(i) / 255), Dark.Diverging(float64(i)/128 - 1)} {
			if got := Contrast(On(c), c); !(got >= 4.5) {
				t.Errorf("text on %v has a contrast of %.2f", c, got)
			}
		}
	}
}

// Colour maps are perceptually uniform for every kind of colour vision. Numbers that differ by an eighth of the range
// look different, and lightness alone shows their order.
func TestMaps(t *testing.T) {
	for _, theme := range themes {
		for name, v := range eyes {
			const n = 64
			away := 0.0
			for i := range n {
				a, b := v.Sees(theme.Sequential(float64(i)/n)), v.Sees(theme.Sequential(float64(i+1)/n))
				if d := Distance(a, b); !(d >= 0.25/n && d <= 1.7/n) {
					t.Errorf("%s, %s: a step of the sequential map at %d is %.4f", theme.Name, name, i, d)
				}
				if now := math.Abs(LabOf(b).L - LabOf(theme.Paper).L); !(now >= away) {
					t.Errorf("%s, %s: the sequential map comes back to the paper at %d", theme.Name, name, i)
				} else {
					away = now
				}
			}
			for i := 0; i+n/8 <= n; i++ {
				if d := Distance(v.Sees(theme.Sequential(float64(i)/n)), v.Sees(theme.Sequential(float64(i+n/8)/n))); !(d >= 0.05) {
					t.Errorf("%s, %s: an eighth of the sequential map at %d is %.3f", theme.Name, name, i, d)
				}
			}
			for i := n / 8; i <= n; i++ {
				at := float64(i) / n
				minus, plus, zero := v.Sees(theme.Diverging(-at)), v.Sees(theme.Diverging(at)), v.Sees(theme.Diverging(0))
				if d := Distance(minus, plus); !(d >= 0.05*min(1, 2*at)+0.02) {
					t.Errorf("%s, %s: %.2f and -%.2f are %.3f apart", theme.Name, name, at, at, d)
				}
				if a, b := Distance(minus, zero), Distance(plus, zero); !(min(a, b) >= 0.45*at && max(a, b) <= 1.4*min(a, b)) {
					t.Errorf("%s, %s: -%.2f, %.2f are %.3f, %.3f from 0", theme.Name, name, at, at, a, b)
				}
			}
		}
		if theme.Sequential(math.NaN()) != theme.Missing || theme.Diverging(math.NaN()) != theme.Missing {
			t.Errorf("%s: NaN", theme.Name)
		}
		if theme.Sequential(-5) != theme.Sequential(0) || theme.Diverging(math.Inf(1)) != theme.Diverging(1) {
			t.Errorf("%s: numbers outside of the range", theme.Name)
		}
	}
}

// The cyclic map is uniform and closed, and two angles that differ by an eighth of a turn or more look different for
// every kind of colour vision.
func TestCyclic(t *testing.T) {
	if Cyclic(0) != Cyclic(1) || Cyclic(-0.25) != Cyclic(0.75) {
		t.Error("not cyclic")
	}
	const n = 120
	for name, v := range eyes {
		var seen [2 * n]Lab
		for i := range seen {
			seen[i] = LabOf(v.Sees(Cyclic(float64(i) / n)))
		}
		least := 0.003
		if v == Tritanopia {
			least = 0.001
		}
		for i, a := range seen[:n] {
			if d := a.distance(seen[i+1]); !(d >= least && d <= 0.016) {
				t.Errorf("%s: the step at %d is %.4f", name, i, d)
			}
			for j := n / 8; j <= n/2; j++ {
				if d := a.distance(seen[i+j]); !(d >= 0.055) {
					t.Errorf("%s: %d and %d are %.3f apart", name, i, i+j, d)
				}
			}
		}
	}
}

// Oklab coordinates of known colours, from Ottosson's page, and the inverse.
func TestLab(t *testing.T) {
	for _, test := range []struct {
		c    color.RGBA
		want Lab
	}{
		{color.RGBA{255, 255, 255, 255}, Lab{1, 0, 0}},
		{color.RGBA{255, 0, 0, 255}, Lab{0.6280, 0.2249, 0.1258}},
		{color.RGBA{0, 0, 255, 255}, Lab{0.4520, -0.0325, -0.3115}},
	} {
		if got := LabOf(test.c); !(got.distance(test.want) <= 2e-4) || got.RGBA() != test.c {
			t.Errorf("%v: %v, want %v; back %v", test.c, got, test.want, got.RGBA())
		}
	}
	if c := Contrast(color.RGBA{A: 255}, color.RGBA{255, 255, 255, 255}); !(math.Abs(c-21) <= 1e-9) {
		t.Errorf("black on white: %v", c)
	}
}

// Grey is grey for every kind of colour vision, and each kind of colour blindness confuses the known pairs of colours.
func TestVisions(t *testing.T) {
	for name, v := range eyes {
		for _, g := range []uint8{0, 90, 200, 255} {
			grey := color.RGBA{g, g, g, 255}
			if d := Distance(grey, v.Sees(grey)); !(d <= 0.005) {
				t.Errorf("%s: grey %d is %v", name, g, v.Sees(grey))
			}
		}
	}
	red, green := color.RGBA{190, 80, 60, 255}, color.RGBA{125, 120, 60, 255}
	if normal, blind := Distance(red, green), Distance(Deuteranopia.Sees(red), Deuteranopia.Sees(green)); !(blind <= normal/3) {
		t.Errorf("red and green are %.3f apart, and %.3f without cones for middle waves", normal, blind)
	}
}

func TestCSS(t *testing.T) {
	css := CSS()
	for _, want := range []string{"--paper: #ffffff;", "--paper: #15171d;", "--series-1: #0072b2;", "--series-8:", `[data-theme="dark"]`} {
		if !strings.Contains(css, want) {
			t.Errorf("no %s in\n%s", want, css)
		}
	}
	if strings.Count(css, "{") != strings.Count(css, "}") {
		t.Error("braces")
	}
	tables := Dark.Tables()
	if len(tables.Palette) != 8 || len(tables.Sequential) != 65 || len(tables.Diverging) != 65 ||
		len(tables.Cyclic) != 64 || tables.Diverging[32] != Hex(Dark.Diverging(0)) {
		t.Errorf("%+v", tables)
	}
}
