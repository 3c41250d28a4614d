package config
import ("testing";"strings";"time";"fmt")
func TestZZ(t *testing.T) {
	n := 1<<18
	for _, u := range []string{"[", "{", "- ", "a: ", "? ", "\n", "a\n", "a:\n", "[a,", "{a: ", "{a,", "\"", "'a'\n", "# x\n", "a: b\n", "- a\n", " ", "\t", "|\n", "&a ", "*a ", "!a ", "!!a ", "---\n", "a: |\n b\n", "- - ", ",", "]", "[],", ":", "::", "\"\\u0041", ">\n\n", "a: a\n ", "- a: b\n", "x: [1, 2]\n", "...\n", "%a\n", "<<: ", "a: {}\n"} {
		for _, pre := range []string{"", "a: ", "["} {
 if u == "[" { continue }
		src := pre+strings.Repeat(u, n/len(u))
		s := time.Now()
		_, err := Parse("x", []byte(src))
		d := time.Since(s)
		if d > 300*time.Millisecond { e := fmt.Sprint(err); fmt.Printf("%q %q: %v %.80s\n", pre, u, d, e) }
		}
	}
}
