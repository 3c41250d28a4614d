package cli_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/internal/must"
)

// helpWords is the maximum number of words in a help text. The tag detail allows more.
const helpWords = 25

// A help text is one short sentence.
func TestHelpIsShort(t *testing.T) {
	parser, err := cli.NewParser()
	must.OK(t, err)
	sentences := regexp.MustCompile(`[.?!](\s|$)`)
	texts := 0
	check := func(what, help string) {
		t.Helper()
		texts++
		if n := len(strings.Fields(help)); n > helpWords {
			t.Errorf("%s: %d words; want at most %d: %s", what, n, helpWords, help)
		}
		if ends := sentences.FindAllStringIndex(help, -1); len(ends) != 1 || ends[0][1] != len(help) {
			t.Errorf("%s: want one sentence: %s", what, help)
		}
	}
	err = kong.Visit(parser.Model, func(v kong.Visitable, next kong.Next) error {
		switch v := v.(type) {
		case *kong.Node:
			check(v.FullPath(), v.Help)
			must.Equal(t, v.Detail, "", v.FullPath())
			if v.Hidden { // for the program's own calls
				return nil
			}
		case *kong.Application:
			check("unravel", v.Help)
		case *kong.Value:
			check(v.Summary(), v.Help)
			checkDetail(t, v)
		case *kong.Flag:
			check("--"+v.Name, v.Help)
			shown := v.PlaceHolder == v.Default || strings.Contains(v.Help, "(default: ")
			if _, err := strconv.ParseFloat(v.PlaceHolder, 64); (err == nil || v.HasDefault && v.Default != "") && v.PlaceHolder != "" && !shown {
				t.Errorf("--%s=%s: the default is %q; want it as the placeholder, or in the help", v.Name, v.PlaceHolder, v.Default)
			}
			if strings.Contains(v.PlaceHolder, "...") {
				t.Errorf("--%s: the help adds ,... to the placeholder %s itself", v.Name, v.PlaceHolder)
			}
			checkDetail(t, v.Value)
		}
		return next(nil)
	})
	if err != nil || texts < 150 {
		t.Errorf("%d texts, %v", texts, err)
	}
}

// checkDetail checks that the reference has the details of a value, and that they are sentences.
func checkDetail(t *testing.T, v *kong.Value) {
	t.Helper()
	detail := v.Tag.Get("detail")
	if detail == "" {
		return
	}
	if !strings.HasSuffix(detail, ".") || !strings.Contains(docs.Meaning(v), docs.Escapes.Replace(detail)) {
		t.Errorf("%s: the reference lacks the detail, or it is no sentence: %s", v.Summary(), detail)
	}
}
