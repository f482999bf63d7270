package text_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data/text"
)

// trained makes an encoding of texts.
func trained(t testing.TB, merges int, texts ...string) *text.BPE {
	t.Helper()
	var w text.Words
	for _, s := range texts {
		if err := w.Add(t.Context(), strings.NewReader(s), nil); err != nil {
			t.Fatal(err)
		}
	}
	e, err := w.Train(t.Context(), merges, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// tokensOf lists the tokens of e beyond the bytes.
func tokensOf(e *text.BPE) []string {
	var all []string
	for n := int32(256); n < e.End(); n++ {
		all = append(all, string(e.Decode([]int32{n})))
	}
	return all
}

// byHand trains by the definition: all pairs of all words are counted anew for
// every merge. Words must be letters with one space between them.
func byHand(words []string, merges int) []string {
	numbers := map[string]int{}
	for b := range 256 {
		numbers[string([]byte{byte(b)})] = b
	}
	var parts [][]string
	for _, w := range words {
		parts = append(parts, strings.Split(w, ""))
	}
	var made []string
	for len(made) < merges {
		counts := map[[2]string]int{}
		for _, p := range parts {
			for i := range len(p) - 1 {
				counts[[2]string{p[i], p[i+1]}]++
			}
		}
		var best [2]string
		for p, n := range counts {
			m := counts[best]
			before := numbers[p[0]] < numbers[best[0]] || numbers[p[0]] == numbers[best[0]] && numbers[p[1]] < numbers[best[1]]
			if n > m || n == m && before {
				best = p
			}
		}
		if counts[best] < 2 {
			break
		}
		token := best[0] + best[1]
		if _, ok := numbers[token]; !ok {
			numbers[token] = 256 + len(made)
			made = append(made, token)
		}
		for k, p := range parts {
			for i := 0; i+1 < len(p); i++ {
				if p[i] == best[0] && p[i+1] == best[1] {
					p = slices.Replace(p, i, i+2, token)
				}
			}
			parts[k] = p
		}
	}
	return made
}

func TestTrainingFollowsItsDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,9}|[a-d]{1,5}`), 1, 12).Draw(rt, "words")
		merges := rapid.IntRange(0, 20).Draw(rt, "merges")
		var w text.Words
		for _, word := range words {
			if err := w.Add(t.Context(), strings.NewReader(word), nil); err != nil {
				rt.Fatal(err)
			}
		}
		e, err := w.Train(t.Context(), merges, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := tokensOf(e), byHand(words, merges); !slices.Equal(got, want) {
			rt.Fatalf("%q: made %q, want %q", words, got, want)
		}
	})
}

func TestTheOrderOfTextsMakesNoDifference(t *testing.T) {
	a := trained(t, 50, "the cat sat on the mat\n", "that rat sat\nthere\n")
	b := trained(t, 50, "that rat sat\nthere\n", "the cat sat on the mat\n")
	if got, want := tokensOf(a), tokensOf(b); !slices.Equal(got, want) || len(got) < 5 {
		t.Errorf("%q and %q", got, want)
	}
}

func TestATrainedEncodingIsReadBackFromItsFile(t *testing.T) {
	e := trained(t, 30, "a stitch in time saves nine; a stitch in time\n")
	var b bytes.Buffer
	if err := e.Write(&b); err != nil {
		t.Fatal(err)
	}
	read, err := text.ReadTiktoken(&b)
	if err != nil {
		t.Fatal(err)
	}
	if read.Vocabulary() != e.Vocabulary() || read.End() != e.End() || !slices.Equal(tokensOf(read), tokensOf(e)) {
		t.Errorf("%d tokens %q, were %d %q", read.Vocabulary(), tokensOf(read), e.Vocabulary(), tokensOf(e))
	}
	if got := e.Encode([]byte("a stitch")); len(got) >= 8 {
		t.Errorf("nothing is merged: %v", got)
	}
}

func TestMeasureCountsTheTokensOfTheText(t *testing.T) {
	const s = "the cat sat on the mat\nthe end"
	var w text.Words
	if err := w.Add(t.Context(), strings.NewReader(s), nil); err != nil {
		t.Fatal(err)
	}
	e, err := w.Train(t.Context(), 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, n := w.Measure(e); b != int64(len(s)) || n != int64(len(e.Encode([]byte(s)))) {
		t.Errorf("%d bytes and %d tokens, want %d and %d", b, n, len(s), len(e.Encode([]byte(s))))
	}
}

func TestTrainingSaysWhatIsWrong(t *testing.T) {
	if _, err := new(text.Words).Train(t.Context(), 5, nil); err == nil || !strings.Contains(err.Error(), "no words") {
		t.Error(err)
	}
	var w text.Words
	if err := w.Add(t.Context(), strings.NewReader("a b"), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Train(t.Context(), -1, nil); err == nil || !strings.Contains(err.Error(), "merges is -1") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Train(ctx, 5, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.Add(ctx, strings.NewReader("c"), nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	long := "a\n" + strings.Repeat("x", text.MaxLine+1)
	if err := w.Add(t.Context(), strings.NewReader(long), nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("line 2 has %d bytes", text.MaxLine+1)) {
		t.Error(err)
	}
}
