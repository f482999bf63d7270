package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/train"
)

// Help is a change other than an echo, and what it would bring. Before and
// After are what the stages that it concerns take for a batch, as measured, and
// the others the time of a fresh example with the echo of the Spec, predicted
// from that.
type Help struct {
	What        string  `json:"what"`
	Before      float64 `json:"before_seconds"`
	After       float64 `json:"after_seconds"`
	FreshBefore float64 `json:"fresh_example_seconds_before"`
	FreshAfter  float64 `json:"fresh_example_seconds_after"`
}

// helps measures what else would help.
func (p *profiler) helps() error {
	p.out.Helps = []Help{}
	for _, try := range []func() error{p.tryWorkers, p.tryReaders, p.tryPacking, p.tryVerified} {
		if err := try(); err != nil {
			return err
		}
	}
	return nil
}

// help notes a change that gives stages other paces. Of before and after it is
// that of the first stage.
func (p *profiler) help(what string, stages []string, paces []Pace) {
	changed := p.out
	changed.Stages = slices.Clone(p.out.Stages)
	h := Help{What: what}
	for i, s := range changed.Stages {
		if j := slices.Index(stages, s.Stage); j >= 0 {
			changed.Stages[i].Pace = paces[j]
			h.Before, h.After = h.Before+s.Seconds, h.After+paces[j].Seconds
		}
	}
	factor := p.factor
	if p.Spec.Echo.Strategy == echo.None {
		factor = 1
	}
	fresh := func(of Profile) float64 {
		return of.at(p.Spec.Echo.Strategy).Time(factor) / float64(p.out.Batch)
	}
	h.FreshBefore, h.FreshAfter = fresh(p.out), fresh(changed)
	p.out.Helps = append(p.out.Helps, h)
}

// tryWorkers measures decoding and augmenting with other numbers of workers.
func (p *profiler) tryWorkers() error {
	counts := []int{1, 2, p.out.Cores}
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		if n == p.out.Workers {
			continue
		}
		var stages []string
		var paces []Pace
		for _, s := range p.out.Stages {
			if s.Stage != data.StageDecode && s.Stage != data.StageAugment {
				continue
			}
			pace, err := p.alone(s.work, n)
			if err != nil {
				return err
			}
			stages, paces = append(stages, s.Stage), append(paces, pace)
		}
		p.help(fmt.Sprintf("pipeline.workers %d instead of %d", n, p.out.Workers), stages, paces)
	}
	return nil
}

// tryReaders measures reading with twice the readers.
func (p *profiler) tryReaders() error {
	if _, streams := p.data.Train.(data.Stream); streams && !p.simulated() {
		return nil // of which the readers are those of the storage
	}
	had := p.Spec.Stages.Readers
	p.Spec.Stages.Readers = 2 * had
	defer func() { p.Spec.Stages.Readers = had }()
	pace, err := p.alone(work{stage: data.StageRead}, 0)
	if err == nil {
		p.help(fmt.Sprintf("pipeline.readers %d instead of %d", 2*had, had), []string{data.StageRead}, []Pace{pace})
	}
	return err
}

// recordFiles returns the files of the first n records that are read, where
// every record is a file of its own.
func (p *profiler) recordFiles(n int) (paths []string, ok bool) {
	src := p.data.Train
	named, ok := src.(data.Named)
	if !ok || src.Len() == data.Endless {
		return nil, false
	}
	for o, err := range data.Order(src.Len(), p.Spec.Data.Order, p.Spec.stage("order")) {
		path := named.Name(o.Index)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || !info.Mode().IsRegular() {
			return nil, false
		}
		if paths = append(paths, path); len(paths) == min(n, src.Len()) {
			break
		}
	}
	return paths, true
}

// mostFiles are taken out of memory, or packed, to measure.
const mostFiles = 2048

