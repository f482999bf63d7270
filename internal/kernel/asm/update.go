package main

import "github.com/mmcloughlin/avo/reg"

// updates writes the steps of optimizers: y is the weight, a its gradient. Products and sums are rounded one by one, as Go does on amd64.
func (v vectors) updates() {
	v.stream("passSGD", "y -= k0·(a + k1·y)", 2, []int{passY, passA}, func(p reg.GPVirtual) (func(place), func()) {
		rate, decay := v.scalar(p, 0), v.scalar(p, 1)
		return simple(func(s place) {
			w, t := v.decayed(s, decay)
			v.VMULPS(t, rate, t)
			v.VSUBPS(t, w, w)
			s.out(passY, w)
		})
	})
	v.stream("passMomentum", "b = k2·b + (a + k1·y), y -= k0·b", 2, []int{passY, passA, passB}, func(p reg.GPVirtual) (func(place), func()) {
		rate, decay, momentum := v.scalar(p, 0), v.scalar(p, 1), v.scalar(p, 2)
		return simple(func(s place) {
			w, t := v.decayed(s, decay)
			b := s.in(passB)
			v.VMULPS(b, momentum, b)
			v.VADDPS(t, b, b)
			s.out(passB, b)
			v.VMULPS(b, rate, t)
			v.VSUBPS(t, w, w)
			s.out(passY, w)
		})
	})
	v.stream("passNesterov", "g = a + k1·y, b = k2·b + g, y -= k0·(g + k2·b)", 2, []int{passY, passA, passB}, func(p reg.GPVirtual) (func(place), func()) {
		rate, decay, momentum := v.scalar(p, 0), v.scalar(p, 1), v.scalar(p, 2)
		return simple(func(s place) {
			w, t := v.decayed(s, decay)
			b := s.in(passB)
			v.VMULPS(b, momentum, b)
			v.VADDPS(t, b, b)
			s.out(passB, b)
			v.VMULPS(b, momentum, b)
			v.VADDPS(b, t, t)
			v.VMULPS(t, rate, t)
			v.VSUBPS(t, w, w)
			s.out(passY, w)
		})
	})
	v.stream("passAdam", "a step of Adam with first moment b and second moment c", 1, []int{passY, passA, passB, passC}, func(p reg.GPVirtual) (func(place), func()) {
		var k [9]reg.VecVirtual
		for i := range k {
			k[i] = v.scalar(p, i)
		}
		beta1, rest1, beta2, rest2, shrink, couple, root, epsilon, size := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
		return simple(func(s place) {
			w, g, t := s.in(passY), s.in(passA), v.vec()
			v.VMULPS(w, couple, t)
			v.VADDPS(t, g, g)
			m, q := s.in(passB), s.in(passC)
			v.VMULPS(m, beta1, m)
			v.VMULPS(g, rest1, t)
			v.VADDPS(t, m, m)
			s.out(passB, m)
			v.VMULPS(q, beta2, q)
			v.VMULPS(g, rest2, t)
			v.VMULPS(g, t, t)
			v.VADDPS(t, q, q)
			s.out(passC, q)
			v.VSQRTPS(q, q)
			v.VDIVPS(root, q, q)
			v.VADDPS(epsilon, q, q)
			v.VMULPS(m, size, m)
			v.VDIVPS(q, m, m)
			v.VMULPS(w, shrink, w)
			v.VSUBPS(m, w, w)
			s.out(passY, w)
		})
	})
}

// decayed is the weight, and a + decay·y: its gradient with the decay of weights.
func (v vectors) decayed(s place, decay reg.VecVirtual) (w, g reg.VecVirtual) {
	w, g = s.in(passY), v.vec()
	v.VMULPS(w, decay, g)
	v.VADDPS(g, s.in(passA), g)
	return w, g
}
