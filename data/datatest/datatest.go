// Package datatest is what every [data.Source] has to pass.
package datatest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// Want says what is known of a source beforehand. The zero Want knows
// nothing.
type Want struct {
	Len     int      // number of records, or data.Endless; 0 means any
	Classes []string // of a data.Labelled; nil means any names that are sorted and differ
	Shared  bool     // the source says that its examples share memory
	Odd     bool     // there are records that cannot be decoded
}

// TestSource reports every rule for sources that src breaks.
func TestSource(t *testing.T, src data.Source, want Want) {
	t.Helper()
	for _, err := range Check(src, want) {
		t.Error(err)
	}
}

// some is the number of records that are read, spread over the source.
const some = 48

// Check returns an error for every rule that src breaks:
//
//   - Len stays the same, and is what want says.
//   - A record is the same whenever it is read, also by eight goroutines at
//     once; its Origin is not set.
//   - Reading outside of the source is an error and no panic.
//   - Reading under a cancelled context gives the record or the context's
//     error.
//   - Writing to an example changes no other one.
//   - Pictures are well formed, and what is [data.Encoded] decodes.
//   - Of a [data.Labelled], class names differ, are not empty, and are sorted
//     unless want lists them; labels are in range and are the targets.
//   - Of a [data.Named], names are not empty and differ.
func Check(src data.Source, want Want) []error {
	c := &check{src: src, want: want, ctx: context.Background()}
	for _, rule := range []func(){c.length, c.classes, c.names, c.records, c.concurrent, c.outside, c.cancelled, c.memory} {
		c.guard(rule)
	}
	return c.errs
}

type check struct {
	src  data.Source
	want Want
	ctx  context.Context
	errs []error
}

func (c *check) errorf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("datatest: "+format, args...))
}

// guard makes an error of a panic in the source.
func (c *check) guard(rule func()) {
	defer func() {
		if p := recover(); p != nil {
			c.errorf("the source panics: %v", p)
		}
	}()
	rule()
}

// indices are the records looked at.
func (c *check) indices() []int {
	n := c.src.Len()
	step := max(1, n/some)
	if n == data.Endless {
		n, step = math.MaxInt, math.MaxInt/some
	}
	var is []int
	for i := 0; i < n && i >= 0; i += step {
		is = append(is, i)
	}
	if n > 0 && n < math.MaxInt && is[len(is)-1] != n-1 {
		is = append(is, n-1)
	}
	return is
}

func (c *check) length() {
	n := c.src.Len()
	if n < 0 && n != data.Endless {
		c.errorf("Len is %d", n)
	}
	if again := c.src.Len(); again != n {
		c.errorf("Len is %d, then %d", n, again)
	}
	if c.want.Len != 0 && n != c.want.Len {
		c.errorf("Len is %d, want %d", n, c.want.Len)
	}
}

func (c *check) classes() {
	l, ok := c.src.(data.Labelled)
	if !ok {
		if c.want.Classes != nil {
			c.errorf("%T is not Labelled, want classes %q", c.src, c.want.Classes)
		}
		return
	}
	names := l.Classes()
	switch sorted := slices.Sorted(slices.Values(names)); {
	case len(names) == 0:
		c.errorf("there are no classes")
	case slices.Contains(names, ""):
		c.errorf("a class of %q has no name", names)
	case len(slices.Compact(sorted)) < len(names):
		c.errorf("two classes of %q have one name", names)
	case c.want.Classes != nil && !slices.Equal(names, c.want.Classes):
		c.errorf("classes are %q, want %q", names, c.want.Classes)
	case c.want.Classes == nil && !slices.IsSorted(names):
		c.errorf("classes %q are not sorted", names)
	}
	for _, i := range c.indices() {
		if y := l.Label(i); y < 0 || y >= len(names) {
			c.errorf("label of record %d is %d, there are %d classes", i, y, len(names))
		}
	}
}

func (c *check) names() {
	named, ok := c.src.(data.Named)
	if !ok {
		return
	}
	seen := map[string]int{}
	for _, i := range c.indices() {
		name := named.Name(i)
		if name == "" {
			c.errorf("record %d has no name", i)
		} else if j, ok := seen[name]; ok {
			c.errorf("records %d and %d are both named %s", j, i, name)
		}
		seen[name] = i
	}
}

