package experiments

import (
	"math"
	"slices"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// balance is that of an echo at a place, of the paces of the stages alone:
// each side is its slowest stage, and the processors do the work of all.
func (p Profile) balance(place echo.Strategy, read Pace) echo.Balance {
	b := echo.Balance{Cores: float64(p.Cores)}
	last := 0.0
	for _, s := range p.Stages {
		pace := s.Pace
		if s.Stage == data.StageRead {
			pace = read
		}
		took := pace.Seconds
		if s.work.joins(place) {
			took += last
		}
		last = took
		if s.Stage != step && s.work.upstream(place) {
			b.Up = max(b.Up, took)
			b.CPUUp += pace.CPU
		} else {
			b.Down = max(b.Down, took)
			b.CPUDown += pace.CPU
		}
	}
	return b
}

// at is the balance of an echo at a place.
func (p Profile) at(place echo.Strategy) echo.Balance {
	return p.balance(place, p.pace(data.StageRead))
}

// pace is that of a stage alone; zero where there is no such stage.
func (p Profile) pace(stage string) Pace {
	for _, s := range p.Stages {
		if s.Stage == stage {
			return s.Pace
		}
	}
	return Pace{}
}

// conclude names the bottleneck and judges every place, and a factor there.
func (p *Profile) conclude(factor float64) {
	slowest := slices.MaxFunc(p.Stages, func(a, b StagePace) int {
		switch {
		case a.Seconds < b.Seconds:
			return -1
		case a.Seconds > b.Seconds:
			return 1
		}
		return 0
	})
	p.Slowest = slowest.Stage
	for _, place := range echo.Strategies()[1:] {
		b := p.at(place)
		r := PlaceReport{
			Place: place, Balance: b, R: b.R(), Shared: b.Shared(1), Free: b.Free(), Most: b.Speedup(echo.MaxFactor),
			Factor: factor, Fresh: b.Time(factor) / float64(p.Batch), Bound: b.Speedup(factor),
		}
		if limit := b.Limit(); limit <= echo.MaxFactor && !math.IsInf(limit, 1) {
			r.Limit, r.Most = &limit, b.Speedup(limit)
		}
		if p.Cold != nil {
			r.RCold = p.balance(place, p.Cold.Pace).R()
		}
		p.Places = append(p.Places, r)
	}
}

// leaveOut drops the places where s cannot echo.
func (p *Profile) leaveOut(s Spec) {
	if _, text := s.textual(); text {
		p.Places = slices.DeleteFunc(p.Places, func(r PlaceReport) bool { return r.Place == echo.Augmentation })
	}
}

// best is the place to echo at: the first, in the order data flows, that can
// speed training up the most, or nearly, for the earlier it is, the more a
// repeat is worth. Read is as good as example and takes more work.
func (p Profile) best() PlaceReport {
	var best PlaceReport
	for _, r := range p.Places {
		if r.Place != echo.Read && r.Most > 1.1*best.Most {
			best = r
		}
	}
	return best
}
