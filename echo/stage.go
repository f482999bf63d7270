package echo

import "github.com/reprise-ml/reprise/data"

// Stage is all that the echo of a pipeline needs, at whichever place its Spec says.
type Stage struct {
	Spec
	Seed      uint64    // of the rounding of a factor that is not whole
	Automatic Automatic // what the factor Auto goes by; its Max is that of the Spec
}

// At is in, echoed if place is that of s.
func At[T Item[T]](in data.Seq[T], place Strategy, s Stage) data.Seq[T] {
	f := s.Spec.At(place)
	if f == Auto {
		s.Automatic.Max = s.WithDefaults().Max
		return Repeatedly(in, s.Automatic)
	}
	return Repeat(in, f, s.Seed)
}
