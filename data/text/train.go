package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Words counts the words of texts, from which [Words.Train] makes an encoding.
// The zero Words is empty.
type Words struct {
	Bytes  int64 // of all words
	counts map[string]int64
}

// longestWord is the longest word that is counted; it is a run of letters,
// or of signs, that no merge needs to be made for.
const longestWord = 256

// Add counts the words of a text, which may be packed. It may be called for
// one text after another; their order makes no difference. read, if not nil,
// is told now and then how many bytes were read.
func (w *Words) Add(ctx context.Context, text io.Reader, read func(bytes int64)) error {
	if w.counts == nil {
		w.counts = map[string]int64{}
	}
	in, err := unpacked(text)
	if err != nil {
		return fmt.Errorf("text: %w", err)
	}
	defer in.Close()
	lines := newLiner(in)
	for told := int64(0); ; told++ {
		if told%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if read != nil {
				read(w.Bytes)
			}
		}
		line, length, err := lines.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("text: after line %d: %w", lines.number, err)
		case line == nil:
			return fmt.Errorf("text: line %d has %d bytes, want at most %d", lines.number, length, MaxLine)
		}
		w.Bytes += int64(len(line))
		for len(line) > 0 {
			n := firstWord(line)
			if n <= longestWord {
				w.counts[string(line[:n])]++
			}
			line = line[n:]
		}
	}
}

// Train makes an encoding of 256 bytes, so many merges and the end of text: of
// all pairs of neighbours within words, the most frequent becomes a token, again
// and again; of equally frequent ones that of the lower numbers. It depends on
// the words alone. It makes fewer merges where no pair is left that is there
// twice. made, if not nil, is told how many merges there are.
//
// A merge costs as much as there are words with its pair: counts are kept up
// to date, with the places of every pair, and the most frequent is taken from
// a queue.
func (w *Words) Train(ctx context.Context, merges int, made func(merges int)) (*BPE, error) {
	if merges < 0 || merges > maxToken-257 {
		return nil, fmt.Errorf("text: merges is %d, want 0 to %d", merges, maxToken-257)
	}
	if len(w.counts) == 0 {
		return nil, errors.New("text: there are no words to train on")
	}
	t := newTrainer(w.counts)
	for n := 0; n < merges; n++ {
		if n%256 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if made != nil {
				made(n)
			}
		}
		if !t.merge() {
			break
		}
	}
	tokens := make(map[int32][]byte, len(t.tokens))
	for n, token := range t.tokens {
		tokens[int32(n)] = token
	}
	return newBPE(tokens, -1)
}

// Measure returns how many bytes the words have, all of them together, and how
// many tokens e makes of them.
func (w *Words) Measure(e *BPE) (bytes, tokens int64) {
	for word, count := range w.counts {
		bytes += count * int64(len(word))
		tokens += count * int64(len(e.appendWord(nil, []byte(word))))
	}
	return bytes, tokens
}

// trainer is the state of a training.
type trainer struct {
	tokens  [][]byte
	numbers map[string]int32
	words   []counted
	pairs   map[pair]*spread
	queue   heap[frequent]
	changed []pair // more frequent since the queue was filled last
}

// counted is a word, as the tokens it consists of, and how often it is there.
type counted struct {
	tokens []int32
	count  int64
}

// spread is how often a pair is there, and in which words; in some of those
// it may be no longer.
type spread struct {
	count   int64
	words   []int32
	changed bool // its count rose since it was queued
}

// frequent is a pair and a count that it had; it may be less frequent by now.
type frequent struct {
	pair
	count int64
}

func (a frequent) less(b frequent) bool {
	return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.left, b.left), cmp.Compare(a.right, b.right)) < 0
}

