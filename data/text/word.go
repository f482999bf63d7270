package text

import (
	"unicode"
	"unicode/utf8"
)

// firstWord returns the length of the first word of a text that is not empty,
// as GPT-2 cuts text into the words within which bytes are merged. A word is
// the first of these that matches (Radford et al. 2019, encoder.py):
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// A space thus belongs to the word after it. Bytes that are no UTF-8 are
// neither letters, digits nor space.
func firstWord(b []byte) int {
	if n := contraction(b); n > 0 {
		return n
	}
	start := 0
	if b[0] == ' ' {
		start = 1
	}
	if start < len(b) {
		kind, size := kindAt(b[start:])
		if kind != space {
			end := start + size
			for end < len(b) {
				k, size := kindAt(b[end:])
				if k != kind {
					break
				}
				end += size
			}
			return end
		}
	}
	// White space. Where a word follows, its last rune is left to that word.
	end, last := 0, 0
	for end < len(b) {
		kind, size := kindAt(b[end:])
		if kind != space {
			if last > 0 {
				return last
			}
			break
		}
		last = end
		end += size
	}
	return end
}

// contraction returns the length of the English ending that b begins with.
func contraction(b []byte) int {
	if len(b) < 2 || b[0] != '\'' {
		return 0
	}
	switch b[1] {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(b) > 2 && b[2] == 'e' {
			return 3
		}
	case 'l':
		if len(b) > 2 && b[2] == 'l' {
			return 3
		}
	}
	return 0
}

// kind is what the runes of one word have in common.
type kind uint8

const (
	other kind = iota
	letter
	digit
	space
)

// kindAt returns the kind of the first rune of b and its length in bytes.
func kindAt(b []byte) (kind, int) {
	if c := b[0]; c < utf8.RuneSelf {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			return letter, 1
		case '0' <= c && c <= '9':
			return digit, 1
		case c == ' ' || '\t' <= c && c <= '\r':
			return space, 1
		default:
			return other, 1
		}
	}
	switch r, size := utf8.DecodeRune(b); {
	case r == utf8.RuneError && size == 1:
		return other, 1
	case unicode.IsLetter(r):
		return letter, size
	case unicode.IsNumber(r):
		return digit, size
	case unicode.Is(unicode.White_Space, r):
		return space, size
	default:
		return other, size
	}
}
