package text_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go-loader/assets"
	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data/text"
)

// gpt2Once reads r50k_base.tiktoken, the tokens of GPT-2.
var gpt2Once = sync.OnceValues(func() (*text.BPE, error) {
	b, err := assets.Assets.ReadFile("r50k_base.tiktoken")
	if err != nil {
		return nil, err
	}
	return text.ReadTiktoken(bytes.NewReader(b))
})

func gpt2(t testing.TB) *text.BPE {
	t.Helper()
	e, err := gpt2Once()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// vocabulary writes an encoding as vocab.json and merges.txt.
func vocabulary(t testing.TB, e *text.BPE) (vocab, merges []byte) {
	t.Helper()
	char := map[byte]string{}
	next := rune(256)
	for b := range 256 {
		if r := rune(b); r > ' ' && r < 0x7f || r > 0xa0 && r != 0xad {
			char[byte(b)] = string(r)
			continue
		}
		char[byte(b)] = string(next)
		next++
	}
	written := func(token []byte) string {
		var s strings.Builder
		for _, b := range token {
			s.WriteString(char[b])
		}
		return s.String()
	}
	numbers := map[string]int32{text.EndOfText: e.End()}
	list := bytes.NewBufferString("#version: 0.2\n")
	known := map[string]bool{}
	for n := range int32(e.Vocabulary()) {
		if n == e.End() {
			continue
		}
		token := e.Decode([]int32{n})
		numbers[written(token)] = n
		// Any two tokens before it that make it do for the merge.
		for cut := 1; cut < len(token); cut++ {
			if known[string(token[:cut])] && known[string(token[cut:])] {
				fmt.Fprintf(list, "%s %s\n", written(token[:cut]), written(token[cut:]))
				break
			}
		}
		known[string(token)] = true
	}
	vocab, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	return vocab, list.Bytes()
}

func TestGPT2EncodesAsItWasPublished(t *testing.T) {
	fromTiktoken := gpt2(t)
	vocab, merges := vocabulary(t, fromTiktoken)
	fromVocabulary, err := text.ReadVocabulary(bytes.NewReader(vocab), bytes.NewReader(merges))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("testdata/gpt2.json") // made by testdata/gpt2
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Text   string
		Tokens []int32
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden) < 20 {
		t.Fatalf("there are %d texts", len(golden))
	}
	for name, e := range map[string]*text.BPE{".tiktoken": fromTiktoken, "vocab.json": fromVocabulary} {
		if e.Vocabulary() != 50257 || e.End() != 50256 {
			t.Errorf("%s: a vocabulary of %d with the end %d", name, e.Vocabulary(), e.End())
		}
		for _, g := range golden {
			if got := e.Encode([]byte(g.Text)); !slices.Equal(got, g.Tokens) {
				t.Errorf("%s: %q is %v, want %v", name, g.Text, got, g.Tokens)
			}
			if got := e.Decode(g.Tokens); string(got) != g.Text {
				t.Errorf("%s: %v is %q, want %q", name, g.Tokens, got, g.Text)
			}
		}
	}
}

func TestEveryByteSequenceComesBack(t *testing.T) {
	encodings := []text.Tokenizer{text.Bytes{}, gpt2(t)}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
			rapid.Map(rapid.StringMatching(`( |the|'s|\n|[0-9]|é|!|\xff)*`), func(s string) []byte { return []byte(s) }),
		).Draw(t, "text")
		for _, e := range encodings {
			tokens := e.Encode(b)
			for _, n := range tokens {
				if n < 0 || int(n) >= e.Vocabulary() || n == e.End() {
					t.Fatalf("%T makes the token %d of %d", e, n, e.Vocabulary())
				}
			}
			if got := e.Decode(append(tokens, e.End())); !bytes.Equal(got, b) {
				t.Fatalf("%T: %q came back as %q", e, b, got)
			}
		}
	})
}

// naive is the encoding by its definition: in a word, of the neighbours whose
// join is a token, those of the lowest number are joined first, the left ones
// first.
func naive(numbers map[string]int32, word string) []int32 {
	if n, ok := numbers[word]; ok {
		return []int32{n}
	}
	parts := strings.Split(word, "")
	for i := range parts {
		parts[i] = word[i : i+1]
	}
	for {
		best, at := int32(1<<30), -1
		for i := range len(parts) - 1 {
			if n, ok := numbers[parts[i]+parts[i+1]]; ok && n < best {
				best, at = n, i
			}
		}
		if at < 0 {
			break
		}
		parts[at] += parts[at+1]
		parts = slices.Delete(parts, at+1, at+2)
	}
	var tokens []int32
	for _, p := range parts {
		tokens = append(tokens, numbers[p])
	}
	return tokens
}

func TestMergingFollowsItsDefinition(t *testing.T) {
	e := gpt2(t)
	numbers := map[string]int32{}
	for n := range e.End() {
		numbers[string(e.Decode([]int32{n}))] = n
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-eA-C]{1,90}|[=\-*]{1,90}`).Draw(t, "word")
		if got, want := e.Encode([]byte(word)), naive(numbers, word); !slices.Equal(got, want) {
			t.Fatalf("%q is %v, want %v", word, got, want)
		}
		if again := e.Encode([]byte(word)); !slices.Equal(again, naive(numbers, word)) {
			t.Fatalf("%q is %v the second time", word, again)
		}
	})
}

func TestSeveralGoroutinesShareAnEncoding(t *testing.T) {
	e := gpt2(t)
	var words []string
	for i := range 40_000 { // more than the cache holds
		words = append(words, fmt.Sprintf(" zq%dxj", i))
	}
	want := make([][]int32, len(words))
	for i, w := range words {
		want[i] = slices.Clone(e.Encode([]byte(w)))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range words {
				i = (i + g*len(words)/4) % len(words)
				if got := e.Encode([]byte(words[i])); !slices.Equal(got, want[i]) {
					t.Errorf("%q is %v, was %v", words[i], got, want[i])
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestALongWordTakesNoQuadraticTime(t *testing.T) {
	word := bytes.Repeat([]byte("ab"), 1<<17) // the square of it would take minutes
	e := gpt2(t)
	if got := e.Decode(e.Encode(word)); !bytes.Equal(got, word) {
		t.Error("it does not come back")
	}
}

func TestDecodingWhatIsNoTokenPanics(t *testing.T) {
	for _, e := range []text.Tokenizer{text.Bytes{}, gpt2(t)} {
		for _, n := range []int32{-1, int32(e.Vocabulary())} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%T decodes %d", e, n)
					}
				}()
				e.Decode([]int32{n})
			}()
		}
	}
}
