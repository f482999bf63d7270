package kernel

import "math"

// SGD is a step of gradient descent on weights w with gradients g: w -= rate * (g + decay*w). The optimizers' steps have
// the same bits on every path of one processor family.
func SGD(w, g []float32, rate, decay float32) {
	w = w[:len(g)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(w), a: floats(g), k: [9]float32{rate, decay}}.stream(path, kSGD, len(g))
		return
	}
	for i, gi := range g {
		w[i] -= rate * (gi + decay*w[i])
	}
}

// Momentum is a step of gradient descent with velocity b: b = momentum*b + (g + decay*w), then w -= rate*b.
func Momentum(w, g, b []float32, rate, momentum, decay float32) {
	w, b = w[:len(g)], b[:len(g)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(w), a: floats(g), b: floats(b), k: [9]float32{rate, decay, momentum}}.stream(path, kMomentum, len(g))
		return
	}
	for i, gi := range g {
		bi := momentum*b[i] + (gi + decay*w[i])
		b[i] = bi
		w[i] -= rate * bi
	}
}

// Nesterov is a step of gradient descent with Nesterov's momentum: d = g + decay*w, b = momentum*b + d, then
// w -= rate * (d + momentum*b).
func Nesterov(w, g, b []float32, rate, momentum, decay float32) {
	w, b = w[:len(g)], b[:len(g)]
	if path := ActivePath(); path != Generic {
		pass{y: floats(w), a: floats(g), b: floats(b), k: [9]float32{rate, decay, momentum}}.stream(path, kNesterov, len(g))
		return
	}
	for i, gi := range g {
		gi += decay * w[i]
		bi := momentum*b[i] + gi
		b[i] = bi
		w[i] -= rate * (gi + momentum*bi)
	}
}

// Adam holds the factors of one step of Adam or AdamW.
type Adam struct {
	Beta1, Rest1, Beta2, Rest2 float32 // Rest is 1-Beta
	Shrink, Couple             float32 // decoupled and coupled decay
	Root                       float32 // √(1-Beta2^t)
	Epsilon                    float32
	Size                       float32 // rate/(1-Beta1^t)
}

// Step updates the weights w with gradients g and moments m and v:
//
//	d = g + Couple*w
//	m = Beta1*m + Rest1*d
//	v = Beta2*v + Rest2*d²
//	w = Shrink*w - Size*m / (√v/Root + Epsilon)
func (u *Adam) Step(w, g, m, v []float32) {
	w, m, v = w[:len(g)], m[:len(g)], v[:len(g)]
	if path := ActivePath(); path != Generic {
		k := [9]float32{u.Beta1, u.Rest1, u.Beta2, u.Rest2, u.Shrink, u.Couple, u.Root, u.Epsilon, u.Size}
		pass{y: floats(w), a: floats(g), b: floats(m), c: floats(v), k: k}.stream(path, kAdam, len(g))
		return
	}
	for i, gi := range g {
		gi += u.Couple * w[i]
		mi := u.Beta1*m[i] + u.Rest1*gi
		vi := u.Beta2*v[i] + u.Rest2*gi*gi
		m[i], v[i] = mi, vi
		w[i] = u.Shrink*w[i] - u.Size*mi/(float32(math.Sqrt(float64(vi)))/u.Root+u.Epsilon)
	}
}
