package shards_test

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/data/shards"
)

// members writes a tar archive of headers, each followed by its size in
// bytes, unless without says that it lacks them.
func members(t testing.TB, without bool, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if !without {
			w.Write(make([]byte, h.Size))
		}
	}
	if without {
		w.Flush()
	} else if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsNoDataSetIsRefusedWithTheReason(t *testing.T) {
	whole := pack(t, "", datatest.Files(t, 2, 2))
	second := bytes.Index(whole, []byte("test/disc-stripes/0001.jpg"))
	regular := func(name string, size int64) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Size: size}
	}
	pair := func(files ...string) []byte {
		m := map[string][]byte{}
		for i := 0; i < len(files); i += 2 {
			m[files[i]] = []byte(files[i+1])
		}
		return pack(t, "", m)
	}
	for _, c := range []struct {
		name string
		file string
		b    []byte
		says string
	}{
		{"nothing", "a.tar", nil, "the file is empty"},
		{"a short file", "a.tar", []byte("<html>"), "no tar archive: the file is shorter than"},
		{"no archive", "a.tar", bytes.Repeat([]byte("<html>"), 200), "no tar archive, or damaged after the beginning"},
		{"no packed archive", "a.tar.gz", zip(bytes.Repeat([]byte("<html>"), 200)), "no tar archive"},
		{"a header damaged", "a.tar", slices.Concat(whole[:second+150], []byte("xx"), whole[second+152:]), "damaged after test/disc-stripes/0000.jpg"},
		{"cut off in a member", "a.tar", whole[:600], "cut off in test/disc-stripes/0000.jpg, after 88 of its"},
		{"cut off in a header", "a.tar", whole[:2000], "cut off after test/disc-stripes/0000.jpg"},
		{"cut off between members", "a.tar", whole[:len(whole)-1024], "cut off after train/square-stripes/0001.jpg"},
		{"packed and cut off", "a.tar.gz", zip(whole)[:900], "cut off: its packed bytes end after"},
		{"packed and damaged", "a.tar.gz", slices.Concat(zip(whole)[:900], make([]byte, 100), zip(whole)[1000:]), ""},
		{"packed after it was cut off", "a.tar.gz", zip(whole[:600]), "cut off"},
		{"an absurd size", "a.tar", members(t, true, regular("a/1.jpg", 1<<40)), "a/1.jpg has 1099511627776 bytes, more than 268435456"},
		{"no pictures", "a.tar", members(t, false, regular("a/1.txt", 3)), "there are no .jpg, .jpeg, .png, .gif or .webp files"},
		{"no directories", "a.tar", members(t, false, regular("1.jpg", 3)), "1.jpg is in no directory, want one for each class"},
		{"a member twice", "a.tar", members(t, false, regular("a/1.jpg", 3), regular("./a/1.jpg", 3)), "./a/1.jpg is in the archive twice"},
		{"a link to nothing", "a.tar", members(t, false, tar.Header{Name: "a/1.jpg", Typeflag: tar.TypeSymlink, Linkname: "../b/1.jpg"}),
			"a/1.jpg is a link to ../b/1.jpg, which is not in the archive before it"},
		{"a picture without a class", "a.tar", pair("1.jpg", "", "1.cls", "0", "2.jpg", ""), "2.jpg has no .cls file beside it"},
		{"a class without a picture", "a.tar", pair("1.jpg", "", "1.cls", "0", "2.cls", ""), "2.cls has no picture beside it"},
		{"two pictures for a class", "a.tar", pair("1.jpg", "", "1.cls", "0", "1.left.png", ""), "1.jpg and 1.left.png have one key, 1"},
		{"no number", "a.tar", pair("1.jpg", "", "1.cls", "cat"), `1.cls holds "cat", want the number of a class`},
		{"a negative number", "a.tar", pair("1.jpg", "", "1.cls", "-1"), `1.cls holds "-1"`},
		{"an absurd number", "a.tar", pair("1.jpg", "", "1.cls", "1048576"), `1.cls holds "1048576", want the number of a class, 0 to 1048575`},
		{"a long number", "a.tar", pair("1.jpg", "", "1.cls", strings.Repeat("0", 40)), "1.cls has 40 bytes"},
		{"a pair beside the parts", "a.tar", pair("1.jpg", "", "1.cls", "0", "train/1.jpg", "", "train/1.cls", "0"), "1.jpg is in no part, and others are"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(write(t, map[string][]byte{c.file: c.b}), c.file)
			for _, config := range []shards.Config{{CacheDir: t.TempDir()}, {InMemory: true}} {
				_, err := config.Load(file)
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "shards: "+file+": ") {
					t.Errorf("the error is %v, want one with %q", err, c.says)
				}
				if config.CacheDir != "" && len(cached(t, config.CacheDir)) > 0 {
					t.Errorf("the cache holds %q", cached(t, config.CacheDir))
				}
			}
		})
	}
}

