package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// zipOf returns a zip file with the given members, with data descriptors.
func zipOf(t testing.TB, members ...zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range members {
		f, err := w.CreateHeader(&members[i])
		if err == nil && !strings.HasSuffix(members[i].Name, "/") {
			_, err = io.WriteString(f, strings.Repeat("text of "+members[i].Name, 50))
		}
		must.OK(t, err)
	}
	must.OK(t, w.Close())
	return b.Bytes()
}

func stored(name string) zip.FileHeader   { return zip.FileHeader{Name: name} }
func deflated(name string) zip.FileHeader { return zip.FileHeader{Name: name, Method: zip.Deflate} }

func TestZip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.zip")
	link := stored("folder/link")
	link.SetMode(fs.ModeSymlink | 0o777)
	data := zipOf(t, stored("folder/"), deflated("folder/b.txt"), stored("./a.txt"))
	must.Write(t, path, data)
	z := must.Get(OpenZip(path, Limits{}))(t)
	defer z.Close()
	if want := []string{"folder/b.txt", "a.txt"}; !slices.Equal(z.Names(), want) {
		t.Fatalf("names %q; want %q", z.Names(), want)
	}
	for i, name := range []string{"folder/b.txt", "./a.txt"} {
		want := strings.Repeat("text of "+name, 50)
		if got, err := z.Read(i, nil); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	buf := make([]byte, 1000)
	if got, err := z.Read(1, buf); err != nil || &got[0] != &buf[0] {
		t.Errorf("the buffer is not used: %v", err)
	}
	if _, err := OpenZip(t.TempDir(), Limits{}); err == nil {
		t.Error("a folder is opened")
	}
}

func TestRefusedZips(t *testing.T) {
	link := stored("folder/link")
	link.SetMode(fs.ModeSymlink | 0o777)
	device := stored("device")
	device.SetMode(fs.ModeDevice | 0o666)
	small := zipOf(t, stored("a"), deflated("b"))
	directory := bytes.Index(small, []byte("PK\x01\x02"))
	second := directory + bytes.Index(small[directory+4:], []byte("PK\x01\x02")) + 4
	patched := func(at int, field []byte) []byte {
		data := slices.Clone(small)
		copy(data[at:], field)
		return data
	}
	word := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"dots", zipOf(t, stored("a"), stored("b/../../c")), `".."`},
		{"dots in a folder", zipOf(t, stored("../b/")), `".."`},
		{"backslashes", zipOf(t, stored(`b\..\..\c`)), `".."`},
		{"absolute", zipOf(t, stored("/etc/passwd")), "absolute"},
		{"drive", zipOf(t, stored(`C:\a`)), "absolute"},
		{"no name", zipOf(t, stored("")), "no name"},
		{"link", zipOf(t, link), "link"},
		{"device", zipOf(t, device), "device"},
		{"twice", zipOf(t, stored("a"), stored("./a")), "twice"},
		{"truncated", small[:len(small)/2], "whole zip"},
		{"empty", nil, "whole zip"},
		{"encrypted", patched(directory+8, []byte{1}), "encrypted"},
		{"method", patched(directory+10, []byte{99}), "method 99"},
		{"huge", patched(second+24, word(1<<31)), "at most"},
		{"impossible", patched(second+24, word(1<<20)), "possible"},
		{"packed", patched(directory+20, word(1<<20)), "packed bytes"},
	} {
		_, err := NewZip(c.name+".zip", bytes.NewReader(c.data), int64(len(c.data)), Limits{})
		must.Error(t, err, c.want, c.name)
		must.Error(t, err, c.name+".zip", c.name)
	}
	for _, l := range []Limits{{Member: 100}, {Total: 800}} {
		if _, err := NewZip("a.zip", bytes.NewReader(small), int64(len(small)), l); err == nil {
			t.Errorf("%+v: no error", l)
		}
	}
}

// TestDamagedMembers modifies members without their directory entries.
func TestDamagedMembers(t *testing.T) {
	small := zipOf(t, stored("a"), deflated("b"))
	directory := bytes.Index(small, []byte("PK\x01\x02"))
	second := directory + bytes.Index(small[directory+4:], []byte("PK\x01\x02")) + 4
	for _, c := range []struct {
		name   string
		member int
		change func(data []byte)
		want   string
	}{
		{"content", 0, func(b []byte) { b[bytes.Index(b, []byte("text of a"))] ^= 1 }, "checksum"},
		{"no checksum", 0, func(b []byte) { clear(b[directory+16:][:4]) }, "checksum"},
		{"checksum", 1, func(b []byte) { b[second+16] ^= 1 }, "checksum"},
		{"longer", 1, func(b []byte) { b[second+24]++ }, "EOF"},
		{"shorter", 1, func(b []byte) { b[second+24]-- }, "zip"},
		{"local header", 1, func(b []byte) { b[bytes.LastIndex(b[:directory], []byte("PK\x03\x04"))] = 0 }, "zip"},
	} {
		data := slices.Clone(small)
		c.change(data)
		z, err := NewZip("a.zip", bytes.NewReader(data), int64(len(data)), Limits{})
		if err == nil {
			_, err = z.Read(c.member, nil)
		}
		must.Error(t, err, c.want, c.name)
	}
}

