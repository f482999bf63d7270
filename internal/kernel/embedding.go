package kernel

// Embedding takes rows of a table by number and adds gradients to them: n numbers of rows of width floats. The numbers must be rows of
// the table.
type Embedding struct {
	pool            *Pool
	n, width        int
	y, table        []float32
	ids             []int32
	gather, scatter func(worker, part int)
}

// scatterColumns is the number of columns whose sums are one part of ScatterAdd.
const scatterColumns = 64

// NewEmbedding makes the kernel for n numbers and rows of width floats.
func NewEmbedding(p *Pool, n, width int) *Embedding {
	e := &Embedding{pool: p, n: n, width: width}
	e.gather, e.scatter = e.gatherPart, e.scatterPart
	return e
}

// Gather copies row ids[i] of the table to row i of y.
func (e *Embedding) Gather(y, table []float32, ids []int32) {
	e.run(y, table, ids, e.rowParts(), e.gather)
}

// ScatterAdd adds row i of dy to row ids[i] of dtable, in the order of i.
func (e *Embedding) ScatterAdd(dtable, dy []float32, ids []int32) {
	e.run(dy, dtable, ids, (e.width+scatterColumns-1)/scatterColumns, e.scatter)
}

func (e *Embedding) run(y, table []float32, ids []int32, parts int, part func(worker, part int)) {
	mustLen("rows of an embedding", y, e.n*e.width)
	if len(ids) != e.n {
		panic("kernel: an embedding of another number of rows")
	}
	e.y, e.table, e.ids = y, table, ids
	e.pool.Run(parts, part)
	e.y, e.table, e.ids = nil, nil, nil
}

// rowParts is the number of parts of about a chunk that the rows are split into.
func (e *Embedding) rowParts() int { return min(e.n, Chunks(e.n*e.width)) }

func (e *Embedding) gatherPart(_, part int) {
	lo, hi := Split(e.n, e.rowParts(), part)
	for i := lo; i < hi; i++ {
		copy(e.y[i*e.width:(i+1)*e.width], e.row(i, 0, e.width))
	}
}

func (e *Embedding) scatterPart(_, part int) {
	lo, hi := part*scatterColumns, min(e.width, (part+1)*scatterColumns)
	for i := range e.n {
		row := e.row(i, lo, hi)
		Add(row, row, e.y[i*e.width+lo:i*e.width+hi])
	}
}

// row is columns [lo, hi) of the row of the table that number i names.
func (e *Embedding) row(i, lo, hi int) []float32 {
	at := int(e.ids[i]) * e.width
	return e.table[at+lo : at+hi]
}
