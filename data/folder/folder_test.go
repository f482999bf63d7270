package folder_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/data/folder"
)

// tree writes files below a new directory, and a directory for each name that
// ends in a slash.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range names {
		files[name] = []byte(name)
	}
	return write(t, files)
}

func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	root := t.TempDir()
	for name, b := range files {
		full := filepath.Join(root, filepath.FromSlash(name))
		dir := filepath.Dir(full)
		if strings.HasSuffix(name, "/") {
			dir = full
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir == full {
			continue
		}
		if err := os.WriteFile(full, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func open(t testing.TB, path, base string) *folder.Source {
	t.Helper()
	s, err := folder.Open(path, base)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestItIsASource(t *testing.T) {
	files := datatest.Files(t, 3, 5)
	root := write(t, files)
	classes := []string{"disc-dots", "disc-stripes", "square-stripes"}
	for _, base := range []string{"train", "test"} {
		s := open(t, root, base)
		datatest.TestSource(t, s, datatest.Want{Len: 15, Classes: classes})
		for i := range s.Len() {
			name, err := filepath.Rel(root, s.Name(i))
			if err != nil {
				t.Fatal(err)
			}
			name = filepath.ToSlash(name)
			e, err := s.Read(context.Background(), i)
			if err != nil || !bytes.Equal(e.Input.(data.Picture).Encoded, files[name]) {
				t.Errorf("%s is read wrong (%v)", name, err)
			}
			if part := strings.Split(name, "/"); part[0] != base || part[1] != classes[s.Label(i)] {
				t.Errorf("%s is class %s of %s", name, classes[s.Label(i)], base)
			}
		}
	}
	datatest.TestSource(t, open(t, filepath.Join(root, "train"), folder.All), datatest.Want{Len: 15, Classes: classes})
}

func TestPartsAndClassesAreFound(t *testing.T) {
	for _, c := range []struct {
		name          string
		tree          []string
		bases         string
		base          string
		classes       string
		files, labels string
	}{
		{"parts", []string{"train/b/1.jpg", "train/a/2.jpg", "val/a/1.jpg", "val/b/1.jpg"},
			"train val", "train", "a b", "train/a/2.jpg train/b/1.jpg", "0 1"},
		{"no parts", []string{"b/1.jpg", "a/2.jpg"}, "all", "all", "a b", "a/2.jpg b/1.jpg", "0 1"},
		{"nested files and every suffix", []string{"a/x/y/1.JPG", "a/x/2.Jpeg", "a/3.PNG", "b/4.gif"},
			"all", "all", "a b", "a/3.PNG a/x/2.Jpeg a/x/y/1.JPG b/4.gif", "0 0 0 1"},
		{"other and hidden files", []string{"a/1.jpg", "a/notes.txt", "a/.2.jpg", "a/.x/3.jpg", ".git/4.jpg", "readme.jpg", "b/5.jpg"},
			"all", "all", "a b", "a/1.jpg b/5.jpg", "0 1"},
		{"a class that one part lacks", []string{"train/a/1.jpg", "train/c/2.jpg", "test/b/3.jpg", "test/c/4.jpg"},
			"test train", "test", "a b c", "test/b/3.jpg test/c/4.jpg", "1 2"},
		{"a part without classes", []string{"train/a/1.jpg", "test/1.jpg"}, "train", "train", "a", "train/a/1.jpg", "0"},
		{"test pictures without classes", []string{"train/a/1.jpg", "test/images/1.jpg"}, "test train", "train", "a", "train/a/1.jpg", "0"},
		{"a class with the name of a part", []string{"car/1.jpg", "train/2.jpg"}, "all", "all", "car train", "car/1.jpg train/2.jpg", "0 1"},
		{"names beside parts", []string{"train/a/1.jpg", "meta/b/2.jpg"}, "train", "train", "a", "train/a/1.jpg", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.tree...)
			bases, err := folder.Bases(root)
			if got := strings.Join(bases, " "); got != c.bases || err != nil {
				t.Errorf("bases are %q (%v), want %q", got, err, c.bases)
			}
			s := open(t, root, c.base)
			var files, labels []string
			for i := range s.Len() {
				name, _ := filepath.Rel(root, s.Name(i))
				files = append(files, filepath.ToSlash(name))
				labels = append(labels, fmt.Sprint(s.Label(i)))
			}
			for _, x := range []struct{ what, got, want string }{
				{"classes", strings.Join(s.Classes(), " "), c.classes},
				{"files", strings.Join(files, " "), c.files},
				{"labels", strings.Join(labels, " "), c.labels},
			} {
				if x.got != x.want {
					t.Errorf("%s are %q, want %q", x.what, x.got, x.want)
				}
			}
		})
	}
}

func TestWhatIsNoDataSetIsRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		name string
		tree []string
		path string // below the tree
		base string
		says string
	}{
		{"a missing path", []string{"a/1.jpg"}, "nowhere", "all", "nowhere does not exist; want directories of classes, as in"},
		{"a file", []string{"a/1.jpg"}, "a/1.jpg", "all", "is a file; want directories"},
		{"no directories", []string{"1.jpg"}, "", "all", "holds no directories; want"},
		{"an empty class", []string{"train/a/1.jpg", "train/b/"}, "", "train", filepath.Join("train", "b") + ": the class holds no .jpg"},
		{"a class without pictures", []string{"a/1.jpg", "b/1.txt"}, "", "all", "b: the class holds no .jpg"},
		{"a part that is not there", []string{"train/a/1.jpg", "test/a/1.jpg"}, "", "val", `it has no part "val", it has test, train`},
		{"all of what has parts", []string{"train/a/1.jpg", "test/a/1.jpg"}, "", "all", `it has no part "all", it has test, train`},
		{"a part of what has none", []string{"a/1.jpg", "b/1.jpg", "c/", "d/", "e/"}, "", "train",
			`it has no parts, so no "train": its directories are the classes a, b, c, d, …, and its base is all`},
		{"no part", []string{"train/a/1.jpg"}, "", "", `it has no part ""`},
		{"a part without classes", []string{"train/a/1.jpg", "test/1.jpg"}, "", "test", "test holds no directories; want"},
		{"a part with other classes", []string{"train/a/1.jpg", "train/b/1.jpg", "test/images/1.jpg"}, "", "test",
			"part test has no class in common with part train: it has images, that has a, b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := folder.Open(filepath.Join(tree(t, c.tree...), filepath.FromSlash(c.path)), c.base)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "folder: ") {
				t.Errorf("the error is %v, want one with %q", err, c.says)
			}
		})
	}
}

