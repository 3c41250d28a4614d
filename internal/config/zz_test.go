package config
import ("testing";"strings";"time";"fmt")
func TestZZ(t *testing.T) {
	n := 1<<18
	us := []string{"[", "{", "- ", "a: ", "? ", ": ", "\n", "[a,", "{a: ", "{a,", "\"a\": ", "# x\n", "|\n", "&a ", "*a ", "!a ", "!!seq ", "---\n", "- a: ", "- &a ", "- !a ", "? - ","a: - ", "&a - ", "!!map ","-\n", "- \n","-\r", "-\t", "- - \n", "[],", "]", "}", "<<: ", "a:\n", "a:\r\n", "|\n ", ">\n", "- |\n ", "%a\n", "- [", "a: [", "&a [", "? [", "!a [", "'", "'' ", "\"\" "}
	for _, u := range us {
		for _, pre := range []string{"", "a: ", "[", "{", "{a: ", "- ", "? "} {
		src := pre+strings.Repeat(u, (n-8)/len(u))
		fmt.Printf("try %q %q\n", pre, u)
		s := time.Now()
		_, err := Parse("x", []byte(src))
		d := time.Since(s)
		if d > 1500*time.Millisecond { e := fmt.Sprint(err); fmt.Printf("SLOW %q %q: %v %.80s\n", pre, u, d, e) }
		}
	}
}
