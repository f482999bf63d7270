package kernel

// genericProduct is Product in plain Go: a part is one row of the result.
type genericProduct struct {
	shape         ProductShape
	pool          *Pool
	panels        int
	packed        [][4]float32 // b in panels of four columns
	rows          [][]float32  // a row of a and one of y, one a worker
	y, a, b, bias []float32
	pack, part    func(worker, part int)
}

func newGenericProduct(p *Pool, s ProductShape) *genericProduct {
	g := &genericProduct{shape: s, pool: p, panels: (s.N + 3) / 4}
	g.packed = make([][4]float32, s.Batch*g.panels*s.K)
	g.rows = buffers(p.Threads(), s.K+s.N)
	g.pack, g.part = g.packPanel, g.row
	return g
}

func (g *genericProduct) Run(y, a, b, bias []float32) {
	g.y, g.a, g.b, g.bias = y, a, b, bias
	g.pool.Run(g.shape.Batch*g.panels, g.pack)
	g.pool.Run(g.shape.Batch*g.shape.M, g.part)
	g.y, g.a, g.b, g.bias = nil, nil, nil, nil
}

func (g *genericProduct) packPanel(_, part int) {
	s, matrix, panel := &g.shape, part/g.panels, part%g.panels
	b, krow, jrow := g.b[matrix*s.K*s.N:], s.N, 1
	if s.TransposeB {
		krow, jrow = 1, s.K
	}
	packPanel(g.packed[part*s.K:(part+1)*s.K], min(4, s.N-4*panel), b[4*panel*jrow:], krow, jrow)
}

func (g *genericProduct) row(worker, part int) {
	s, matrix, m := &g.shape, part/g.shape.M, part%g.shape.M
	x, sum, y := g.rows[worker][:s.K], g.rows[worker][s.K:], g.y[part*s.N:(part+1)*s.N]
	if a := g.a[matrix*s.M*s.K:]; s.TransposeA {
		for k := range x {
			x[k] = a[k*s.M+m]
		}
	} else {
		copy(x, a[m*s.K:])
	}
	for p := range g.panels {
		at := (matrix*g.panels + p) * s.K
		correlate(sum[4*p:], 0, min(4, s.N-4*p), 1, x, 0, segments{count: 1, length: s.K}, g.packed[at:at+s.K])
	}
	for n, v := range sum {
		if s.Accumulate {
			v += y[n]
		}
		if g.bias != nil {
			v += g.bias[n]
		}
		if s.ReLU {
			v = max(v, 0)
		}
		y[n] = v
	}
	if s.GELU {
		GELU(y, y)
	}
}
