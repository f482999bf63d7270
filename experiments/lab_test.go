package experiments

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gorgonia.org/gorgonia"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/optim"
	"github.com/reprise-ml/reprise/train/report"
)

// lab is a source of 8×8 pictures, 192 bytes each, that a test looks into:
// class is even or odd, and the brightness tells it, but for noise.
type lab struct {
	Records int `yaml:"records"` // of train; 0 means no end

	more  int                                                      // further records of train, which no Spec tells of
	noise int                                                      // 0 to 255
	turn  int                                                      // from this record of train on, classes are the wrong way round; 0 means nowhere
	swap  bool                                                     // classes of validation are the wrong way round
	reads func(ctx context.Context, base string, record int) error // is told of every read; an error fails it
	nap   time.Duration                                            // that decoding a picture takes; 0 means that it is decoded already
	mu    *sync.Mutex
	seen  map[string][]int // records read, by part, in the order of the reads
}

// newLab returns a lab and a registry that knows it, and an optimizer called
// slow whose step takes 10 ms, and a drowsy augmentation.
func newLab(records int) (*lab, Registry) {
	l := &lab{Records: records, mu: new(sync.Mutex), seen: map[string][]int{}}
	r := DefaultRegistry()
	r.Sources["lab"] = func() Source { return l }
	r.Optimizers["slow"] = func() Optimizer { return new(slow) }
	r.Augmentations["drowsy"] = func() data.Augmentation { return new(drowsy) }
	return l, r
}

func (l *lab) Bases() ([]string, error) { return []string{"train", "validation", "test"}, nil }

func (l *lab) Open(base string) (data.Source, error) {
	n := l.Records
	switch {
	case base != "train":
		n = 16
	case n == 0:
		n = data.Endless
	default:
		n += l.more
	}
	return &labPart{l, base, n}, nil
}

type labPart struct {
	lab  *lab
	base string
	n    int
}

func (p *labPart) Len() int          { return p.n }
func (p *labPart) Classes() []string { return []string{"even", "odd"} }
func (p *labPart) Label(i int) int {
	if p.base == "train" && p.lab.turn > 0 && i >= p.lab.turn {
		return 1 - i%2
	}
	if p.base == "validation" && p.lab.swap {
		return 1 - i%2
	}
	return i % 2
}

func (p *labPart) Read(ctx context.Context, i int) (data.Example, error) {
	p.lab.mu.Lock()
	p.lab.seen[p.base] = append(p.lab.seen[p.base], i)
	p.lab.mu.Unlock()
	if p.lab.reads != nil {
		if err := p.lab.reads(ctx, p.base, i); err != nil {
			return data.Example{}, err
		}
	}
	r := rand.New(rand.NewPCG(uint64(i), uint64(len(p.base))))
	picture := data.Picture{Pix: make([]uint8, 8*8*3), Width: 8, Height: 8}
	for at := range picture.Pix {
		picture.Pix[at] = uint8(100 + 50*(i%2))
		if p.lab.noise > 0 {
			picture.Pix[at] = uint8(min(max(100+50*(i%2)+r.IntN(2*p.lab.noise)-p.lab.noise, 0), 255))
		}
	}
	e := data.Example{Input: picture, Target: data.Class(p.Label(i))}
	if p.lab.nap > 0 {
		e.Input = napping{picture, p.lab.nap}
	}
	return e, nil
}

// napping is a picture that takes a time to decode.
type napping struct {
	data.Picture
	nap time.Duration
}

func (n napping) Unpack(e data.Example) (data.Example, error) {
	time.Sleep(n.nap)
	e.Input = n.Picture
	return e, nil
}

// drowsy is an augmentation that takes a time.
type drowsy struct {
	Nap time.Duration `yaml:"nap"`
}

func (d *drowsy) Augment(p data.Picture, _ *rand.Rand) (data.Picture, error) {
	time.Sleep(d.Nap)
	return p, nil
}

// slow is SGD whose step takes 10 ms of the time of a synctest bubble.
type slow struct {
	optim.SGD `yaml:",inline"`
	step      func() // is told of every step, unless it is nil
}

func (o *slow) Step(weights []gorgonia.ValueGrad) error {
	if o.step != nil {
		o.step()
	}
	time.Sleep(10 * time.Millisecond)
	return o.SGD.Step(weights)
}

// ofLab is a spec on a lab. It computes with one thread: those of a pool spin
// for a while, which in a bubble, where time stands still meanwhile, would
// have no end.
const ofLab = `
data: {source: {lab: {records: 64}}, test: none}
input: {size: 8, augment: [flip], resize: []}
pipeline: {shuffle: 1, readers: 1, workers: 1}
model: {mlp: {hidden: [4]}}
train: {batch: 8, rate: {start: 0.01}, compute_threads: 1}
stop: {max_steps: 4}
evaluate: {every: 100 steps, batch: 16}
log: {every: 1 steps}
`

func parseWith(t *testing.T, r Registry, text string, sets ...string) Spec {
	t.Helper()
	s, err := r.Parse("test.yaml", text, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func metricsOf(t *testing.T, dir, kind string) []report.Line {
	t.Helper()
	all, err := report.ReadMetrics(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []report.Line
	for _, l := range all {
		if l.Kind == kind {
			lines = append(lines, l)
		}
	}
	return lines
}

// weightsOf reads a file of weights: the tensors by their names, and the step
// it was written at.
func weightsOf(t *testing.T, dir, name string) (tensors map[string][]float32, step string) {
	t.Helper()
	f, err := safetensors.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	tensors = map[string][]float32{}
	for _, x := range f.Tensors {
		tensors[x.Name] = x.Data
	}
	return tensors, f.Metadata["step"]
}

// sameFile reports whether two files hold the same bytes.
func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x, y)
}
