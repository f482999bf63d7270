package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
	"github.com/reprise-ml/reprise/echo"
)

// Explain writes the pipeline of s, one stage a line in the order data flows,
// with its numbers filled in. It opens the data and builds the model.
func (s Spec) Explain(ctx context.Context, w io.Writer) error {
	asked := s.Stages.Shuffle
	var notes []string
	r := Run{Spec: s, Notice: func(text string) { notes = append(notes, text) }}
	if err := r.Check(ctx); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%sThe process needs %v.\n", r.explained(asked, notes), r.need())
	return err
}

// explained is the text of Explain; asked is the shuffle buffer as the Spec
// has it.
func (r *Run) explained(asked Buffer, notes []string) string {
	s, d := r.Spec, r.data
	b := &strings.Builder{}
	e, factor, auto := s.Echo, float64(s.Echo.Factor), s.Echo.Factor == echo.Auto
	if auto {
		factor = 1 // at least
	}
	fmt.Fprintf(b, "%s: ", s.Name)
	if e.Strategy == echo.None {
		b.WriteString("no echo, the baseline\n\n")
	} else {
		fmt.Fprintf(b, "%s echo, factor %v", e.Strategy, e.Factor)
		if e.Preset != "" {
			fmt.Fprintf(b, ": %s", e.Preset)
		}
		b.WriteString("\n\n")
	}

	stage := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	place := func(at echo.Strategy, what string) {
		if e.Strategy == at {
			fmt.Fprintf(b, "  ═══ echo ×%v: %s ═══\n", e.Factor, what)
		}
	}
	n := d.Train.Len()
	size := "records without end"
	if n != data.Endless {
		size = number(float64(n)) + " records"
	}
	kinds, values := fmt.Sprintf(" of %d classes", len(d.Classes)), "float32"
	if d.Vocabulary > 0 {
		kinds, values = fmt.Sprintf(", a vocabulary of %d tokens", d.Vocabulary), "int32"
	}
	stage("source", "%s of %s, %s%s, %s", s.Data.Train, s.Data.Source.Name, size, kinds, s.Data.Order)
	stage("read", "%s%s", s.readText(d.Train), s.storageText())
	if t, ok := s.textual(); ok {
		place(echo.Read, "every copy is made into tokens anew")
		stage("decode", "%d workers: text to tokens; %s", s.Stages.Workers, t.Unit())
		place(echo.Example, "copies are equal")
	} else {
		place(echo.Read, "every copy is decoded and augmented anew")
		stage("decode", "%d workers: %s", s.Stages.Workers, r.decodeText())
		place(echo.Example, "every copy is augmented anew")
		if s.Input.Exif == ExifApply {
			stage("turn", "upright, as EXIF has it")
		}
		stage("augment", "%s → %d×%d×3, %v", chain(s.Input.Augment), s.Input.Size, s.Input.Size, Bytes(3*s.Input.Size*s.Input.Size))
		if len(s.Input.AugmentAfter) == 0 {
			place(echo.Augmentation, "copies are equal")
		} else {
			place(echo.Augmentation, "copies are equal up to here")
		}
	}
	m := s.Stages.Shuffle.Items
	buffer := fmt.Sprintf("buffer of %s examples, %v", number(float64(m)), Bytes(m)*exampleBytes(r.sample))
	if asked.Memory > 0 {
		buffer += fmt.Sprintf(" (%v asked for)", asked.Memory)
	}
	if e.Preset.Together() {
		buffer = "no buffer: the order stays"
	}
	stage("shuffle", "%s", buffer)
	anew := ""
	if e.Strategy != echo.None && e.Strategy != echo.Batch {
		anew = ", every copy anew"
	}
	if len(s.Input.AugmentAfter) > 0 {
		stage("augment", "%s", chain(s.Input.AugmentAfter)+anew)
	}
	batch := batchBytes(r.hollow)
	stage("batch", "%d examples to %s, %v; up to %d ahead of the step", s.Train.Batch, values, batch, s.Stages.Prefetch.Items)
	mix := s.Input.Mix
	mixing := func(here bool, copies string) {
		if !mix.IsZero() && here {
			stage("mix", "%s%s", mixText(mix), copies)
		}
	}
	mixing(!mix.Redraw, "")
	place(echo.Batch, "the whole batch, step after step")
	mixing(mix.Redraw, ", every copy anew")
	if e.ShuffleBatches > 1 {
		stage("shuffle", "buffer of %d whole batches, %v", e.ShuffleBatches, Bytes(e.ShuffleBatches)*batch)
	}
	stage("step", "%s, %s weights, %s", modelText(s.Model), number(float64(r.learner.Params.Count())), s.Train.Optimizer.Name)

	b.WriteString("\n")
	fresh := float64(s.Train.Batch) / factor
	atMost := ""
	if auto {
		atMost = "at most "
		fmt.Fprintf(b, "The factor sets itself: an item is used again, %d times at most, where the step would\nhave to wait. With an upstream that takes R steps for a fresh batch it becomes R.\n", e.Max)
	}
	fmt.Fprintf(b, "A step trains on %d examples, of which %s%s are fresh.\n", s.Train.Batch, atMost, about(fresh))
	if n != data.Endless && !auto {
		fmt.Fprintf(b, "An epoch is %s fresh examples: %s steps.\n", number(float64(n)), about(float64(n)/fresh))
	}
	maxFresh, maxSteps := r.limits()
	steps := math.Min(float64(maxSteps), float64(maxFresh)/fresh)
	switch {
	case !auto:
		fmt.Fprintf(b, "The run ends after %s steps and %s fresh examples%s.\n", about(steps), about(steps*fresh), targetText(s.Stop.Target))
	case maxSteps < math.MaxInt64:
		fmt.Fprintf(b, "The run ends after %s steps%s.\n", about(steps), targetText(s.Stop.Target))
	default:
		fmt.Fprintf(b, "The run ends after %s fresh examples%s.\n", about(float64(maxFresh)), targetText(s.Stop.Target))
	}
	if share := s.duplicates(); share > 0 {
		fmt.Fprintf(b, "Of the rows of a batch, about %.2g %% have a copy in it already.\n", 100*share)
	}
	if k := int(e.Factor); e.Preset.Together() {
		fmt.Fprintf(b, "A batch holds %s different examples, %d copies of each side by side.\n", about(float64(s.Train.Batch)/float64(k)), k)
	} else {
		fmt.Fprintf(b, "Before the first step %s examples are read, to fill the shuffle buffer.\n", about(float64(m)/s.echoedBefore()))
	}
	if f, ratio := factor, s.Storage.UpstreamRatio; auto {
		// said above
	} else if ratio > 0 {
		fmt.Fprintf(b, "The storage makes R = %g: a fresh batch takes as long as %g steps, and the time\nper fresh example is that of %g steps.\n", ratio, ratio, max(ratio, f))
	} else if e.Strategy != echo.None {
		fmt.Fprintf(b, "Where reading a fresh batch takes R steps, the time per fresh example is that of\nmax(R, %g) steps: with R of %g or more, echoing costs no time.\n", f, f)
	}
	for _, n := range notes {
		if t, ok := s.textual(); !strings.HasPrefix(n, "shuffle buffer: ") && !(ok && n == t.Unit()) {
			fmt.Fprintf(b, "Note: %s.\n", n)
		}
	}
	return b.String()
}

