package kernel

// A part of a product computes linearRows rows by linearPanels panels of four columns of the result.
const (
	linearRows   = 16
	linearPanels = 16
)

// genericLinear is LinearForward in plain Go.
type genericLinear struct {
	product product
	bias    []float32
	part    func(worker, part int)
}

func newGenericLinear(p *Pool, s LinearShape) *genericLinear {
	l := &genericLinear{}
	l.product.init(p, s.N, s.In, s.Out, 1, s.In)
	l.part = l.run
	return l
}

func (l *genericLinear) Run(y, x, w, b []float32) {
	l.bias = b
	l.product.run(y, x, w, l.part)
	l.bias = nil
}

func (l *genericLinear) run(_, part int) {
	p := &l.product
	r0, r1, c0, c1 := p.block(part)
	if l.bias == nil {
		return
	}
	for r := r0; r < r1; r++ {
		row := p.y[r*p.n+c0 : r*p.n+c1]
		Add(row, row, l.bias[c0:c1])
	}
}

// genericLinearData is LinearBackwardData in plain Go.
type genericLinearData struct {
	product product
	part    func(worker, part int)
}

func newGenericLinearData(p *Pool, s LinearShape) *genericLinearData {
	l := &genericLinearData{}
	l.product.init(p, s.N, s.Out, s.In, s.In, 1)
	l.part = func(_, part int) { l.product.block(part) }
	return l
}

func (l *genericLinearData) Run(dx, w, dy []float32) { l.product.run(dx, dy, w, l.part) }

// product is y[m, n] = x[m, k] · b where b has free strides.
type product struct {
	pool       *Pool
	m, k, n    int
	krow, jrow int // distance in b of neighbours along k and along n
	panels     int
	columns    int // parts side by side
	packed     [][4]float32
	y, x, b    []float32
	pack       func(worker, part int)
}

func (p *product) init(pool *Pool, m, k, n, krow, jrow int) {
	*p = product{pool: pool, m: m, k: k, n: n, krow: krow, jrow: jrow, panels: (n + 3) / 4}
	p.columns = (p.panels + linearPanels - 1) / linearPanels
	p.packed = make([][4]float32, p.panels*k)
	p.pack = func(_, panel int) {
		packPanel(p.packed[panel*k:(panel+1)*k], min(4, n-4*panel), p.b[4*panel*jrow:], krow, jrow)
	}
}

func (p *product) run(y, x, b []float32, part func(worker, part int)) {
	p.y, p.x, p.b = y, x, b
	p.pool.Run(p.panels, p.pack)
	p.pool.Run((p.m+linearRows-1)/linearRows*p.columns, part)
	p.y, p.x, p.b = nil, nil, nil
}

// block computes one part: rows [r0, r1) and columns [c0, c1).
func (p *product) block(part int) (r0, r1, c0, c1 int) {
	r0 = part / p.columns * linearRows
	r1 = min(p.m, r0+linearRows)
	q0 := part % p.columns * linearPanels
	q1 := min(p.panels, q0+linearPanels)
	seg := segments{count: 1, length: p.k}
	for q := q0; q < q1; q++ {
		correlate(p.y[r0*p.n+4*q:], p.n, min(4, p.n-4*q), r1-r0, p.x[r0*p.k:], p.k, seg, p.packed[q*p.k:(q+1)*p.k])
	}
	return r0, r1, 4 * q0, min(p.n, 4*q1)
}

// genericLinearWeights is LinearBackwardWeights in plain Go.
type genericLinearWeights struct {
	shape         LinearShape
	pool          *Pool
	panels        int // of four inputs
	dw, db, x, dy []float32
	xs            [][4]float32 // [panel][N]
	gs            []float32    // [Out][N]
	pack, part    func(worker, part int)
}

func newGenericLinearWeights(p *Pool, s LinearShape) *genericLinearWeights {
	l := &genericLinearWeights{shape: s, pool: p, panels: (s.In + 3) / 4}
	l.xs = make([][4]float32, l.panels*s.N)
	l.gs = make([]float32, s.Out*s.N)
	l.pack, l.part = l.packPanel, l.run
	return l
}

func (l *genericLinearWeights) Run(dw, db, x, dy []float32) {
	s := l.shape
	l.dw, l.db, l.x, l.dy = dw, db, x, dy
	l.pool.Run(l.panels, l.pack)
	l.pool.Run((s.Out+linearRows-1)/linearRows, l.part)
	l.dw, l.db, l.x, l.dy = nil, nil, nil, nil
}

func (l *genericLinearWeights) packPanel(_, panel int) {
	s := &l.shape
	packPanel(l.xs[panel*s.N:(panel+1)*s.N], min(4, s.In-4*panel), l.x[4*panel:], s.In, 1)
}

func (l *genericLinearWeights) run(_, part int) {
	s := &l.shape
	lo, hi := part*linearRows, min(s.Out, (part+1)*linearRows)
	for o := lo; o < hi; o++ {
		g := l.gs[o*s.N : (o+1)*s.N]
		var sum float64
		for n := range g {
			g[n] = l.dy[n*s.Out+o]
			sum += float64(g[n])
		}
		if l.db != nil {
			l.db[o] = float32(sum)
		}
	}
	seg := segments{count: 1, length: s.N}
	for p := range l.panels {
		correlate(l.dw[lo*s.In+4*p:], s.In, min(4, s.In-4*p), hi-lo, l.gs[lo*s.N:], s.N, seg, l.xs[p*s.N:(p+1)*s.N])
	}
}
