package jpeg

// quantTable is a quantisation table.
type quantTable struct {
	spec  [64]byte    // as files have it
	valid bool        // scale is made of spec
	scale [64]float32 // spec in the order of transposed, with what the transformation wants multiplied in
}

func (q *quantTable) set(spec *[64]byte) {
	if q.valid && q.spec == *spec {
		return
	}
	q.valid, q.spec = true, *spec
	for k, v := range spec {
		at := transposed[k]
		q.scale[at] = float32(float64(v) * aan[at>>3] * aan[at&7] / 8)
	}
}

// limit is the largest value of position k that is decoded.
func (q *quantTable) limit(k int) int32 { return maxCoefficient / max(1, int32(q.spec[k])) }
