package experiments

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
)

// Stats describes the pictures of a part of a data set, those that can be
// decoded.
type Stats struct {
	Part    string       `json:"part"`
	Records int          `json:"records"`
	Damaged int          `json:"damaged"` // of them; they count for nothing below but the classes
	Classes []ClassCount `json:"classes,omitempty"`

	Formats     map[string]int `json:"formats"` // number of pictures
	Gray        int            `json:"gray"`
	CMYK        int            `json:"cmyk"`
	Progressive int            `json:"progressive"`
	Turned      int            `json:"exif_turned"` // whose EXIF orientation is not upright

	Width  Extent `json:"width"` // in pixels
	Height Extent `json:"height"`
	Bytes  Extent `json:"bytes"` // as stored

	// Of each channel over all pixels, on a scale of 0 to 1.
	Mean [3]float64 `json:"mean"`
	Std  [3]float64 `json:"std"`
}

// ClassCount is how many records a class has.
type ClassCount struct {
	Class   string `json:"class"`
	Records int    `json:"records"`
}

// Extent is the least, the middle and the largest of a number of values; of an
// even number the lower of the two in the middle.
type Extent struct {
	Min    int `json:"min"`
	Median int `json:"median"`
	Max    int `json:"max"`
}

func extent(values []int) Extent {
	if len(values) == 0 {
		return Extent{}
	}
	slices.Sort(values)
	return Extent{values[0], values[(len(values)-1)/2], values[len(values)-1]}
}

// measured is what is to be known of one picture.
type measured struct {
	damaged              bool
	facts                data.Facts
	width, height, bytes int
	sum, squares         [3]uint64
}

func measure(p data.Picture) measured {
	decoded, err := p.Decode()
	if err != nil {
		return measured{damaged: true}
	}
	m := measured{facts: p.Facts(), bytes: p.Size()}
	m.width, m.height = decoded.Bounds()
	pix := decoded.RGB().Pix
	for c := range m.sum {
		var sum, squares uint64
		for i := c; i < len(pix); i += 3 {
			v := uint64(pix[i])
			sum += v
			squares += v * v
		}
		m.sum[c], m.squares[c] = sum, squares
	}
	return m
}

// Stats reads and measures every picture of a part. Sums are of whole
// numbers, so that they are the same in any order. For progress see [Verify].
func (p Part) Stats(ctx context.Context, progress func(done, total int)) (Stats, error) {
	n := p.Source.Len()
	if n == data.Endless {
		return Stats{}, fmt.Errorf("experiments: %s has no end", p.Name)
	}
	s := Stats{Part: p.Name, Records: n, Formats: map[string]int{}}
	if l, ok := p.Source.(data.Labelled); ok {
		for _, class := range l.Classes() {
			s.Classes = append(s.Classes, ClassCount{Class: class})
		}
		for i := range n {
			s.Classes[l.Label(i)].Records++
		}
	}
	examples := records(ctx, p.Source, func(data.Origin, error) error { s.Damaged++; return nil })
	pictures := data.Map(ctx, examples, runtime.GOMAXPROCS(0), func(_ context.Context, e data.Example) (measured, error) {
		picture, ok := e.Input.(data.Picture)
		if !ok {
			return measured{}, fmt.Errorf("experiments: %s is no picture", data.RecordName(p.Source, e.Origin.Index))
		}
		return measure(picture), nil
	})
	var widths, heights, bytes []int
	var pixels uint64
	var sum, squares [3]uint64
	for m, err := range pictures {
		if err != nil {
			return s, err
		}
		if m.damaged {
			s.Damaged++
			continue
		}
		s.Formats[m.facts.Format]++
		for _, count := range []struct {
			is bool
			of *int
		}{{m.facts.Gray, &s.Gray}, {m.facts.CMYK, &s.CMYK}, {m.facts.Progressive, &s.Progressive}, {m.facts.Orientation != 1, &s.Turned}} {
			if count.is {
				*count.of++
			}
		}
		widths, heights, bytes = append(widths, m.width), append(heights, m.height), append(bytes, m.bytes)
		pixels += uint64(m.width * m.height)
		for c := range sum {
			sum[c] += m.sum[c]
			squares[c] += m.squares[c]
		}
		if progress != nil {
			progress(len(widths)+s.Damaged, n)
		}
	}
	s.Width, s.Height, s.Bytes = extent(widths), extent(heights), extent(bytes)
	for c := range sum {
		if pixels > 0 {
			mean := float64(sum[c]) / float64(pixels)
			s.Mean[c] = mean / 255
			s.Std[c] = math.Sqrt(max(float64(squares[c])/float64(pixels)-mean*mean, 0)) / 255
		}
	}
	return s, nil
}

// Write writes s for people.
func (s Stats) Write(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %s records, %d classes", s.Part, number(float64(s.Records)), len(s.Classes))
	if s.Damaged > 0 {
		fmt.Fprintf(b, ", %d damaged (reprise data verify lists them)", s.Damaged)
	}
	b.WriteString("\n")
	good := max(s.Records-s.Damaged, 1)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "  %-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	share := func(n int) string { return fmt.Sprintf("%.4g %%", 100*float64(n)/float64(good)) }
	var formats []string
	for _, f := range slices.Sorted(maps.Keys(s.Formats)) {
		formats = append(formats, f+" "+share(s.Formats[f]))
	}
	line("format", "%s", strings.Join(formats, ", "))
	line("of them", "gray %s, CMYK %s, progressive %s, turned by EXIF %s", share(s.Gray), share(s.CMYK), share(s.Progressive), share(s.Turned))
	line("width", "%d to %d pixels, median %d", s.Width.Min, s.Width.Max, s.Width.Median)
	line("height", "%d to %d pixels, median %d", s.Height.Min, s.Height.Max, s.Height.Median)
	line("size", "%v to %v, median %v", Bytes(s.Bytes.Min), Bytes(s.Bytes.Max), Bytes(s.Bytes.Median))
	triple := func(v [3]float64) string { return fmt.Sprintf("[%.4f, %.4f, %.4f]", v[0], v[1], v[2]) }
	line("mean:", "%s", triple(s.Mean))
	line("std:", "%s", triple(s.Std))
	width := 0
	for _, c := range s.Classes {
		width = max(width, len([]rune(c.Class)))
	}
	for i, c := range s.Classes {
		name := ""
		if i == 0 {
			name = "classes"
		}
		line(name, "%-*s  %d", width, c.Class, c.Records)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
