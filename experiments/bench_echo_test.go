package experiments

import (
	"runtime"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/echo"
)

func TestTheEchoBenchMeasuresEveryRatioAndFactor(t *testing.T) {
	b := EchoBench{Rounds: 1, Batches: 4, Ratios: []float64{6}, Factors: []echo.Factor{1, 5}, Threads: 1}
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	got, err := b.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Cells) != 2 || got.Overhead == nil || got.Overhead.R != 6 || got.Step.Median <= 0 {
		t.Fatalf("got %+v", got)
	}
	for _, c := range got.Cells {
		if c.R != 6 || c.Measured <= 0 || c.Predicted < 6*got.Step.Least/64 || c.Least > c.Error || c.Most < c.Error {
			t.Errorf("got %+v", c)
		}
	}
	if runtime.GOOS != "linux" {
		return
	}
	if len(got.Memory) != 4 {
		t.Fatalf("the memory is %+v", got.Memory)
	}
	for _, m := range got.Memory {
		if base := got.Memory[0].RSS; m.RSS < heldBuffer*3072 && m.Factor == 1 || float64(m.RSS) > 1.5*float64(base) {
			t.Errorf("%s ×%g takes %v, and example ×1 %v", m.Strategy, m.Factor, Bytes(m.RSS), Bytes(base))
		}
	}
}

func TestAnEchoBenchIsWrittenAsATable(t *testing.T) {
	times := EchoTimes{
		Rounds: 7, Cores: 2, Threads: 1, Kernel: "avx512", Model: "m", Batch: 32, Step: MedianRange{8, 7.9, 8.2},
		Cells:    []EchoCell{{1, 1, 0.25, 0.25, 0.01, -0.01, 0.02}, {6, 5, 1.5, 1.6, -0.025, -0.03, -0.02}},
		Overhead: &Overhead{6, 5, 0.004, -0.001, 0.008},
		Memory:   []EchoMemory{{echo.Example, 8, 3 << 20}},
	}
	var b strings.Builder
	if err := times.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"R  factor  ms per fresh example  predicted   error   least    most\n1       1                0.2500     0.2500  +1.0 %  -1.0 %  +2.0 %",
		"The largest error is 2.5 %", "at factor 5 and R 6 takes +0.4 % more", "example        8   3.0 MiB\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestAnEchoBenchOutOfRangeIsRefused(t *testing.T) {
	good := EchoBench{Rounds: 1, Batches: 4, Ratios: []float64{1}, Factors: []echo.Factor{1}, Threads: 1}
	for want, spoil := range map[string]func(*EchoBench){
		"0 rounds":           func(b *EchoBench) { b.Rounds = 0 },
		"3 batches":          func(b *EchoBench) { b.Batches = 3 },
		"R is 0":             func(b *EchoBench) { b.Ratios = []float64{0} },
		"the factor is auto": func(b *EchoBench) { b.Factors = []echo.Factor{echo.Auto} },
		"no factor":          func(b *EchoBench) { b.Factors = nil },
	} {
		b := good
		spoil(&b)
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}
