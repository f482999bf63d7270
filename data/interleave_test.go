package data_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

func borne(data.Origin, error) error { return nil }

func TestTheOrderOfStreamsFollowsFromTheirEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := counting(append(rapid.SliceOfN(rapid.IntRange(-5, 5), 0, 6).Draw(t, "lengths"), 3))
		s := data.Stream{Shards: n, Cycle: rapid.IntRange(0, 4).Draw(t, "cycle")}
		ends := new(data.Endings)
		var want, got []data.Origin
		for e, err := range (data.Replay{Ends: ends}).Interleave(context.Background(), s, data.Permuted, 1, borne) {
			if err != nil {
				t.Fatal(err)
			}
			if want = append(want, e.Origin); len(want) == 60 {
				break
			}
		}
		for o, err := range data.InterleavedOrder(s, data.Permuted, 1, ends.List()) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, o); len(got) == 60 {
				break
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestAReplayOpensStreamsWhereTheyAreNeeded has records 0 and 1 of both streams
// behind it, of which 1 of the second is held.
func TestAReplayOpensStreamsWhereTheyAreNeeded(t *testing.T) {
	at := data.Replay{Batches: 1, Reads: 4, Held: map[int64]struct{}{3: {}}, Ends: new(data.Endings)}
	var got []int
	for e, err := range at.Interleave(t.Context(), data.Stream{Shards: counting{3, 4}, Cycle: 2}, data.Sequential, 1, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, int(e.Input.(data.Class))); len(got) == 5 {
			break
		}
	}
	if !slices.Equal(got, []int{101, 2, 102, 103, 0}) {
		t.Errorf("%v", got)
	}
	want := []data.Ending{{Read: 6, Stream: 0, Records: 3}, {Read: 7, Stream: 1, Records: 4}}
	if ends := at.Ends.List(); !slices.Equal(ends, want) || !slices.Equal(data.NewEndings(ends, 7).List(), want[:1]) {
		t.Errorf("the streams end at %+v", ends)
	}
}

func TestStreamsThatAreNotThoseOfBeforeEndAReplay(t *testing.T) {
	held := map[int64]struct{}{3: {}}
	for want, c := range map[string]struct {
		n  counting
		at data.Replay
	}{
		"record 1 of stream 1 was good before the run was resumed: its stream ends": {counting{3, 1}, data.Replay{Reads: 4, Held: held}},
		"record 1 of stream 0 was good before the run was resumed: its stream ends": {counting{1, 5}, data.Replay{Reads: 4}},
		"record 1 of stream 0 was good before the run was resumed: broken":          {counting{-1, 5}, data.Replay{Reads: 4}},
		"stream 1 ended, of 2 records, where it is the turn of record 2 of stream 0": {counting{5, 5},
			data.Replay{Reads: 9, Ends: data.NewEndings([]data.Ending{{Read: 4, Stream: 1, Records: 2}}, 9)}},
	} {
		var err error
		for _, err = range c.at.Interleave(t.Context(), data.Stream{Shards: c.n, Cycle: 2}, data.Sequential, 1, borne) {
			break
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range data.Interleave(ctx, data.Stream{Shards: counting{5}}, data.Sequential, 1, borne) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		break
	}
}
