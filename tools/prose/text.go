package main

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// sentence is a text up to a full stop, a question mark or an exclamation mark, with single spaces between words.
type sentence struct {
	file string
	line int // line of the first word
	text string
	hits int
}

func (s sentence) length() int { return strings.Count(s.text, " ") + 1 }

// read returns the sentences of the pages and of comments in Go and JavaScript in a folder, by the path of the page or
// package. It skips tests, test data, generated files and other projects' scripts.
func read(root fs.FS) (map[string][]sentence, error) {
	groups := map[string][]sentence{}
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "testdata", "node_modules", "runs", "uplot"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		var group string
		var lines func(string) []string
		switch {
		case strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go"), path.Ext(p) == ".js":
			lines, group = comments, path.Dir(p)
		case path.Ext(p) == ".md":
			lines, group = markdown, p
		default:
			return nil
		}
		data, err := fs.ReadFile(root, p)
		groups[group] = append(groups[group], sentences(p, lines(string(data)))...)
		return err
	})
	return groups, err
}

// together merges the packages in each first-level folder.
func together(groups map[string][]sentence) map[string][]sentence {
	joined := map[string][]sentence{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		folder := name
		if path.Ext(name) != ".md" {
			folder, _, _ = strings.Cut(name, "/")
		}
		joined[folder] = append(joined[folder], groups[name]...)
	}
	return joined
}

var comment = regexp.MustCompile(`^\s*//\s?(.*)$`)

// comments returns the text of the comments in each line of a program, or nil for a generated file.
func comments(file string) []string {
	if strings.Contains(file[:min(400, len(file))], "DO NOT EDIT") {
		return nil
	}
	lines := strings.Split(file, "\n")
	for i, l := range lines {
		lines[i] = ""
		if m := comment.FindStringSubmatch(l); m != nil {
			lines[i] = m[1]
		}
	}
	return lines
}

// markdown returns the text in each line of a page, without code and tables.
func markdown(page string) []string {
	lines := strings.Split(page, "\n")
	code := false
	for i, l := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(l), "```")
		if code = code != fence; code || fence || strings.HasPrefix(l, "|") {
			lines[i] = ""
		}
	}
	return lines
}

// sentences splits lines after words that end in a full stop, a question mark or an exclamation mark.
func sentences(file string, lines []string) []sentence {
	var list []sentence
	var words []string
	first := 0
	end := func() {
		if len(words) > 0 {
			text := strings.Join(words, " ")
			list = append(list, sentence{file, first, text, hits(text)})
		}
		words = nil
	}
	for i, l := range lines {
		for _, w := range strings.Fields(l) {
			if len(words) == 0 {
				first = i + 1
			}
			words = append(words, w)
			if strings.ContainsAny(w[len(w)-1:], ".!?") {
				end()
			}
		}
	}
	end()
	return list
}

// constructions lists words that often stand for a noun or a verb that the sentence lacks.
var constructions = []struct {
	name    string
	pattern *regexp.Regexp
}{
	{"that of", all(`\bthat of\b`)},
	{"those ...", all(`\bthose (that|of|which|who|whose|with|in|from|for)\b`)},
	{"of which", all(`\b(of|in|to|from|with|at|by|for) which\b`)},
	{"is there", all(`\b(is|are) there($|[^?\w])`)},
	{"in place of", all(`\bin place of\b`)},
	{"what is", all(`\bwhat (is|it|they|a|the|that|there|was|are|has|we|this)\b`)},
	{"so that", all(`\bso that\b`)},
	{"of its own", all(`\bof (its|their|one's|ours|our) own\b`)},
	{"that are", all(`\bthat (are|is) (there|known|not|of|in|by|with)\b`)},
	{"as it is", all(`\bas (it|they|that|those) (is|are|does|do|has|have)\b`)},
	{"one that", all(`\b(one|ones) (that|of|which|whose)\b`)},
	{"ends in a preposition", all(`\b(by|with|from|of|to|for|in|on|at)[.;]`)},
	{"is of", all(`\b(is|are|was|were) (of|by|as|from)\b`)},
	{"else", all(`\belse\b`)},
	{"none of", all(`\bnone (of|is|are|does|do)\b`)},
	{"beside, whose", all(`\b(beside|whose|wherever|whatever)\b`)},
}

func all(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }

// hits counts the constructions in a text.
func hits(text string) int {
	n := 0
	for _, c := range constructions {
		n += len(c.pattern.FindAllStringIndex(text, -1))
	}
	return n
}
