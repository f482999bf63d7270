package shards_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/data/folder"
	"github.com/reprise-ml/reprise/data/shards"
)

// pack writes a tar archive of files below a directory, in the order of their
// names.
func pack(t testing.TB, below string, files map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.WriteHeader(&tar.Header{Name: below + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
			t.Fatal(err)
		}
		w.Write(files[name])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// write writes files to a new directory.
func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// named are files that hold their own names.
func named(names ...string) map[string][]byte {
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = []byte(name)
	}
	return files
}

func load(t testing.TB, c shards.Config, path string) *shards.Archive {
	t.Helper()
	if c.CacheDir == "" {
		c.CacheDir = t.TempDir()
	}
	a, err := c.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func open(t testing.TB, a *shards.Archive, base string) *shards.Source {
	t.Helper()
	s, err := a.Open(base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// cached lists what is in a directory.
func cached(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestItIsASource(t *testing.T) {
	files := datatest.Files(t, 3, 5)
	tarball := pack(t, "some/where/", files)
	dir := write(t, map[string][]byte{
		"plain.tar":        tarball,
		"packed.tar.gz":    zip(tarball),
		"many/one.tar":     pack(t, "", maps.Collect(part(files, "train/"))),
		"many/two.tgz":     zip(pack(t, "", maps.Collect(part(files, "test/")))),
		"many/readme.txt":  []byte("passed over"),
		"named/train.tar":  pack(t, "a/", strip(files, "train/")),
		"named/x-test.tar": pack(t, "a/", strip(files, "test/")),
	})
	classes := []string{"disc-dots", "disc-stripes", "square-stripes"}
	for _, path := range []string{"plain.tar", "packed.tar.gz", "many", "many/*.t[ag]*", "named"} {
		for _, c := range []shards.Config{{}, {InMemory: true}} {
			t.Run(fmt.Sprintf("%s %v", path, c.InMemory), func(t *testing.T) {
				a := load(t, c, filepath.Join(dir, path))
				if got := strings.Join(a.Bases(), " "); got != "test train" {
					t.Errorf("bases are %s", got)
				}
				for _, base := range a.Bases() {
					datatest.TestSource(t, open(t, a, base), datatest.Want{Len: 15, Classes: classes})
				}
			})
		}
	}
}

// part yields the files whose names begin with prefix.
func part(files map[string][]byte, prefix string) func(func(string, []byte) bool) {
	return func(yield func(string, []byte) bool) {
		for name, b := range files {
			if strings.HasPrefix(name, prefix) && !yield(name, b) {
				return
			}
		}
	}
}

// strip is part without the prefix.
func strip(files map[string][]byte, prefix string) map[string][]byte {
	out := map[string][]byte{}
	for name, b := range part(files, prefix) {
		out[strings.TrimPrefix(name, prefix)] = b
	}
	return out
}

func TestAnArchiveIsTheDirectoryThatItUnpacksTo(t *testing.T) {
	files := datatest.Files(t, 4, 6)
	files["train/disc-dots/a/b.JPEG"] = []byte("nested")
	files["train/disc-dots-more/1.png"] = []byte("a name that sorts between")
	files["train/.hidden/1.png"] = []byte("hidden")
	files["train/1.png"] = []byte("beside the classes")
	files["classes.tsv"] = []byte("no picture")
	dir := write(t, files)
	a := load(t, shards.Config{}, filepath.Join(write(t, map[string][]byte{"a.tar.gz": zip(pack(t, "./x/", files))}), "a.tar.gz"))
	for _, base := range []string{"train", "test"} {
		want, err := folder.Open(dir, base)
		if err != nil {
			t.Fatal(err)
		}
		got := open(t, a, base)
		if got.Len() != want.Len() || !slices.Equal(got.Classes(), want.Classes()) {
			t.Fatalf("%s: %d records of %q, want %d of %q", base, got.Len(), got.Classes(), want.Len(), want.Classes())
		}
		for i := range got.Len() {
			a, err := got.Read(context.Background(), i)
			b, wantErr := want.Read(context.Background(), i)
			if err != nil || wantErr != nil || a.Target != b.Target || !bytes.Equal(a.Input.(data.Picture).Encoded, b.Input.(data.Picture).Encoded) {
				t.Errorf("record %d of %s: %s is not %s (%v, %v)", i, base, got.Name(i), want.Name(i), err, wantErr)
			}
		}
	}
}

func TestPartsAndClassesAreFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		shards  map[string]map[string][]byte
		bases   string
		base    string
		classes string
		records string // member:label
	}{
		{"no parts, a common directory", map[string]map[string][]byte{"a.tar": named("x/b/1.jpg", "x/a/2.jpg")},
			"all", "all", "a b", "x/a/2.jpg:0 x/b/1.jpg:1"},
		{"one class", map[string]map[string][]byte{"a.tar": named("x/1.jpg", "x/2.jpg")}, "all", "all", "x", "x/1.jpg:0 x/2.jpg:0"},
		{"one part", map[string]map[string][]byte{"a.tar": named("x/train/a/1.jpg", "x/train/b/2.jpg")},
			"train", "train", "a b", "x/train/a/1.jpg:0 x/train/b/2.jpg:1"},
		{"a class that one part lacks", map[string]map[string][]byte{"a.tar": named("train/a/1.jpg", "train/c/2.jpg", "test/b/3.jpg", "test/c/4.jpg")},
			"test train", "test", "a b c", "test/b/3.jpg:1 test/c/4.jpg:2"},
		{"parts by the names of archives", map[string]map[string][]byte{
			"set-train-0.tar": named("a/1.jpg"), "set-train-1.tar": named("b/1.jpg"), "set-val.tar": named("b/1.jpg")},
			"train val", "train", "a b", "a/1.jpg:0 b/1.jpg:1"},
		{"pairs", map[string]map[string][]byte{"a.tar": {
			"2.jpg": nil, "2.cls": []byte("1"), "10.png": nil, "10.cls": []byte(" 0\n"), "2.json": []byte("{}")}},
			"all", "all", "0 1", "10.png:0 2.jpg:1"},
		{"pairs of many classes", map[string]map[string][]byte{"a.tar": {"2.jpg": nil, "2.cls": []byte("7"), "x/3.jpg": nil, "x/3.cls": []byte("11")}},
			"all", "all", "00 01 02 03 04 05 06 07 08 09 10 11", "2.jpg:7 x/3.jpg:11"},
		{"pairs in parts", map[string]map[string][]byte{"a.tar": {"x/train/1.jpg": nil, "x/train/1.cls": []byte("0"), "x/val/1.jpg": nil, "x/val/1.cls": []byte("1")}},
			"train val", "val", "0 1", "x/val/1.jpg:1"},
		{"pairs in archives with the names of parts", map[string]map[string][]byte{
			"train-0.tar": {"1.jpg": nil, "1.cls": []byte("0")}, "train-1.tar": {"1.jpg": nil, "1.cls": []byte("2")}, "val-0.tar": {"1.jpg": nil, "1.cls": []byte("1")}},
			"train val", "train", "0 1 2", "1.jpg:0 1.jpg:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, members := range c.shards {
				files[name] = pack(t, "", members)
			}
			a := load(t, shards.Config{}, write(t, files))
			if got := strings.Join(a.Bases(), " "); got != c.bases {
				t.Errorf("bases are %q, want %q", got, c.bases)
			}
			s := open(t, a, c.base)
			var records []string
			for i := range s.Len() {
				_, member, _ := strings.Cut(s.Name(i), ".tar:")
				records = append(records, fmt.Sprintf("%s:%d", member, s.Label(i)))
			}
			if got := strings.Join(s.Classes(), " "); got != c.classes {
				t.Errorf("classes are %q, want %q", got, c.classes)
			}
			if got := strings.Join(records, " "); got != c.records {
				t.Errorf("records are %q, want %q", got, c.records)
			}
		})
	}
}

func TestClassesOfPairsHaveTheNamesOfAFile(t *testing.T) {
	dir := write(t, map[string][]byte{
		"a.tar":   pack(t, "", map[string][]byte{"1.jpg": []byte("x"), "1.cls": []byte("2")}),
		"names":   []byte("tench\ngoldfish\nshark\n"),
		"few":     []byte("tench\ngoldfish\n"),
		"doubles": []byte("tench\ntench\nshark\n"),
		"b.tar":   pack(t, "", named("a/1.jpg")),
	})
	a := load(t, shards.Config{Names: filepath.Join(dir, "names")}, filepath.Join(dir, "a.tar"))
	datatest.TestSource(t, open(t, a, "all"), datatest.Want{Len: 1, Classes: []string{"tench", "goldfish", "shark"}, Odd: true})
	for _, c := range []struct{ archive, names, says string }{
		{"a.tar", "few", "has 2 class names, and there is a class 2"},
		{"a.tar", "doubles", `the class name "tench" twice`},
		{"a.tar", "none", "class names: open"},
		{"b.tar", "names", "in directories of classes and not in pairs"},
	} {
		_, err := shards.Config{Names: filepath.Join(dir, c.names)}.Load(filepath.Join(dir, c.archive))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", c.names, err, c.says)
		}
	}
}

