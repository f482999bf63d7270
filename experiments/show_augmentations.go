package experiments

import (
	"context"
	"fmt"
	"io"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/data/synth"
)

// exemplars are augmentations with settings that show on a picture of
// cellSide×cellSide pixels what they do: those of the default registry, in the
// order they usually have.
func exemplars() []Choice[data.Augmentation] {
	gray := augment.Color{124, 116, 104} // ImageNet's mean
	return []Choice[data.Augmentation]{
		{"pad_crop", &augment.PadCrop{Pad: cellSide / 8}},
		{"random_resized_crop", &augment.RandomResizedCrop{Size: cellSide}},
		{"flip", &augment.Flip{}},
		{"color_jitter", &augment.ColorJitter{Brightness: 0.4, Contrast: 0.4, Saturation: 0.4, Hue: 0.1}},
		{"rand_augment", &augment.RandAugment{Fill: gray}},
		{"trivial_augment", &augment.TrivialAugment{Fill: gray}},
		{"random_erasing", &augment.RandomErasing{P: 1, Random: true}},
		{"cutout", &augment.Cutout{Size: cellSide / 2, Fill: gray}},
		{"resize", &augment.Resize{Width: cellSide, Height: cellSide / 2}},
		{"center_crop", &augment.CenterCrop{Size: cellSide * 3 / 4}},
	}
}

// mixtures are those of a batch, by name.
func mixtures() []Choice[augment.Mix] {
	return []Choice[augment.Mix]{
		{"mixup", augment.Mix{Mixup: &augment.Mixup{Alpha: 1}, Classes: 2}},
		{"cutmix", augment.Mix{Cutmix: &augment.Cutmix{}, Classes: 2}},
	}
}

// ShowAugmentations writes a sheet (PNG) with a row of draws for every
// augmentation of the default registry, and for mixup and cutmix, which mix
// with a drawn picture: of an encoded picture, by seed. Each row begins with
// the picture as it was.
func ShowAugmentations(ctx context.Context, w io.Writer, encoded []byte, seed uint64) error {
	const draws = 7
	whole, err := data.Picture{Encoded: encoded}.Decode()
	if err != nil {
		return err
	}
	p, err := square(whole.Upright())
	if err != nil {
		return err
	}
	var s sheet
	for _, a := range exemplars() {
		row := make([]cell, 1+draws)
		if row[0], err = newCell(p, a.Name); err != nil {
			return err
		}
		for n := range draws {
			q, err := a.Value.Augment(p, data.Origin{}.Echo(n).Rand(seed))
			if err != nil {
				return err
			}
			if row[1+n], err = newCell(q.RGB(), ""); err != nil {
				return err
			}
		}
		s.rows = append(s.rows, row)
	}
	partner, err := stranger(ctx, seed)
	if err != nil {
		return err
	}
	for _, m := range mixtures() {
		row, err := mixed(m, p, partner, draws, seed)
		if err != nil {
			return err
		}
		s.rows = append(s.rows, row)
	}
	return s.write(w)
}

// square is a picture of cellSide×cellSide pixels.
func square(p data.Picture) (data.Picture, error) {
	p, err := augment.Resize{Size: cellSide}.Augment(p, nil)
	if err != nil {
		return p, err
	}
	p, err = augment.CenterCrop{Size: cellSide}.Augment(p, nil)
	return p.RGB(), err
}

// stranger is a picture to mix with.
func stranger(ctx context.Context, seed uint64) (data.Picture, error) {
	src, err := synth.Config{Size: cellSide, Seed: seed}.Open("train")
	if err != nil {
		return data.Picture{}, err
	}
	e, err := src.Read(ctx, 0)
	if err != nil {
		return data.Picture{}, err
	}
	p, err := e.Input.(data.Picture).Decode()
	return p.RGB(), err
}

// mixed is a row of mixtures of p with another picture of its size, with the
// share of p in the label below.
func mixed(m Choice[augment.Mix], p, partner data.Picture, draws int, seed uint64) ([]cell, error) {
	first, err := newCell(p, m.Name)
	if err != nil {
		return nil, err
	}
	row := []cell{first}
	for n := 0; len(row) <= draws; n++ {
		b, err := data.Format{}.Batch([]data.Example{
			{Input: p, Target: data.Class(0), Origin: data.Origin{Copy: n}},
			{Input: partner, Target: data.Class(1), Origin: data.Origin{Copy: n}},
		})
		if err != nil {
			return nil, err
		}
		out, err := m.Value.Batch(b, b.Rand(seed))
		if err != nil {
			return nil, err
		}
		if out.Targets[0].F32[1] < 0.005 {
			continue // mixed with itself, as in any batch one row in N is, or hardly at all
		}
		pix := out.Inputs[0].F32[:len(p.Pix)]
		q := data.Picture{Pix: make([]uint8, len(pix)), Width: p.Width, Height: p.Height}
		for i, v := range pix {
			q.Pix[i] = uint8(v*255 + 0.5)
		}
		c, err := newCell(q, fmt.Sprintf("%.2f + %.2f", out.Targets[0].F32[0], out.Targets[0].F32[1]))
		if err != nil {
			return nil, err
		}
		row = append(row, c)
	}
	return row, nil
}
