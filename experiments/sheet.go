package experiments

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/augment"
)

// Sizes on a sheet, in pixels.
const (
	cellSide   = 128
	cellGap    = 8
	lineHeight = 14
	letter     = 7 // width
)

// sheet is a contact sheet: rows of pictures, each with a line of text below.
type sheet struct{ rows [][]cell }

// cell is a picture on a sheet.
type cell struct {
	picture image.Image
	caption string
}

// newCell fits a decoded picture in a cell: a large one is resized, and the
// pixels of a small one become squares.
func newCell(p data.Picture, caption string) (cell, error) {
	w, h := p.Bounds()
	if long := max(w, h); long > cellSide {
		var err error
		fit := augment.Resize{Width: max(1, w*cellSide/long), Height: max(1, h*cellSide/long)}
		if p, err = fit.Augment(p, nil); err != nil {
			return cell{}, err
		}
		return cell{p.NRGBA(), caption}, nil
	}
	times := cellSide / max(w, h)
	small, large := p.NRGBA(), image.NewNRGBA(image.Rect(0, 0, w*times, h*times))
	for y := range h * times {
		for x := range w * times {
			large.SetNRGBA(x, y, small.NRGBAAt(x/times, y/times))
		}
	}
	return cell{large, caption}, nil
}

// damagedCell stands for a picture that cannot be decoded.
func damagedCell(name string) cell {
	return cell{image.NewUniform(color.RGBA{200, 90, 80, 255}), "damaged: " + name}
}

// wrap adds cells in rows of so many.
func (s *sheet) wrap(cells []cell, columns int) {
	for len(cells) > 0 {
		n := min(columns, len(cells))
		s.rows = append(s.rows, cells[:n])
		cells = cells[n:]
	}
}

// write writes s as PNG.
func (s sheet) write(w io.Writer) error {
	const stepX, stepY = cellSide + cellGap, cellSide + lineHeight + cellGap
	columns := 1
	for _, row := range s.rows {
		columns = max(columns, len(row))
	}
	m := image.NewRGBA(image.Rect(0, 0, columns*stepX+cellGap, max(1, len(s.rows))*stepY+cellGap))
	draw.Draw(m, m.Rect, image.NewUniform(color.Gray{225}), image.Point{}, draw.Src)
	for i, row := range s.rows {
		for j, c := range row {
			x, y := cellGap+j*stepX, cellGap+i*stepY
			b := c.picture.Bounds().Intersect(image.Rect(0, 0, cellSide, cellSide))
			corner := image.Pt(x+(cellSide-b.Dx())/2, y+(cellSide-b.Dy())/2)
			draw.Draw(m, image.Rectangle{corner, corner.Add(b.Size())}, c.picture, b.Min, draw.Src)
			pen := font.Drawer{Dst: m, Src: image.NewUniform(color.Gray{40}), Face: basicfont.Face7x13, Dot: fixed.P(x, y+cellSide+lineHeight-3)}
			pen.DrawString(shorten(c.caption, stepX/letter))
		}
	}
	return png.Encode(w, m)
}

// shorten leaves out what does not fit in so many letters.
func shorten(s string, letters int) string {
	r := []rune(s)
	if len(r) <= letters {
		return s
	}
	return string(r[:letters-2]) + ".."
}
