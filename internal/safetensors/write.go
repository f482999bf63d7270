package safetensors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// Write writes f to w: the tensors in the order given, the metadata sorted by key, so that equal files give equal bytes.
// It checks everything before the first byte: a name given twice, one that is not UTF-8, a shape that does not fit its data,
// or a DType other than F32 is an error. The header is padded with spaces so that the data begins at a multiple of 8 bytes.
func Write(w io.Writer, f File) error {
	if err := write(w, f); err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	return nil
}

func write(w io.Writer, f File) error {
	header, err := formatHeader(f)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, chunk)
	b.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) // a bufio.Writer keeps its first error for Flush
	b.Write(header)
	for _, t := range f.Tensors {
		for part := range slices.Chunk(t.Data, chunk/4) {
			if b.Available() < 4*len(part) {
				if err := b.Flush(); err != nil {
					return err
				}
			}
			raw := b.AvailableBuffer()
			for _, v := range part {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			b.Write(raw)
		}
	}
	return b.Flush()
}

// formatHeader returns the header of f with its padding.
func formatHeader(f File) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	if len(f.Metadata) > 0 {
		for k, v := range f.Metadata {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, fmt.Errorf("metadata %q is not UTF-8", k)
			}
		}
		fmt.Fprintf(&b, "%q:%s", metadataKey, asJSON(f.Metadata))
	}
	seen := map[string]bool{}
	var at int64
	for _, t := range f.Tensors {
		e, err := describe(t, at)
		if err == nil && seen[t.Name] {
			err = errors.New("is given twice")
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		seen[t.Name] = true
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `%s:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, asJSON(t.Name), asJSON(e.shape), e.begin, e.end)
		at = e.end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("header of %d bytes, expected at most %d", b.Len(), maxHeader)
	}
	return b.Bytes(), nil
}

// describe returns the header entry of t for data that begins at byte begin.
func describe(t Tensor, begin int64) (entry, error) {
	if t.Name == metadataKey {
		return entry{}, errors.New("the name is reserved")
	}
	if !utf8.ValidString(t.Name) {
		return entry{}, errors.New("the name is not UTF-8")
	}
	if t.DType != "" && t.DType != F32 {
		return entry{}, fmt.Errorf("dtype is %q, only F32 is written", t.DType)
	}
	e := entry{name: t.Name, dtype: F32, shape: append([]int{}, t.Shape...), begin: begin, end: begin + 4*int64(len(t.Data))}
	for _, d := range t.Shape {
		if d < 0 {
			return entry{}, fmt.Errorf("shape %v has a negative dimension", t.Shape)
		}
	}
	if err := e.check(); err != nil {
		return entry{}, fmt.Errorf("%d elements of data: %w", len(t.Data), err)
	}
	return e, nil
}

// asJSON formats strings, lists of integers and maps of strings, which cannot fail.
func asJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("safetensors: " + err.Error())
	}
	return text
}
