package optim

import (
	"errors"
	"fmt"
	"slices"
)

// EMA keeps an exponential moving average of weights and running statistics, which often evaluates better than the weights do.
//
//	Update:  average = d·average + (1-d)·value
//
// The first Update copies the values. The zero EMA decays by 0.999. Use one for one run, by pointer.
// Every call must be given the same vectors in the same order; their Data is the model's own memory.
type EMA struct {
	Decay  float64 `yaml:"decay,omitempty"`  // d, in [0, 1); 0 means 0.999
	Warmup bool    `yaml:"warmup,omitempty"` // d = min(Decay, (1+t)/(10+t)) with t the number of Updates before, so that early values fade soon

	updates  int64
	averages []Vector // under the model's names
	loaded   []Vector // given by SetState, until the first call after it takes them
	swapped  bool
}

// Check returns an error if Decay is out of range. Update calls it too.
func (e *EMA) Check() error { return below1("decay", e.Decay) }

// Update brings the values into the averages. While the averages are swapped in, it is an error.
func (e *EMA) Update(values []Vector) error {
	if err := e.Check(); err != nil {
		return err
	}
	if e.swapped {
		return errors.New("optim: EMA updated while the averages are swapped in")
	}
	if e.averages == nil && e.loaded == nil {
		if err := uniqueNames(values); err != nil {
			return fmt.Errorf("optim: EMA: %w", err)
		}
		e.averages = cloneVectors(values)
		e.updates++
		return nil
	}
	if err := e.match(values); err != nil {
		return err
	}
	d := or(e.Decay, 0.999)
	if e.Warmup {
		t := float64(e.updates)
		d = min(d, (1+t)/(10+t))
	}
	rest := float32(1 - d)
	for i, v := range values {
		average := e.averages[i].Data[:len(v.Data)]
		for j, x := range v.Data {
			average[j] += rest * (x - average[j])
		}
	}
	e.updates++
	return nil
}

// Swap exchanges the values with the averages, in place and exactly: the first call puts the averages into the model, for evaluation,
// and the second restores the model.
func (e *EMA) Swap(values []Vector) error {
	if e.averages == nil && e.loaded == nil {
		return errors.New("optim: EMA swapped before the first update")
	}
	if err := e.match(values); err != nil {
		return err
	}
	for i, v := range values {
		average := e.averages[i].Data[:len(v.Data)]
		for j, x := range v.Data {
			v.Data[j], average[j] = average[j], x
		}
	}
	e.swapped = !e.swapped
	return nil
}

// State returns a copy of what a checkpoint must keep, apart from the settings. It panics while the averages are swapped in.
func (e *EMA) State() []Vector {
	if e.swapped {
		panic("optim: EMA.State while the averages are swapped in")
	}
	state := []Vector{countVector("updates", e.updates)}
	state = append(state, cloneVectors(e.loaded)...)
	for _, v := range e.averages {
		state = append(state, Vector{averageName(v.Name), slices.Clone(v.Data)})
	}
	return state
}

// SetState continues from a State, whatever its order; it copies. The next call with values returns an error unless the names and sizes
// are the same. It panics while the averages are swapped in.
func (e *EMA) SetState(state []Vector) error {
	if e.swapped {
		panic("optim: EMA.SetState while the averages are swapped in")
	}
	if err := uniqueNames(state); err != nil {
		return fmt.Errorf("optim: EMA: %w", err)
	}
	updates, averages, err := takeCount(state, "updates")
	if err != nil {
		return fmt.Errorf("optim: EMA: %w", err)
	}
	e.updates, e.averages, e.loaded = updates, nil, nil
	if updates > 0 || len(averages) > 0 {
		e.loaded = cloneVectors(averages)
	}
	return nil
}

// match makes sure that the averages are those of values, taking what was loaded first.
func (e *EMA) match(values []Vector) error {
	if e.averages == nil {
		stored := make([]Vector, len(values))
		averages := make([]Vector, len(values))
		for i, v := range values {
			averages[i] = Vector{v.Name, make([]float32, len(v.Data))}
			stored[i] = Vector{averageName(v.Name), averages[i].Data}
		}
		if err := errors.Join(uniqueNames(values), fill(stored, e.loaded)); err != nil {
			return fmt.Errorf("optim: EMA: %w", err)
		}
		e.averages, e.loaded = averages, nil
	}
	if len(values) != len(e.averages) {
		return fmt.Errorf("optim: EMA of %d vectors, at first there were %d", len(values), len(e.averages))
	}
	for i, v := range values {
		if a := e.averages[i]; a.Name != v.Name || len(a.Data) != len(v.Data) {
			return fmt.Errorf("optim: EMA: vector %d is %s of %d elements, at first it was %s of %d", i, v.Name, len(v.Data), a.Name, len(a.Data))
		}
	}
	return nil
}

func averageName(name string) string { return "average." + name }
