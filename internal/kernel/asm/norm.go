package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// batchNorm writes the kernels in which every lane is a channel.
func (v vectors) batchNorm() {
	v.columns("passBias", "y = a + p0", false, []int{passY, passA}, func(r rows, n int) (func(rows), func()) {
		b := r.lanes(0, n)
		return func(r rows) {
			for i := range n {
				x := r.in(passA, i)
				v.VADDPS(b[i], x, x)
				r.out(passY, i, x)
			}
		}, nil
	})
	v.columns("passStatistics", "the sums of a and a² added to sums and p3", true, []int{passA}, func(r rows, n int) (func(rows), func()) {
		sum, square, finish := r.sums(n)
		return func(r rows) {
			for i := range n {
				d := v.vec()
				if r.mask != nil {
					v.VCVTPS2PD(r.in(passA, i), d)
				} else {
					v.VCVTPS2PD(r.mem(passA, i), d)
				}
				v.VADDPD(d, sum[i], sum[i])
				v.VFMADD231PD(d, d, square[i])
			}
		}, finish
	})
	v.columns("passColumnSums", "the sums of a added to sums", true, []int{passA}, func(r rows, n int) (func(rows), func()) {
		sum, finish := r.accumulate(passSums, n)
		return func(r rows) {
			for i := range n {
				d := v.vec()
				v.VCVTPS2PD(r.in(passA, i), d)
				v.VADDPD(d, sum[i], sum[i])
			}
		}, finish
	})
	for _, c := range []struct {
		name, doc string
		add, relu bool
	}{
		{"passNorm", "y = (a - p0)·p1 + p2", false, false},
		{"passNormReLU", "y = relu((a - p0)·p1 + p2)", false, true},
		{"passNormAddReLU", "y = relu((a - p0)·p1 + p2 + b)", true, true},
	} {
		streams := []int{passY, passA}
		if c.add {
			streams = append(streams, passB)
		}
		v.columns(c.name, c.doc, false, streams, func(r rows, n int) (func(rows), func()) {
			mean, scale, shift := r.lanes(0, n), r.lanes(1, n), r.lanes(2, n)
			zero := v.zero()
			return func(r rows) {
				for i := range n {
					x := r.in(passA, i)
					v.VSUBPS(mean[i], x, x)
					v.VFMADD213PS(shift[i], scale[i], x)
					if c.add {
						v.VADDPS(r.in(passB, i), x, x)
					}
					if c.relu {
						v.keep(x, notLessOrEqual, zero, x)
					}
					r.out(passY, i, x)
				}
			}, nil
		})
	}
	for _, c := range []struct {
		name, doc  string
		relu, skip bool
	}{
		{"passNormSums", "the sums of b and b·(a - p0) added to sums and p3", false, false},
		{"passNormReLUSums", "passNormSums with b only where (a - p0)·p1 + p2 is above 0", true, false},
		{"passNormAddReLUSums", "passNormSums with b only where c is not 0, writing this b to y", false, true},
	} {
		streams := []int{passA, passB}
		if c.skip {
			streams = append(streams, passC, passY)
		}
		v.columns(c.name, c.doc, true, streams, func(r rows, n int) (func(rows), func()) {
			var arrays []reg.GPVirtual // too many numbers for the registers
			for i := range 3 {
				if i == 0 || c.relu {
					arrays = append(arrays, v.GP64())
					v.MOVQ(operand.Mem{Base: r.p, Disp: passP + 8*i}, arrays[i])
				}
			}
			number := func(array, i int) operand.Op {
				m := operand.Mem{Base: arrays[array], Disp: i * r.unit}
				if r.mask == nil {
					return m
				}
				x := r.reg()
				r.load(m, x, r.mask)
				return x
			}
			sum, product, finish := r.sums(n)
			zero := r.reg()
			if v.avx512 {
				v.VPXORD(zero, zero, zero)
			} else {
				v.VXORPS(zero, zero, zero)
			}
			return func(r rows) {
				for i := range n {
					x, d := r.in(passA, i), r.in(passB, i)
					v.VSUBPS(number(0, i), x, x)
					if c.relu {
						y := r.reg()
						v.VMOVUPS(number(1, i), y)
						v.VFMADD213PS(number(2, i), x, y)
						v.keep(d, notLessOrEqual, zero, y)
					}
					if c.skip {
						v.keep(d, notEqual, zero, r.in(passC, i))
						r.out(passY, i, d)
					}
					x64, d64 := v.vec(), v.vec()
					v.VCVTPS2PD(d, d64)
					v.VCVTPS2PD(x, x64)
					v.VADDPD(d64, sum[i], sum[i])
					v.VFMADD231PD(x64, d64, product[i])
				}
			}, finish
		})
	}
	for _, relu := range []bool{false, true} {
		name, doc, streams := "passNormBackward", "y = b·p1 + (a - p0)·p2 + p3", []int{passY, passA, passB}
		if relu {
			name, doc = "passNormReLUBackward", doc+" with b only where (a - p0)·p1 + p4 is above 0"
		}
		v.columns(name, doc, false, streams, func(r rows, n int) (func(rows), func()) {
			mean, scale, mul, add := r.lanes(0, n), r.lanes(1, n), r.lanes(2, n), r.lanes(3, n)
			var shift []reg.VecVirtual
			if relu {
				shift = r.lanes(4, n)
			}
			zero := v.zero()
			return func(r rows) {
				for i := range n {
					x, d := r.in(passA, i), r.in(passB, i)
					v.VSUBPS(mean[i], x, x)
					if relu {
						y := v.vec()
						v.VMOVAPS(shift[i], y)
						v.VFMADD231PS(scale[i], x, y)
						v.keep(d, notLessOrEqual, zero, y)
					}
					v.VFMADD213PS(add[i], mul[i], x)
					v.VFMADD231PS(scale[i], d, x)
					r.out(passY, i, x)
				}
			}, nil
		})
	}
}
