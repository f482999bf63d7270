package kernel

import "unsafe"

// normSpan is one part of a batch normalisation.
type normSpan struct {
	lo, hi                       int       // elements
	first, second                []float64 // sums
	mean, scale, shift, mul, add []float32 // factors of the group
}

func (b *BatchNorm) span(part int) normSpan {
	group := part / b.parts
	r := part % b.parts * b.rows
	ch := b.shape.Channels
	lanes := b.times * ch
	sums := b.sums[part*2*lanes : (part+1)*2*lanes]
	lo, hi := group*lanes, (group+1)*lanes
	return normSpan{
		lo:    (group*b.shape.Rows + r) * ch,
		hi:    (group*b.shape.Rows + min(b.shape.Rows, r+b.rows)) * ch,
		first: sums[:lanes], second: sums[lanes:],
		mean: b.mean[lo:hi], scale: b.scale[lo:hi], shift: b.shift[lo:hi], mul: b.mul[lo:hi], add: b.add[lo:hi],
	}
}

// assembly runs a kernel over the rows of a part, with the streams that are not nil. Sums that it
// makes are folded to one a channel.
func (b *BatchNorm) assembly(s normSpan, k passKernel, y, x, second, third []float32, arrays [5]unsafe.Pointer, sums bool) {
	at := func(stream []float32) unsafe.Pointer {
		if stream == nil {
			return nil
		}
		return floats(stream[s.lo:s.hi])
	}
	p := pass{y: at(y), a: at(x), b: at(second), c: at(third), p: arrays}
	ch := b.shape.Channels
	if sums {
		clear(s.first)
		clear(s.second)
		p.sums, p.p[3] = unsafe.Pointer(unsafe.SliceData(s.first)), unsafe.Pointer(unsafe.SliceData(s.second))
	}
	rowsPass(p, b.path, k, ch, b.times, (s.hi-s.lo)/ch)
	if sums {
		foldLanes(s.first, ch)
		foldLanes(s.second, ch)
	}
}

func (b *BatchNorm) statPart(_, part int) {
	s := b.span(part)
	if b.path != Generic {
		b.assembly(s, kStatistics, nil, b.x, nil, nil, [5]unsafe.Pointer{}, true)
		return
	}
	x, ch := b.x[s.lo:s.hi], b.shape.Channels
	for c := 0; c < ch; c += 4 {
		if c+4 <= ch {
			var s0, s1, s2, s3, q0, q1, q2, q3 float64
			for i := c; i+4 <= len(x); i += ch {
				v := (*[4]float32)(x[i:])
				a0, a1, a2, a3 := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
				s0 += a0
				s1 += a1
				s2 += a2
				s3 += a3
				q0 += a0 * a0
				q1 += a1 * a1
				q2 += a2 * a2
				q3 += a3 * a3
			}
			*(*[4]float64)(s.first[c:]) = [4]float64{s0, s1, s2, s3}
			*(*[4]float64)(s.second[c:]) = [4]float64{q0, q1, q2, q3}
			continue
		}
		for d := c; d < ch; d++ {
			var sum, square float64
			for i := d; i < len(x); i += ch {
				v := float64(x[i])
				sum += v
				square += v * v
			}
			s.first[d], s.second[d] = sum, square
		}
	}
}

func (b *BatchNorm) normPart(_, part int) {
	s := b.span(part)
	if b.path != Generic {
		k := [...]passKernel{normPlain: kNorm, normReLU: kNormReLU, normAddReLU: kNormAddReLU}[b.form]
		b.assembly(s, k, b.y, b.x, b.skip, nil, [5]unsafe.Pointer{floats(s.mean), floats(s.scale), floats(s.shift)}, false)
		return
	}
	ch := b.shape.Channels
	for lo := s.lo; lo < s.hi; lo += ch {
		x, y := b.x[lo:lo+ch], b.y[lo:lo+ch]
		for c, m := range s.mean {
			y[c] = normalised(x[c], m, s.scale[c], s.shift[c])
		}
		if b.form == normAddReLU {
			Add(y, y, b.skip[lo:lo+ch])
		}
		if b.form != normPlain {
			ReLU(y, y)
		}
	}
}

