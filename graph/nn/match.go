package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
)

// Match reports whether a parameter's name matches a pattern. In the pattern, * matches any characters including
// slashes: encoder/conv* matches encoder/conv1/weight.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[last])
}

// Matching lists the parameters and states that match a pattern, see [Match], in the order of their creation. If none
// matches, the error suggests a name.
func (p *Params) Matching(pattern string) (names []string, err error) {
	for _, name := range p.names {
		if Match(pattern, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no parameter fits %q%s", pattern, p.near(pattern))
	}
	return names, nil
}

// near suggests the name nearest to a pattern, or the nearest pattern for all names with a common prefix. If nothing is
// near, it lists the first components of the names.
func (p *Params) near(pattern string) string {
	var tops, known []string
	for _, name := range p.names {
		known = append(known, name)
		for i, c := range name {
			if c != '/' {
				continue
			}
			if begin := name[:i+1] + "*"; !slices.Contains(known, begin) {
				known = append(known, begin)
				if !strings.Contains(name[:i], "/") {
					tops = append(tops, begin)
				}
			}
		}
	}
	if s := registry.Suggest(pattern, known); strings.Contains(s, "did you mean") {
		return s
	}
	return "; want, for example, " + strings.Join(tops, ", ")
}
