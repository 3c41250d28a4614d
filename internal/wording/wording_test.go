package wording

import "testing"

func TestWording(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "run"): "0 runs", Count(1, "run"): "1 run", Count(2, "run"): "2 runs",
		Shell("unravel", "train", "a b", "", "it's", "kl=2", "é"): `unravel train 'a b' '' 'it'\''s' kl=2 'é'`,
		Shorten("ééé", 3): "ééé", Shorten("éééééé", 5): "éé...",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
