package jpeg

import "bytes"

// tableKind says what the entries of a table are for.
type tableKind uint8

const (
	tableDC      tableKind = iota // sizes of differences
	tableAC                       // runs and sizes in a whole block
	tableSymbols                  // plain symbols, for the scans of progressive files
)

// An entry of a look-up table tells what the next bits mean. From the lowest bit on:
//
//	bits 0–5    how many bits code and value have in all
//	bits 8–15   how far the position in the block moves: the run and one, or endOfBlock, or badCode
//	bits 16–21  how many bits the code has
//	bits 24–29  63 less the bits of the value
//	bit 31      the code is longer than lookBits: bits 0–23 are where its second table begins, or noCode
//
// In tableSymbols bits 8–15 are the symbol, and there is no value.
const (
	lookBits   = 10 // of the first table
	secondBits = maxCode - lookBits
	maxCode    = 16 // bits of the longest code

	link       = 1 << 31
	endOfBlock = 0x80
	badCode    = 0xc0
)

// huffman is a Huffman table with what is made of it to decode. It keeps that as long as the table stays the same.
type huffman struct {
	spec [maxCode + 256]byte // counts of codes by length, and symbols, as files have them
	n    int                 // bytes of spec

	built  [maxCode + 256]byte // the spec that look is made of
	builtN int
	kind   tableKind
	look   []uint32
}

// set takes a table as files have it; ok is false if it has more codes than there can be.
func (h *huffman) set(counts, symbols []byte) (ok bool) {
	h.n = copy(h.spec[:], counts) + copy(h.spec[maxCode:], symbols)
	code := 0 // the first that is longer
	for _, c := range counts {
		if code = code<<1 + int(c); code > 1<<maxCode {
			return false
		}
	}
	return true
}

// build makes look.
func (h *huffman) build(kind tableKind) {
	spec := h.spec[:h.n]
	if h.look != nil && kind == h.kind && bytes.Equal(spec, h.built[:h.builtN]) {
		return
	}
	h.builtN, h.kind = copy(h.built[:], spec), kind
	if h.look == nil {
		h.look = make([]uint32, 1<<lookBits, 4<<lookBits)
	}
	h.look = h.look[:1<<lookBits]
	bad := h.bad()
	for i := range h.look {
		h.look[i] = bad
	}
	code, symbols := 0, spec[maxCode:]
	for length := 1; length <= maxCode; length++ {
		for range spec[length-1] {
			e := h.entry(length, symbols[0])
			symbols = symbols[1:]
			if length <= lookBits {
				fill(h.look[code<<(lookBits-length):][:1<<(lookBits-length)], e)
			} else {
				first := &h.look[code>>(length-lookBits)]
				if *first&link == 0 {
					at := len(h.look)
					*first = link | uint32(at)
					for range 1 << secondBits {
						h.look = append(h.look, bad)
					}
				}
				second := h.look[h.look[code>>(length-lookBits)]&^link:][:1<<secondBits]
				fill(second[code&(1<<(length-lookBits)-1)<<(maxCode-length):][:1<<(maxCode-length)], e)
			}
			code++
		}
		code <<= 1
	}
}

func fill(table []uint32, e uint32) {
	for i := range table {
		table[i] = e
	}
}

// bad is the entry of what is no code: it takes no bits.
func (h *huffman) bad() uint32 { return badCode<<8 | 63<<24 }

// maxSizeDC and maxSizeAC are the bits of the largest values that 8-bit pictures have (F.1.2).
const (
	maxSizeDC = 11
	maxSizeAC = 10
)

// entry is the entry of a symbol with a code of length bits.
func (h *huffman) entry(length int, symbol byte) uint32 {
	run, size, move, most := int(symbol>>4), int(symbol&15), 1, maxSizeAC
	switch h.kind {
	case tableSymbols:
		return uint32(length) | uint32(symbol)<<8 | uint32(length)<<16 | 63<<24
	case tableDC:
		size, most = int(symbol), maxSizeDC
	case tableAC:
		move = run + 1
		if size == 0 && run != 15 {
			if run > 0 {
				return h.bad()
			}
			move = endOfBlock
		}
	}
	if size > most {
		return h.bad()
	}
	return uint32(length+size) | uint32(move)<<8 | uint32(length)<<16 | uint32(63-size)<<24
}
