package config

import (
	"strings"
	"testing"
)

// Errors about structure name the line in our words, and quote it.
func TestSyntax(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"losses:\n  - kl\n  lsbd: {weight: 4}\n", `x.yaml:3:3: the lines above are elements of a list; want a dash: - lsbd: {weight: 4}; line 3 is "  lsbd: {weight: 4}"`},
		{"losses:\n  kl\n  lsbd: {weight: 4}\n", `x.yaml:2:3: "kl" is no key with a value; want KEY: VALUE, or in a list - kl; line 2 is "  kl"`},
		{"train:\n  epochs: 3\n   batch: 4\n", `x.yaml:3:4: 3 spaces here, and 2 spaces above, where epochs has a value already; want both in one column; line 3 is "   batch: 4"`},
		{"train:\n  epochs: 3\n  # why\n     batch: 4\n", "x.yaml:4:6: 5 spaces here, and 2 spaces above"},
		{"name: a\n seed: 1\n", "x.yaml:2:2: 1 space here, and 0 spaces above, where name has a value already"},
		{"train:\n  epochs: 3\n batch: 4\n", "x.yaml:3:2: 1 space here; want 0 spaces or 2 spaces, as in the lines above"},
		{"train:\n  batch: 3\n  epochs:100\n", `x.yaml:3:3: write a space after the colon: epochs: 100; line 3 is "  epochs:100"`},
		{"train:\r\n  epochs:100\r\n  batch: 3\r\n", `x.yaml:2:3: write a space after the colon: epochs: 100; line 2 is "  epochs:100"`},
		{"train:\n  epochs:100\n", `x.yaml:2:3: train: want a mapping, got the text "epochs:100"; write a space after the colon: epochs: 100`},
		{"seed = 3\n", `x.yaml:1:1: want a mapping, got the text "seed = 3"; write a colon instead of the =: seed: 3`},
		{"losses:\n- kl\n-lsbd\n", "x.yaml:3:1: write a space after the dash: - lsbd"},
		{"losses:\n  - kl:4\n", `x.yaml:2:5: losses.0: "kl:4" is no loss; write a space after the colon: kl: 4`},
		{"losses:\n  - kl\n   - lsbd\n", `"kl - lsbd" is no loss; the dash of lsbd belongs below the dash of kl`},
		{"losses: - kl\n", "x.yaml:1:9: a list cannot begin behind its key; write losses: [kl]"},
		{"losses:\n  - lsbd:\n    weight: 4\n", `x.yaml:3:5: losses.0: unknown loss "weight"; an option of lsbd begins further right than lsbd, or stands in braces: lsbd: {weight: ...}`},
		{"losses:\n  - lsbd: {weight: 4},\n  - kl\n", "x.yaml:2:22: a comma ends this line; take it out"},
		{"train:\n  epochs: 3\n  - batch: 4\n", "x.yaml:3:3: the line above is a key with a value, and this an element of a list"},
		{"losses: {kl: {}, lsbd: {weight: 4}}\n", "losses: want a list, got a mapping; write [kl, {lsbd: {weight: 4}}]"},
		{"losses: [lsbd: 4]\n", "losses.0.lsbd: want a mapping, got 4; write {weight: 4}"},
		{"dataset: square: {size: 4}\n", "x.yaml:1:16: a second colon in a line"},
		{"name: it's: a\n", "x.yaml:1:11: a second colon in a line"},
		{"name: @a\nseed: 1\n", "x.yaml:1:7: a text cannot begin with @; want it in quotes"},
		{"dataset: {square: {size: 3}\nseed: 1\n", `x.yaml:1:10: this bracket is not closed; want a }; line 1 is "dataset: {square: {size: 3}"`},
		{"losses: [kl, lsbd]]\nseed: 1\n", "x.yaml:1:19: this ] closes nothing"},
		{"losses: [kl, {lsbd: {weight: 3}]\n", "x.yaml:1:32: this ] cannot close the bracket at 1:14; want } before it"},
		{"name: \"abc\nseed: 1\n", "x.yaml:1:7: this quote is not closed; want a second \"; line 1 is `name: \"abc`"},
		{"name: \"" + strings.Repeat("ä", 93), "line 1 is `name: \"" + strings.Repeat("ä", 93) + "`"},
		{"name: \"" + strings.Repeat("ä", 94), "line 1 is `name: \"" + strings.Repeat("ä", 90) + "...`"},
		{"train:\n\tepochs: 3\n", `x.yaml:2:1: a tab indents this line; want spaces; line 2 is "\tepochs: 3"`},
	} {
		got := defaults()
		err := Load("x.yaml", []byte(c.src), &got)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n got %v\nwant %s", c.src, err, c.want)
		}
	}
	got := defaults()
	if err := Load("x.yaml", []byte("\ufeffseed: 7\n"), &got); err != nil || got.Seed != 7 {
		t.Errorf("a byte order mark: seed %d, %v", got.Seed, err)
	}
}
