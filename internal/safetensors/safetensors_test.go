package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ExampleWrite() {
	var b bytes.Buffer
	f := File{
		Metadata: map[string]string{"step": "2000"},
		Tensors:  []Tensor{{Name: "fc.bias", Shape: []int{2}, Data: []float32{1, 2}}},
	}
	if err := Write(&b, f); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.TrimSpace(b.String()[8 : b.Len()-8]))
	back, err := Read(&b, int64(b.Len()))
	fmt.Println(back.Tensors, err)
	// Output:
	// {"__metadata__":{"step":"2000"},"fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}
	// [{fc.bias F32 [2] [1 2]}] <nil>
}

// sameFile compares bits, so that a NaN equals itself and zeros differ by sign.
func sameFile(a, b File) bool {
	return reflect.DeepEqual(a.Metadata, b.Metadata) && slices.EqualFunc(a.Tensors, b.Tensors, func(a, b Tensor) bool {
		return a.Name == b.Name && a.DType == b.DType && slices.Equal(a.Shape, b.Shape) &&
			slices.EqualFunc(a.Data, b.Data, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
	})
}

// build assembles a file from a header and data, with the header's true length.
func build(header string, data ...byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func readBytes(b []byte) (File, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func TestWhatIsWrittenReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String().Filter(func(s string) bool { return s != metadataKey }), 0, 6, rapid.ID).Draw(t, "names")
		f := File{}
		if m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "metadata"); len(m) > 0 {
			f.Metadata = m
		}
		for _, name := range names {
			shape := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 4).Draw(t, "shape")
			n := 1
			for _, d := range shape {
				n *= d
			}
			data := make([]float32, n)
			for i := range data {
				data[i] = math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
			}
			f.Tensors = append(f.Tensors, Tensor{name, F32, shape, data})
		}
		var b bytes.Buffer
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
		if n := binary.LittleEndian.Uint64(b.Bytes()); n%8 != 0 {
			t.Fatalf("header of %d bytes", n)
		}
		back, err := readBytes(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !sameFile(f, back) {
			t.Fatalf("wrote %v, read %v", f, back)
		}
	})
}

func TestTensorsLongerThanABufferReadBack(t *testing.T) {
	f := File{}
	for _, n := range []int{1, chunk/4 - 1, chunk / 4, chunk/4 + 1, 3*chunk + 5} {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(i)
		}
		f.Tensors = append(f.Tensors, Tensor{fmt.Sprint(n), F32, []int{n}, data})
	}
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	back, err := Read(&b, int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if !sameFile(f, back) {
		t.Error("what was read differs")
	}
}

