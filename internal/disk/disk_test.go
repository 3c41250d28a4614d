//go:build unix

package disk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// put writes a test file and creates its folder.
func put(t *testing.T, path, s string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(s), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// holds checks the names and contents of the files in a folder: "a=1 b=2".
func holds(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.Name()+"="+string(b))
	}
	if all := strings.Join(got, " "); all != want {
		t.Errorf("the folder holds %q, want %q", all, want)
	}
}

// saying checks that an error contains a text.
func saying(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A file is replaced atomically. With keep, the previous version remains under a separate name.
func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	for i, c := range []struct {
		text string
		keep bool
		want string
	}{{"1", true, "a=1"}, {"2", false, "a=2"}, {"3", true, "a=3 a.prev=2"}, {"4", true, "a=4 a.prev=3"}, {"5", false, "a=5 a.prev=3"}} {
		put(t, filepath.Join(dir, ".a"+TemporarySuffix), "cut short")
		if err := WriteFile(path, text(c.text), c.keep); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		holds(t, dir, c.want)
	}
	fault := errors.New("no more")
	if err := WriteFile(path, func(w io.Writer) error { return errors.Join(text("half")(w), fault) }, true); !errors.Is(err, fault) {
		t.Error(err)
	}
	holds(t, dir, "a=5 a.prev=3")
	saying(t, WriteFile(dir, text("x"), false), "writing "+dir+" is a folder; want a file")
	link := filepath.Join(dir, ".b"+TemporarySuffix)
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(dir, "b"), text("x"), false); !errors.Is(err, ErrForeign) {
		t.Errorf("through a link: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "5" {
		t.Errorf("the file of the link: %q, %v", b, err)
	}
	for name, want := range map[string]bool{".a" + TemporarySuffix: true, "a" + TemporarySuffix: false, ".a": false} {
		if IsTemporary(name) != want {
			t.Errorf("%s is temporary: %v", name, !want)
		}
	}
}

// The next call removes files that it does not write again. It does not remove folders, links and other files.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	call := func(names ...string) {
		t.Helper()
		f, err := OpenFiles(dir, "draw")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := f.Write(name, text("new")); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	const list = "made-by-draw.txt=Files that unravel draw has written here; its next call replaces them, and removes files that it no longer writes.\n"
	put(t, filepath.Join(dir, "own"), "kept")
	call("b", "a", "b")
	holds(t, dir, "a=new b=new "+list+"a\nb\n own=kept")
	call("c", "b")
	holds(t, dir, "b=new c=new "+list+"b\nc\n own=kept")

	f, err := OpenFiles(dir, "draw") // an interrupted call
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write("d", func(io.Writer) error { return io.ErrShortWrite }); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
	holds(t, dir, "b=new c=new "+list+"b\nc\nd\n own=kept")
	if err := errors.Join(os.Remove(filepath.Join(dir, "c")), os.Symlink("own", filepath.Join(dir, "c"))); err != nil {
		t.Fatal(err)
	}
	call()
	holds(t, dir, "c=kept "+list+" own=kept")

	for lines, want := range map[string]string{
		"mine\n": "is no list of files that unravel has made; want another folder",
		strings.TrimPrefix(list, "made-by-draw.txt=") + "../x\n":             `names "../x"; want files of the folder`,
		strings.TrimPrefix(list, "made-by-draw.txt=") + "/x\n":               `names "/x"; want files of the folder`,
		strings.TrimPrefix(list, "made-by-draw.txt=") + ".\n":                `names "."; want files of the folder`,
		strings.TrimPrefix(list, "made-by-draw.txt=") + "made-by-draw.txt\n": `names "made-by-draw.txt"; want files of the folder`,
	} {
		put(t, filepath.Join(dir, "made-by-draw.txt"), lines)
		_, err := OpenFiles(dir, "draw")
		saying(t, err, want)
	}
	_, err = OpenFiles(filepath.Join(dir, "none"), "draw")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A file of the maximum size can be read; one more byte is an error.
func TestReadLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	put(t, path, "12345")
	for _, c := range []struct {
		most int64
		ok   bool
	}{{4, false}, {5, true}, {6, true}} {
		f, err := os.Open("/dev/zero") // with size 0
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadAll(f, "zeros", c.most)
		saying(t, err, "zeros has more than "+string(rune('0'+c.most))+" bytes; want a shorter file")
		_ = f.Close() // it was only read
		whole, err := ReadFile(path, c.most)
		part, err2 := ReadLimited(strings.NewReader("12345"), "part", c.most)
		if !c.ok {
			saying(t, err, path+" has more than 4 bytes; want a shorter file")
			saying(t, err2, "part has more than 4 bytes; want a shorter file")
			continue
		}
		if err != nil || err2 != nil || string(whole) != "12345" || string(part) != "12345" {
			t.Errorf("at most %d: %q, %v, %q, %v", c.most, whole, err, part, err2)
		}
	}
}

// Only regular files can be read. Only regular files with one name can be written, and links are not followed.
func TestKindsOfFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("file"), "text")
	put(t, at("twice"), "text")
	err := errors.Join(os.Mkdir(at("folder"), 0o777), syscall.Mkfifo(at("pipe"), 0o666), os.Symlink("file", at("link")),
		os.Link(at("twice"), at("other")))
	if err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, c := range map[string]struct{ read, write string }{
		"file": {}, "link": {"", "is a link: want a file that is in this folder only"}, "folder": {"is a folder; want a file", "is a folder: want a file"},
		"pipe": {"is a pipe; want a file", "is a pipe: want a file"}, "twice": {"", "is a file with 2 names (hard links): want a file"},
		"none": {"no such file", ""},
	} {
		f, err := Open(at(name))
		in, err2 := OpenIn(root, name)
		if c.read == "" {
			if err := errors.Join(err, err2, f.Close(), in.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else {
			saying(t, err, c.read)
			saying(t, err2, c.read)
		}
		w, err := OpenFile(at(name), os.O_WRONLY|os.O_CREATE)
		if c.write == "" {
			if err := errors.Join(err, w.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		saying(t, err, c.write)
		if !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, ok := range map[string]bool{"twice": true, "file": true, "missing": true, "link": false, "folder": false} {
		if err := Own(at(name)); (err == nil) != ok {
			t.Errorf("own %s: %v", name, err)
		}
	}
	f, err := OpenFile(at("twice"), os.O_WRONLY|os.O_TRUNC)
	if err == nil {
		err = f.Close()
	}
	own, err2 := os.ReadFile(at("twice"))
	other, err3 := os.ReadFile(at("other"))
	if err := errors.Join(err, err2, err3); err != nil || len(own) != 0 || string(other) != "text" {
		t.Errorf("%q and %q, %v", own, other, err)
	}
	if _, err := os.Lstat(at("missing")); err == nil {
		t.Error("a missing file was made")
	}
}

func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file, "")
	for path, want := range map[string]string{
		dir: "", filepath.Join(dir, "none"): "", filepath.Join(dir, "none", "below"): "",
		file: file + " is a file; want a folder", filepath.Join(file, "a", "b"): filepath.Join(file, "a", "b") + ": " +
			file + " is a file; want a folder",
	} {
		err := CheckDir(path)
		if err2 := MakeDir(path); (err == nil) != (want == "") || err != nil && (err.Error() != want || err2 == nil || err2.Error() != want) {
			t.Errorf("%s: %v and %v, want %q", path, err, err2, want)
		}
		if info, err := os.Stat(path); want == "" && (err != nil || !info.IsDir()) {
			t.Errorf("%s was not made: %v", path, err)
		}
	}
	far := filepath.Join(dir, "not", "yet")
	if err := errors.Join(CheckFree(far, 0), CheckFree(far, -1)); err != nil {
		t.Error(err)
	}
	saying(t, CheckFree(far, math.MaxInt64), dir+": the disk has ")
	saying(t, CheckFree(far, math.MaxInt64), " free; want 8.00 EiB")
}

// Each calls f once for each number, but not after the end of the context.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, maxConcurrent, 1000} {
		counts := make([]atomic.Int32, n)
		Each(t.Context(), n, func(i int) { counts[i].Add(1) })
		for i := range counts {
			if got := counts[i].Load(); got != 1 {
				t.Errorf("of %d: number %d came %d times", n, i, got)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int64
	Each(ctx, 1e9, func(int) { calls.Add(1); cancel() })
	if n := calls.Load(); n < 1 || n > maxConcurrent {
		t.Errorf("%d calls after the end of the context", n)
	}
	for path, want := range map[string]string{"-a": "./-a", "a-": "a-", "": ""} {
		if got := Argument(path); got != want {
			t.Errorf("%q becomes %q", path, got)
		}
	}
}
