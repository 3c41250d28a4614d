package supervision_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	. "github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// pairFile writes a file of pairs.
func pairFile(t testing.TB, name, text string) *Changes {
	t.Helper()
	path := must.Write(t, filepath.Join(t.TempDir(), name), text)
	return changed(func(s *Changes) { s.File = path })
}

func TestPairFile(t *testing.T) {
	d, want := ordinals(4, 3), []int{0, 11, 3, 4, 3, 3, 7, 2}
	array := changed(func(s *Changes) { s.File = labelFile(t, []int{4, 2}, int32(0), 11, 3, 4, 3, 3, 7, 2) })
	for name, s := range map[string]*Changes{"csv": pairFile(t, "p.csv", "first,second\n0,11\n3,4\n\n3,3\n7,2\n"), "npy": array} {
		got := datatest.Split(t, s, d)
		if !slices.Equal(got.Drawn.Groups, want) || got.Drawn.Count != 4 || got.M != 2 {
			t.Errorf("%s: %+v", name, got.Drawn)
		}
		s.Count = 3
		b, seen := datatest.Sampler(t, datatest.Split(t, s, d), 6), map[[2]int]int{}
		for range 20 {
			batches := epoch(t, b)
			if len(batches) != 1 || len(batches[0].Indices) != 6 {
				t.Fatalf("%s: batches %v", name, batches)
			}
			for at := 0; at < 6; at += 2 {
				seen[[2]int(batches[0].Indices[at:at+2])]++
			}
		}
		must.Equal(t, len(seen), 4, name, "pairs", seen, "in 20 epochs")
	}
}

func TestPairFileMistakes(t *testing.T) {
	d := ordinals(4, 3)
	for want, text := range map[string]string{
		"p.csv: line 3, column 1 (b) is 12; want an image of dataset toy, 0 to 11": "a,b\n0,11\n3,12\n",
		"line 2, column 0 is -1; want":                                             "0,11\n-1,2\n",
		"line 5, column 0 is 1.5; want":                                            "0,1\n\n\n2,3\n1.5,2\n",
		"has 1 row of 3 numbers; want at most 33554432 rows of two":                "0,1,2\n",
		"line 2 has 1 field; want 2":                                               "0,1\n3\n",
		`line 2, field 2: "x" is not a number`:                                     "0,1\n3,x\n",
		"the only line, a,b, is taken for names of columns; want lines for images": "a,b\n",
		"is too large a number":                                                    "0,1\n1e999,2\n",
		"NaN is not finite":                                                        "0,NaN\n",
	} {
		must.ErrorOf(pairFile(t, "p.csv", text).Split(d, nil))(t, want, text)
	}
	array := changed(func(s *Changes) { s.File = labelFile(t, []int{2, 2}, int32(0), 11, 3, 12) })
	must.ErrorOf(array.Split(d, nil))(t, "row 1, column 1 is 12; want")
	array.File = labelFile(t, []int{2, 3}, int32(0), 11, 3, 12, 1, 1)
	must.ErrorOf(array.Split(d, nil))(t, "has 2 rows of 3 numbers; want at most 33554432 rows of two")
	must.ErrorOf(changed(func(s *Changes) { s.File = "none.csv" }).Split(d, nil))(t, "none.csv")
	too := pairFile(t, "p.csv", "0,1\n")
	too.Count = 1
	must.Get(too.Split(d, nil))(t)
	too.Count = 2
	must.ErrorOf(too.Split(d, nil))(t, "count: 2 is too many")
}

// FuzzPairFile checks that any bytes give an error, or pairs of images of the data set.
func FuzzPairFile(f *testing.F) {
	for _, text := range []string{"0,1\n2,3\n", "a;b\n0;11",
		"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }", "0,1e3\n", "\ufeff1\t2\n"} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	d := ordinals(4, 3)
	f.Fuzz(func(t *testing.T, text []byte, csv bool) {
		name := "p.npy"
		if csv {
			name = "p.csv"
		}
		s, err := Of("changes", pairFile(t, name, string(text))).Split(d, 1)
		if err != nil {
			return
		}
		b := must.Get(NewSampler(s, 8, rng.New(1, "batch")))(t)
		for _, batch := range epoch(t, b) {
			for _, i := range batch.Indices {
				if i < 0 || i >= d.Len() {
					t.Fatalf("image %d", i)
				}
			}
		}
	})
}
