package kernel

// genericGroups computes a convolution of several groups in plain Go, one after the other, by copies of their
// channels.
type genericGroups struct {
	shape   ConvShape // of all groups
	group   ConvShape // of one
	forth   *genericCorrelator
	data    *genericCorrelator
	weights *genericWeights
	x, w, y []float32 // of one group
}

func newGenericGroups(p *Pool, s ConvShape) *genericGroups {
	one := s
	one.Groups, one.In, one.Out = 1, s.In/s.Groups, s.Out/s.Groups
	return &genericGroups{
		shape: s, group: one,
		forth: newGenericForward(p, one), data: newGenericData(p, one), weights: newGenericWeights(p, one),
		x: make([]float32, one.inputLen()), w: make([]float32, one.weightsLen()), y: make([]float32, one.outputLen()),
	}
}

func (c *genericGroups) forward(y, x, w []float32) {
	for g := range c.shape.Groups {
		gather(c.x, x, c.shape.In, c.group.In, g)
		gather(c.w, w, c.shape.Out, c.group.Out, g)
		c.forth.Run(c.y, c.x, c.w)
		scatter(y, c.y, c.shape.Out, c.group.Out, g)
	}
}

func (c *genericGroups) backwardData(dx, w, dy []float32) {
	for g := range c.shape.Groups {
		gather(c.w, w, c.shape.Out, c.group.Out, g)
		gather(c.y, dy, c.shape.Out, c.group.Out, g)
		c.data.Run(c.x, c.y, c.w)
		scatter(dx, c.x, c.shape.In, c.group.In, g)
	}
}

func (c *genericGroups) backwardWeights(dw, x, dy []float32) {
	for g := range c.shape.Groups {
		gather(c.x, x, c.shape.In, c.group.In, g)
		gather(c.y, dy, c.shape.Out, c.group.Out, g)
		c.weights.Run(c.w, c.x, c.y)
		scatter(dw, c.w, c.shape.Out, c.group.Out, g)
	}
}

// gather copies group g, of few channels, out of pixels of all channels; scatter copies it back.
func gather(dst, src []float32, all, few, g int) {
	for i := range len(dst) / few {
		copy(dst[i*few:(i+1)*few], src[i*all+g*few:])
	}
}

func scatter(dst, src []float32, all, few, g int) {
	for i := range len(src) / few {
		copy(dst[i*all+g*few:], src[i*few:(i+1)*few])
	}
}
