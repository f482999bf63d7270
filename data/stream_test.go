package data_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-ml/reprise/data"
)

// counting is streams of so many records, record r of stream s being the class
// 100·s + r. One of a negative length fails after that many.
type counting []int

func (n counting) Shards() int { return len(n) }

func (n counting) Open(_ context.Context, shard int, from int64) data.Seq[data.Example] {
	return func(yield func(data.Example, error) bool) {
		for r := int(from); r < max(n[shard], -n[shard]); r++ {
			if !yield(data.Example{Input: data.Class(100*shard + r), Target: data.Class(0)}, nil) {
				return
			}
		}
		if n[shard] < 0 {
			yield(data.Example{}, errors.New("broken"))
		}
	}
}

// classes returns the first records of a stream.
func classes(t *testing.T, in data.Seq[data.Example], n int) (got []int) {
	t.Helper()
	for e, err := range in {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, int(e.Input.(data.Class))); e.Origin.Index != got[len(got)-1]/100<<40|got[len(got)-1]%100 || e.Origin.Read < int64(len(got)-1) {
			t.Errorf("record %d has the origin %+v", got[len(got)-1], e.Origin)
		}
		if len(got) == n {
			break
		}
	}
	return got
}

func TestStreamsGiveARecordEachInTurn(t *testing.T) {
	for _, c := range []struct {
		shards counting
		cycle  int
		want   []int
	}{
		{counting{2, 3, 1, 2}, 0, []int{0, 1, 100, 101, 102, 200, 300, 301, 0}},
		{counting{2, 3, 1, 2}, 2, []int{0, 100, 1, 101, 102, 200, 300, 301, 0}},
		{counting{2, 3, 1, 2}, 9, []int{0, 100, 200, 300, 1, 101, 301, 102, 0}},
		{counting{1, 0, 0, 2}, 2, []int{0, 300, 301, 0, 300}},
	} {
		got := classes(t, data.Interleave(t.Context(), data.Stream{Shards: c.shards, Cycle: c.cycle}, data.Sequential, 1, nil), len(c.want))
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, %d at once: %v, want %v", c.shards, c.cycle, got, c.want)
		}
	}
}

func TestEachPassOverStreamsHasItsOwnOrder(t *testing.T) {
	s := data.Stream{Shards: counting{1, 1, 1, 1, 1, 1, 1, 1}, Cycle: 1}
	of := func(seed uint64) []int {
		return classes(t, data.Interleave(t.Context(), s, data.Permuted, seed, nil), 16)
	}
	a := of(1)
	if !slices.Equal(a, of(1)) || slices.Equal(a, of(2)) || slices.Equal(a[:8], a[8:]) {
		t.Errorf("%v, again %v, by another seed %v", a, of(1), of(2))
	}
	for _, pass := range [][]int{a[:8], a[8:]} {
		if slices.Sort(pass); !slices.Equal(pass, []int{0, 100, 200, 300, 400, 500, 600, 700}) {
			t.Errorf("a pass is %v", pass)
		}
	}
}

func TestAFaultInAStreamEndsItOrAll(t *testing.T) {
	s := data.Stream{Shards: counting{2, -1, 2}, Cycle: 2}
	var met []data.Origin
	bear := func(o data.Origin, _ error) error {
		met = append(met, o)
		return nil
	}
	if got := classes(t, data.Interleave(t.Context(), s, data.Sequential, 1, bear), 6); !slices.Equal(got, []int{0, 100, 1, 200, 201, 0}) {
		t.Errorf("borne: %v", got)
	}
	if len(met) != 1 || met[0] != (data.Origin{Index: 1<<40 | 1, Read: 3}) {
		t.Errorf("faults at %+v", met)
	}
	for _, err := range data.Interleave(t.Context(), s, data.Sequential, 1, nil) {
		if err != nil && !strings.Contains(err.Error(), "record 1 of stream 1: broken") {
			t.Error(err)
		}
	}
	bad := data.Stream{Shards: counting{}}
	for _, err := range data.Interleave(t.Context(), bad, data.Sequential, 1, nil) {
		if err == nil || !strings.Contains(err.Error(), "there are 0 streams") {
			t.Error(err)
		}
	}
	for _, err := range data.Interleave(t.Context(), s, "backwards", 1, nil) {
		if err == nil || !strings.Contains(err.Error(), "backwards") {
			t.Error(err)
		}
	}
}

func TestReadingStreamsIsMeasured(t *testing.T) {
	now := time.Duration(0)
	m := &data.Meter{Clock: func() time.Duration { now++; return now }}
	classes(t, data.Interleave(data.WithMeter(t.Context(), m), data.Stream{Shards: counting{5}}, data.Sequential, 1, nil), 3)
	if got := m.Timing(data.StageStreams); got.Calls != 3 || got.Busy == 0 {
		t.Errorf("%+v", got)
	}
}

func TestTokensAreFilledUpToTheContext(t *testing.T) {
	group := []data.Example{
		{Input: data.Tokens{1, 2}, Target: data.Tokens{2, 3}},
		{Input: data.Tokens{4, 5, 6}, Target: data.Tokens{5, 6, 7}},
	}
	b, err := data.Format{Context: 3}.Batch(group)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(b.Inputs[0].I32, []int32{1, 2, 0, 4, 5, 6}) || !slices.Equal(b.Targets[0].I32, []int32{2, 3, 0, 5, 6, 7}) ||
		!slices.Equal(b.Weights.F32, []float32{1, 1, 0, 1, 1, 1}) || !slices.Equal(b.Weights.Shape, []int{2, 3}) {
		t.Errorf("%+v", b)
	}
	if _, err := (data.Format{Context: 2}).Batch(group); err == nil || !strings.Contains(err.Error(), "row 1 has 3 tokens, more than the context of 2") {
		t.Error(err)
	}
	group[1].Target = data.Class(1)
	if _, err := (data.Format{Context: 3}).Batch(group); err == nil {
		t.Error("tokens and classes are joined")
	}
}

func TestEvaluationGivesPaddedRowsOfTextNoWeight(t *testing.T) {
	examples := func(yield func(data.Example, error) bool) {
		for i := range 3 {
			if !yield(data.Example{Input: data.Tokens{int32(i)}, Target: data.Tokens{int32(i)}}, nil) {
				return
			}
		}
	}
	var got [][]float32
	for b, err := range data.Padded(examples, 2, data.Format{Context: 2}.Batch) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, b.Weights.F32)
	}
	want := [][]float32{{1, 0, 1, 0}, {1, 0, 0, 0}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("weights %v, want %v", got, want)
	}
}

func ExampleInterleave() {
	s := data.Stream{Shards: counting{2, 3}, Cycle: 2}
	for e, err := range data.Interleave(context.Background(), s, data.Sequential, 1, nil) {
		if err != nil || e.Origin.Read == 5 {
			break
		}
		fmt.Print(e.Input, " ")
	}
	// Output: 0 100 1 101 102
}
