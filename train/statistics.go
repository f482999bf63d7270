package train

import "github.com/reprise-ml/reprise/nn"

// statistics is a copy of running statistics. The parts of a step change them
// one after the other, so that a step that fails has to put them back.
type statistics [][]float32

// keep copies the running statistics of p.
func (s *statistics) keep(p *nn.Params) {
	i := 0
	for q := range p.All() {
		if !holds(q) {
			continue
		}
		v := q.Value.Float32s()
		if i == len(*s) {
			*s = append(*s, make([]float32, len(v)))
		}
		copy((*s)[i], v)
		i++
	}
}

// restore undoes what has happened to p since keep.
func (s statistics) restore(p *nn.Params) {
	i := 0
	for q := range p.All() {
		if holds(q) {
			copy(q.Value.Float32s(), s[i])
			i++
		}
	}
}

// holds reports whether q may be a running statistic: it is not trained, and no
// frozen weight matrix either.
func holds(q *nn.Param) bool { return !q.Trainable && !q.Decay }