// decodeText says what of a picture is decoded.
func (r *Run) decodeText() string {
	switch {
	case !r.inPart():
		return "JPEG to planes"
	case r.verified != nil:
		return "the part of a JPEG that is kept; what follows is not read, since data verify found all good"
	default:
		return "the part of a JPEG that is kept, the rest being checked"
	}
}

// inPart reports whether training pictures are decoded where they are
// augmented, and of a JPEG no more than is kept.
func (r *Run) inPart() bool {
	augs := r.Spec.Input.chosen(r.Spec.Input.Augment)
	if r.Spec.sharesDecoded() || len(augs) == 0 {
		return false
	}
	_, ok := augs[0].(data.Geometry)
	return ok
}

// duplicates is the expected share of a batch's rows whose read is in the
// batch already, for a batch much smaller than the shuffle buffer; NaN where
// it is not, or where the factor sets itself.
func (s Spec) duplicates() float64 {
	f := float64(s.Echo.Factor)
	switch {
	case s.Echo.Factor == echo.Auto:
		return math.NaN()
	case s.Echo.Strategy == echo.None, s.Echo.Strategy == echo.Batch:
		return 0
	case s.Echo.Preset.Together():
		return 1 - 1/f
	case s.Stages.Shuffle.Items <= s.Train.Batch:
		return math.NaN()
	}
	low := math.Floor(f)
	up := f - low // share of items with one use more
	pairs := (1-up)*low*(low-1) + up*(low+1)*low
	return float64(s.Train.Batch) * pairs / (4 * float64(s.Stages.Shuffle.Items) * f)
}

