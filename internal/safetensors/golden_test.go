package safetensors

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
)

// The golden file was written by testdata/reference.py.
func TestReadAgreesWithAnIndependentWriter(t *testing.T) {
	f, err := ReadFile("testdata/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	negativeZero := float32(math.Copysign(0, -1))
	want := File{
		Metadata: map[string]string{"format": "pt", "note": "ünïcode \"quoted\""},
		Tensors: []Tensor{
			{"fc.weight", F32, []int{2, 3}, []float32{0.5, -1.25, 3e38, 1e-45, 0.1, negativeZero}},
			{"scalar", F32, []int{}, []float32{42}},
			{"empty", F32, []int{0, 4}, []float32{}},
			{"double", F64, []int{2}, []float32{0.1, negativeZero}},
			{"half", F16, []int{6}, []float32{1, -2, 0x1p-24, 65504, negativeZero, float32(math.Inf(1))}},
			{"bfloat", BF16, []int{2}, []float32{1, -123.5}},
			{"bn1.num_batches_tracked", I64, []int{}, []float32{1 << 24}},
			{"i32", I32, []int{2}, []float32{-7, 7}},
			{"i16", I16, []int{2}, []float32{-32768, 32767}},
			{"i8", I8, []int{2}, []float32{-128, 127}},
			{"u64", U64, []int{1}, []float32{9}},
			{"u32", U32, []int{1}, []float32{8}},
			{"u16", U16, []int{1}, []float32{65535}},
			{"u8", U8, []int{3}, []float32{0, 1, 255}},
			{"bool", Bool, []int{2}, []float32{1, 0}},
		},
	}
	if !sameFile(f, want) {
		t.Errorf("got  %v\nwant %v", f, want)
	}
}

func TestAnIndependentReaderReadsWhatIsWritten(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	f := File{
		Metadata: map[string]string{"step": "2000", "a": "ü\"<&\n"},
		Tensors: []Tensor{
			{Name: "layer1.0.conv1.weight", Shape: []int{2, 1, 1, 2}, Data: []float32{1, -2.5, 0.1, 1e-45}},
			{Name: "ä/\"b\"", Shape: []int{0}, Data: nil},
			{Name: "a", Shape: nil, Data: []float32{3e38}},
		},
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(python, "testdata/reference.py", "read", path)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	type array struct {
		Name  string
		Shape []int
		Data  []float32
	}
	var got struct {
		Metadata map[string]string
		Tensors  []array
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := []array{
		{"layer1.0.conv1.weight", []int{2, 1, 1, 2}, []float32{1, -2.5, 0.1, 1e-45}},
		{"ä/\"b\"", []int{0}, []float32{}},
		{"a", []int{}, []float32{3e38}},
	}
	if !reflect.DeepEqual(got.Tensors, want) || !reflect.DeepEqual(got.Metadata, f.Metadata) {
		t.Errorf("got %v\nwant %v %v", got, f.Metadata, want)
	}
}

func TestHalfAgreesWithTheDefinition(t *testing.T) {
	for h := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&0x1f, float64(h&0x3ff)
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction/1024, -14)
		case exponent == 0x1f && fraction == 0:
			want = math.Inf(int(sign))
		case exponent == 0x1f:
			want = math.NaN()
		}
		got := float64(fromHalf(uint16(h)))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) || math.Signbit(got) != (h>>15 == 1) {
			t.Fatalf("half %#04x is %g, want %g", h, got, want)
		}
	}
}
