package experiments

import (
	"fmt"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// preset settles what the preset of the echo needs around it.
func (s Spec) preset() Spec {
	if s.Echo.Preset.Together() {
		s.Stages.Shuffle = Buffer{Items: 1}
	}
	if s.Echo.Preset == echo.RepeatedAugmentation {
		s.Data.Draws = int(s.Echo.Factor)
	}
	return s
}

// presetProblems lists what does not go with the preset, each with its key.
func (s Spec) presetProblems() []error {
	var errs []error
	p := s.Echo.Preset
	if p.Together() && s.Data.Order == data.Sequential {
		errs = append(errs, fmt.Errorf("data.order: is sequential, and the preset %s has no shuffle buffer; want permuted", p))
	}
	if k := int(s.Echo.Factor); p == echo.AugmentationMultiplicity && k > 0 && s.Train.Batch%k != 0 {
		errs = append(errs, fmt.Errorf("train.batch: is %d, which is no multiple of the factor %d of the preset %s", s.Train.Batch, k, p))
	}
	if p == echo.PartialAugmentation && len(s.Input.AugmentAfter) == 0 {
		errs = append(errs, fmt.Errorf("input.augment_after: is empty, and the preset %s draws these augmentations anew for every copy; want some, such as [flip]", p))
	}
	return errs
}
