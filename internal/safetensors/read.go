package safetensors

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// ReadFile reads the file at path. See Read.
func ReadFile(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, fmt.Errorf("safetensors: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, fmt.Errorf("safetensors: %w", err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("safetensors: %s is not a regular file", path)
	}
	file, err := read(f, info.Size())
	if err != nil {
		return File{}, fmt.Errorf("safetensors: %s: %w", path, err)
	}
	return file, nil
}

// Read reads a file of the given size in bytes from r. It checks the whole header against size before it allocates for data,
// and takes at most 4·size bytes for data. It refuses a header above 100 MB, a name given twice, offsets that leave holes, overlap
// or pass the end, and a value that float32 cannot hold (see the constants of DType).
func Read(r io.Reader, size int64) (File, error) {
	file, err := read(r, size)
	if err != nil {
		return File{}, fmt.Errorf("safetensors: %w", err)
	}
	return file, nil
}

func read(r io.Reader, size int64) (File, error) {
	if size < 8 {
		return File{}, fmt.Errorf("%d bytes, expected at least the 8 of the header's length", size)
	}
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return File{}, fmt.Errorf("header's length: %w", eofIsUnexpected(err))
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return File{}, fmt.Errorf("header of %d bytes, expected at most %d", n, maxHeader)
	}
	if int64(n) > size-8 {
		return File{}, fmt.Errorf("header of %d bytes in a file of %d", n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return File{}, fmt.Errorf("header: %w", eofIsUnexpected(err))
	}
	entries, metadata, err := parseHeader(header, size-8-int64(n))
	if err != nil {
		return File{}, err
	}
	file := File{Metadata: metadata, Tensors: make([]Tensor, len(entries))}
	buffered := bufio.NewReaderSize(r, chunk)
	for i, e := range entries {
		t := Tensor{Name: e.name, DType: e.dtype, Shape: e.shape, Data: make([]float32, e.elements())}
		if err := readData(buffered, t); err != nil {
			return File{}, fmt.Errorf("tensor %q: %w", e.name, err)
		}
		file.Tensors[i] = t
	}
	return file, nil
}

// chunk is the number of bytes converted at a time, a multiple of every element's size.
const chunk = 64 << 10

func readData(r *bufio.Reader, t Tensor) error {
	size := int(t.DType.size())
	for done := 0; done < len(t.Data); {
		n := min(len(t.Data)-done, chunk/size)
		raw, err := r.Peek(n * size)
		if err != nil {
			return fmt.Errorf("data: %w", eofIsUnexpected(err))
		}
		if err := convert(t.Data[done:done+n], raw, t.DType); err != nil {
			return err
		}
		if _, err := r.Discard(n * size); err != nil {
			return fmt.Errorf("data: %w", err)
		}
		done += n
	}
	return nil
}
