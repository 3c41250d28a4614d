package simd

import "testing"

func TestChoose(t *testing.T) {
	old := []Level{Go, AVX2}
	for _, c := range []struct {
		name string
		has  []Level
		want Level
		err  string
	}{
		{"", old, AVX2, ""},
		{"go", old, Go, ""},
		{"avx2", []Level{Go, AVX2, AVX512}, AVX2, ""},
		{"avx512", old, AVX2, "UNRAVEL_KERNEL=avx512: this processor only has go and avx2"},
		{"neon", []Level{Go, AVX2, AVX512}, AVX512, "UNRAVEL_KERNEL=neon: this processor only has go, avx2 and avx512"},
		{"neon", []Level{Go, NEON}, NEON, ""},
		{"avx2", []Level{Go}, Go, "UNRAVEL_KERNEL=avx2: this processor only has go"},
		{"sse", old, AVX2, `UNRAVEL_KERNEL="sse": want ` + list(architecture, "or")},
	} {
		got, err := choose(c.name, c.has)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("choose(%q, %v) = %v, %q, want %v, %q", c.name, c.has, got, text, c.want, c.err)
		}
	}
}
