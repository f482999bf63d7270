package experiments

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/data"
)

func TestTheInputOfADirectoryOfPicturesIsMeasured(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := synthFolder(t)
	for _, test := range []struct {
		transform          string
		decodeOnly, verify bool
	}{
		{transform: TransformCIFAR}, {transform: TransformImageNet, decodeOnly: true}, {transform: TransformImageNet, verify: true},
	} {
		if test.verify {
			if _, err := Verify(t.Context(), detect(t, dir), nil); err != nil {
				t.Fatal(err)
			}
		}
		b := InputBench{Path: dir, Transform: test.transform, DecodeOnly: test.decodeOnly, Workers: 2, Time: 50 * time.Millisecond}
		got, err := b.Run(t.Context(), DefaultRegistry())
		if err != nil {
			t.Fatal(err)
		}
		if got.PerSecond <= 0 || got.Images < 5 || got.AllocsPerOne <= 0 || got.Workers != 2 || got.Lenient != test.verify || (got.Transform == "") != test.decodeOnly {
			t.Errorf("%+v gives %+v", test, got)
		}
		if !(got.LeastPerCPU <= got.PerCPU && got.PerCPU <= got.BestPerCPU) {
			t.Errorf("least, median and best are %v, %v and %v", got.LeastPerCPU, got.PerCPU, got.BestPerCPU)
		}
		if pixels := 3. * 224 * 224; test.verify && got.BytesPerOne > 1.5*pixels {
			t.Errorf("%.0f bytes are allocated for a picture of %.0f", got.BytesPerOne, pixels)
		}
		text, err := json.Marshal(got)
		for _, key := range []string{"images_per_second", "images_per_cpu_second", "allocs_per_image", "bytes_per_image", "workers"} {
			if err != nil || !strings.Contains(string(text), `"`+key+`":`) {
				t.Errorf("%s lacks %s, %v", text, key, err)
			}
		}
		var words strings.Builder
		if err := got.Write(&words); err != nil || strings.Contains(words.String(), "verified") != test.verify {
			t.Errorf("it says %q, %v", words.String(), err)
		}
	}
}

func TestAnInputBenchThatCannotBeRunIsRefused(t *testing.T) {
	good := InputBench{Path: "x", Transform: TransformCIFAR, Workers: 1, Time: time.Second}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(b *InputBench){
		"the path of the data is missing":                 func(b *InputBench) { b.Path = "" },
		`the transform is "cifer"; did you mean "cifar"?`: func(b *InputBench) { b.Transform = "cifer" },
		"the workers are 0, want 1 to 4096":               func(b *InputBench) { b.Workers = 0 },
		"the time is 0s, want more than 0":                func(b *InputBench) { b.Time = 0 },
	} {
		b := good
		change(&b)
		if err := b.Check(); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	if _, err := good.Run(t.Context(), DefaultRegistry()); err == nil {
		t.Error("data that is not there is read")
	}
}

// A byte of filling before the end of the image, which image/jpeg bears.
func TestFilesThatOnlyTheStandardDecoderTakesAreReadWholeAlsoWhenTheyAreClean(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := synthFolder(t)
	var odd string
	err := filepath.WalkDir(filepath.Join(dir, "train"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".jpg") && odd == "" {
			odd = path
		}
		return err
	})
	if err != nil || odd == "" {
		t.Fatalf("no picture in %s, %v", dir, err)
	}
	b, err := os.ReadFile(odd)
	if err == nil {
		err = os.WriteFile(odd, slices.Concat(b[:len(b)-2], []byte{0xff, 0xff, 0xd9}), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Verify(t.Context(), detect(t, dir), nil); err != nil || v.Mark == "" {
		t.Fatalf("%+v, %v", v, err)
	}
	c := detect(t, dir)
	m, err := markOf(c)
	if err != nil || m == nil || !slices.Equal(m.Strict, []string{odd}) {
		t.Fatalf("the mark is %+v, %v; want %s to be strict", m, err, odd)
	}
	src, err := c.Value.Open("train")
	if err != nil {
		t.Fatal(err)
	}
	read := m.sound(src, data.FromSource(src))
	sound := 0
	for i := range src.Len() {
		e, err := read(t.Context(), data.Origin{Index: i})
		if err != nil {
			t.Fatal(err)
		}
		p := e.Input.(data.Picture)
		if p.Sound == (data.RecordName(src, i) == odd) {
			t.Errorf("%s: sound is %v", data.RecordName(src, i), p.Sound)
		}
		if p.Sound {
			sound++
		}
	}
	if sound != src.Len()-1 {
		t.Errorf("%d of %d are sound", sound, src.Len())
	}
}
