package experiments

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// preset is a spec with a preset, on digits.
func preset(t *testing.T, p echo.Preset, factor int, sets ...string) Spec {
	t.Helper()
	s := parse(t, replayed, append([]string{fmt.Sprintf("echo={preset: %s, factor: %d}", p, factor)}, sets...)...)
	s.Stages.Prefetch = Buffer{Items: 1}
	return s
}

// pixels are those of row n.
func pixels(b data.Batch, n int) []float32 {
	each := len(b.Inputs[0].F32) / len(b.Origins)
	return b.Inputs[0].F32[n*each : (n+1)*each]
}

func TestMinibatchPersistencyTrainsOnEachBatchSeveralTimesInARow(t *testing.T) {
	s := preset(t, echo.MinibatchPersistency, 3, "train.batch=4", "pipeline.shuffle=16")
	plain := parse(t, replayed, "train.batch=4", "pipeline.shuffle=16")
	plain.Stages.Prefetch = s.Stages.Prefetch
	src := &digits{records: 33}
	got, _ := src.first(t, s, 12, Start{})
	once, _ := src.first(t, plain, 4, Start{})
	for n, b := range got {
		want := once[n/3].Echo(n % 3)
		if !reflect.DeepEqual(b.Origins, want.Origins) || !reflect.DeepEqual(b.Inputs, want.Inputs) {
			t.Errorf("batch %d is %v, want %v", n, b.Origins, want.Origins)
		}
	}
}

func TestAugmentationMultiplicityPutsAllCopiesInOneBatchEachAugmentedAnew(t *testing.T) {
	s := preset(t, echo.AugmentationMultiplicity, 4, "train.batch=8")
	got, _ := (&digits{records: 33}).first(t, s, 40, Start{})
	next, differ := int64(0), 0
	for _, b := range got {
		for n, o := range b.Origins {
			if want := next + int64(n/4); o.Read != want || o.Copy != n%4 {
				t.Fatalf("row %d is copy %d of read %d, want copy %d of read %d", n, o.Copy, o.Read, n%4, want)
			}
			if n%4 > 0 && !slices.Equal(pixels(b, n), pixels(b, n-1)) {
				differ++
			}
		}
		next += 2
		if share := float64(b.Duplicates()) / 8; share != s.duplicates() {
			t.Errorf("%g of the rows are duplicates, want %g", share, s.duplicates())
		}
	}
	if differ < 40*6*3/4 { // of 18 crops and flips two are seldom equal
		t.Errorf("of %d copies %d differ from the one before", 40*6, differ)
	}
}

// timm's RepeatAugSampler on one replica: the first rows of each permutation, every index num_repeats times in a row,
// as many rows an epoch as there are records (where their number is a multiple of what timm rounds to, and of the factor).
func TestRepeatedAugmentationHasTheOrderOfTimm(t *testing.T) {
	const records, repeats, batch, epochs = 24, 3, 7, 5 // a batch that does not divide
	s := preset(t, echo.RepeatedAugmentation, repeats, fmt.Sprint("train.batch=", batch))
	got, _ := (&digits{records: records}).first(t, s, epochs*records/batch, Start{})
	permutations := [][]int{nil}
	for o, err := range data.Order(records, data.Permuted, s.stage("order")) {
		if err != nil {
			t.Fatal(err)
		}
		last := len(permutations) - 1
		if permutations[last] = append(permutations[last], o.Index); len(permutations[last]) == records {
			if permutations = append(permutations, nil); len(permutations) > epochs {
				break
			}
		}
	}
	row := 0
	for _, b := range got {
		for _, o := range b.Origins {
			epoch, at := row/records, row%records
			if want := permutations[epoch][at/repeats]; o.Index != want || o.Copy != at%repeats || o.Read != int64(row/repeats) {
				t.Fatalf("row %d is %+v, want copy %d of record %d", row, o, at%repeats, want)
			}
			row++
		}
	}
}

func TestPartialAugmentationDrawsOnlyTheLastPartAnew(t *testing.T) {
	s := preset(t, echo.PartialAugmentation, 6, "input.augment=[{pad_crop: {pad: 1}}]", "input.augment_after=[flip]", "train.batch=6", "pipeline.shuffle=1")
	got, _ := (&digits{records: 33}).first(t, s, 60, Start{})
	flipped := func(p []float32) []float32 {
		q := slices.Clone(p)
		for y := range 4 {
			for x := range 4 {
				copy(q[(y*4+x)*3:][:3], p[(y*4+3-x)*3:])
			}
		}
		return q
	}
	crops, flips := map[string]bool{}, 0
	for _, b := range got { // each is the six copies of a read
		first := pixels(b, 0)
		crops[fmt.Sprint(first)] = true
		for n := range b.Origins {
			switch p := pixels(b, n); {
			case b.Origins[n].Read != b.Origins[0].Read || b.Origins[n].Copy != n:
				t.Fatalf("the rows are %v", b.Origins)
			case slices.Equal(p, flipped(first)):
				flips++
			case !slices.Equal(p, first):
				t.Fatalf("copy %d is neither copy 0 nor its mirror image", n)
			}
		}
	}
	if len(crops) < 33 || flips < 60*5/4 || flips > 60*5*3/4 {
		t.Errorf("%d different crops, %d of %d copies mirrored", len(crops), flips, 60*5)
	}
}

func TestAPresetIsWrittenResolvedAndReadBack(t *testing.T) {
	s := preset(t, echo.RepeatedAugmentation, 3)
	s.Stages.Prefetch = parse(t, replayed).Stages.Prefetch
	text, err := s.text()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"preset: repeated_augmentation", "strategy: example", "shuffle: 1\n", "draws: 3"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if back := parse(t, string(text)); !reflect.DeepEqual(back, s) {
		t.Errorf("it is read back as %+v", back)
	}
}

func TestWhatDoesNotGoWithAPresetIsRefused(t *testing.T) {
	for set, want := range map[string]string{
		"echo={preset: repeated}":                                            `want one of`,
		"echo={preset: minibatch_persistency, strategy: example}":            "is of the strategy batch, and the strategy is example",
		"echo={preset: minibatch_persistency, shuffle_batches: 4}":           "keeps the copies of a batch together",
		"echo={preset: repeated_augmentation, factor: 2.5}":                  "takes a whole one",
		"echo={preset: augmentation_multiplicity, factor: auto}":             "takes a whole one",
		"echo={preset: augmentation_multiplicity, factor: 3}":                "train.batch: is 128, which is no multiple of the factor 3",
		"echo={preset: partial_augmentation}":                                "input.augment_after: is empty",
		"{":                                                                  "want permuted",
		"data={source: synth, order: sequential, draws: 2}":                  "data.draws",
		"input={augment: [flip], augment_after: [{random_erasing: {p: 2}}]}": "input.augment_after[0].random_erasing",
	} {
		sets := []string{set}
		if strings.HasPrefix(set, "{") {
			sets = []string{"data.order=sequential", "echo={preset: repeated_augmentation}"}
		}
		if _, err := DefaultRegistry().Parse("run.yaml", minimal, sets...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", set, err, want)
		}
	}
}
