package experiments_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/experiments"
	"github.com/reprise-ml/reprise/nn"
)

// Stripes is a source of 4×4 pictures with upright or level stripes.
type Stripes struct{ Records int }

func (s *Stripes) Bases() ([]string, error)              { return []string{"train", "val"}, nil }
func (s *Stripes) Open(base string) (data.Source, error) { return s, nil }
func (s *Stripes) Len() int                              { return s.Records }
func (s *Stripes) Classes() []string                     { return []string{"upright", "level"} }
func (s *Stripes) Label(i int) int                       { return i % 2 }
func (s *Stripes) Read(_ context.Context, i int) (data.Example, error) {
	p := data.Picture{Pix: make([]uint8, 4*4*3), Width: 4, Height: 4}
	for at := range p.Pix {
		place := []int{at / 3 % 4, at / 3 / 4} // column and row
		p.Pix[at] = uint8(255 * ((place[i%2] + i/2) % 2))
	}
	return data.Example{Input: p, Target: data.Class(i % 2)}, nil
}

// Tiny is a model with one hidden layer.
type Tiny struct{ Units int }

func (m *Tiny) Build(of experiments.Shape) (nn.Model, error) {
	return nn.Single(nn.Sequential{nn.Flatten{}, nn.Linear{Out: m.Units}, nn.ReLU{}, nn.Linear{Out: of.Classes}}), nil
}

// Your own model on your own source, from your own main.
func Example() {
	r := experiments.DefaultRegistry()
	r.Sources["stripes"] = func() experiments.Source { return new(Stripes) }
	r.Models["tiny"] = func() experiments.Model { return new(Tiny) }
	spec, err := r.Parse("example", `{data: {source: {stripes: {records: 400}}}, input: {size: 4, augment: [flip]},
		model: {tiny: {units: 8}}, echo: {strategy: example, factor: 2}, train: {batch: 20, rate: {start: 0.05}}, stop: {max_epochs: 2}}`)
	if err != nil {
		panic(err)
	}
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	summary, err := (&experiments.Run{Spec: spec, Dir: dir}).Train(context.Background())
	fmt.Println(summary.Status, summary.FreshExamples, summary.Examples, *summary.FinalValError, err)
	// Output: done 801 1580 0 <nil>
}
