package report

import (
	"fmt"
	"math"
)

// Scores is what an evaluation found.
type Scores struct {
	Loss       float64  `json:"loss"`                 // mean over the examples; of text over its tokens, in nats
	Error      *float64 `json:"error,omitempty"`      // share of wrong classes; absent for text
	Perplexity *float64 `json:"perplexity,omitempty"` // of text: e to the power of the loss
}

// OfClasses are the scores of a model that tells classes apart.
func OfClasses(loss, wrong float64) Scores { return Scores{Loss: loss, Error: &wrong} }

// OfText are the scores of a language model.
func OfText(loss float64) Scores {
	p := math.Exp(loss)
	return Scores{Loss: loss, Perplexity: &p}
}

// Main is the score that weights are chosen and runs compared by, the least
// being best: the error, or the loss where there is none.
func (s Scores) Main() float64 {
	if s.Error != nil {
		return *s.Error
	}
	return s.Loss
}

// String writes the main score first, with names as of the validation data.
func (s Scores) String() string {
	switch {
	case s.Error != nil:
		return fmt.Sprintf("val_error %.4f, val_loss %s", *s.Error, number(s.Loss))
	case s.Perplexity != nil:
		return fmt.Sprintf("val_loss %.4f, val_perplexity %s", s.Loss, number(*s.Perplexity))
	}
	return "val_loss " + number(s.Loss)
}

// short writes the main score alone.
func (s Scores) short() string {
	if s.Error != nil {
		return fmt.Sprintf("val_error %.4f", *s.Error)
	}
	return "val_loss " + number(s.Loss)
}
