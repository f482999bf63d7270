package data_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// tinyPicture returns a noisy gray picture, plain and as a JPEG.
func tinyPicture(t *testing.T, seed uint64) (plain, encoded data.Picture) {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, 5, 4))
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range m.Pix {
		m.Pix[i] = uint8(r.Uint32())
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return data.Picture{Image: m}, data.Picture{Encoded: b.Bytes()}
}

// dim takes a drawn amount off every pixel.
type dim struct{ most int }

func (d dim) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	p = p.RGB()
	off := uint8(r.IntN(d.most))
	out := data.Picture{Pix: slices.Clone(p.Pix), Width: p.Width, Height: p.Height}
	for i := range out.Pix {
		out.Pix[i] -= off
	}
	return out, nil
}

// lazy takes its time over some pictures.
type lazy struct{ data.Augmentation }

func (l lazy) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) {
	p, err := l.Augmentation.Augment(p, r)
	time.Sleep(time.Duration(p.Pix[0]) * time.Millisecond)
	return p, err
}

// broken cannot augment.
type broken struct{}

func (broken) Augment(data.Picture, *rand.Rand) (data.Picture, error) {
	return data.Picture{}, errTest
}

func TestAugmentDrawsByOriginWhateverTheOrderAndTheWorkers(t *testing.T) {
	plain, _ := tinyPicture(t, 1)
	before := slices.Clone(plain.RGB().Pix)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		reads := rapid.SliceOfN(rapid.Int64Range(0, 1000), 1, 20).Draw(rt, "reads")
		workers := rapid.IntRange(1, 8).Draw(rt, "workers")
		var in []data.Example
		for _, read := range reads {
			in = append(in, data.Example{Input: plain, Origin: data.Origin{Index: 1, Read: read, Copy: int(read % 3)}})
		}
		err := bubble(t, func() error {
			got, err := collect(data.Augment(context.Background(), stream(in...), workers, seed, lazy{dim{200}}, dim{50}))
			if err != nil || len(got) != len(in) {
				return fmt.Errorf("%d examples, %w", len(got), err)
			}
			for i, e := range got {
				r := in[i].Origin.Rand(seed)
				want, _ := dim{200}.Augment(plain, r)
				want, _ = dim{50}.Augment(want, r)
				if !bytes.Equal(e.Input.(data.Picture).Pix, want.Pix) || e.Origin != in[i].Origin {
					return fmt.Errorf("example %d depends on more than its origin", i)
				}
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
	if !bytes.Equal(plain.RGB().Pix, before) {
		t.Error("augmenting wrote to the picture it was given")
	}
}

func TestAugmentLeavesPixelsAndAllButPicturesAsTheyAre(t *testing.T) {
	plain, _ := tinyPicture(t, 2)
	text := data.Tokens{1}
	got, err := collect(data.Augment(context.Background(), stream(data.Example{Input: plain}, data.Example{Input: text}), 2, 0))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if p := got[0].Input.(data.Picture); p.Image != nil || !bytes.Equal(p.Pix, plain.RGB().Pix) {
		t.Errorf("without augmentations a picture becomes %+v", p)
	}
	if out := got[1].Input.(data.Tokens); &out[0] != &text[0] {
		t.Error("a text is not what it was")
	}
}

func TestWhatCannotBeAugmentedIsNamed(t *testing.T) {
	plain, _ := tinyPicture(t, 3)
	e := data.Example{Input: plain, Origin: data.Origin{Index: 41}}
	_, err := collect(data.Augment(context.Background(), stream(e), 1, 0, dim{5}, broken{}))
	if want := "data: augmenting record 41 with data_test.broken: "; !errors.Is(err, errTest) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %v, want %s…", err, want)
	}
	if got, err := collect(data.Augment(context.Background(), failing(errTest, e), 1, 0)); len(got) != 1 || err != errTest {
		t.Errorf("%d examples, then %v, want the error of the stream", len(got), err)
	}
}

func TestFinishDrawsByASeedOfItsOwnAndIsMeasuredApart(t *testing.T) {
	e := data.Example{Input: data.Picture{Pix: make([]uint8, 12), Width: 2, Height: 2}}
	m := &data.Meter{Clock: func() time.Duration { return 0 }}
	ctx := data.WithMeter(context.Background(), m)
	got, err := collect(data.Finish(ctx, stream(e, data.Example{}), 1, 0, dim{5}))
	if err != nil || len(got) != 2 || got[1].Input != nil {
		t.Fatal(got, err) // what is hollow passes
	}
	if m.Timing(data.StageFinish).Calls != 1 || m.Timing(data.StageAugment).Calls != 0 {
		t.Errorf("%+v, %+v", m.Timing(data.StageFinish), m.Timing(data.StageAugment))
	}
	if got, err := collect(data.Finish(ctx, stream(e), 1, 0)); err != nil || len(got) != 1 || m.Timing(data.StageFinish).Calls != 1 {
		t.Error("without augmentations something is done")
	}
}