func TestAPathOrPartThatIsNotThereIsRefusedWithTheReason(t *testing.T) {
	dir := write(t, map[string][]byte{
		"a.tar":        pack(t, "", named("train/a/1.jpg", "val/a/1.jpg", "test/images/1.jpg")),
		"all.tar":      pack(t, "", named("a/1.jpg", "b/1.jpg")),
		"empty/readme": nil,
	})
	for _, c := range []struct{ path, base, says string }{
		{"b.tar", "all", "want a .tar or .tar.gz file, a directory of them, or a pattern"},
		{"b*.tar", "all", "there is no"},
		{"[.tar", "all", "syntax error in pattern"},
		{"empty", "all", "holds no .tar, .tar.gz or .tgz files"},
		{"a.tar", "valid", `it has no part "valid", it has test, train, val`},
		{"a.tar", "all", `it has no part "all", it has test, train, val`},
		{"a.tar", "test", "part test has no class in common with part train: it has images, that has a"},
		{"all.tar", "train", `it has no parts, so no "train": its directories are the classes a, b, and its base is all`},
	} {
		_, err := shards.Open(filepath.Join(dir, c.path), c.base)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "shards: ") {
			t.Errorf("%s of %s: %v, want an error with %q", c.base, c.path, err, c.says)
		}
	}
}

func TestLinksWithinAnArchiveAreFollowed(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: "x/a/1.jpg", Mode: 0o644, Size: 5})
	w.Write([]byte("hello"))
	w.WriteHeader(&tar.Header{Name: "x/b/2.jpg", Typeflag: tar.TypeLink, Linkname: "x/a/1.jpg"})
	w.WriteHeader(&tar.Header{Name: "x/c/3.jpg", Typeflag: tar.TypeSymlink, Linkname: "../a/1.jpg"})
	w.Close()
	s := open(t, load(t, shards.Config{}, filepath.Join(write(t, map[string][]byte{"a.tar": b.Bytes()}), "a.tar")), "all")
	if s.Len() != 3 {
		t.Fatalf("there are %d records, want 3", s.Len())
	}
	for i := range s.Len() {
		if e, err := s.Read(context.Background(), i); err != nil || string(e.Input.(data.Picture).Encoded) != "hello" {
			t.Errorf("%s: %v, %v", s.Name(i), e, err)
		}
	}
}

func TestAnArchiveThatIsCutOffAfterItWasOpenedFailsWhenItIsRead(t *testing.T) {
	file := filepath.Join(write(t, map[string][]byte{"a.tar": pack(t, "", named("a/1.jpg", "a/2.jpg"))}), "a.tar")
	s := open(t, load(t, shards.Config{}, file), "all")
	if err := os.Truncate(file, 1024); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(context.Background(), 0); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(context.Background(), 1); err == nil || !strings.Contains(err.Error(), file+": a/2.jpg: unexpected EOF") {
		t.Errorf("reading what is gone: %v", err)
	}
}

// real returns the path of a data set, or skips the test.
func real(t testing.TB, name string) string {
	dir := os.Getenv("REPRISE_DATA")
	if dir == "" {
		t.Skip("REPRISE_DATA, the directory of data sets, is not set")
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
	return file
}

func TestRealArchives(t *testing.T) {
	cifar := strings.Fields("airplane automobile bird cat deer dog frog horse ship truck")
	for _, c := range []struct {
		file    string
		lens    map[string]int
		classes int
		odd     bool
	}{
		{"cifar10-jpeg.tar.gz", map[string]int{"train": 50000, "test": 10000}, 10, false},
		{"tiny-imagenet-20.tar.gz", map[string]int{"train": 10000, "val": 1000}, 20, false},
		{"imagenet-240.tar", map[string]int{"all": 240}, 1, false},
		{"odd-jpeg.tar.gz", map[string]int{"all": 30}, 1, true},
	} {
		t.Run(c.file, func(t *testing.T) {
			a := load(t, shards.Config{}, real(t, c.file))
			if len(a.Bases()) != len(c.lens) {
				t.Errorf("bases are %q", a.Bases())
			}
			for base, n := range c.lens {
				s := open(t, a, base)
				want := datatest.Want{Len: n, Odd: c.odd}
				if c.classes == 10 {
					want.Classes = cifar
				}
				if len(s.Classes()) != c.classes {
					t.Errorf("%s has %d classes, want %d", base, len(s.Classes()), c.classes)
				}
				datatest.TestSource(t, s, want)
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, name := range []string{"cifar10-jpeg.tar.gz", "imagenet-240.tar"} {
		b.Run(name, func(b *testing.B) {
			file := real(b, name)
			c := shards.Config{CacheDir: b.TempDir()}
			for b.Loop() {
				a, err := c.Load(file)
				if err != nil {
					b.Fatal(err)
				}
				a.Close()
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	s := open(b, load(b, shards.Config{}, real(b, "cifar10-jpeg.tar.gz")), "train")
	for i := 0; b.Loop(); i++ {
		if _, err := s.Read(context.Background(), i*7919%s.Len()); err != nil {
			b.Fatal(err)
		}
	}
}