func TestLinksAreFollowedButForDirectoriesWithinAClass(t *testing.T) {
	elsewhere := tree(t, "pictures/1.jpg", "one.jpg")
	link := func(root, to, name string) {
		if err := os.Symlink(to, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Skip(err)
		}
	}
	root := tree(t, "train/b/2.jpg")
	link(root, filepath.Join(elsewhere, "one.jpg"), "train/b/1.jpg")
	link(root, filepath.Join(elsewhere, "pictures"), "train/a")
	s := open(t, root, "train")
	if s.Len() != 3 || !slices.Equal(s.Classes(), []string{"a", "b"}) {
		t.Errorf("%d files of classes %q", s.Len(), s.Classes())
	}
	for i := range s.Len() {
		if _, err := s.Read(context.Background(), i); err != nil {
			t.Error(err)
		}
	}
	link(root, root, "train/b/loop")
	if _, err := folder.Open(root, "train"); err == nil || !strings.Contains(err.Error(), "loop is a link to a directory") {
		t.Errorf("a loop: %v", err)
	}
	broken := tree(t, "b/2.jpg")
	link(broken, filepath.Join(elsewhere, "gone.jpg"), "b/gone.jpg")
	if _, err := folder.Open(broken, "all"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "gone.jpg") {
		t.Errorf("a broken link: %v", err)
	}
}

func TestWhatHappensToAFileAfterOpenShowsWhenItIsRead(t *testing.T) {
	root := tree(t, "a/1.jpg", "a/2.jpg", "a/3.jpg")
	s := open(t, root, "all")
	if err := os.Remove(s.Name(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(context.Background(), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	if err := os.Truncate(s.Name(1), 0); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Read(context.Background(), 1); err != nil {
		t.Errorf("an empty file: %v", err)
	} else if _, err := e.Input.(data.Picture).Decode(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("decoding an empty file: %v", err)
	}
	if err := os.Truncate(s.Name(2), folder.MaxFile+1); err != nil {
		t.Skip(err)
	}
	if _, err := s.Read(context.Background(), 2); err == nil || !strings.Contains(err.Error(), "more than 268435456") {
		t.Errorf("a huge file: %v", err)
	}
}

func Example() {
	root, err := os.MkdirTemp("", "pets")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	for _, name := range []string{"train/cat/1.jpg", "train/dog/1.jpg", "train/dog/2.jpg", "test/cat/3.jpg"} {
		file := filepath.Join(root, filepath.FromSlash(name))
		os.MkdirAll(filepath.Dir(file), 0o755)
		os.WriteFile(file, []byte("…"), 0o644)
	}
	src, err := folder.Open(root, "train")
	if err != nil {
		panic(err)
	}
	for i := range src.Len() {
		fmt.Println(filepath.Base(src.Name(i)), src.Classes()[src.Label(i)])
	}
	// Output:
	// 1.jpg cat
	// 1.jpg dog
	// 2.jpg dog
}