// tarOf returns a tar file with the given headers; regular files have content.
func tarOf(t testing.TB, compressed bool, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(&b)
	if compressed {
		w = tar.NewWriter(packed)
	}
	for i := range headers {
		h := &headers[i]
		h.Mode = 0o666
		h.Typeflag = cmp.Or(h.Typeflag, tar.TypeReg)
		content := ""
		if h.Typeflag == tar.TypeReg {
			content = strings.Repeat("text of "+h.Name, 50)
		}
		h.Size = int64(len(content))
		err := w.WriteHeader(h)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		must.OK(t, err)
	}
	must.OK(t, w.Close())
	if compressed {
		must.OK(t, packed.Close())
	}
	return b.Bytes()
}

func readAll(data []byte, limits Limits) (names []string, err error) {
	err = ReadTar("a.tar", bytes.NewReader(data), limits, func(name string, size int64, r io.Reader) error {
		content, err := io.ReadAll(r)
		if err == nil && int64(len(content)) != size {
			err = io.ErrShortBuffer
		}
		names = append(names, name)
		return err
	})
	return names, err
}

func TestTar(t *testing.T) {
	headers := []tar.Header{{Name: "./d/", Typeflag: tar.TypeDir}, {Name: "./d/a"}, {Name: "b"}, {Name: "d/" + strings.Repeat("long", 50)}}
	for _, compressed := range []bool{false, true} {
		data := tarOf(t, compressed, headers...)
		names, err := readAll(data, Limits{})
		if want := []string{"d/a", "b", headers[3].Name}; err != nil || !slices.Equal(names, want) {
			t.Errorf("names %q, %v; want %q", names, err, want)
		}
		must.ErrorOf(readAll(data, Limits{Member: 100}))(t, "at most 100")
		path := must.Write(t, filepath.Join(t.TempDir(), "a.tar"), data)
		seen := 0
		err = WalkTar(path, Limits{}, func(string, int64, io.Reader) error { seen++; return fs.SkipAll })
		if seen != 1 || err != nil {
			t.Errorf("stopped after %d members: %v", seen, err)
		}
	}
}

func TestRefusedTars(t *testing.T) {
	damaged := tarOf(t, true, tar.Header{Name: "a"}, tar.Header{Name: "b"})
	wrong := slices.Clone(damaged)
	wrong[len(wrong)-5] ^= 1
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for _, part := range [][]byte{tarOf(t, false, tar.Header{Name: "a"}), make([]byte, 4<<20)} {
		must.Get(w.Write(part))(t)
	}
	must.OK(t, w.Close())
	for _, c := range []struct {
		name   string
		data   []byte
		limits Limits
		want   string
	}{
		{"dots", tarOf(t, true, tar.Header{Name: "a/../../b"}), Limits{}, `".."`},
		{"folder", tarOf(t, true, tar.Header{Name: "../b/", Typeflag: tar.TypeDir}), Limits{}, `".."`},
		{"absolute", tarOf(t, true, tar.Header{Name: "/etc/passwd"}), Limits{}, "absolute"},
		{"symbolic link", tarOf(t, true, tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc"}), Limits{}, "link"},
		{"hard link", tarOf(t, true, tar.Header{Name: "a", Typeflag: tar.TypeLink, Linkname: "b"}), Limits{}, "link"},
		{"device", tarOf(t, true, tar.Header{Name: "a", Typeflag: tar.TypeChar}), Limits{}, "device"},
		{"pipe", tarOf(t, true, tar.Header{Name: "a", Typeflag: tar.TypeFifo}), Limits{}, "device"},
		{"twice", tarOf(t, true, tar.Header{Name: "a"}, tar.Header{Name: "a"}), Limits{}, "twice"},
		{"truncated", damaged[:len(damaged)-20], Limits{}, "ends early"},
		{"checksum", wrong, Limits{}, "checksum"},
		{"total", damaged, Limits{Total: 500}, "more than 500"},
		{"text", []byte("this is no archive, but a text"), Limits{}, "whole tar"},
		{"long tail", bomb.Bytes(), Limits{Total: 500}, "limit"},
	} {
		must.ErrorOf(readAll(c.data, c.limits))(t, c.want, c.name)
	}
}

func FuzzZip(f *testing.F) {
	f.Add(zipOf(f, stored("folder/"), deflated("folder/b.txt"), stored("./a.txt")))
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := NewZip("a.zip", bytes.NewReader(data), int64(len(data)), Limits{Member: 1 << 20, Total: 1 << 24})
		if err != nil {
			return
		}
		for i, name := range z.Names() {
			if !filepath.IsLocal(name) {
				t.Errorf("name %q", name)
			}
			if content, err := z.Read(i, nil); err == nil && int64(len(content)) != int64(z.files[i].UncompressedSize64) {
				t.Errorf("%d bytes; want %d", len(content), int64(z.files[i].UncompressedSize64))
			}
		}
	})
}

func FuzzTar(f *testing.F) {
	f.Add(tarOf(f, false, tar.Header{Name: "./d/", Typeflag: tar.TypeDir}, tar.Header{Name: "./d/a"}))
	f.Add(tarOf(f, true, tar.Header{Name: "b"}, tar.Header{Name: strings.Repeat("long", 50)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, _ := readAll(data, Limits{Member: 1 << 20, Total: 1 << 24})
		for _, name := range names {
			if !filepath.IsLocal(name) {
				t.Errorf("name %q", name)
			}
		}
	})
}
