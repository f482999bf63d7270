package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"

	"github.com/reprise-ml/reprise/data"
)

// Show writes a contact sheet (PNG) of n pictures of p, drawn by seed, each
// with its class. One that cannot be decoded is a red square.
func (p Part) Show(ctx context.Context, w io.Writer, n int, seed uint64) error {
	drawn, err := p.draw(ctx, n, seed)
	if err != nil {
		return err
	}
	cells := make([]cell, len(drawn))
	for i, e := range drawn {
		cells[i] = e.cell
	}
	var s sheet
	s.wrap(cells, int(math.Ceil(math.Sqrt(float64(len(cells))))))
	return s.write(w)
}

// shown is a record on a sheet. Of one that is damaged there is no example.
type shown struct {
	cell    cell
	example data.Example
	damaged bool
}

// draw reads n records of p, drawn by seed; all of them where there are fewer.
func (p Part) draw(ctx context.Context, n int, seed uint64) ([]shown, error) {
	if total := p.Source.Len(); total != data.Endless {
		n = min(n, total)
	}
	var out []shown
	for o, err := range data.Order(p.Source.Len(), data.Permuted, seed) {
		if err != nil || len(out) == n {
			return out, err
		}
		e, err := p.read(ctx, o)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// read reads and decodes a record.
func (p Part) read(ctx context.Context, o data.Origin) (shown, error) {
	name := data.RecordName(p.Source, o.Index)
	e, err := p.Source.Read(ctx, o.Index)
	if ctx.Err() != nil {
		return shown{}, ctx.Err()
	}
	picture, ok := e.Input.(data.Picture)
	if err == nil && !ok {
		return shown{}, fmt.Errorf("experiments: %s is no picture", name)
	}
	if err == nil {
		picture, err = picture.Decode()
	}
	if err != nil {
		return shown{cell: damagedCell(filepath.Base(name)), damaged: true}, nil
	}
	caption := filepath.Base(name)
	if l, ok := p.Source.(data.Labelled); ok {
		caption = l.Classes()[l.Label(o.Index)]
	}
	e.Input, e.Origin = picture, o
	c, err := newCell(picture, caption)
	return shown{cell: c, example: e}, err
}

// Show writes a contact sheet (PNG) of n training pictures, a row for each:
// the picture as it is read, and beside it copies of it as they are after
// augmentation, as an echo before it makes them.
func (s Spec) Show(ctx context.Context, w io.Writer, n, copies int) error {
	_, d, err := s.Open()
	if err != nil {
		return SpecError{err}
	}
	drawn, err := (Part{"train", d.Train}).draw(ctx, n, s.stage("order"))
	if err != nil {
		return err
	}
	var rows sheet
	for _, e := range drawn {
		row := []cell{e.cell}
		if !e.damaged {
			if row, err = s.augmented(ctx, row, e.example, copies); err != nil {
				return err
			}
		}
		rows.rows = append(rows.rows, row)
	}
	return rows.write(w)
}

// augmented adds so many copies of e to a row.
func (s Spec) augmented(ctx context.Context, row []cell, e data.Example, copies int) ([]cell, error) {
	echoed := func(yield func(data.Example, error) bool) {
		for n := range copies {
			if !yield(e.Echo(n), nil) {
				return
			}
		}
	}
	workers := runtime.GOMAXPROCS(0)
	made := data.Augment(ctx, echoed, workers, s.stage("augment"), s.Input.chosen(s.Input.Augment)...)
	for a, err := range data.Finish(ctx, made, workers, s.stage("finish"), values(s.Input.AugmentAfter)...) {
		if err != nil {
			return nil, err
		}
		c, err := newCell(a.Input.(data.Picture), fmt.Sprintf("copy %d", a.Origin.Copy))
		if err != nil {
			return nil, err
		}
		row = append(row, c)
	}
	return row, nil
}
