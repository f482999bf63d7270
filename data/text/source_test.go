package text_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/datatest"
	"github.com/reprise-ml/reprise/data/text"
)

func gz(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return b.String()
}

func zst(s string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	defer z.Close()
	return string(z.EncodeAll([]byte(s), nil))
}

// write writes files to a new directory and returns their paths in the order
// of their names.
func write(t testing.TB, files map[string]string) (dir string, paths []string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return dir, paths
}

func open(t testing.TB, c text.Config, paths ...string) text.Source {
	t.Helper()
	src, err := c.Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// all reads every record of src, decoded.
func all(t testing.TB, src data.Source) []data.Example {
	t.Helper()
	var es []data.Example
	examples := data.Read(t.Context(), data.Once(src.Len()), 2, data.FromSource(src), nil)
	for e, err := range data.Decode(t.Context(), examples, 2, nil) {
		if err != nil {
			t.Fatal(err)
		}
		es = append(es, e)
	}
	return es
}

// shown writes examples of bytes as input|target, the end of text as $.
func shown(es []data.Example) []string {
	var out []string
	for _, e := range es {
		s := ""
		for i, v := range []data.Value{e.Input, e.Target} {
			if i > 0 {
				s += "|"
			}
			for _, b := range v.(data.Tokens) {
				if b == (text.Bytes{}).End() {
					b = '$'
				}
				s += string(rune(b))
			}
		}
		out = append(out, s)
	}
	return out
}

const verses = "one\n\ntwo words\r\n \t\nthree"

func TestLinesMakeTheseExamples(t *testing.T) {
	_, paths := write(t, map[string]string{"a": verses, "b": "", "c": "\n\nfour\n"})
	for _, c := range []struct {
		context int
		want    []string
	}{
		{5, []string{"$one|one$", "$two |two w", "$thre|three", "$four|four$"}},
		{6, []string{"$one|one$", "$two w|two wo", "$three|three$", "$four|four$"}},
		{1, []string{"$|o", "$|t", "$|t", "$|f"}},
	} {
		src := open(t, text.Config{Tokenizer: text.Bytes{}, Context: c.context}, paths...)
		if got := shown(all(t, src)); !slices.Equal(got, c.want) {
			t.Errorf("context %d: %q, want %q", c.context, got, c.want)
		}
	}
}

// stream is the tokens that chunks are cut from, by the definition.
func stream(layout text.Layout, c text.Tokenizer, files []string) []int32 {
	var tokens []int32
	for _, f := range files {
		tokens = append(tokens, c.End())
		for line := range strings.Lines(f) {
			if layout == text.Chunks {
				tokens = append(tokens, c.Encode([]byte(line))...)
			} else if strings.TrimSpace(line) != "" {
				tokens = append(append(tokens, c.Encode([]byte(strings.TrimRight(line, "\r\n")))...), c.End())
			}
		}
	}
	return tokens
}

func TestChunksAreCutFromOneStreamAndEveryTokenIsATargetOnce(t *testing.T) {
	files := map[string]string{"a": verses, "b": "four\nfive six seven\n", "c": "eight"}
	_, paths := write(t, files)
	for _, layout := range []text.Layout{text.Chunks, text.Packed} {
		for _, tokenizer := range []text.Tokenizer{text.Bytes{}, trained(t, 20, verses, "four five six seven")} {
			for _, context := range []int{1, 3, 8} {
				want := stream(layout, tokenizer, []string{files["a"], files["b"], files["c"]})
				var inputs, targets []int32
				for _, e := range all(t, open(t, text.Config{Tokenizer: tokenizer, Context: context, Layout: layout}, paths...)) {
					inputs = append(inputs, e.Input.(data.Tokens)...)
					targets = append(targets, e.Target.(data.Tokens)...)
				}
				n := (len(want) - 1) / context * context
				if !slices.Equal(inputs, want[:n]) || !slices.Equal(targets, want[1:n+1]) {
					t.Errorf("%s of %d %T: %v and %v, want those of %v", layout, context, tokenizer, inputs, targets, want)
				}
			}
		}
	}
}

func TestASourceOfText(t *testing.T) {
	long := strings.Repeat("so it goes\nagain\n\n", 500)
	_, paths := write(t, map[string]string{"a.txt": verses, "b.txt.gz": gz(long), "c.txt.zst": zst(verses), "d.txt": ""})
	for _, layout := range text.Layouts() {
		c := text.Config{Tokenizer: text.Bytes{}, Context: 8, Layout: layout}
		t.Run(string(layout), func(t *testing.T) {
			want := datatest.Want{}
			if layout == text.Lines {
				want.Len = 3 + 1000 + 3
			}
			datatest.TestSource(t, open(t, c, paths...), want)
		})
	}
}

func TestALineIsNamedByItsFileAndNumber(t *testing.T) {
	_, paths := write(t, map[string]string{"a": "\n" + strings.Repeat("x\n\n", 3000), "b": "", "c": "\n\ny\n"})
	src := open(t, text.Config{Tokenizer: text.Bytes{}, Context: 8}, paths...)
	for i, want := range map[int]string{0: "a:2", 1: "a:4", 1023: "a:2048", 1024: "a:2050", 2999: "a:6000", 3000: "c:3"} {
		if got := filepath.Base(src.Name(i)); got != want {
			t.Errorf("record %d is %s, want %s", i, got, want)
		}
	}
}

func TestWritingToALineChangesNoOther(t *testing.T) {
	_, paths := write(t, map[string]string{"a.gz": gz("abc\ndef\n")})
	src := open(t, text.Config{Tokenizer: text.Bytes{}, Context: 8}, paths...)
	a, err := src.Read(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	line := a.Input.(text.Line).Text
	line[0] = 'X'
	if _ = append(line, "YYYYYY"...); !slices.Equal(shown(all(t, src)), []string{"$abc|abc$", "$def|def$"}) {
		t.Error("it does")
	}
}

func TestALineThatIsTooLongIsAnErrorWithItsPlace(t *testing.T) {
	long := strings.Repeat("x", text.MaxLine)
	_, paths := write(t, map[string]string{"a": "short\n" + long + "y\nshort\n", "ok": long[:text.MaxLine-1] + "\n"})
	src := open(t, text.Config{Tokenizer: text.Bytes{}, Context: 8}, paths...)
	if src.Len() != 4 {
		t.Fatalf("there are %d lines", src.Len())
	}
	if _, err := src.Read(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "a:2: the line is longer") {
		t.Error(err)
	}
	for _, i := range []int{0, 2, 3} {
		if _, err := src.Read(t.Context(), i); err != nil {
			t.Errorf("record %d: %v", i, err)
		}
	}
	if _, err := (text.Config{Tokenizer: text.Bytes{}, Context: 8, Layout: text.Packed}).Open(paths); err == nil || !strings.Contains(err.Error(), "a:2: the line has") {
		t.Error(err)
	}
}

func TestOpeningTextSaysWhatIsWrong(t *testing.T) {
	_, paths := write(t, map[string]string{"cut.gz": gz(strings.Repeat("a line\n", 100))[:30], "good": "a\n"})
	good := text.Config{Tokenizer: text.Bytes{}, Context: 8}
	for _, c := range []struct {
		config text.Config
		path   string
		want   string
	}{
		{good, "none", "none: no such file"},
		{good, paths[0], "cut.gz: unpacking, after"},
		{text.Config{Context: 8}, paths[1], "no tokenizer"},
		{text.Config{Tokenizer: text.Bytes{}}, paths[1], "the context is 0"},
		{text.Config{Tokenizer: text.Bytes{}, Context: 8, Layout: "pages"}, paths[1], `the layout is "pages"`},
	} {
		for _, open := range []func([]string) error{
			func(p []string) error { _, err := c.config.Open(p); return err },
			func(p []string) error { // a stream finds damage as it is read
				s, err := c.config.Stream(p)
				if err != nil {
					return err
				}
				for _, err := range s.Open(t.Context(), 0, 0) {
					if err != nil {
						return errors.New(strings.Replace(err.Error(), ": record ", ": unpacking, after ", 1))
					}
				}
				return nil
			},
		} {
			if err := open([]string{c.path}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		}
	}
}

func TestPartsAreFoundByTheirNames(t *testing.T) {
	for _, c := range []struct {
		files []string
		path  string
		want  map[string]int
	}{
		{[]string{"training-monolingual.tokenized.shuffled/news.en-00001-of-00100", "training-monolingual.tokenized.shuffled/news.en-00002-of-00100",
			"heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050", "README"}, "", map[string]int{text.Train: 2, text.Heldout: 1}},
		{[]string{"wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"}, "", map[string]int{text.Train: 1, text.Heldout: 1, text.Test: 1}},
		{[]string{"a.txt", "sub/b.txt", ".hidden", ".git/x"}, "", map[string]int{text.All: 2}},
		{[]string{"news-1.gz", "news-2.gz", "other"}, "news-*.gz", map[string]int{text.All: 2}},
		{[]string{"x1/a", "x2/b", "y/c"}, "x*", map[string]int{text.All: 2}},
		{[]string{"one.train.txt"}, "one.train.txt", map[string]int{text.All: 1}},
	} {
		files := map[string]string{}
		for _, f := range c.files {
			files[f] = "x\n"
		}
		dir, _ := write(t, files)
		parts, err := text.Files(filepath.Join(dir, c.path))
		if err != nil {
			t.Error(err)
		}
		got := map[string]int{}
		for part, files := range parts {
			got[part] = len(files)
			if !slices.IsSorted(files) {
				t.Errorf("%q are not sorted", files)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.files, got, c.want)
		}
	}
	empty := t.TempDir()
	for path, want := range map[string]string{empty: "holds no files", filepath.Join(empty, "x"): "there is no", filepath.Join(empty, "[x"): "there is no"} {
		if _, err := text.Files(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestTheKingJamesBibleHasALineForEachVerse(t *testing.T) {
	dir := os.Getenv("REPRISE_DATA")
	if dir == "" {
		t.Skip("REPRISE_DATA names no directory with kjv.txt.gz")
	}
	src := open(t, text.Config{Tokenizer: gpt2(t), Context: 64}, filepath.Join(dir, "kjv.txt.gz"))
	datatest.TestSource(t, src, datatest.Want{Len: 31102})
}

func TestLinesAreThoseOfTheFile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		content := rapid.StringMatching(`([a-c]{0,3}(\r?\n| )?){0,20}`).Draw(rt, "text")
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			rt.Fatal(err)
		}
		src, err := text.Config{Tokenizer: text.Bytes{}, Context: 100}.Open([]string{path})
		if err != nil {
			rt.Fatal(err)
		}
		defer src.Close()
		var want []string
		for line := range strings.Lines(content) {
			if strings.TrimSpace(line) != "" {
				want = append(want, strings.TrimRight(line, "\r\n"))
			}
		}
		for i := range src.Len() {
			e, err := src.Read(context.Background(), i)
			if err != nil || i >= len(want) || string(e.Input.(text.Line).Text) != want[i] {
				rt.Fatalf("line %d of %q is %q, %v", i, want, e.Input, err)
			}
		}
		if src.Len() != len(want) {
			rt.Fatalf("%d lines, want %d", src.Len(), len(want))
		}
	})
}

func ExampleConfig_Open() {
	path := filepath.Join(os.TempDir(), "reprise-example.txt")
	if err := os.WriteFile(path, []byte("to be\nor not\n"), 0o644); err != nil {
		panic(err)
	}
	defer os.Remove(path)
	src, err := text.Config{Tokenizer: text.Bytes{}, Context: 8}.Open([]string{path})
	if err != nil {
		panic(err)
	}
	defer src.Close()
	examples := data.Read(context.Background(), data.Once(src.Len()), 1, data.FromSource(src), nil)
	for e, err := range data.Decode(context.Background(), examples, 1, nil) {
		fmt.Println(e.Input, e.Target, err)
	}
	// Output:
	// [256 116 111 32 98 101] [116 111 32 98 101 256] <nil>
	// [256 111 114 32 110 111 116] [111 114 32 110 111 116 256] <nil>
}
