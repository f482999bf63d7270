package text

import "fmt"

// Tokenizer turns text into numbers and back. Every sequence of bytes comes
// back as it was: Decode(Encode(b)) is b. It must be safe to use from several
// goroutines.
type Tokenizer interface {
	Encode(text []byte) []int32   // numbers of the tokens of text, from 0 up to Vocabulary; never End
	Decode(tokens []int32) []byte // the bytes that tokens stand for; End stands for none
	Vocabulary() int              // how many tokens there are, End included
	End() int32                   // the token that stands between texts
}

// Bytes is the tokenizer whose tokens are the 256 bytes.
type Bytes struct{}

// Encode implements [Tokenizer].
func (Bytes) Encode(text []byte) []int32 {
	tokens := make([]int32, len(text))
	for i, b := range text {
		tokens[i] = int32(b)
	}
	return tokens
}

// Decode implements [Tokenizer].
func (b Bytes) Decode(tokens []int32) []byte {
	text := make([]byte, 0, len(tokens))
	for _, t := range tokens {
		switch {
		case t < 0 || t > b.End():
			panic(fmt.Sprintf("text: token %d of a vocabulary of %d", t, b.Vocabulary()))
		case t < b.End():
			text = append(text, byte(t))
		}
	}
	return text
}

// Vocabulary implements [Tokenizer].
func (Bytes) Vocabulary() int { return 257 }

// End implements [Tokenizer].
func (Bytes) End() int32 { return 256 }