func newTrainer(counts map[string]int64) *trainer {
	t := &trainer{numbers: map[string]int32{}, pairs: map[pair]*spread{}, queue: heap[frequent]{less: frequent.less}}
	for b := range 256 {
		t.token([]byte{byte(b)})
	}
	size := 0
	texts := make([]string, 0, len(counts))
	for text := range counts {
		texts = append(texts, text)
		size += len(text)
	}
	slices.Sort(texts)
	all := make([]int32, 0, size)
	for _, text := range texts {
		from := len(all)
		for _, b := range []byte(text) {
			all = append(all, int32(b))
		}
		t.words = append(t.words, counted{all[from:], counts[text]})
	}
	for i, w := range t.words {
		for k := range len(w.tokens) - 1 {
			t.add(int32(i), pair{w.tokens[k], w.tokens[k+1]}, w.count)
		}
	}
	t.requeue()
	return t
}

// token returns the number of a token, which is new where it must be.
func (t *trainer) token(text []byte) int32 {
	if n, ok := t.numbers[string(text)]; ok {
		return n
	}
	n := int32(len(t.tokens))
	t.tokens = append(t.tokens, text)
	t.numbers[string(text)] = n
	return n
}

// add adds to the count of a pair that is in word number i, or was.
func (t *trainer) add(i int32, p pair, count int64) {
	s := t.pairs[p]
	if s == nil {
		s = new(spread)
		t.pairs[p] = s
	}
	s.count += count
	if count < 0 {
		return
	}
	if n := len(s.words); n == 0 || s.words[n-1] != i {
		s.words = append(s.words, i)
	}
	if !s.changed {
		s.changed = true
		t.changed = append(t.changed, p)
	}
}

// requeue queues the pairs that became more frequent.
func (t *trainer) requeue() {
	for _, p := range t.changed {
		s := t.pairs[p]
		s.changed = false
		t.queue.push(frequent{p, s.count})
	}
	t.changed = t.changed[:0]
}

// merge makes the next token, and reports whether there was a pair left.
func (t *trainer) merge() bool {
	for known := len(t.tokens); len(t.tokens) == known; {
		p, ok := t.mostFrequent()
		if !ok {
			return false
		}
		// Two pairs may make one token: ab+c and a+bc. The second is merged
		// too, and no token of its own.
		token := t.token(slices.Concat(t.tokens[p.left], t.tokens[p.right]))
		words := t.pairs[p].words
		t.pairs[p].words = nil
		for _, i := range words {
			t.replace(i, p, token)
		}
		delete(t.pairs, p)
		t.requeue()
	}
	return true
}

// mostFrequent takes the most frequent pair from the queue, if one is there at
// least twice.
func (t *trainer) mostFrequent() (pair, bool) {
	for len(t.queue.items) > 0 {
		f := t.queue.pop()
		s := t.pairs[f.pair]
		switch {
		case s == nil || s.count < 2:
		case s.count != f.count:
			t.queue.push(frequent{f.pair, s.count})
		default:
			return f.pair, true
		}
	}
	return pair{}, false
}

// replace puts a token in the place of a pair in word number i, and counts
// the pairs anew that this touches.
func (t *trainer) replace(i int32, p pair, token int32) {
	w := &t.words[i]
	short := w.tokens[:0]
	merged := false // the last of short is such a token
	for k := 0; k < len(w.tokens); k++ {
		x := w.tokens[k]
		if k+1 == len(w.tokens) || x != p.left || w.tokens[k+1] != p.right {
			if merged {
				t.add(i, pair{token, x}, w.count)
			}
			short = append(short, x)
			merged = false
			continue
		}
		if n := len(short); n > 0 {
			if !merged {
				t.add(i, pair{short[n-1], x}, -w.count)
			}
			t.add(i, pair{short[n-1], token}, w.count)
		}
		t.add(i, p, -w.count)
		if k++; k+1 < len(w.tokens) {
			t.add(i, pair{p.right, w.tokens[k+1]}, -w.count)
		}
		short = append(short, token)
		merged = true
	}
	w.tokens = short
}