func TestReadRefuses(t *testing.T) {
	one := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"w":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	huge := binary.LittleEndian.AppendUint64(nil, maxHeader+1)
	eight := make([]byte, 8)
	inf64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e39))
	odd := binary.LittleEndian.AppendUint64(nil, 1<<24+1)
	for _, c := range []struct {
		name, want string
		file       []byte
	}{
		{"an empty file", "0 bytes, expected at least the 8", nil},
		{"a header too long", "header of 100000001 bytes, expected at most 100000000", huge},
		{"a length above int64", "expected at most 100000000", bytes.Repeat([]byte{0xff}, 8)},
		{"a header past the end", "header of 100 bytes in a file of 10", append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...)},
		{"no header", "does not begin with {", build("")},
		{"a space first", "does not begin with {", build(" {}")},
		{"a list", "does not begin with {", build("[]")},
		{"half an object", "JSON: unexpected EOF", build("{")},
		{"text behind the object", "something other than spaces", build("{}x")},
		{"bytes that are not UTF-8", "not UTF-8", build("{\"\xff\":1}")},
		{"an unknown dtype", `tensor "w": dtype "F8_E4M3" is not one of F64, F32`, build(one(`"F8_E4M3"`, "[8]", "[0,8]"), eight...)},
		{"a dtype that is no string", `tensor "w": dtype is 3, expected a string`, build(one(`3`, "[8]", "[0,8]"), eight...)},
		{"a negative dimension", `tensor "w": shape holds -2, expected whole numbers from 0`, build(one(`"F32"`, "[-2]", "[0,8]"), eight...)},
		{"a fraction", "shape holds 2.0, expected whole", build(one(`"F32"`, "[2.0]", "[0,8]"), eight...)},
		{"a quoted number", `shape holds "2", expected whole`, build(one(`"F32"`, `["2"]`, "[0,8]"), eight...)},
		{"a shape that is null", "shape is null, expected an array", build(one(`"F32"`, `null`, "[0,8]"), eight...)},
		{"a shape that overflows", "more elements than can be addressed", build(one(`"F32"`, "[4294967296,4294967296,4294967296]", "[0,8]"), eight...)},
		{"a shape that does not fit", `tensor "w": shape [3] of F32 needs 12 bytes, data_offsets span 8`, build(one(`"F32"`, "[3]", "[0,8]"), eight...)},
		{"one offset", "data_offsets hold 1 numbers", build(one(`"F32"`, "[2]", "[8]"), eight...)},
		{"offsets backwards", "end at 0, before their begin at 8", build(one(`"F32"`, "[2]", "[8,0]"), eight...)},
		{"a hole at the start", `tensor "w": data begins at 4, expected 0`, build(one(`"F32"`, "[1]", "[4,8]"), eight...)},
		{"data past the end", `tensor "w": data ends at 12, the file holds 8 bytes`, build(one(`"F32"`, "[3]", "[0,12]"), eight...)},
		{"data left over", "8 bytes of data, its tensors fill 4", build(one(`"F32"`, "[1]", "[0,4]"), eight...)},
		{"overlap", `tensor "b": data begins at 4, expected 8`, build(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, eight...)},
		{"a missing key", "expected each of dtype, shape and data_offsets", build(`{"w":{"dtype":"F32","shape":[2]}}`, eight...)},
		{"an unknown key", `tensor "w": unknown key "Shape"`, build(`{"w":{"dtype":"F32","Shape":[2],"data_offsets":[0,8]}}`, eight...)},
		{"a tensor twice", `"w" is given twice`, build(`{"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"\u0077":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`)},
		{"a key twice", `tensor "w": "shape" is given twice`, build(`{"w":{"dtype":"F32","shape":[0],"shape":[0],"data_offsets":[0,0]}}`)},
		{"a tensor that is null", `tensor "w": JSON: got <nil>, expected an object`, build(`{"w":null}`)},
		{"metadata that is no text", `__metadata__: "step" is 3, expected a string`, build(`{"__metadata__":{"step":3}}`)},
		{"metadata twice", `__metadata__: "a" is given twice`, build(`{"__metadata__":{"a":"","a":""}}`)},
		{"a double out of range", `tensor "w": element 0 is 1e+39, beyond the range of float32`, build(one(`"F64"`, "[]", "[0,8]"), inf64...)},
		{"an integer float32 cannot hold", `tensor "w": element 0 is 16777217, expected at most 2^24`, build(one(`"I64"`, "[]", "[0,8]"), odd...)},
		{"an unsigned one", "element 0 is 18446744073709551615, expected at most 2^24", build(one(`"U64"`, "[]", "[0,8]"), bytes.Repeat([]byte{0xff}, 8)...)},
		{"a BOOL of 2", "element 1 is 2, expected 0 or 1", build(one(`"BOOL"`, "[2]", "[0,2]"), 1, 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readBytes(c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "safetensors: ") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestReadRefusesAFileShorterThanItsSize(t *testing.T) {
	b := build(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)...)
	for n := range b {
		if _, err := Read(bytes.NewReader(b[:n]), int64(len(b))); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	ok := Tensor{Name: "w", Shape: []int{1}, Data: []float32{1}}
	for _, c := range []struct {
		name, want string
		file       File
	}{
		{"a name twice", `tensor "w": is given twice`, File{Tensors: []Tensor{ok, ok}}},
		{"the reserved name", "the name is reserved", File{Tensors: []Tensor{{Name: metadataKey, Data: []float32{1}}}}},
		{"a name that is not UTF-8", "not UTF-8", File{Tensors: []Tensor{{Name: "\xff", Data: []float32{1}}}}},
		{"metadata that is not UTF-8", "not UTF-8", File{Metadata: map[string]string{"a": "\xff"}}},
		{"another dtype", `tensor "w": dtype is "F16", only F32 is written`, File{Tensors: []Tensor{{"w", F16, nil, []float32{1}}}}},
		{"a shape that does not fit", `tensor "w": 2 elements of data: shape [3] of F32 needs 12 bytes`, File{Tensors: []Tensor{{"w", F32, []int{3}, []float32{1, 2}}}}},
		{"negative dimensions", "negative", File{Tensors: []Tensor{{"w", F32, []int{-1, -2}, []float32{1, 2}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if b.Len() > 0 {
				t.Errorf("%d bytes were written", b.Len())
			}
		})
	}
}

func TestWriteReturnsTheWritersError(t *testing.T) {
	full := errors.New("disk full")
	f := File{Tensors: []Tensor{{"w", F32, []int{3 * chunk}, make([]float32, 3*chunk)}}}
	for _, after := range []int{0, 1, chunk, 5 * chunk} {
		if err := Write(&limited{after, full}, f); !errors.Is(err, full) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
}

// limited fails with err after n bytes.
type limited struct {
	n   int
	err error
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.n {
		return 0, l.err
	}
	l.n -= len(p)
	return len(p), nil
}

func TestReadFileNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.safetensors")
	if err := os.WriteFile(path, build("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if _, err := ReadFile(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder gives %v", err)
	}
	if _, err := ReadFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
}
