package show

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	_ "embed"

	"github.com/unravel-ml/unravel/results/tables"
)

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`,
	"|", `\|`, "~", `\~`)

// Markdown writes the table with its footnotes. A row has three lines or one line, as in Text.
func Markdown(w io.Writer, r *tables.Result) error {
	l, escape := layoutOf(r), markdownEscapes.Replace
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s. %s.\n\n", escape(r.Title), escape(r.Provenance()), escape(r.Summary()))
	for i, p := range l.Parts {
		if i > 0 {
			b.WriteString("\n")
		}
		l.markdown(&b, p)
	}
	if len(l.Footnotes) > 0 {
		b.WriteString("\n")
	}
	for _, f := range l.Footnotes {
		fmt.Fprintf(&b, "* (%s): %s\n", escape(f.Mark), escape(f.Text))
	}
	if len(l.Columns) > 0 {
		b.WriteString("\n")
	}
	for _, c := range l.Columns {
		fmt.Fprintf(&b, "* %s: %s\n", escape(c.Label), escape(c.Doc))
	}
	for _, remark := range l.Remarks {
		fmt.Fprintf(&b, "\n%s\n", escape(remark))
	}
	for _, g := range l.Grids {
		g.markdown(&b)
	}
	return send(w, r, b.String())
}

func (l *layout) markdown(b *strings.Builder, part group) {
	escape := markdownEscapes.Replace
	row := func(first string, cell func(c int) string) {
		fmt.Fprintf(b, "| %s |", first)
		for c := part.First; c < part.After; c++ {
			fmt.Fprintf(b, " %s |", cell(c))
		}
		b.WriteString("\n")
	}
	row(escape(part.Name), func(c int) string { return escape(l.Heads[c].Label) })
	b.WriteString("|---|" + strings.Repeat("---:|", part.After-part.First) + "\n")
	for _, line := range l.Lines {
		row("**"+escape(line.Label)+"**", func(c int) string {
			s := line.Cells[c]
			if s.Mark == "" {
				return s.Ours
			}
			return s.Ours + " (" + escape(s.Mark) + ")"
		})
		if line.Compared {
			row(escape(printedLabel(l.Table)), func(c int) string { return line.Cells[c].Theirs })
			row(escape(differenceLabel(l.Table)), func(c int) string { return line.Cells[c].Third })
		}
	}
}

var latexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
	"{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
	`"`, "''",
	"✓", `$\checkmark$`, "✗", `$\times$`, "β", `$\beta$`, "±", `$\pm$`, "×", `$\times$`)

// LaTeX writes a tabular without packages, followed by the footnotes.
func LaTeX(w io.Writer, r *tables.Result) error {
	l, escape := layoutOf(r), latexEscapes.Replace
	var b strings.Builder
	comment := func(s string) { fmt.Fprintf(&b, "%% %s\n", strings.Join(strings.Fields(s), " ")) }
	comment(r.Title + " (" + r.Provenance() + ")")
	comment(r.Summary())
	for i, p := range l.Parts {
		if i > 0 {
			b.WriteString("\n")
		}
		l.latex(&b, p)
	}
	for _, f := range l.Footnotes {
		fmt.Fprintf(&b, "\n\\textsuperscript{%s} %s.\n", escape(f.Mark), escape(f.Text))
	}
	return send(w, r, b.String())
}

func (l *layout) latex(b *strings.Builder, part group) {
	escape := latexEscapes.Replace
	fmt.Fprintf(b, "\\begin{tabular}{l%s}\n\\hline\n", strings.Repeat("r", part.After-part.First))
	for _, g := range l.groupsIn(part.First, part.After) {
		fmt.Fprintf(b, " & \\multicolumn{%d}{c}{%s}", g.After-g.First, escape(g.Name))
	}
	b.WriteString(" \\\\\n")
	row := func(first string, cell func(c int) string) {
		b.WriteString(first)
		for c := part.First; c < part.After; c++ {
			b.WriteString(" & " + cell(c))
		}
		b.WriteString(" \\\\\n")
	}
	row("", func(c int) string { return escape(l.Heads[c].Label) })
	b.WriteString("\\hline\n")
	number := func(s string) string {
		if s == none {
			return "--"
		}
		return strings.NewReplacer("-", "$-$", "+", "$+$", "±", `$\pm$`, "×", `$\times$`).Replace(s)
	}
	for _, line := range l.Lines {
		row(escape(line.Label), func(c int) string {
			s := line.Cells[c]
			if s.Mark == "" {
				return number(s.Ours)
			}
			return number(s.Ours) + `\rlap{\textsuperscript{` + escape(s.Mark) + `}}`
		})
		if line.Compared {
			row(`\quad{\small `+escape(printedLabel(l.Table))+`}`,
				func(c int) string { return `{\small ` + number(line.Cells[c].Theirs) + `}` })
			row(`\quad{\small `+escape(differenceLabel(l.Table))+`}`,
				func(c int) string { return `{\small ` + number(line.Cells[c].Third) + `}` })
		}
	}
	b.WriteString("\\hline\n\\end{tabular}\n")
}

func send(w io.Writer, r *tables.Result, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"span":    func(g group) int { return g.After - g.First },
	"heads":   func(l *layout, g group) []tables.Column { return l.Heads[g.First:g.After] },
	"cells":   func(line Line, g group) []Cell { return line.Cells[g.First:g.After] },
	"groups":  func(l *layout, g group) []group { return l.groupsIn(g.First, g.After) },
	"several": func(l *layout) bool { return len(l.Parts) > 1 },
}).Parse(pageText))

// HTML writes a single page without scripts: the table, a scatter plot of both values, footnotes and definitions.
func HTML(w io.Writer, r *tables.Result) error {
	l := layoutOf(r)
	boxes, err := boxPicture(r)
	if err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	if err := page.Execute(w, struct {
		*layout
		All     *layout
		Summary string
		Third   string
		Plot    *plot
		Figure  template.URL
	}{l, l, r.Summary(), differenceLabel(l.Table), plotOf(r), boxes}); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}
