package text

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// EndOfText is the token that ends a text in the vocabulary of GPT-2.
const EndOfText = "<|endoftext|>"

// maxFile is the most bytes of a file of tokens that are read.
const maxFile = 256 << 20

// Open reads a tokenizer: the word bytes stands for [Bytes]; other names are
// those of a .tiktoken file, of a vocab.json with a merges.txt beside it, or
// of a directory that holds those two.
func Open(name string) (Tokenizer, error) {
	if name == "bytes" {
		return Bytes{}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("text: the tokenizer: %w; want bytes, a .tiktoken file, or a vocab.json with its merges.txt", err)
	}
	if info.IsDir() {
		name = filepath.Join(name, "vocab.json")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("text: the tokenizer: %w", err)
	}
	defer f.Close()
	var e *BPE
	if filepath.Ext(name) == ".json" {
		merges, openErr := os.Open(filepath.Join(filepath.Dir(name), "merges.txt"))
		if openErr != nil {
			return nil, fmt.Errorf("text: the tokenizer: %w", openErr)
		}
		defer merges.Close()
		e, err = ReadVocabulary(f, merges)
	} else {
		e, err = ReadTiktoken(f)
	}
	if err != nil {
		return nil, fmt.Errorf("text: the tokenizer %s: %w", name, err)
	}
	return e, nil
}

// ReadTiktoken reads an encoding from a .tiktoken file: a line for each token,
// its bytes as base64 and its number; the numbers go from 0 on without a gap. The
// end of text has the next number; of GPT-2's file, r50k_base.tiktoken, that is
// 50256.
//
// Text is cut into words as GPT-2 does it, whatever the file.
func ReadTiktoken(r io.Reader) (*BPE, error) {
	tokens := map[int32][]byte{}
	lines := bufio.NewScanner(io.LimitReader(r, maxFile))
	for line := 1; lines.Scan(); line++ {
		text, number, ok := bytes.Cut(bytes.TrimSpace(lines.Bytes()), []byte(" "))
		if len(text) == 0 {
			continue
		}
		n, err := strconv.ParseInt(string(number), 10, 32)
		if !ok || err != nil {
			return nil, fmt.Errorf("line %d is %.40q, want a token as base64, a space, and its number", line, lines.Bytes())
		}
		token := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		size, err := base64.StdEncoding.Decode(token, text)
		if err != nil {
			return nil, fmt.Errorf("line %d: token %.40q: %w", line, text, err)
		}
		if _, twice := tokens[int32(n)]; twice {
			return nil, fmt.Errorf("line %d: there are two tokens with the number %d", line, n)
		}
		tokens[int32(n)] = token[:size]
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	e, err := newBPE(tokens, -1)
	if err != nil {
		return nil, err
	}
	if n := slices.IndexFunc(e.tokens, func(token []byte) bool { return token == nil }); n >= 0 {
		return nil, fmt.Errorf("of %d tokens none has the number %d; want a line for every number from 0 on", len(tokens), n)
	}
	return e, nil
}

// Write writes e as a .tiktoken file, which [ReadTiktoken] reads. It fails
// where the numbers have a gap, as those of a vocab.json may.
func (e *BPE) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	for n, token := range e.tokens {
		if token == nil {
			return fmt.Errorf("text: token %d is missing, for which a .tiktoken file has no form", n)
		}
		fmt.Fprintf(out, "%s %d\n", base64.StdEncoding.EncodeToString(token), n)
	}
	return out.Flush()
}

// Sum is the SHA-256 of the tokens and their numbers, in hexadecimal digits.
func (e *BPE) Sum() string {
	sum := sha256.New()
	for n, token := range e.tokens {
		fmt.Fprintf(sum, "%d %x\n", n, token)
	}
	fmt.Fprintln(sum, e.end)
	return hex.EncodeToString(sum.Sum(nil))
}

// ReadVocabulary reads an encoding from the two files that GPT-2 was published
// as: vocab.json gives every token its number, with bytes written as the
// characters of [byteOf]; merges.txt lists the merges, a line each, after a
// line with the version. The numbers of what merges make must rise. The end of
// text is <|endoftext|> or, where there is none, the lowest free number.
func ReadVocabulary(vocab, merges io.Reader) (*BPE, error) {
	var numbers map[string]int32
	if err := json.NewDecoder(io.LimitReader(vocab, maxFile)).Decode(&numbers); err != nil {
		return nil, fmt.Errorf("vocab.json: want an object of tokens and their numbers: %w", err)
	}
	byteOf := byteOf()
	tokens := map[int32][]byte{}
	add := func(token string) (int32, error) {
		n, ok := numbers[token]
		if !ok {
			return 0, fmt.Errorf("token %.40q is not in vocab.json", token)
		}
		var plain []byte
		for _, r := range token {
			b, ok := byteOf[r]
			if !ok {
				return 0, fmt.Errorf("token %.40q has the character %q, which stands for no byte", token, r)
			}
			plain = append(plain, b)
		}
		if before, ok := tokens[n]; ok && !bytes.Equal(before, plain) {
			return 0, fmt.Errorf("tokens %q and %q both have the number %d", before, plain, n)
		}
		tokens[n] = plain
		return n, nil
	}
	for r := range byteOf {
		if _, err := add(string(r)); err != nil {
			return nil, err
		}
	}
	last := int32(-1)
	lines := bufio.NewScanner(io.LimitReader(merges, maxFile))
	for line := 1; lines.Scan(); line++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 || line == 1 && bytes.HasPrefix(text, []byte("#version")) {
			continue
		}
		left, right, ok := bytes.Cut(text, []byte(" "))
		if !ok || bytes.ContainsRune(right, ' ') {
			return nil, fmt.Errorf("merges.txt: line %d is %.40q, want two tokens", line, text)
		}
		known := len(tokens)
		n, err := add(string(left) + string(right))
		switch {
		case err != nil:
			return nil, fmt.Errorf("merges.txt: line %d: %w", line, err)
		case len(tokens) > known && n < last:
			return nil, fmt.Errorf("merges.txt: line %d makes token %d after token %d; want numbers that rise with the lines", line, n, last)
		}
		last = max(last, n)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("merges.txt: %w", err)
	}
	end, ok := numbers[EndOfText]
	switch {
	case !ok:
		end = int32(len(numbers))
		if taken := slices.MaxFunc(slices.Collect(maps.Values(numbers)), cmp.Compare[int32]); taken >= end {
			end = taken + 1
		}
	case end < 0:
		return nil, errors.New("vocab.json: the number of " + EndOfText + " is negative")
	}
	if end > maxToken {
		return nil, fmt.Errorf("vocab.json: the end of text has the number %d, want at most %d", end, maxToken)
	}
	return newBPE(tokens, end)
}

// byteOf gives the byte that each of 256 characters stands for in vocab.json:
// the printable ones of Latin-1 stand for themselves, the characters from
// U+0100 on for the rest, in their order (bytes_to_unicode in GPT-2's
// encoder.py).
func byteOf() map[rune]byte {
	m := make(map[rune]byte, 256)
	next := rune(0x100)
	for b := range rune(256) {
		if '!' <= b && b <= '~' || 0xa1 <= b && b <= 0xac || 0xae <= b {
			m[b] = byte(b)
			continue
		}
		m[next] = byte(b)
		next++
	}
	return m
}