// tryPacking measures what reading a packed file takes instead of one file for
// each record: both in memory, so that the difference is that of opening.
func (p *profiler) tryPacking() error {
	paths, ok := p.recordFiles(mostFiles)
	if !ok || p.simulated() {
		return nil
	}
	packed, err := os.CreateTemp("", "reprise-packed-*")
	if err != nil {
		return err
	}
	defer os.Remove(packed.Name())
	defer packed.Close()
	type place struct{ at, size int64 }
	var places []place
	end := int64(0)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := packed.Write(b); err != nil {
			return err
		}
		places = append(places, place{end, int64(len(b))})
		if end += int64(len(b)); end > 256<<20 {
			break
		}
	}
	read := func(_ context.Context, o data.Origin) (data.Example, error) {
		at := places[o.Index]
		b := make([]byte, at.size)
		_, err := packed.ReadAt(b, at.at)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return data.Example{Input: data.Picture{Encoded: b}}, err
	}
	pace, _, err := paceOf(data.Read(p.ctx, data.Order(len(places), data.Sequential, 0), p.Spec.Stages.Readers, read, nil), p.each, p.Spec.Stages.Readers)
	if err == nil {
		p.help("records packed in a tar", []string{data.StageRead}, []Pace{pace.over(p.out.Batch)})
	}
	return err
}

// tryVerified measures what is saved where what is not needed of a JPEG is
// not read, as it is of data that was verified.
func (p *profiler) tryVerified() error {
	if p.verified != nil || !p.inPart() {
		return nil
	}
	workers := p.Spec.Stages.Workers
	sound := slices.Clone(p.encoded)
	for i, e := range sound {
		picture, ok := e.Input.(data.Picture)
		if !ok {
			return nil
		}
		picture.Sound = true
		sound[i].Input = picture
	}
	var paces [2]Pace
	for i, examples := range [][]data.Example{p.encoded, sound} {
		var err error
		if paces[i], err = bestPace(p.Spec.augmenting(p.faults).Apply(p.ctx, again(examples), workers), p.each, 2*workers); err != nil {
			return err
		}
	}
	seconds, cpu := paces[1].Seconds/paces[0].Seconds, paces[1].CPU/paces[0].CPU
	var now []Pace
	stages := []string{data.StageDecode, data.StageAugment}
	for _, stage := range stages {
		had := p.out.pace(stage)
		now = append(now, Pace{had.Seconds * seconds, had.CPU * cpu})
	}
	p.help("reprise data verify", stages, now)
	return nil
}

// cold measures reading while memory holds nothing of the files.
func (p *profiler) cold() error {
	if p.simulated() {
		return nil // which is cold by itself
	}
	note := func(format string, args ...any) { p.out.Notes = append(p.out.Notes, fmt.Sprintf(format, args...)) }
	paths, own := p.recordFiles(mostFiles)
	if !own {
		filed, ok := p.Spec.Data.Source.Value.(interface{ Files() ([]string, error) })
		if !ok {
			return nil // drawn, not read
		}
		var err error
		if paths, err = filed.Files(); err != nil {
			return err
		}
	}
	if err := dropCached(paths); err != nil {
		note("Reading is measured from memory only: the files cannot be taken out of it here (%v).", err)
		return nil
	}
	had, size := fetched(), int64(0)
	records := p.Spec.read(p.ctx, p.data.Train, p.through, p.faults, data.Replay{})
	limited := func(yield func(data.Example, error) bool) {
		n := 0
		for e, err := range records {
			if err == nil {
				size += int64(e.Input.Size())
			}
			if n++; !yield(e, err) || own && n == len(paths) {
				return
			}
		}
	}
	begun, cpu := time.Now(), train.CPUTime()
	pace, items, err := paceOf(limited, p.each, min(p.Spec.Stages.Readers, len(paths)/2))
	if err != nil {
		return err
	}
	if pace.Seconds == 0 { // there are few files, and all were read
		n := float64(max(items, 1))
		pace = Pace{time.Since(begun).Seconds() / n, (train.CPUTime() - cpu).Seconds() / n}
	}
	share := float64(fetched()-had) / float64(size)
	if share < 0.5 {
		note("Reading is measured from memory only: of what was read again after the system was asked to forget the files, storage devices delivered %.0f %%.", 100*share)
		return nil
	}
	p.out.Cold = &ColdPace{pace.over(p.out.Batch), share}
	return nil
}
