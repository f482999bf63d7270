package cifar_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/cifar"
	"github.com/reprise-ml/reprise/data/datatest"
)

// records are n records of the given classes, each after so many other bytes,
// whose red, green and blue are the number of the pixel plus 0, 1 and 2.
func records(before int, classes ...byte) []byte {
	var b []byte
	for _, class := range classes {
		b = append(b, make([]byte, before)...)
		b = append(b, class)
		for c := range 3 {
			for i := range 1024 {
				b = append(b, byte(i+c))
			}
		}
	}
	return b
}

const ten = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"

func cifar10() map[string][]byte {
	return map[string][]byte{
		"data_batch_1.bin": records(0, 3, 0, 9),
		"data_batch_2.bin": records(0, 1, 2),
		"test_batch.bin":   records(0, 4),
		"batches.meta.txt": []byte(ten),
		"readme.html":      []byte("<html>"),
	}
}

func cifar100() map[string][]byte {
	return map[string][]byte{"train.bin": records(1, 99, 5), "test.bin": records(1, 0)}
}

func write(t testing.TB, dir string, files map[string][]byte) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// archive writes a .tar.gz of files in a directory called root.
func archive(t testing.TB, root string, files map[string][]byte) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	w.WriteHeader(&tar.Header{Name: root + "/", Typeflag: tar.TypeDir, Mode: 0o755})
	for name, content := range files {
		w.WriteHeader(&tar.Header{Name: root + "/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))})
		w.Write(content)
	}
	w.Close()
	z.Close()
	return filepath.Join(write(t, t.TempDir(), map[string][]byte{"a.tar.gz": b.Bytes()}), "a.tar.gz")
}

func TestItIsASource(t *testing.T) {
	names := strings.Fields(ten)
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprintf("%02d", i)
	}
	above := t.TempDir()
	write(t, filepath.Join(above, "cifar-10-batches-bin"), cifar10())
	for _, c := range []struct {
		name        string
		path        string
		train, test int
		classes     []string
	}{
		{"CIFAR-10 in a directory", write(t, t.TempDir(), cifar10()), 5, 1, names},
		{"CIFAR-10 in a directory below", above, 5, 1, names},
		{"CIFAR-10 in an archive", archive(t, "cifar-10-batches-bin", cifar10()), 5, 1, names},
		{"CIFAR-100 in a directory", write(t, t.TempDir(), cifar100()), 2, 1, hundred},
		{"CIFAR-100 in an archive", archive(t, "cifar-100-binary", cifar100()), 2, 1, hundred},
	} {
		for base, n := range map[string]int{"train": c.train, "test": c.test} {
			t.Run(c.name+", "+base, func(t *testing.T) {
				s, err := cifar.Open(c.path, base)
				if err != nil {
					t.Fatal(err)
				}
				datatest.TestSource(t, s, datatest.Want{Len: n, Classes: c.classes})
			})
		}
		if bases, err := cifar.Bases(c.path); err != nil || strings.Join(bases, " ") != "test train" {
			t.Errorf("bases of %s are %q (%v)", c.name, bases, err)
		}
	}
}

func TestPlanesBecomePixelsAndBatchesFollowOneAnother(t *testing.T) {
	for _, c := range []struct {
		files  map[string][]byte
		labels string
	}{{cifar10(), "3 0 9 1 2"}, {cifar100(), "99 5"}} {
		s, err := cifar.Open(write(t, t.TempDir(), c.files), "train")
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for i := range s.Len() {
			labels = append(labels, fmt.Sprint(s.Label(i)))
			e, err := s.Read(context.Background(), i)
			if err != nil {
				t.Fatal(err)
			}
			p := e.Input.(data.Picture)
			for j, v := range p.Pix {
				if want := byte(j/3 + j%3); v != want {
					t.Fatalf("value %d of record %d is %d, want %d", j, i, v, want)
				}
			}
		}
		if got := strings.Join(labels, " "); got != c.labels {
			t.Errorf("labels are %s, want %s", got, c.labels)
		}
	}
}

func TestWhatIsNoDataSetIsRefusedWithTheReason(t *testing.T) {
	with := func(name string, b []byte) func(map[string][]byte) {
		return func(f map[string][]byte) { f[name] = b }
	}
	for _, c := range []struct {
		name  string
		broke func(map[string][]byte)
		says  string
	}{
		{"cut off", with("data_batch_2.bin", records(0, 1, 2)[:6000]), "data_batch_2.bin has 6000 bytes, want a multiple of the 3073 of a CIFAR-10 record"},
		{"empty", with("data_batch_2.bin", nil), "data_batch_2.bin has 0 bytes"},
		{"a label out of range", with("data_batch_1.bin", records(0, 1, 10)), "record 1 of"},
		{"a batch left out", with("data_batch_4.bin", records(0, 1)), "but not data_batch_3.bin"},
		{"too few names", with("batches.meta.txt", []byte("cat\ndog\n")), "has 2 names, want the 10 of CIFAR-10"},
		{"a name twice", with("batches.meta.txt", []byte(strings.Replace(ten, "dog", "cat", 1))), "has a name twice"},
		{"both", with("train.bin", records(1, 3)), "files of both CIFAR-10 and CIFAR-100"},
		{"no train files", func(f map[string][]byte) { delete(f, "data_batch_1.bin"); delete(f, "data_batch_2.bin") }, `has no part "train", it has test`},
		{"nothing", func(f map[string][]byte) { clear(f) }, "holds neither data_batch_1.bin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := cifar10()
			c.broke(files)
			for _, path := range []string{write(t, t.TempDir(), files), archive(t, "cifar-10-batches-bin", files)} {
				_, err := cifar.Open(path, "train")
				if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "cifar: ") {
					t.Errorf("the error is %v, want one with %q", err, c.says)
				}
			}
		})
	}
	whole, err := os.ReadFile(archive(t, "cifar-10-batches-bin", cifar10()))
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, t.TempDir(), map[string][]byte{"cut.tar.gz": whole[:len(whole)*2/3], "no.tar.gz": []byte("<html>no archive</html>")})
	for name, says := range map[string]string{"cut.tar.gz": "unexpected EOF", "no.tar.gz": "no tar archive", "gone.tar.gz": "does not exist"} {
		if _, err := cifar.Open(filepath.Join(dir, name), "train"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want an error with %q", name, err, says)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "cifar")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "data_batch_1.bin"), make([]byte, 2*3073), 0o644)
	src, err := cifar.Open(dir, "train")
	if err != nil {
		panic(err)
	}
	fmt.Println(src.Len(), len(src.Classes()))
	// Output: 2 10
}
