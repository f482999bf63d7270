package text_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data/text"
)

// allBytes is a .tiktoken file of the bytes alone.
func allBytes() string {
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	return b.String()
}

func TestATokenizerIsOpenedByItsName(t *testing.T) {
	e := trained(t, 20, "she sells sea shells by the sea shore; she sells\n")
	dir := t.TempDir()
	var b bytes.Buffer
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	vocab, merges := vocabulary(t, e)
	for name, content := range map[string][]byte{"own.tiktoken": b.Bytes(), "vocab.json": vocab, "merges.txt": merges, "bad.tiktoken": []byte("x y z")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const s = "she sells sea shells"
	for _, name := range []string{"own.tiktoken", "vocab.json", "."} {
		got, err := text.Open(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Vocabulary() != e.Vocabulary() || got.End() != e.End() || !slices.Equal(got.Encode([]byte(s)), e.Encode([]byte(s))) {
			t.Errorf("%s: another encoding", name)
		}
	}
	if got, err := text.Open("bytes"); err != nil || got != (text.Bytes{}) {
		t.Errorf("%v, %v", got, err)
	}
	for name, want := range map[string]string{"none": "want bytes, a .tiktoken file", "bad.tiktoken": "bad.tiktoken: line 1"} {
		if _, err := text.Open(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestAWrongTiktokenFileIsRefused(t *testing.T) {
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "there are no tokens"},
		{"no number", allBytes() + "YWI=\n", "line 257 is \"YWI=\""},
		{"no base64", allBytes() + "!! 300\n", "line 257: token \"!!\""},
		{"a number twice", allBytes() + "YWI= 5\n", "two tokens with the number 5"},
		{"a token twice", allBytes() + "YQ== 300\n", "tokens 97 and 300 are both \"a\""},
		{"a negative number", allBytes() + "YWI= -1\n", "is -1"},
		{"a huge number", allBytes() + "YWI= 2000000000\n", "want 0 to"},
		{"an empty token", allBytes() + "= 300\n", "line 257"},
		{"a byte that is missing", strings.Replace(allBytes(), "YQ== 97\n", "", 1), "no token of the byte 0x61"},
		{"a line that is missing", allBytes() + "YWI= 257\n", "none has the number 256"},
	} {
		if _, err := text.ReadTiktoken(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestAWrongVocabularyIsRefused(t *testing.T) {
	e := trained(t, 3, "aaab aaab aaab ab ab\n")
	vocab, merges := vocabulary(t, e)
	for _, c := range []struct{ name, vocab, merges, want string }{
		{"no JSON", "[1]", string(merges), "want an object"},
		{"an unknown merge", string(vocab), string(merges) + "q z\n", "line 5: token \"qz\" is not in vocab.json"},
		{"three parts", string(vocab), string(merges) + "q z z\n", "line 5 is \"q z z\""},
		{"no bytes", "{}", "", "is not in vocab.json"},
		{"another order", string(vocab), reversed(string(merges)), "want numbers that rise"},
		{"a number twice", strings.Replace(string(vocab), `"a":97`, `"a":98`, 1), string(merges), "both have the number 98"},
	} {
		if _, err := text.ReadVocabulary(strings.NewReader(c.vocab), strings.NewReader(c.merges)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// reversed is a list of merges the other way round.
func reversed(merges string) string {
	lines := strings.Split(strings.TrimSpace(merges), "\n")
	slices.Reverse(lines[1:])
	return strings.Join(lines, "\n")
}

func FuzzTiktokenFilesThatAreReadEncode(f *testing.F) {
	f.Add([]byte(allBytes()+"YWI= 256\nYWJj 300\n"), []byte("abc ab"))
	f.Add([]byte("YQ== 0\n"), []byte("a"))
	f.Fuzz(func(t *testing.T, file, b []byte) {
		e, err := text.ReadTiktoken(bytes.NewReader(file))
		if err != nil {
			return
		}
		if got := e.Decode(e.Encode(b)); !bytes.Equal(got, b) {
			t.Errorf("%q came back as %q", b, got)
		}
		var again bytes.Buffer
		if err := e.Write(&again); err != nil {
			t.Fatal(err)
		}
		if _, err := text.ReadTiktoken(&again); err != nil {
			t.Errorf("what was written is not read: %v", err)
		}
	})
}

func FuzzVocabulariesThatAreReadEncode(f *testing.F) {
	vocab, merges := vocabulary(f, trained(f, 9, "one two one two\n"))
	f.Add(vocab, merges, []byte("one two"))
	f.Add([]byte(`{"a": 1}`), []byte("a a"), []byte("a"))
	f.Fuzz(func(t *testing.T, vocab, merges, b []byte) {
		e, err := text.ReadVocabulary(bytes.NewReader(vocab), bytes.NewReader(merges))
		if err != nil {
			return
		}
		if got := e.Decode(e.Encode(b)); !bytes.Equal(got, b) {
			t.Errorf("%q came back as %q", b, got)
		}
	})
}

func FuzzTextComesBack(f *testing.F) {
	e := trained(f, 60, "it's the cat's 12 hats; they'll sit\n\n  and it's naïve\n")
	for _, s := range []string{"", "it's", "  \n x", "\xff\xfe", "12é日"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := e.Decode(e.Encode(b)); !bytes.Equal(got, b) {
			t.Errorf("%q came back as %q", b, got)
		}
	})
}

func TestAnEncodingHasASumAndOneWithAGapIsNotWrittenAsTiktoken(t *testing.T) {
	e, err := text.ReadTiktoken(strings.NewReader(allBytes() + "YWI= 256\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	other, err := text.ReadTiktoken(strings.NewReader(allBytes() + "YWM= 256\n"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := text.ReadTiktoken(&b)
	if err != nil || again.Sum() != e.Sum() || other.Sum() == e.Sum() || len(e.Sum()) != 64 {
		t.Errorf("the sums are %s, read again %v (%v), of another %s", e.Sum(), again, err, other.Sum())
	}
	vocab, merges := vocabulary(t, e)
	vocab = bytes.Replace(vocab, []byte(`"ab":256`), []byte(`"ab":300`), 1)
	gap, err := text.ReadVocabulary(bytes.NewReader(vocab), bytes.NewReader(merges))
	if err != nil {
		t.Fatal(err)
	}
	if err := gap.Write(io.Discard); err == nil || !strings.Contains(err.Error(), "token 256 is missing") {
		t.Errorf("the error is %v", err)
	}
}
