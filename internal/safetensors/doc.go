// Package safetensors reads and writes weights in the safetensors format, which PyTorch and most of its peers read too.
//
// A file is an 8-byte little-endian length, a JSON header of that length and the data:
//
//	{"__metadata__": {"step": "2000"}, "fc.weight": {"dtype": "F32", "shape": [10, 64], "data_offsets": [0, 2560]}, …}
//
// Offsets count from the end of the header. The tensors fill the data without holes or overlap, in row-major order.
// This package holds every tensor as float32: it writes F32 only, and converts what it reads.
//
// The format: https://github.com/huggingface/safetensors
package safetensors

// File is the content of one file. The zero File is a valid file without tensors.
type File struct {
	Metadata map[string]string // free text of the writer; nil if there is none
	Tensors  []Tensor          // in the order of their data
}

// Tensor is a named array in row-major order. A Shape of length 0 is a scalar, of one element.
type Tensor struct {
	Name  string
	DType DType // the type in the file; Data is float32 whatever it is. Empty means F32.
	Shape []int
	Data  []float32 // as many elements as the product of Shape
}

// DType is the name of an element type as it stands in a header.
type DType string

// The element types that can be read. A tensor of another type is an error of reading.
// F32, F16, BF16, BOOL and integers of 8 and 16 bits convert exactly. F64 is rounded to the nearest float32, and a finite value
// beyond the range of float32 is an error. An integer of 32 or 64 bits beyond ±2^24, to which float32 is exact, is an error.
const (
	F64  DType = "F64"
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64"
	I32  DType = "I32"
	I16  DType = "I16"
	I8   DType = "I8"
	U64  DType = "U64"
	U32  DType = "U32"
	U16  DType = "U16"
	U8   DType = "U8"
	Bool DType = "BOOL"
)

// size is the bytes of one element, 0 for a type that cannot be read.
func (t DType) size() int64 {
	switch t {
	case F64, I64, U64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case I8, U8, Bool:
		return 1
	}
	return 0
}

// maxHeader is the longest header the reference implementation accepts, in bytes.
const maxHeader = 100_000_000

// metadataKey is the one name in a header that is not a tensor's.
const metadataKey = "__metadata__"
