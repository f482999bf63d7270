package experiments

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// Save writes f to a directory: figure4.json, figure4.txt, figure4.svg and figure4.png.
func (f Figure4) Save(dir string) error {
	const width, height = 9 * vg.Inch, 4 * vg.Inch
	panels, err := f.panels()
	if err != nil {
		return fmt.Errorf("figure 4: %w", err)
	}
	svg := vgsvg.New(width, height)
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150))}
	paint(panels, svg)
	paint(panels, png)
	return errors.Join(
		report.WriteJSON(filepath.Join(dir, "figure4.json"), f),
		train.WriteFile(filepath.Join(dir, "figure4.txt"), f.Write),
		train.WriteFile(filepath.Join(dir, "figure4.svg"), writes(svg)),
		train.WriteFile(filepath.Join(dir, "figure4.png"), writes(png)),
	)
}

func writes(from io.WriterTo) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := from.WriteTo(w)
		return err
	}
}

// paint draws plots beside each other.
func paint(panels []*plot.Plot, on vg.CanvasSizer) {
	tiles := draw.Tiles{Rows: 1, Cols: len(panels), PadX: vg.Points(20), PadTop: vg.Points(4), PadBottom: vg.Points(4), PadLeft: vg.Points(4), PadRight: vg.Points(12)}
	canvases := plot.Align([][]*plot.Plot{panels}, tiles, draw.New(on))
	for i, p := range panels {
		p.Draw(canvases[0][i])
	}
}

// panels are the two halves of the figure: fresh examples and seconds over the factor, each with what it would be if
// copies were worth as much as fresh examples, and with the paper's ratios to its baseline.
func (f Figure4) panels() ([]*plot.Plot, error) {
	base := f.Bars[0]
	fresh, err := f.panel("fresh examples to "+f.Target, "thousands", func(c EchoCost) (measured Spread, others [2]float64) {
		return c.Fresh.scaled(1e-3), [2]float64{base.Fresh.Mean / c.Factor / 1000, over(base.Fresh.Mean/1000, c.PaperReduction)}
	}, "if copies were fresh")
	if err != nil {
		return nil, err
	}
	wall, err := f.panel(fmt.Sprintf("seconds to %s, R = %.2g", f.Target, f.R()), "seconds", func(c EchoCost) (measured Spread, others [2]float64) {
		return c.Seconds, [2]float64{over(base.Seconds.Mean, c.PredictedGain), over(base.Seconds.Mean, c.PaperSpeedup)}
	}, "predicted")
	return []*plot.Plot{fresh, wall}, err
}

// over is a/b, and no number where b is absent.
func over(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

func (s Spread) scaled(by float64) Spread {
	s.Mean, s.Min, s.Max = s.Mean*by, s.Min*by, s.Max*by
	return s
}

// panel is a plot over the factors: what of gives first with its spread, where a ring is a bound, and two dashed lines.
func (f Figure4) panel(title, unit string, of func(EchoCost) (Spread, [2]float64), second string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Title.TextStyle.Font.Size = title, vg.Points(11)
	p.X.Label.Text, p.Y.Label.Text = "echo factor", unit
	p.Y.Min, p.Legend.Top = 0, true
	var (
		marks  []plot.Tick
		line   plotter.XYs
		points = struct {
			plotter.XYs
			plotter.YErrors
		}{}
		rings  plotter.XYs
		dashes [2]plotter.XYs
	)
	for _, c := range f.Bars {
		s, others := of(c)
		at := plotter.XY{X: c.Factor, Y: s.Mean}
		marks = append(marks, plot.Tick{Value: c.Factor, Label: fmt.Sprintf("%g", c.Factor)})
		if line = append(line, at); s.Bound {
			rings = append(rings, at)
		} else {
			points.XYs = append(points.XYs, at)
			points.YErrors = append(points.YErrors, struct{ Low, High float64 }{s.Mean - s.Min, s.Max - s.Mean})
		}
		for i, y := range others {
			if !math.IsNaN(y) {
				dashes[i] = append(dashes[i], plotter.XY{X: c.Factor, Y: y})
			}
		}
	}
	p.X.Tick.Marker = plot.ConstantTicks(marks)
	black := color.Gray{30}
	l, err := plotter.NewLine(line)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width = black, vg.Points(1.5)
	p.Add(l)
	p.Legend.Add("measured: mean, min, max", l)
	for i, name := range []string{second, "paper's ratios"} {
		if len(dashes[i]) == 0 {
			continue
		}
		d, err := plotter.NewLine(dashes[i])
		if err != nil {
			return nil, err
		}
		d.Color, d.Width, d.Dashes = plotutil.Color(i), vg.Points(1.2), []vg.Length{vg.Points(float64(5 - 3*i)), vg.Points(3)}
		p.Add(d)
		p.Legend.Add(name, d)
	}
	if len(points.XYs) > 0 {
		bars, err := plotter.NewYErrorBars(points)
		if err != nil {
			return nil, err
		}
		dots, err := plotter.NewScatter(points.XYs)
		if err != nil {
			return nil, err
		}
		bars.Color, dots.Color, dots.Shape, dots.Radius = black, black, draw.CircleGlyph{}, vg.Points(3)
		p.Add(bars, dots)
	}
	if len(rings) > 0 {
		dots, err := plotter.NewScatter(rings)
		if err != nil {
			return nil, err
		}
		dots.Color, dots.Shape, dots.Radius = black, draw.RingGlyph{}, vg.Points(4)
		p.Add(dots)
		p.Legend.Add("more than this", dots)
	}
	return p, nil
}
