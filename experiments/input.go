package experiments

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// derived fills what is not set and depends on what is.
func (in Input) derived() Input {
	setSlice(&in.Augment, []Choice[data.Augmentation]{
		{"random_resized_crop", &augment.RandomResizedCrop{Size: in.Size}},
		{"flip", &augment.Flip{}},
	})
	setSlice(&in.Resize, []Choice[data.Augmentation]{
		{"resize", &augment.Resize{Size: in.Size}},
		{"center_crop", &augment.CenterCrop{Size: in.Size}},
	})
	return in
}

// problems lists what is out of range, each with its key.
func (in Input) problems() []error {
	var errs []error
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("input.%s: %s", key, fmt.Sprintf(format, args...)))
	}
	for _, v := range []struct {
		key    string
		values []float32
	}{{"mean", in.Mean}, {"std", in.Std}} {
		if len(v.values) != 3 {
			bad(v.key, "has %d values, want 3, one a channel", len(v.values))
		}
	}
	if slices.Contains(in.Std, 0) {
		bad("std", "holds 0, by which nothing can be divided")
	}
	if in.Size < 1 || in.Size > 1<<14 {
		bad("size", "is %d, want 1 to %d", in.Size, 1<<14)
	}
	for _, v := range []struct {
		key  string
		list []Choice[data.Augmentation]
	}{{"augment", in.Augment}, {"augment_after", in.AugmentAfter}, {"resize", in.Resize}} {
		for i, a := range v.list {
			c, ok := a.Value.(interface{ Check() error })
			if !ok {
				continue
			}
			if err := c.Check(); err != nil {
				_, text, _ := strings.Cut(err.Error(), ": ") // without the package: the key says more
				bad(fmt.Sprintf("%s[%d].%s", v.key, i, a.Name), "%s", text)
			}
		}
	}
	if in.Exif != ExifIgnore && in.Exif != ExifApply {
		bad("exif", "is %q%s", in.Exif, suggest(in.Exif, []string{ExifIgnore, ExifApply}))
	}
	if err := in.Mix.Check(); err != nil {
		_, text, _ := strings.Cut(err.Error(), ": ")
		bad("mix", "%s", text)
	}
	return errs
}

// none reports whether nothing is set.
func (in Input) none() bool {
	return in.Size == 0 && len(in.Mean)+len(in.Std)+len(in.Augment)+len(in.AugmentAfter)+len(in.Resize) == 0 && in.Exif == "" && in.Mix == (augment.Mix{})
}

// isDefault reports whether in is what it is where no Spec mentions it.
func (in Input) isDefault() bool {
	d := defaults().Input
	return in.Augment == nil && in.AugmentAfter == nil && in.Resize == nil && in.Size == d.Size && in.Exif == d.Exif && in.Mix == d.Mix && slices.Equal(in.Mean, d.Mean) && slices.Equal(in.Std, d.Std)
}
