package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// entry is a tensor as the header describes it.
type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int64 // bytes of the data
}

// elements is the number of elements; check has made sure that it fits.
func (e entry) elements() int {
	n := 1
	for _, d := range e.shape {
		n *= d
	}
	return n
}

// check compares the shape with the bytes the entry spans.
func (e entry) check() error {
	size := e.dtype.size()
	if size == 0 {
		return fmt.Errorf("dtype %q is not one of F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL", e.dtype)
	}
	n := int64(1)
	for _, d := range e.shape {
		if d != 0 && n > math.MaxInt/8/int64(d) {
			return fmt.Errorf("shape %v has more elements than can be addressed", e.shape)
		}
		n *= int64(d)
	}
	if e.begin > e.end {
		return fmt.Errorf("data_offsets end at %d, before their begin at %d", e.end, e.begin)
	}
	if n*size != e.end-e.begin {
		return fmt.Errorf("shape %v of %s needs %d bytes, data_offsets span %d", e.shape, e.dtype, n*size, e.end-e.begin)
	}
	return nil
}

// parseHeader returns the entries in the order of their data, having checked that they fill dataSize bytes exactly.
func parseHeader(header []byte, dataSize int64) ([]entry, map[string]string, error) {
	if !utf8.Valid(header) {
		return nil, nil, errors.New("header is not UTF-8")
	}
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("header does not begin with {")
	}
	var entries []entry
	var metadata map[string]string
	err := parseObject(header, func(name string, value json.RawMessage) (err error) {
		if name == metadataKey {
			if metadata, err = parseMetadata(value); err != nil {
				return fmt.Errorf("%s: %w", metadataKey, err)
			}
			return nil
		}
		e, err := parseEntry(name, value)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	var at int64
	for _, e := range entries {
		if e.begin != at {
			return nil, nil, fmt.Errorf("tensor %q: data begins at %d, expected %d where the tensor before it ends", e.name, e.begin, at)
		}
		if e.end > dataSize {
			return nil, nil, fmt.Errorf("tensor %q: data ends at %d, the file holds %d bytes of data", e.name, e.end, dataSize)
		}
		at = e.end
	}
	if at != dataSize {
		return nil, nil, fmt.Errorf("the file holds %d bytes of data, its tensors fill %d", dataSize, at)
	}
	return entries, metadata, nil
}

// parseObject calls member for each member of a JSON object, in order. Unlike encoding/json it refuses a name given twice.
func parseObject(text []byte, member func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil {
		return fmt.Errorf("JSON: %w", eofIsUnexpected(err))
	} else if t != json.Delim('{') {
		return fmt.Errorf("JSON: got %v, expected an object", t)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("JSON: %w", eofIsUnexpected(err))
		}
		name := t.(string) // within an object the decoder accepts no other key
		if seen[name] {
			return fmt.Errorf("%q is given twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("JSON: %q: %w", name, eofIsUnexpected(err))
		}
		if err := member(name, value); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("JSON: %w", eofIsUnexpected(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("JSON: something other than spaces follows the object")
	}
	return nil
}

func eofIsUnexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func parseMetadata(text json.RawMessage) (map[string]string, error) {
	metadata := map[string]string{}
	err := parseObject(text, func(name string, value json.RawMessage) error {
		if value[0] != '"' {
			return fmt.Errorf("%q is %s, expected a string", name, value)
		}
		var s string
		if err := json.Unmarshal(value, &s); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		metadata[name] = s
		return nil
	})
	return metadata, err
}

func parseEntry(name string, text json.RawMessage) (entry, error) {
	e := entry{name: name}
	var shape, offsets []int64
	err := parseObject(text, func(key string, value json.RawMessage) (err error) {
		switch key {
		case "dtype":
			if value[0] != '"' {
				return fmt.Errorf("dtype is %s, expected a string", value)
			}
			return json.Unmarshal(value, &e.dtype)
		case "shape":
			shape, err = parseSizes(key, value)
		case "data_offsets":
			offsets, err = parseSizes(key, value)
		default:
			err = fmt.Errorf("unknown key %q, expected dtype, shape and data_offsets", key)
		}
		return err
	})
	if err != nil {
		return entry{}, err
	}
	if e.dtype == "" || shape == nil || offsets == nil {
		return entry{}, errors.New("expected each of dtype, shape and data_offsets")
	}
	if len(offsets) != 2 {
		return entry{}, fmt.Errorf("data_offsets hold %d numbers, expected begin and end", len(offsets))
	}
	e.shape = make([]int, len(shape))
	for i, d := range shape {
		if d > math.MaxInt {
			return entry{}, fmt.Errorf("shape %v has more elements than can be addressed", shape)
		}
		e.shape[i] = int(d)
	}
	e.begin, e.end = offsets[0], offsets[1]
	return e, e.check()
}

// parseSizes reads an array of whole numbers that are not negative. It never returns nil without an error.
func parseSizes(key string, text json.RawMessage) ([]int64, error) {
	var numbers []json.RawMessage
	if text[0] != '[' {
		return nil, fmt.Errorf("%s is %s, expected an array", key, text)
	}
	if err := json.Unmarshal(text, &numbers); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	sizes := make([]int64, len(numbers))
	for i, n := range numbers {
		v, err := strconv.ParseUint(string(n), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%s holds %s, expected whole numbers from 0", key, n)
		}
		sizes[i] = int64(v)
	}
	return sizes, nil
}
