package docs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/train/rundir"
)

// roff keeps roff from interpreting a text.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// Manual returns the manual page unravel(1), from kong's model of the command line, for man and groff.
func Manual(app *kong.Application) string {
	var b strings.Builder
	name := version.Name()
	fmt.Fprintf(&b, ".TH UNRAVEL 1 \"\" \"unravel %s\" \"User Commands\"\n", roff.Replace(name[:min(12, len(name))]))
	fmt.Fprintf(&b, ".SH NAME\nunravel \\- train and measure disentangled representations\n.SH SYNOPSIS\n.B unravel\n.I COMMAND\n[\\fIARGUMENT\\fR ...]\n")
	b.WriteString(".SH COMMANDS\n")
	manualCommands(&b, app.Node)
	b.WriteString(".SH OPTIONS OF ALL COMMANDS\n")
	manualFlags(&b, app.Flags)
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		manualItem(&b, fmt.Sprint(e.code), e.meaning)
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range variables {
		manualItem(&b, v.name, v.meaning)
	}
	b.WriteString(".SH FILES\nA run leaves these files in its folder, runs/NAME.\n")
	for _, f := range rundir.Files() {
		manualItem(&b, f.Name, f.Doc)
	}
	b.WriteString(".SH SEE ALSO\n.B unravel docs\nwrites all pages as a site.\n")
	return b.String()
}

// manualCommands writes a subsection for each command below a node.
func manualCommands(b *strings.Builder, n *kong.Node) {
	for _, c := range n.Children {
		switch {
		case c.Hidden:
		case len(c.Children) > 0:
			manualCommands(b, c)
		default:
			fmt.Fprintf(b, ".SS %s\n%s\n", roff.Replace(strings.TrimPrefix(c.Summary(), "unravel ")), ManualText(c.Help))
			for _, a := range c.Positional {
				manualItem(b, a.Summary(), manualMeaning(a))
			}
			manualFlags(b, c.Flags)
		}
	}
}

// manualFlags writes a list of flags.
func manualFlags(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		if !f.Hidden {
			manualItem(b, flagUsage(f), manualMeaning(f.Value))
		}
	}
}

// manualMeaning returns the help of a value, with its default.
func manualMeaning(v *kong.Value) string {
	text := plainMeaning(v)
	if v.Default != "" && !v.IsBool() {
		text += fmt.Sprintf(" Default: %s.", v.Default)
	}
	return text
}

// manualItem writes a term and its meaning.
func manualItem(b *strings.Builder, term, meaning string) {
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff.Replace(term), ManualText(meaning))
}

// ManualText returns a paragraph. A dot at its beginning would be a request of roff.
func ManualText(text string) string {
	text = roff.Replace(text)
	if slices.ContainsFunc([]string{".", `\(aq`}, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return `\&` + text
	}
	return text
}
