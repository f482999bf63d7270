package optim

import (
	"errors"
	"fmt"
	"strconv"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type named interface{ Name() string }

type decaying interface{ Decay() bool }

// nameOf is the name of the weight at position i.
func nameOf(w gorgonia.ValueGrad, i int) string {
	if n, ok := w.(named); ok {
		return n.Name()
	}
	return strconv.Itoa(i)
}

func decays(w gorgonia.ValueGrad) bool {
	d, ok := w.(decaying)
	return !ok || d.Decay()
}

// slicesOf returns the elements of the weight at position i and of its gradient, which are equally many.
func slicesOf(w gorgonia.ValueGrad, i int) (weight, grad []float32, err error) {
	if weight, err = floats(w.Value()); err != nil {
		return nil, nil, fmt.Errorf("optim: weight %s: %w", nameOf(w, i), err)
	}
	g, err := w.Grad()
	if err == nil {
		grad, err = floats(g)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("optim: gradient of %s: %w", nameOf(w, i), err)
	}
	if len(weight) != len(grad) {
		return nil, nil, fmt.Errorf("optim: gradient of %s has %d elements, the weight %d", nameOf(w, i), len(grad), len(weight))
	}
	return weight, grad, nil
}

// floats returns the memory of v, which must be a float32 *tensor.Dense in row-major order without gaps.
func floats(v gorgonia.Value) ([]float32, error) {
	d, ok := v.(*tensor.Dense)
	switch {
	case v == nil, ok && d == nil:
		return nil, errors.New("there is no value")
	case !ok:
		return nil, fmt.Errorf("got a %T, expected a *tensor.Dense", v)
	case d.Dtype() != tensor.Float32:
		return nil, fmt.Errorf("got elements of %v, expected float32", d.Dtype())
	case d.RequiresIterator():
		return nil, errors.New("got a transposed or sliced view, expected a tensor of its own")
	}
	return d.Float32s(), nil
}
