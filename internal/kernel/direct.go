package kernel

// forward is ConvForward on micro-kernels.
type forward struct {
	correlator
	shape ConvShape
	w     []float32
}

func newForward(p *Pool, s ConvShape, k *microKernels) *forward {
	f := &forward{shape: s}
	f.correlator = correlator{
		pool: p, kernels: k, n: s.N,
		inH: s.H, inW: s.W, inC: s.In,
		outH: s.OutH(), outW: s.OutW(), outC: s.Out,
		groups: s.groups(), lanewise: s.lanewise(),
		list: []correlation{forwardCorrelation(s)},
		pack: f.packPanel,
	}
	f.prepare(s.work())
	return f
}

func (f *forward) Run(y, x, w []float32) {
	f.w = w
	f.run(y, x)
	f.w = nil
}

func (f *forward) packPanel(dst []float32, _ *correlation, panel int) {
	_, first, lanes := f.channels(panel)
	packRows(dst, f.w[first:], f.shape.Out, f.kernels.width, lanes)
}

// packRows copies the first columns floats of rows that are stride apart to rows of width, with zeros behind them.
func packRows(dst, src []float32, stride, width, columns int) {
	rows := len(dst) / width
	if columns == 32 && width == 32 {
		for r := range rows {
			*(*[32]float32)(dst[32*r:]) = [32]float32(src[r*stride:])
		}
		return
	}
	for r := range rows {
		d := dst[r*width : (r+1)*width]
		copy(d[:columns], src[r*stride:])
		clear(d[columns:])
	}
}

// backwardData is ConvBackwardData on micro-kernels.
type backwardData struct {
	correlator
	shape ConvShape
	w     []float32
}

func newBackwardData(p *Pool, s ConvShape, k *microKernels) *backwardData {
	d := &backwardData{shape: s}
	d.correlator = correlator{
		pool: p, kernels: k, n: s.N,
		inH: s.OutH(), inW: s.OutW(), inC: s.Out,
		outH: s.H, outW: s.W, outC: s.In,
		groups: s.groups(), lanewise: s.lanewise(),
		list: backwardCorrelations(s),
		pack: d.packPanel,
	}
	d.prepare(s.work())
	return d
}

func (d *backwardData) Run(dx, w, dy []float32) {
	d.w = w
	d.run(dx, dy)
	d.w = nil
}

func (d *backwardData) packPanel(dst []float32, q *correlation, panel int) {
	s, width := &d.shape, d.kernels.width
	firstOut, firstIn, lanes := d.channels(panel) // of the forward pass: it goes the other way
	depth, inG := d.depth(), s.In/s.groups()
	if lanes < width {
		clear(dst)
	}
	for a := range q.tapRows {
		for b := range q.tapColumns {
			y, x := q.tap(a, b, s.Stride)
			w := d.w[(y*s.KernelW+x)*inG*s.Out:]
			if d.lanewise {
				copy(dst[:width], w[firstIn:])
			} else {
				transpose(dst, width, w[firstIn%inG*s.Out+firstOut:], s.Out, lanes, depth)
			}
			dst = dst[depth*width:]
		}
	}
}
