package echo

import (
	"fmt"
	"slices"
	"strings"
)

// Preset is a way to reuse data that has a name of its own, made of the same parts: a strategy, and what is around it.
type Preset string

// The presets, with a factor of k.
const (
	// MinibatchPersistency trains on each batch k times before the next (Fischetti et al., arXiv 1806.07353): the
	// strategy Batch.
	MinibatchPersistency Preset = "minibatch_persistency"
	// AugmentationMultiplicity makes batches of k augmented copies of each of B/k examples (Fort et al., arXiv
	// 2105.13343): the strategy Example, and no shuffle buffer, so that copies stay together.
	AugmentationMultiplicity Preset = "augmentation_multiplicity"
	// RepeatedAugmentation is the same with the epochs of timm's RepeatAugSampler (Berman et al., arXiv 1902.05509): of
	// every permutation of n examples the first n/k are used, k times each, so that an epoch stays n rows. A batch
	// need not be a multiple of k.
	RepeatedAugmentation Preset = "repeated_augmentation"
	// PartialAugmentation repeats what the first, costly augmentations made, and draws the last, cheap ones anew for
	// every copy (Revamper: Lee et al., USENIX ATC 2021): the strategy Augmentation, with augmentations left and right
	// of it.
	PartialAugmentation Preset = "partial_augmentation"
)

// Presets returns all presets.
func Presets() []Preset {
	return []Preset{MinibatchPersistency, AugmentationMultiplicity, RepeatedAugmentation, PartialAugmentation}
}

// Strategy is where p echoes.
func (p Preset) Strategy() Strategy {
	switch p {
	case MinibatchPersistency:
		return Batch
	case AugmentationMultiplicity, RepeatedAugmentation:
		return Example
	case PartialAugmentation:
		return Augmentation
	}
	return None
}

// Together reports whether the copies of an example stand side by side, with no shuffle buffer after the echo.
func (p Preset) Together() bool { return p == AugmentationMultiplicity || p == RepeatedAugmentation }

// Short is the word of the name that tells p from the others.
func (p Preset) Short() string {
	short := strings.TrimPrefix(strings.TrimPrefix(string(p), "minibatch_"), "augmentation_")
	return strings.TrimSuffix(short, "_augmentation")
}

// checkPreset reports what does not go with the preset of s.
func (s Spec) checkPreset() error {
	p := s.Preset
	switch whole := s.Factor == Factor(int(s.Factor)) && s.Factor != Auto; {
	case p == "":
		return nil
	case !slices.Contains(Presets(), p):
		return fmt.Errorf("echo: the preset is %q, want one of %q", p, Presets())
	case s.Strategy != p.Strategy():
		return fmt.Errorf("echo: the preset %s is of the strategy %s, and the strategy is %s; want one of the two", p, p.Strategy(), s.Strategy)
	case p.Together() && !whole:
		return fmt.Errorf("echo: the factor is %v, and the preset %s takes a whole one", s.Factor, p)
	case p == MinibatchPersistency && s.ShuffleBatches > 1:
		return fmt.Errorf("echo: shuffle_batches is %d, and the preset %s keeps the copies of a batch together", s.ShuffleBatches, p)
	}
	return nil
}
