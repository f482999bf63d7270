package kernel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Pool is a set of goroutines that live until Close and share out the parts of a Run. A nil
// Pool is valid and runs everything on the caller's goroutine.
//
// Waking a parked thread takes longer than many a Run, so a goroutine without work spins for a while before it
// parks; see spinTime. Run does not wait for goroutines that have not begun when all parts are done.
type Pool struct {
	threads int
	busy    sync.Mutex // held during a Run and by Close
	closed  bool
	spin    atomic.Int64 // nanoseconds
	helpers []*helper

	f       func(worker, part int)
	parts   int64
	next    atomic.Int64
	running atomic.Int32          // helpers that are called and have not finished
	waiter  parking               // the caller of Run
	idle    func() bool           // whether running is 0
	fault   atomic.Pointer[Panic] // the first panic of this Run
}

// helper is a goroutine of the pool.
type helper struct {
	called atomic.Bool // and has not begun
	ended  atomic.Bool
	parking
}

// parking is where one goroutine waits for another.
type parking struct {
	parked atomic.Bool
	wake   chan struct{} // room for one
}

// spinTime is how long goroutines spin before they park, unless a test says otherwise.
const spinTime = 300 * time.Microsecond

// wait returns when ready is true, having spun for a while before parking. Who makes it ready calls
// unpark afterwards.
func (k *parking) wait(spin time.Duration, ready func() bool) {
	for !ready() {
		for begin := time.Now(); spin > 0 && time.Since(begin) < spin; runtime.Gosched() {
			for range 32 {
				pause()
				if ready() {
					return
				}
			}
		}
		k.parked.Store(true)
		if !ready() || !k.parked.CompareAndSwap(true, false) {
			<-k.wake
		}
	}
}

// unpark wakes the goroutine if it is parked.
func (k *parking) unpark() {
	if k.parked.Load() && k.parked.CompareAndSwap(true, false) {
		k.wake <- struct{}{}
	}
}

// Panic is what Run panics with when a part did: the value of the first panic and the stack of
// the goroutine it happened on.
type Panic struct {
	Value any
	Stack []byte
}

// Error names the value; the stack is left to those who want it.
func (p *Panic) Error() string { return fmt.Sprintf("kernel: panic in a part: %v", p.Value) }

// Unwrap is the value of the panic where that is an error, else nil.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// NewPool starts a pool of the given number of threads, the caller of Run being one of
// them; 0 means one for every processor Go may use. A negative number is a bug and panics.
func NewPool(threads int) *Pool {
	if threads < 0 {
		panic(fmt.Sprintf("kernel: a pool of %d threads", threads))
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads, waiter: parking{wake: make(chan struct{}, 1)}}
	p.idle = func() bool { return p.running.Load() == 0 }
	if threads <= runtime.GOMAXPROCS(0) {
		p.setSpin(spinTime)
	}
	for i := range threads - 1 {
		h := &helper{parking: parking{wake: make(chan struct{}, 1)}}
		p.helpers = append(p.helpers, h)
		go p.work(i+1, h)
	}
	return p
}

// setSpin says how long goroutines without work keep a processor busy before they park; 0 is not at all, which
// is right when others need the processors. A new pool spins for 0.3 ms, unless it has more threads than there
// are processors. It may be called at any time.
func (p *Pool) setSpin(d time.Duration) {
	if p != nil {
		p.spin.Store(int64(d))
	}
}

// worth is the pool, or nil where so many products are done sooner than threads meet.
func (p *Pool) worth(products int) *Pool {
	if products < 1<<20 {
		return nil
	}
	return p
}

// Threads is the number of goroutines that take part in a Run, at least 1.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.threads
}

// Run calls f once for every part in [0, parts) and returns when all have returned. The worker
// is in [0, Threads()); two calls at the same time have different workers, so scratch memory can
// be kept by worker. Which worker gets which part is left to chance: no result may depend on it.
//
// A part that panics lets the others finish or be skipped; Run then panics with a *Panic, and the pool stays
// usable. A Run on a pool that is busy (from inside a part, or from another goroutine) or closed
// does its parts on the caller's goroutine as worker 0, so f must then not share scratch with the Run
// that is under way.
//
// Run does not allocate; a function literal made anew for each call does. Make f once and keep it.
func (p *Pool) Run(parts int, f func(worker, part int)) {
	if p == nil || p.threads == 1 || parts <= 1 || !p.busy.TryLock() {
		for i := range parts {
			f(0, i)
		}
		return
	}
	defer p.busy.Unlock()
	if p.closed {
		for i := range parts {
			f(0, i)
		}
		return
	}
	p.f, p.parts = f, int64(parts)
	p.next.Store(0)
	helpers := p.helpers[:min(parts, p.threads)-1]
	p.running.Store(int32(len(helpers)))
	for _, h := range helpers {
		h.called.Store(true)
		h.unpark()
	}
	p.share(0)
	for _, h := range helpers {
		if h.called.CompareAndSwap(true, false) { // too late to help
			p.running.Add(-1)
		}
	}
	p.waiter.wait(time.Duration(p.spin.Load()), p.idle)
	p.f = nil
	if q := p.fault.Swap(nil); q != nil {
		panic(q)
	}
}

// Close ends the goroutines. It waits for a Run under way and may be called more than once.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.busy.Lock()
	defer p.busy.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	for _, h := range p.helpers {
		h.ended.Store(true)
		h.unpark()
	}
}

func (p *Pool) work(worker int, h *helper) {
	ready := func() bool { return h.called.Load() || h.ended.Load() }
	for {
		h.wait(time.Duration(p.spin.Load()), ready)
		if h.called.CompareAndSwap(true, false) {
			p.share(worker)
			if p.running.Add(-1) == 0 {
				p.waiter.unpark()
			}
		} else if h.ended.Load() {
			return
		}
	}
}

func (p *Pool) share(worker int) {
	defer func() {
		if v := recover(); v != nil {
			p.next.Store(p.parts) // the others stop after the part they are in
			p.fault.CompareAndSwap(nil, &Panic{v, debug.Stack()})
		}
	}()
	for {
		i := p.next.Add(1) - 1
		if i >= p.parts {
			return
		}
		p.f(worker, int(i))
	}
}

// chunk is the number of elements of one part of an elementwise pass: 64 KiB of float32.
const chunk = 1 << 14

// Chunks is the number of parts an elementwise pass over n elements is split into.
func Chunks(n int) int { return (n + chunk - 1) / chunk }

// Chunk is the range [lo, hi) of elements of one of the Chunks(n) parts.
func Chunk(n, part int) (lo, hi int) { return part * chunk, min(n, (part+1)*chunk) }

// Split is the range [lo, hi) of the given part when n things are split into parts whose
// sizes differ by at most one.
func Split(n, parts, part int) (lo, hi int) { return n * part / parts, n * (part + 1) / parts }
