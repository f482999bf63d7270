package experiments

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCharactersAreWrittenWhole(t *testing.T) {
	var out bytes.Buffer
	c := characters{to: &out}
	for _, step := range []struct{ in, written string }{
		{"a", "a"}, {"\xe2", "a"}, {"\x82", "a"}, {"\xac!", "a€!"}, {"\xf0\x9f\x98", "a€!"}, {"\x80b", "a€!😀b"},
		{"\xff", "a€!😀b\xff"}, {"\xc3", "a€!😀b\xff"}, {"x", "a€!😀b\xff\xc3x"}, {"\x80\x80\x80\x80", "a€!😀b\xff\xc3x\x80\x80\x80\x80"}, {"\xe2\x82", "a€!😀b\xff\xc3x\x80\x80\x80\x80"},
	} {
		if n, err := c.Write([]byte(step.in)); n != len(step.in) || err != nil || out.String() != step.written {
			t.Errorf("after %q %q is written, want %q", step.in, out.String(), step.written)
		}
	}
	if err := c.Close(); err != nil || !bytes.HasSuffix(out.Bytes(), []byte("\x80\xe2\x82")) {
		t.Errorf("at the end %q is written, error %v", out.String(), err)
	}
}

// Whatever the pieces, all bytes come out, and text never ends within a character.
func TestCharactersLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }), rapid.SliceOf(rapid.Byte())).Draw(t, "text")
		var out bytes.Buffer
		c := characters{to: &out}
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if _, err := c.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			if utf8.Valid(text) && !utf8.Valid(out.Bytes()) {
				t.Fatalf("%q ends within a character", out.Bytes())
			}
		}
		if err := c.Close(); err != nil || !bytes.Equal(out.Bytes(), text) {
			t.Fatalf("%q came out as %q, %v", text, out.Bytes(), err)
		}
	})
}
