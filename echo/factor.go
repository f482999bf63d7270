package echo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Factor is how many times an item is used on average, itself included: from
// 1 to 1024, or Auto.
type Factor float64

// Auto is the Factor that sets itself while it runs; see [Automatic].
const Auto Factor = -1

// MaxFactor is the largest Factor: copies are numbered in base 1024.
const MaxFactor = 1024

// Check reports a factor that is out of range.
func (f Factor) Check() error {
	if f != Auto && !(f >= 1 && f <= MaxFactor) {
		return fmt.Errorf("echo: the factor is %g, want 1 to %d, or auto", float64(f), MaxFactor)
	}
	return nil
}

// Times rounds f, which is not Auto, up or down at random, with mean f: how often [Repeat] yields
// an item, if r is the item's Rand.
func (f Factor) Times(r *rand.Rand) int {
	n := int(f)
	if r.Float64() < float64(f)-float64(n) {
		n++
	}
	return n
}

// String writes f as "2.5" or "auto".
func (f Factor) String() string {
	if f == Auto {
		return "auto"
	}
	return strconv.FormatFloat(float64(f), 'g', -1, 64)
}

// UnmarshalText reads what String writes.
func (f *Factor) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*f = Auto
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v == float64(Auto) {
		return fmt.Errorf("echo: the factor is %q, want 1 to %d, or auto", text, MaxFactor)
	}
	*f = Factor(v)
	return nil
}

// MarshalYAML writes a number, or auto.
func (f Factor) MarshalYAML() (any, error) { return f.plain(), nil }

// MarshalJSON writes a number, or "auto".
func (f Factor) MarshalJSON() ([]byte, error) { return json.Marshal(f.plain()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Factor) UnmarshalJSON(text []byte) error {
	if string(text) == `"auto"` {
		*f = Auto
		return nil
	}
	return json.Unmarshal(text, (*float64)(f))
}

func (f Factor) plain() any {
	if f == Auto {
		return "auto"
	}
	return float64(f)
}