// reducePart sums dy and dy·(x-mean), dy being 0 where the ReLU was; with a skip connection it writes this dy to y.
func (b *BatchNorm) reducePart(_, part int) {
	s := b.span(part)
	if b.path != Generic {
		k := [...]passKernel{normPlain: kNormSums, normReLU: kNormReLUSums, normAddReLU: kNormAddReLUSums}[b.form]
		b.assembly(s, k, b.y, b.x, b.dy, b.gate, [5]unsafe.Pointer{floats(s.mean), floats(s.scale), floats(s.shift)}, true)
		return
	}
	x, ch := b.x[s.lo:s.hi], b.shape.Channels
	dy := b.dy[s.lo:s.hi][:len(x)]
	switch b.form {
	case normReLU:
		gatedSums(s, x, dy)
		return
	case normAddReLU:
		skip := b.y[s.lo:s.hi]
		ReLUBackward(skip, b.gate[s.lo:s.hi], dy)
		dy = skip
	}
	for c := 0; c < ch; c += 2 {
		if c+2 <= ch {
			var s0, s1, q0, q1 float64
			m0, m1 := s.mean[c], s.mean[c+1]
			for i := c; i+2 <= len(x); i += ch {
				v, d := (*[2]float32)(x[i:]), (*[2]float32)(dy[i:])
				d0, d1 := float64(d[0]), float64(d[1])
				s0 += d0
				s1 += d1
				q0 += d0 * float64(v[0]-m0)
				q1 += d1 * float64(v[1]-m1)
			}
			s.first[c], s.first[c+1], s.second[c], s.second[c+1] = s0, s1, q0, q1
			continue
		}
		var sum, product float64
		for i := c; i < len(x); i += ch {
			sum += float64(dy[i])
			product += float64(dy[i]) * float64(x[i]-s.mean[c])
		}
		s.first[c], s.second[c] = sum, product
	}
}

// normalised is one element of the output.
func normalised(x, mean, scale, shift float32) float32 { return (x-mean)*scale + shift }

// gatedSums sums dy and dy·(x-mean) where the output is above 0.
func gatedSums(s normSpan, x, dy []float32) {
	dy = dy[:len(x)]
	ch := len(s.mean)
	for c := 0; c < ch; c += 2 {
		if c+2 <= ch {
			var s0, s1, q0, q1 float64
			m0, m1, k0, k1, b0, b1 := s.mean[c], s.mean[c+1], s.scale[c], s.scale[c+1], s.shift[c], s.shift[c+1]
			for i := c; i+2 <= len(x); i += ch {
				v, d := (*[2]float32)(x[i:]), (*[2]float32)(dy[i:])
				d0 := float64(gate(d[0], max(0, normalised(v[0], m0, k0, b0))))
				d1 := float64(gate(d[1], max(0, normalised(v[1], m1, k1, b1))))
				s0 += d0
				s1 += d1
				q0 += d0 * float64(v[0]-m0)
				q1 += d1 * float64(v[1]-m1)
			}
			s.first[c], s.first[c+1], s.second[c], s.second[c+1] = s0, s1, q0, q1
			continue
		}
		var sum, product float64
		for i := c; i < len(x); i += ch {
			d := float64(gate(dy[i], max(0, normalised(x[i], s.mean[c], s.scale[c], s.shift[c]))))
			sum += d
			product += d * float64(x[i]-s.mean[c])
		}
		s.first[c], s.second[c] = sum, product
	}
}

func (b *BatchNorm) backwardPart(_, part int) {
	s := b.span(part)
	if b.path != Generic {
		k := kNormBackward
		if b.form == normReLU {
			k = kNormReLUBackward
		}
		b.assembly(s, k, b.y, b.x, b.dy, nil, [5]unsafe.Pointer{floats(s.mean), floats(s.scale), floats(s.mul), floats(s.add), floats(s.shift)}, false)
		return
	}
	ch := b.shape.Channels
	for lo := s.lo; lo < s.hi; lo += ch {
		x, dy, dx := b.x[lo:lo+ch], b.dy[lo:lo+ch], b.y[lo:lo+ch]
		if b.form == normReLU {
			for c, m := range s.mean {
				dx[c] = gate(dy[c], max(0, normalised(x[c], m, s.scale[c], s.shift[c])))
			}
			dy = dx
		}
		for c, m := range s.mean {
			dx[c] = dy[c]*s.scale[c] + (x[c]-m)*s.mul[c] + s.add[c]
		}
	}
}
