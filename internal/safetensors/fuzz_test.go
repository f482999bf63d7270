package safetensors

import (
	"bytes"
	"os"
	"testing"
)

// FuzzRead feeds any bytes to Read: it must not panic, and what it accepts must survive writing and reading.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("testdata/golden.safetensors")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(golden[:len(golden)-1])
	f.Add(golden[:40])
	f.Add(build("{}"))
	f.Add(build(`{"__metadata__":{"a":"b"}}   `))
	f.Add(build(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 0, 0, 128, 63, 0, 0, 192, 127))
	f.Add(build(`{"w":{"dtype":"F32","shape":[2,],"data_offsets":[0,8]}}`))
	f.Add(build(`{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`))
	f.Add(build(`{"w":null,"w":{}}`))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := readBytes(b)
		if err != nil {
			return
		}
		var data int
		for i := range file.Tensors {
			data += len(file.Tensors[i].Data)
			file.Tensors[i].DType = F32 // what was converted is written as F32
		}
		if data > len(b) {
			t.Fatalf("%d elements from %d bytes", data, len(b))
		}
		if len(file.Metadata) == 0 {
			file.Metadata = nil // none and an empty one are written alike
		}
		var out bytes.Buffer
		if err := Write(&out, file); err != nil {
			t.Fatal(err)
		}
		back, err := readBytes(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !sameFile(file, back) {
			t.Fatalf("read %v, then %v", file, back)
		}
	})
}
