// Package storage is where the bytes of records come from. Simulated makes a
// fast reader as slow as a disk or a network.
package storage

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/reprise-ml/reprise/data"
)

// Simulated describes a store. The zero Simulated is as fast as what it is
// put in front of.
type Simulated struct {
	Latency   time.Duration `yaml:"latency"`   // from the request to the first byte; those of concurrent reads overlap
	Bandwidth float64       `yaml:"bandwidth"` // bytes a second that all reads share; 0 means no limit
	Jitter    time.Duration `yaml:"jitter"`    // further latency, evenly from 0 to Jitter, drawn for each read by its Origin.Read
	Seed      uint64        `yaml:"seed"`      // of the jitter
}

// New returns a store, with nothing on its way. It fails on
// negative times and on a bandwidth of less than a byte a second.
func New(s Simulated) (*Storage, error) {
	if s.Latency < 0 || s.Jitter < 0 {
		return nil, fmt.Errorf("storage: latency is %v and jitter %v, want no less than 0", s.Latency, s.Jitter)
	}
	if s.Bandwidth != 0 && !(s.Bandwidth >= 1 && s.Bandwidth <= math.MaxFloat64) {
		return nil, fmt.Errorf("storage: bandwidth is %v bytes a second, want at least 1, or 0 for no limit", s.Bandwidth)
	}
	return &Storage{config: s, clock: newClock()}, nil
}

// Storage is one store: the readers made by it share its bandwidth. It is
// safe for use by several goroutines.
type Storage struct {
	config Simulated
	clock  *clock

	mu   sync.Mutex
	free time.Duration // when the pipe is free again
}

// Reader returns read as it is from this store. A read takes the latency, its
// jitter, and then the pipe for the time that the size of the example's Input
// takes at the bandwidth. Reads get the pipe in the order in which their
// first bytes are there. What read itself takes counts as latency, and is
// added where it is longer. A read that fails takes its latency.
//
// The moments follow from one another exactly: that a process wakes late does
// not make a busy pipe slower. A cancelled read returns at once, and what of
// the pipe it had been given is lost. The time of a read in the pipe is
// reported as [data.StagePipe].
func (s *Storage) Reader(read data.Reader) data.Reader {
	if s.config.Latency == 0 && s.config.Bandwidth == 0 && s.config.Jitter == 0 {
		return read
	}
	return func(ctx context.Context, o data.Origin) (data.Example, error) {
		there := s.clock.now() + s.config.Latency + s.jitter(o)
		e, err := read(ctx, o)
		there = max(there, s.clock.now())
		if err := s.clock.until(ctx, there); err != nil {
			return data.Example{}, err
		}
		if err != nil || e.Input == nil {
			return e, err
		}
		takes := s.takes(e.Input.Size())
		if err := s.clock.until(ctx, s.reserve(there, takes)); err != nil {
			return data.Example{}, err
		}
		data.Report(ctx, data.StagePipe, takes)
		return e, nil
	}
}

// takes is the time that n bytes take in the pipe.
func (s *Storage) takes(n int) time.Duration {
	if s.config.Bandwidth == 0 {
		return 0
	}
	return time.Duration(float64(n) / s.config.Bandwidth * float64(time.Second))
}

// reserve gives the pipe for a time to bytes that are there at a moment, and
// returns when they are through.
func (s *Storage) reserve(there, takes time.Duration) time.Duration {
	if s.config.Bandwidth == 0 {
		return there
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = max(s.free, there) + takes
	return s.free
}

func (s *Storage) jitter(o data.Origin) time.Duration {
	if s.config.Jitter == 0 {
		return 0
	}
	return time.Duration(data.Origin{Read: o.Read}.Rand(s.config.Seed).Int64N(int64(s.config.Jitter)))
}

// Pause stops the time of the store, as for an evaluation that is not to give
// it a head start: what is under way stands still, and so do new reads, until
// as many calls of Resume as of Pause.
func (s *Storage) Pause() { s.clock.pause() }

// Resume ends a Pause. Without one it panics.
func (s *Storage) Resume() { s.clock.resume() }
