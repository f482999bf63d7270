package augment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// file encodes a noisy picture: JPEG, gray JPEG or PNG.
func file(t interface{ Fatal(...any) }, kind string, w, h int) []byte {
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	m, gray := image.NewNRGBA(image.Rect(0, 0, w, h)), image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = uint8(i/97 + int(r.Uint32()&63))
	}
	for i := range gray.Pix {
		gray.Pix[i] = m.Pix[4*i]
	}
	var b bytes.Buffer
	var err error
	switch kind {
	case "gray":
		err = jpeg.Encode(&b, gray, nil)
	case "png":
		err = png.Encode(&b, m)
	default:
		err = jpeg.Encode(&b, m, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func prepared(in []data.Example, p data.Preparation, workers int) (out []data.Example, err error) {
	stream := func(yield func(data.Example, error) bool) {
		for _, e := range in {
			if !yield(e, nil) {
				return
			}
		}
	}
	for e, err := range p.Apply(context.Background(), stream, workers) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

func TestAPictureThatIsPreparedInPartHasThePixelsOfOneStepAfterTheOther(t *testing.T) {
	augs := []data.Augmentation{
		RandomResizedCrop{Size: 20}, Flip{}, Flip{P: 1}, PadCrop{Pad: 3}, PadCrop{Pad: 2, Size: 9}, CenterCrop{Size: 12},
		Resize{Size: 17}, Resize{Width: 30, Height: 21}, ColorJitter{Brightness: 0.5}, RandAugment{}, Upright{}, Cutout{Size: 3},
	}
	rapid.Check(t, func(t *rapid.T) {
		chain := rapid.SliceOfN(rapid.SampledFrom(augs), 0, 4).Draw(t, "augmentations")
		p := data.Preparation{Augmentations: chain, Seed: rapid.Uint64().Draw(t, "seed")}
		var in, want []data.Example
		for i := range 6 {
			kind := rapid.SampledFrom([]string{"colour", "gray", "png"}).Draw(t, "kind")
			b := file(t, kind, rapid.IntRange(9, 60).Draw(t, "width"), rapid.IntRange(9, 60).Draw(t, "height"))
			e := data.Example{Origin: data.Origin{Index: i, Read: int64(i)}}
			e.Input = data.Picture{Encoded: b, Sound: rapid.Bool().Draw(t, "sound")}
			in = append(in, e)
			q, err := data.Picture{Encoded: b}.Decode()
			if err != nil {
				t.Fatal(err)
			}
			r := e.Rand(p.Seed)
			for _, a := range chain {
				if q, err = a.Augment(q, r); err != nil {
					t.Fatal(err)
				}
			}
			e.Input = q.RGB()
			want = append(want, e)
		}
		got, err := prepared(in, p, rapid.IntRange(1, 3).Draw(t, "workers"))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d pictures, %v", len(got), err)
		}
		for i := range got {
			g, w := got[i].Input.(data.Picture), want[i].Input.(data.Picture)
			if g.Width != w.Width || g.Height != w.Height || !slices.Equal(g.Pix, w.Pix) {
				t.Fatalf("picture %d, %d×%d, is not what %v make of it one after the other, %d×%d", i, g.Width, g.Height, chain, w.Width, w.Height)
			}
		}
	})
}

func TestDamageBelowTheCropIsAFaultUnlessTheFileIsSound(t *testing.T) {
	whole := file(t, "colour", 40, 400)
	cut := whole[:len(whole)*3/4]
	top := data.Preparation{Augmentations: []data.Augmentation{upper{}}}
	var faulty []int
	top.Faults = func(o data.Origin, err error) error {
		faulty = append(faulty, o.Index)
		return nil
	}
	var in []data.Example
	for i, p := range []data.Picture{{Encoded: whole}, {Encoded: cut}, {Encoded: whole, Sound: true}, {Encoded: cut}} {
		in = append(in, data.Example{Input: p, Origin: data.Origin{Index: i}})
	}
	got, err := prepared(in, top, 2)
	if err != nil || len(got) != 2 || !slices.Equal(faulty, []int{1, 3}) {
		t.Fatalf("%d pictures and faults of %v, %v; want those of the files that are cut off", len(got), faulty, err)
	}
	a, b := got[0].Input.(data.Picture), got[1].Input.(data.Picture)
	if !slices.Equal(a.Pix, b.Pix) {
		t.Error("what is left unread changes the pixels")
	}
	top.Faults = nil
	if got, err := prepared(in, top, 2); err == nil || len(got) != 1 {
		t.Errorf("without a handler there are %d pictures, then %v", len(got), err)
	}
}

// upper keeps the upper 16 rows, and fails for pictures of 7 pixels' width.
type upper struct{}

var errUpper = errors.New("seven is too narrow")

func (u upper) Augment(p data.Picture, r *rand.Rand) (data.Picture, error) { return see(u, p, r) }

func (upper) View(w, _ int, _ *rand.Rand) (data.View, error) {
	if w == 7 {
		return data.View{}, errUpper
	}
	return window(0, 0, w, 16), nil
}

func TestTheErrorOfAGeometryIsNoFaultOfTheRecord(t *testing.T) {
	p := data.Preparation{Augmentations: []data.Augmentation{upper{}}, Faults: func(data.Origin, error) error { return nil }}
	in := []data.Example{{Input: data.Picture{Encoded: file(t, "colour", 7, 30)}, Origin: data.Origin{Index: 3}}}
	_, err := prepared(in, p, 1)
	if want := "data: augmenting record 3 with augment.upper: seven is too narrow"; !errors.Is(err, errUpper) || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	if _, err := prepared(nil, p, 1); err != nil {
		t.Error(err)
	}
}

func ExampleRandomResizedCrop_View() {
	v, _ := RandomResizedCrop{Size: 224}.View(500, 375, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(v.Part, v.Width, v.Height, v.Flip)
	// Output: (126,22)-(440,349) 224 224 false
}