// echoedBefore is the factor of the echo that is left of the shuffle buffer.
func (s Spec) echoedBefore() float64 {
	if s.Echo.Strategy == echo.Batch || s.Echo.Factor == echo.Auto { // which makes no copies while the buffer fills
		return 1
	}
	return float64(s.Echo.Factor)
}

// readText says how records of src are read.
func (s Spec) readText(src data.Source) string {
	streams, ok := src.(data.Stream)
	if !ok {
		return fmt.Sprintf("%d at once", s.Stages.Readers)
	}
	n := streams.Shards.Shards()
	return fmt.Sprintf("%d of %d streams at once, a record each in turn", min(streams.Cycle, n), n)
}

func (s Spec) storageText() string {
	sim := s.Storage.Simulate
	var parts []string
	if sim.Latency > 0 {
		parts = append(parts, fmt.Sprintf("latency %v", sim.Latency))
	}
	if sim.Jitter > 0 {
		parts = append(parts, fmt.Sprintf("jitter up to %v", sim.Jitter))
	}
	if sim.Bandwidth > 0 {
		parts = append(parts, fmt.Sprintf("%v/s", Bytes(sim.Bandwidth)))
	} else if s.Storage.UpstreamRatio > 0 {
		parts = append(parts, "speed measured when the run starts")
	}
	if parts == nil {
		return ""
	}
	return " from simulated storage: " + strings.Join(parts, ", ")
}

// chain writes a list of augmentations with the settings they have.
func chain(list []Choice[data.Augmentation]) string {
	if len(list) == 0 {
		return "nothing"
	}
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = a.Name + settings(a.Value)
	}
	return strings.Join(parts, ", ")
}

// mixText writes how batches are mixed.
func mixText(m augment.Mix) string {
	var parts []string
	if m.Mixup != nil {
		parts = append(parts, "mixup"+settings(m.Mixup))
	}
	if m.Cutmix != nil {
		parts = append(parts, "cutmix"+settings(m.Cutmix))
	}
	text := strings.Join(parts, " or ")
	if p := m.Probability; p > 0 && p < 1 {
		text += fmt.Sprintf(" of %g %% of the batches", 100*p)
	}
	return text
}

func modelText(m Choice[Model]) string { return m.Name + settings(m.Value) }

// settings writes the fields of a struct that are set: (depth 8).
func settings(v any) string {
	s := reflect.Indirect(reflect.ValueOf(v))
	var parts []string
	for i := range s.NumField() {
		if f := s.Field(i); s.Type().Field(i).IsExported() && !f.IsZero() {
			parts = append(parts, fmt.Sprintf("%s %v", strings.ToLower(s.Type().Field(i).Name), f.Interface()))
		}
	}
	if parts == nil {
		return ""
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func targetText(t Target) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf(", or with %v", t)
}

// about writes a number that is a mean where it is not whole.
func about(v float64) string {
	if v == math.Trunc(v) {
		return number(v)
	}
	return "about " + number(math.Round(v))
}