func TestAPackedArchiveIsUnpackedOnce(t *testing.T) {
	dir := write(t, map[string][]byte{"a.tar.gz": zip(pack(t, "", datatest.Files(t, 2, 2)))})
	path := filepath.Join(dir, "a.tar.gz")
	c := shards.Config{CacheDir: filepath.Join(t.TempDir(), "new", "cache")}
	open(t, load(t, c, path), "train")
	first := cached(t, c.CacheDir)
	if len(first) != 1 || !strings.HasPrefix(first[0], "a.tar.gz-") {
		t.Fatalf("the cache holds %q, want one file", first)
	}
	file := filepath.Join(c.CacheDir, first[0])
	old := time.Unix(1e9, 0)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	open(t, load(t, c, path), "test")
	if info, err := os.Stat(file); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("it was unpacked again (%v)", err)
	}
	// A damaged cache is made anew.
	if err := os.Truncate(file, 700); err != nil {
		t.Fatal(err)
	}
	datatest.TestSource(t, open(t, load(t, c, path), "test"), datatest.Want{Len: 4})
	// A new version takes its place.
	if err := os.WriteFile(path, zip(pack(t, "", datatest.Files(t, 2, 3))), 0o644); err != nil {
		t.Fatal(err)
	}
	datatest.TestSource(t, open(t, load(t, c, path), "test"), datatest.Want{Len: 6})
	if again := cached(t, c.CacheDir); len(again) != 1 || again[0] == first[0] {
		t.Errorf("the cache holds %q, want one new file", again)
	}
}