func (c *check) records() {
	for _, i := range c.indices() {
		e, err := c.src.Read(c.ctx, i)
		if err != nil {
			c.errorf("record %d: %w", i, err)
			continue
		}
		if again, err := c.src.Read(c.ctx, i); err != nil || !reflect.DeepEqual(e, again) {
			c.errorf("record %d differs when read again (%v)", i, err)
		}
		if e.Origin != (data.Origin{}) {
			c.errorf("record %d has the origin %+v; Read leaves it to the pipeline", i, e.Origin)
		}
		if e.Input == nil || e.Size() <= 0 {
			c.errorf("record %d is empty", i)
		}
		if l, ok := c.src.(data.Labelled); ok && e.Target != data.Class(l.Label(i)) {
			c.errorf("target of record %d is %v, its label %d", i, e.Target, l.Label(i))
		}
		if p, ok := e.Input.(data.Picture); ok {
			c.picture(i, p)
		}
		if v, ok := e.Input.(data.Encoded); ok && !c.want.Odd {
			if d, err := v.Unpack(e); err != nil || d.Input == nil || d.Size() <= 0 {
				c.errorf("record %d does not decode: %w", i, err)
			}
		}
	}
}

func (c *check) picture(i int, p data.Picture) {
	set := 0
	for _, is := range []bool{p.Encoded != nil, p.Image != nil, p.Pix != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		c.errorf("picture %d has %d of Encoded, Image and Pix, want one", i, set)
	}
	if p.Pix != nil && (p.Width < 1 || len(p.Pix) != 3*p.Width*p.Height) {
		c.errorf("picture %d has %d values for %d×%d pixels", i, len(p.Pix), p.Width, p.Height)
	}
}

func (c *check) concurrent() {
	is := c.indices()
	first := make([]data.Example, len(is))
	for k, i := range is {
		first[k], _ = c.src.Read(c.ctx, i)
	}
	const readers = 8
	var wg sync.WaitGroup
	errs := make([]error, readers)
	for r := range readers {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[r] = fmt.Errorf("datatest: the source panics under %d readers: %v", readers, p)
				}
			}()
			for k := range is {
				k = (k + r*len(is)/readers) % len(is)
				if e, err := c.src.Read(c.ctx, is[k]); !reflect.DeepEqual(e, first[k]) {
					errs[r] = fmt.Errorf("datatest: record %d differs under %d readers (%v)", is[k], readers, err)
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		c.errs = append(c.errs, err)
	}
}

func (c *check) outside() {
	is := []int{-1, math.MinInt}
	if n := c.src.Len(); n != data.Endless {
		is = append(is, n, n+1, math.MaxInt)
	}
	for _, i := range is {
		c.guard(func() {
			if _, err := c.src.Read(c.ctx, i); err == nil {
				c.errorf("there is a record %d of %d", i, c.src.Len())
			}
		})
	}
}

func (c *check) cancelled() {
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	for _, i := range c.indices() {
		e, err := c.src.Read(ctx, i)
		if errors.Is(err, context.Canceled) {
			continue
		}
		if want, wantErr := c.src.Read(c.ctx, i); wantErr == nil && (err != nil || !reflect.DeepEqual(e, want)) {
			c.errorf("record %d under a cancelled context: %v, want the record or %v", i, err, context.Canceled)
		}
	}
}

func (c *check) memory() {
	if c.want.Shared {
		return
	}
	for _, i := range c.indices() {
		a, err := c.src.Read(c.ctx, i)
		if err != nil {
			continue
		}
		b, _ := c.src.Read(c.ctx, i)
		before := clone(b)
		scribble(a.Input)
		scribble(a.Target)
		again, _ := c.src.Read(c.ctx, i)
		if !reflect.DeepEqual(b, before) || !reflect.DeepEqual(again, before) {
			c.errorf("writing to record %d changes what else is read", i)
		}
	}
}

// clone copies the memory of an example that [scribble] writes over.
func clone(e data.Example) data.Example {
	for _, v := range []*data.Value{&e.Input, &e.Target} {
		switch w := (*v).(type) {
		case data.Picture:
			w.Encoded, w.Pix = slices.Clone(w.Encoded), slices.Clone(w.Pix)
			*v = w
		case data.Tokens:
			*v = slices.Clone(w)
		case data.Soft:
			*v = slices.Clone(w)
		}
	}
	return e
}

// scribble writes over the memory of a value.
func scribble(v data.Value) {
	switch v := v.(type) {
	case data.Picture:
		for i := range v.Encoded {
			v.Encoded[i] ^= 0xff
		}
		for i := range v.Pix {
			v.Pix[i] ^= 0xff
		}
	case data.Tokens:
		for i := range v {
			v[i]++
		}
	case data.Soft:
		for i := range v {
			v[i]++
		}
	}
}
