package kernel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Pool is a set of goroutines that live until Close and share out the parts of a Run. A nil
// Pool is valid and runs everything on the caller's goroutine.
type Pool struct {
	threads int
	busy    sync.Mutex // held during a Run and by Close
	closed  bool
	wake    []chan struct{}
	running sync.WaitGroup

	f     func(worker, part int)
	parts int64
	next  atomic.Int64
	fault atomic.Pointer[Panic] // the first panic of this Run
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
	p := &Pool{threads: threads, wake: make([]chan struct{}, threads-1)}
	for i := range p.wake {
		p.wake[i] = make(chan struct{}, 1)
		go p.work(i+1, p.wake[i])
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
	helpers := min(parts, p.threads) - 1
	p.running.Add(helpers)
	for _, w := range p.wake[:helpers] {
		w <- struct{}{}
	}
	p.share(0)
	p.running.Wait()
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
	for _, w := range p.wake {
		close(w)
	}
}

func (p *Pool) work(worker int, wake <-chan struct{}) {
	for range wake {
		p.share(worker)
		p.running.Done()
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
