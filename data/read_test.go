package data_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// numbered reads an example that holds its record number.
func numbered(_ context.Context, o data.Origin) (data.Example, error) {
	return data.Example{Input: data.Tokens{int32(o.Index)}}, nil
}

func TestReadGivesEachExampleItsOrigin(t *testing.T) {
	origins := []data.Origin{{Index: 7, Read: 3}, {Index: 2, Read: 4, Copy: 5}}
	wrong := func(ctx context.Context, o data.Origin) (data.Example, error) {
		e, err := numbered(ctx, o)
		e.Origin = data.Origin{Index: 99} // none of a source's business
		return e, err
	}
	got, err := collect(data.Read(context.Background(), stream(origins...), 2, wrong, nil))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, e := range got {
		if e.Origin != origins[i] || e.Input.(data.Tokens)[0] != int32(origins[i].Index) {
			t.Errorf("example %d is %+v, want the record of %+v", i, e, origins[i])
		}
	}
}

// flaws are streams of which some records are bad, by name of the stage that
// finds them so.
func flaws(n, workers int, bad func(i int) bool, delay func(i int) time.Duration, faults data.Faults) map[string]data.Seq[data.Example] {
	ctx := context.Background()
	read := func(ctx context.Context, o data.Origin) (data.Example, error) {
		time.Sleep(delay(o.Index))
		if bad(o.Index) {
			return data.Example{}, errTest
		}
		return numbered(ctx, o)
	}
	encoded := func(yield func(data.Example, error) bool) {
		for i := range n {
			e := data.Example{Input: data.Picture{Pix: make([]uint8, 3), Width: 1, Height: 1}, Origin: data.Origin{Index: i}}
			if bad(i) {
				e.Input = data.Picture{Encoded: []byte("a text")}
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	return map[string]data.Seq[data.Example]{
		"Read":   data.Read(ctx, data.Once(n), workers, read, faults),
		"Decode": data.Decode(ctx, encoded, workers, faults),
	}
}

func TestFaultsAreAskedInTheOrderOfTheRecordsForAnyNumberOfWorkers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bad := rapid.SliceOfN(rapid.Bool(), 0, 30).Draw(rt, "bad")
		delays := rapid.SliceOfN(rapid.IntRange(0, 5), len(bad), len(bad)).Draw(rt, "delays")
		workers := rapid.IntRange(1, 8).Draw(rt, "workers")
		limit := rapid.IntRange(0, 30).Draw(rt, "limit")
		// Want: bad records are dropped until the limit is passed.
		var wantAsked, wantLeft []int
		full := false
		for i, b := range bad {
			if b {
				wantAsked = append(wantAsked, i)
				if full = len(wantAsked) > limit; full {
					break
				}
			} else {
				wantLeft = append(wantLeft, i)
			}
		}
		errFull := errors.New("too many bad records")
		var asked []int
		streams := flaws(len(bad), workers,
			func(i int) bool { return bad[i] },
			func(i int) time.Duration { return time.Duration(delays[i]) * time.Second },
			func(o data.Origin, err error) error {
				if err == nil {
					rt.Error("a fault without an error")
				}
				if asked = append(asked, o.Index); len(asked) > limit {
					return errFull
				}
				return nil
			})
		for name, examples := range streams {
			err := bubble(t, func() error {
				asked = nil
				var left []int
				got, err := collect(examples)
				for _, e := range got {
					left = append(left, e.Origin.Index)
				}
				if !slices.Equal(asked, wantAsked) || !slices.Equal(left, wantLeft) || (err == errFull) != full || (err == nil) == full {
					return fmt.Errorf("%s asked of %v and left %v (%w), want %v and %v", name, asked, left, err, wantAsked, wantLeft)
				}
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestWithoutFaultsTheFirstBadRecordEndsTheStream(t *testing.T) {
	streams := flaws(9, 3, func(i int) bool { return i > 3 }, func(int) time.Duration { return 0 }, nil)
	for name, want := range map[string]string{"Read": "data: record 4: " + errTest.Error(), "Decode": "data: record 4: data: no JPEG, PNG, GIF or WebP"} {
		got, err := collect(streams[name])
		if len(got) != 4 || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %d examples, then %v, want 4 and %s", name, len(got), err, want)
		}
	}
}

func TestACancelledReadIsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		asked := 0
		examples := data.Read(ctx, data.Once(100), 4, func(ctx context.Context, o data.Origin) (data.Example, error) {
			if o.Index < 10 {
				return numbered(ctx, o)
			}
			<-ctx.Done()
			return data.Example{}, errors.New("read: connection reset")
		}, func(data.Origin, error) error { asked++; return nil })
		got, err := collect(examples)
		if len(got) != 10 || !errors.Is(err, context.DeadlineExceeded) || asked != 0 {
			t.Errorf("%d examples, then %v; %d faults", len(got), err, asked)
		}
	})
}

func TestAnUpstreamErrorIsNoFault(t *testing.T) {
	never := func(o data.Origin, err error) error {
		t.Errorf("asked of %+v: %v", o, err)
		return nil
	}
	ctx := context.Background()
	examples := data.Decode(ctx, data.Read(ctx, failing(errTest, data.Origin{}), 2, numbered, never), 2, never)
	if got, err := collect(examples); len(got) != 1 || err != errTest {
		t.Errorf("%d examples, then %v", len(got), err)
	}
}

func TestAPanickingReaderIsAnErrorAndNoFault(t *testing.T) {
	var asked atomic.Int64
	_, err := collect(data.Read(context.Background(), data.Once(3), 2, func(context.Context, data.Origin) (data.Example, error) {
		panic("index out of range")
	}, func(data.Origin, error) error { asked.Add(1); return nil }))
	if err == nil || !strings.HasPrefix(err.Error(), "data: panic in a stage: index out of range") || asked.Load() != 0 {
		t.Errorf("error is %v, %d faults", err, asked.Load())
	}
}

func TestLeavingReadLeavesNoReadUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under atomic.Int64
		for range data.Read(context.Background(), data.Once(100), 4, func(ctx context.Context, o data.Origin) (data.Example, error) {
			under.Add(1)
			defer under.Add(-1)
			if o.Index > 0 {
				<-ctx.Done()
			}
			return numbered(ctx, o)
		}, nil) {
			break
		}
		if under.Load() != 0 {
			t.Errorf("%d reads are under way", under.Load())
		}
	})
}

func TestDecodeLeavesAllButPicturesAsTheyAre(t *testing.T) {
	_, jpeg := tinyPicture(t, 1)
	in := []data.Example{
		{Input: data.Tokens{1, 2}, Target: data.Class(3), Origin: data.Origin{Index: 4}},
		{Input: jpeg, Target: data.Soft{1}, Origin: data.Origin{Index: 5, Copy: 6}, Reads: 7},
		{Input: nil},
	}
	got, err := collect(data.Decode(context.Background(), stream(in...), 2, nil))
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	if tokens := got[0].Input.(data.Tokens); &tokens[0] != &in[0].Input.(data.Tokens)[0] || got[0].Target != in[0].Target || got[0].Origin != in[0].Origin {
		t.Errorf("a text became %+v", got[0])
	}
	p := got[1].Input.(data.Picture)
	if p.Image == nil || p.Encoded != nil || got[1].Origin != in[1].Origin || got[1].Reads != 7 || got[1].Target.(data.Soft)[0] != 1 {
		t.Errorf("a picture became %+v", got[1])
	}
	if got[2].Input != nil {
		t.Errorf("nothing became %+v", got[2])
	}
}
