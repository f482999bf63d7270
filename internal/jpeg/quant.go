package jpeg

// maxCoefficient is the largest coefficient that is decoded here, times its quantisation. Those of 8-bit pictures are at
// most 1024 and half the quantisation; the arithmetic of image/jpeg overflows above 4096, also if several are that large.
const maxCoefficient = 2047

// quantTable is a quantisation table.
type quantTable struct {
	spec  [64]byte    // as files have it
	valid bool        // the rest is made of spec, in the order of transposed:
	scale [64]float32 // spec with what the transformation wants multiplied in
	limit [64]int16   // the largest values
}

func (q *quantTable) set(spec *[64]byte) {
	if q.valid && q.spec == *spec {
		return
	}
	q.valid, q.spec = true, *spec
	for k, v := range spec {
		at := transposed[k]
		q.limit[at] = maxCoefficient / max(1, int16(v))
		q.scale[at] = float32(float64(v) * aan[at>>3] * aan[at&7] / 8)
	}
}
