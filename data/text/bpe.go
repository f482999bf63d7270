package text

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// BPE is a byte-level byte pair encoding as GPT-2 has it (Sennrich, Haddow,
// Birch 2016; Radford et al. 2019): text is cut into words, see [firstWord],
// and within a word those two neighbours are joined, again and again, that
// make the token of the lowest number.
//
// It is made by [ReadTiktoken], [ReadVocabulary], [Open] and [Train].
type BPE struct {
	tokens [][]byte         // by their numbers; nil where there is none
	whole  map[string]int32 // numbers of tokens
	pairs  map[pair]int32   // what two neighbours become
	bytes  [256]int32       // tokens of a single byte
	end    int32
	size   int
	cache  *cache
}

// pair is two tokens side by side.
type pair struct{ left, right int32 }

// maxToken is the highest number of a token that a file may have.
const maxToken = 1 << 20

// newBPE makes an encoding of tokens by their numbers. There must be one of
// every byte, none twice, and none that is empty. A negative end means the
// number after the last.
func newBPE(tokens map[int32][]byte, end int32) (*BPE, error) {
	if len(tokens) == 0 {
		return nil, errors.New("there are no tokens")
	}
	e := &BPE{whole: make(map[string]int32, len(tokens)), pairs: map[pair]int32{}, end: end, cache: newCache()}
	numbers := make([]int32, 0, len(tokens))
	for n, token := range tokens {
		switch other, twice := e.whole[string(token)]; {
		case n < 0 || n > maxToken:
			return nil, fmt.Errorf("the number of token %q is %d, want 0 to %d", token, n, maxToken)
		case len(token) == 0:
			return nil, fmt.Errorf("token %d is empty", n)
		case twice:
			return nil, fmt.Errorf("tokens %d and %d are both %q", min(n, other), max(n, other), token)
		}
		e.whole[string(token)] = n
		numbers = append(numbers, n)
	}
	for b := range 256 {
		n, ok := e.whole[string([]byte{byte(b)})]
		if !ok {
			return nil, fmt.Errorf("there is no token of the byte %#02x alone", b)
		}
		e.bytes[b] = n
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		for int(n) >= len(e.tokens) {
			e.tokens = append(e.tokens, nil)
		}
		e.tokens[n] = tokens[n]
		e.pair(n)
	}
	if e.end < 0 {
		e.end = int32(len(e.tokens))
	}
	if _, taken := tokens[e.end]; taken {
		return nil, fmt.Errorf("the end of text has the number %d of token %q", e.end, tokens[e.end])
	}
	e.size = max(len(e.tokens), int(e.end)+1)
	return e, nil
}

// pair notes which two tokens make token n.
func (e *BPE) pair(n int32) {
	for token, cut := e.tokens[n], 1; cut < len(token); cut++ {
		left, ok := e.whole[string(token[:cut])]
		if !ok {
			continue
		}
		if right, ok := e.whole[string(token[cut:])]; ok {
			e.pairs[pair{left, right}] = n
		}
	}
}

// Vocabulary implements [Tokenizer].
func (e *BPE) Vocabulary() int { return e.size }

// End implements [Tokenizer].
func (e *BPE) End() int32 { return e.end }

// Decode implements [Tokenizer].
func (e *BPE) Decode(tokens []int32) []byte {
	var text []byte
	for _, t := range tokens {
		if t < 0 || int(t) >= e.size {
			panic(fmt.Sprintf("text: token %d of a vocabulary of %d", t, e.size))
		}
		if int(t) < len(e.tokens) {
			text = append(text, e.tokens[t]...)
		}
	}
	return text
}

// Encode implements [Tokenizer]. Its time grows as n·log n with the length of
// a word.
func (e *BPE) Encode(text []byte) []int32 {
	tokens := make([]int32, 0, len(text)/3+1)
	for len(text) > 0 {
		n := firstWord(text)
		tokens = e.appendWord(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

// appendWord appends the tokens of a word.
func (e *BPE) appendWord(tokens []int32, word []byte) []int32 {
	if n, ok := e.whole[string(word)]; ok {
		return append(tokens, n)
	}
	if len(word) > cachedWord {
		return e.merge(tokens, word)
	}
	if known, ok := e.cache.get(word); ok {
		return append(tokens, known...)
	}
	made := e.merge(nil, word)
	e.cache.put(word, made)
	return append(tokens, made...)
}

// part is a token of a word that is being merged, in a list of its
// neighbours.
type part struct {
	token          int32 // -1 once it is part of the one before it
	before, behind int32 // neighbours; -1 and the number of parts at the ends
}

// candidate is a merge of a part with the one behind it.
type candidate struct {
	token int32 // that it makes
	at    int32
	pair  pair // as it was; another by now where a part was merged since
}

func (c candidate) less(d candidate) bool {
	return c.token < d.token || c.token == d.token && c.at < d.at
}

// merge appends the tokens of a word, made by merging its bytes.
func (e *BPE) merge(tokens []int32, word []byte) []int32 {
	if len(word) > math.MaxInt32 {
		panic("text: a word of more than 2 GiB")
	}
	n := int32(len(word))
	parts := make([]part, n)
	queue := heap[candidate]{less: candidate.less}
	offer := func(at int32) {
		if at < 0 || parts[at].behind == n {
			return
		}
		p := pair{parts[at].token, parts[parts[at].behind].token}
		if token, ok := e.pairs[p]; ok {
			queue.push(candidate{token, at, p})
		}
	}
	for i, b := range word {
		parts[i] = part{e.bytes[b], int32(i) - 1, int32(i) + 1}
	}
	for i := range n {
		offer(i)
	}
	for len(queue.items) > 0 {
		c := queue.pop()
		left := &parts[c.at]
		if left.token != c.pair.left || left.behind == n || parts[left.behind].token != c.pair.right {
			continue
		}
		parts[left.behind].token = -1
		left.token, left.behind = c.token, parts[left.behind].behind
		if left.behind < n {
			parts[left.behind].before = c.at
		}
		offer(left.before)
		offer(c.at)
	}
	for at := int32(0); at < n; at = parts[at].behind {
		tokens = append(tokens, parts[at].token)
	}
	return tokens
}
