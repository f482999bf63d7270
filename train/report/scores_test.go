package report_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/reprise-ml/reprise/train/report"
)

func TestScoresAreComparedByErrorAndOfTextByLoss(t *testing.T) {
	for _, c := range []struct {
		s    report.Scores
		main float64
		text string
	}{
		{report.OfClasses(1.5, 0.25), 0.25, "val_error 0.2500, val_loss 1.500"},
		{report.OfText(math.Log(8)), math.Log(8), "val_loss 2.0794, val_perplexity 8.000"},
		{report.Scores{Loss: 2}, 2, "val_loss 2.000"},
	} {
		if c.s.Main() != c.main || c.s.String() != c.text {
			t.Errorf("%+v: main score %g, written as %v", c.s, c.s.Main(), c.s)
		}
	}
}

func ExampleOfText() {
	s := report.OfText(math.Log(20))
	fmt.Printf("%v, error %v", s, s.Error)
	// Output: val_loss 2.9957, val_perplexity 20.000, error <nil>
}
