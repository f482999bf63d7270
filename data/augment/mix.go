package augment

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/reprise-ml/reprise/data"
)

// Mix mixes the rows of a batch of pictures, and their classes in the same
// proportion, which makes soft labels of them: by [Mixup], by [Cutmix], or by
// one of the two, drawn for each batch. The zero Mix does not mix.
type Mix struct {
	Mixup       *Mixup  `yaml:"mixup,omitempty"`
	Cutmix      *Cutmix `yaml:"cutmix,omitempty"`
	Probability float64 `yaml:"probability,omitempty"` // share of the batches that are mixed; 0 means 1
	Switch      float64 `yaml:"switch,omitempty"`      // where both are given, the share of the mixed that is by cutmix; 0 means 0.5
	Redraw      bool    `yaml:"redraw,omitempty"`      // every copy of a batch echo is mixed anew; otherwise they are equal
	Classes     int     `yaml:"classes,omitempty"`     // of the labels; default: as many as the data has
}

// IsZero reports whether m does not mix.
func (m Mix) IsZero() bool { return m.Mixup == nil && m.Cutmix == nil }

// Check reports fields out of range.
func (m Mix) Check() error {
	switch {
	case m.IsZero() && m != Mix{}:
		return errors.New("augment: mix: neither mixup nor cutmix is given")
	case !(0 <= m.Probability && m.Probability <= 1):
		return fmt.Errorf("augment: mix: probability is %v, want above 0 and up to 1, or 0 for 1", m.Probability)
	case !(0 <= m.Switch && m.Switch <= 1):
		return fmt.Errorf("augment: mix: switch is %v, want above 0 and up to 1, or 0 for 0.5", m.Switch)
	case m.Switch > 0 && (m.Mixup == nil || m.Cutmix == nil):
		return errors.New("augment: mix: switch is given, which goes with both mixup and cutmix")
	case m.Classes < 0:
		return fmt.Errorf("augment: mix: classes is %d, want 1 or more, or 0 for those of the data", m.Classes)
	}
	for name, alpha := range m.alphas() {
		if !(alpha >= 0) || math.IsInf(alpha, 1) {
			return fmt.Errorf("augment: mix: %s.alpha is %v, want above 0, or 0 for 1", name, alpha)
		}
	}
	return nil
}

func (m Mix) alphas() map[string]float64 {
	a := map[string]float64{}
	if m.Mixup != nil {
		a["mixup"] = m.Mixup.Alpha
	}
	if m.Cutmix != nil {
		a["cutmix"] = m.Cutmix.Alpha
	}
	return a
}

// Batch returns b with its rows mixed, or not, and with targets of float32
// [N, Classes] in either case. It takes float32 inputs [N,…], [N,H,W,C] for
// cutmix, and int32 targets [N]. What it returns shares no pixels with b where
// it is mixed; b is not written to.
//
// Each row is mixed with the one that a permutation of the rows puts in its
// place, all in one proportion, as the authors do.
func (m Mix) Batch(b data.Batch, r *rand.Rand) (data.Batch, error) {
	labels, err := m.soft(b)
	if err != nil {
		return data.Batch{}, err
	}
	x := b.Inputs[0]
	rows := x.Shape[0]
	mixed, cut := r.Float64() < orElse(m.Probability, 1), r.Float64() < orElse(m.Switch, 0.5)
	partner := r.Perm(rows)
	share := float32(1) // that a row keeps of itself
	if mixed {
		out := data.Array{Shape: x.Shape, F32: make([]float32, len(x.F32))}
		if m.Mixup == nil || m.Cutmix != nil && cut {
			share, err = m.Cutmix.mix(out.F32, x, partner, r)
		} else {
			share = m.Mixup.mix(out.F32, x, partner, r)
		}
		if err != nil {
			return data.Batch{}, err
		}
		b.Inputs = []data.Array{out}
	}
	soft := data.Array{Shape: []int{rows, m.Classes}, F32: make([]float32, rows*m.Classes)}
	for i, j := range partner {
		row := soft.F32[i*m.Classes:][:m.Classes]
		row[labels[i]] += share
		row[labels[j]] += 1 - share
	}
	b.Targets = []data.Array{soft}
	return b, nil
}

// soft returns the classes of a batch that can be mixed.
func (m Mix) soft(b data.Batch) ([]int32, error) {
	if len(b.Inputs) != 1 || b.Inputs[0].F32 == nil {
		return nil, errors.New("augment: mix: the batch has no pictures")
	}
	if len(b.Targets) != 1 || b.Targets[0].I32 == nil || len(b.Targets[0].Shape) != 1 {
		return nil, errors.New("augment: mix: the batch has no classes")
	}
	if b.Weights.F32 != nil {
		return nil, errors.New("augment: mix: the rows of the batch have weights")
	}
	labels := b.Targets[0].I32
	for i, c := range labels {
		if c < 0 || int(c) >= m.Classes {
			return nil, fmt.Errorf("augment: mix: row %d is of class %d, want 0 to %d", i, c, m.Classes-1)
		}
	}
	return labels, nil
}

func orElse(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}