func TestManyMayUnpackAtOnce(t *testing.T) {
	path := filepath.Join(write(t, map[string][]byte{"a.tar.gz": zip(pack(t, "", datatest.Files(t, 2, 20)))}), "a.tar.gz")
	c := shards.Config{CacheDir: t.TempDir()}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := c.Open(path, "train")
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for i := range s.Len() {
				if _, err := s.Read(context.Background(), i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := cached(t, c.CacheDir); len(got) != 1 {
		t.Errorf("the cache holds %q, want one file", got)
	}
}

func TestWithoutACacheArchivesAreHeldInMemoryUpToALimit(t *testing.T) {
	dir := write(t, map[string][]byte{
		"a.tar.gz": zip(pack(t, "", datatest.Files(t, 2, 2))),
		"file":     nil,
	})
	path := filepath.Join(dir, "a.tar.gz")
	none := filepath.Join(dir, "file", "cache") // below a file there can be no directory
	s, err := shards.Config{CacheDir: none}.Open(path, "train")
	if err != nil {
		t.Fatal(err)
	}
	datatest.TestSource(t, s, datatest.Want{Len: 4})
	for _, c := range []shards.Config{{CacheDir: none, Memory: 1000}, {InMemory: true, Memory: 1000}} {
		if _, err := c.Load(path); err == nil || !strings.Contains(err.Error(), "a.tar.gz: it unpacks to more than is held in memory, 1000 bytes") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestAClosedSourceFails(t *testing.T) {
	s, err := shards.Open(filepath.Join(write(t, map[string][]byte{"a.tar": pack(t, "", named("a/1.jpg"))}), "a.tar"), "all")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(context.Background(), 0); err == nil {
		t.Error("it is read after Close")
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "pets")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "pets.tar"))
	if err != nil {
		panic(err)
	}
	w := tar.NewWriter(file)
	for _, name := range []string{"pets/train/cat/1.jpg", "pets/train/dog/1.jpg", "pets/test/cat/2.jpg"} {
		w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 3})
		w.Write([]byte("…"))
	}
	w.Close()
	file.Close()

	pets, err := shards.Config{}.Load(file.Name())
	if err != nil {
		panic(err)
	}
	defer pets.Close()
	for _, base := range pets.Bases() {
		src, err := pets.Open(base)
		if err != nil {
			panic(err)
		}
		fmt.Println(base, src.Len(), src.Classes())
	}
	// Output:
	// test 1 [cat dog]
	// train 2 [cat dog]
}
