package data_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-ml/reprise/data"
)

// slow is an augmentation that takes a time.
type slow time.Duration

func (s slow) Augment(p data.Picture, _ *rand.Rand) (data.Picture, error) {
	time.Sleep(time.Duration(s))
	return p, nil
}

func TestAMeterAddsUpHowLongTheWorkersOfAStageAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		m := &data.Meter{Clock: func() time.Duration { return time.Since(begun) }}
		ctx := data.WithMeter(context.Background(), m)
		read := func(context.Context, data.Origin) (data.Example, error) {
			time.Sleep(2 * time.Millisecond)
			return data.Example{Input: data.Picture{Pix: make([]uint8, 3), Width: 1, Height: 1}}, nil
		}
		examples := data.Read(ctx, data.Once(10), 4, read, nil)
		examples = data.Decode(ctx, examples, 2, nil)
		examples = data.Augment(ctx, examples, 2, 0, slow(3*time.Millisecond))
		for _, err := range examples {
			if err != nil {
				t.Fatal(err)
			}
		}
		for stage, want := range map[string]data.Timing{
			data.StageRead:    {Calls: 10, Busy: 20 * time.Millisecond},
			data.StageDecode:  {Calls: 10},
			data.StageAugment: {Calls: 10, Busy: 30 * time.Millisecond},
		} {
			if got := m.Timing(stage); got != want {
				t.Errorf("%s: %+v, want %+v", stage, got, want)
			}
		}
	})
}
