package experiments

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestStatsAreThoseOfThePictures(t *testing.T) {
	path := photos(t) // 32×16 in gray, half white and half black, every other one on its side
	if err := os.WriteFile(filepath.Join(path, "1", "broken.jpg"), []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 8, 64))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(path, "1", "black.jpg"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	parts, err := DefaultRegistry().WholeParts(path)
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	s, err := parts[0].Stats(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const white = 16 * 256. / (17 * 512)
	for c := range 3 {
		if math.Abs(s.Mean[c]-white) > 0.002 || math.Abs(s.Std[c]-math.Sqrt(white*(1-white))) > 0.002 {
			t.Errorf("channel %d has the mean %.4f and std %.4f, want %.4f and %.4f", c, s.Mean[c], s.Std[c], white, math.Sqrt(white*(1-white)))
		}
	}
	s.Mean, s.Std, s.Bytes = [3]float64{}, [3]float64{}, Extent{}
	if want := (Stats{
		Part: "all", Records: 18, Damaged: 1, Classes: []ClassCount{{"0", 8}, {"1", 10}},
		Formats: map[string]int{"JPEG": 16, "PNG": 1}, Gray: 16, Turned: 8,
		Width: Extent{8, 32, 32}, Height: Extent{16, 16, 64},
	}); !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
	var text bytes.Buffer
	if err := s.Write(&text); err != nil || !strings.Contains(text.String(), "all: 18 records, 2 classes, 1 damaged") || !strings.Contains(text.String(), "gray 94.12 %, CMYK 0 %, progressive 0 %, turned by EXIF 47.06 %") {
		t.Errorf("got %v\n%s", err, text.String())
	}
}

// cellsOf cuts a sheet in pictures.
func cellsOf(t *testing.T, b []byte) (cells [][]image.Image) {
	t.Helper()
	m, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	const stepX, stepY = cellSide + cellGap, cellSide + lineHeight + cellGap
	for y := cellGap; y+stepY <= m.Bounds().Dy(); y += stepY {
		var row []image.Image
		for x := cellGap; x+stepX <= m.Bounds().Dx(); x += stepX {
			row = append(row, m.(*image.RGBA).SubImage(image.Rect(x, y, x+cellSide, y+cellSide)))
		}
		cells = append(cells, row)
	}
	return cells
}

func TestASheetOfASpecShowsWhatTrainingSees(t *testing.T) {
	l, r := newLab(64)
	l.noise = 60
	s := parseWith(t, r, ofLab, "echo.strategy=example", "echo.factor=2")
	var b bytes.Buffer
	if err := s.Show(t.Context(), &b, 5, 3); err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, b.Bytes())
	if len(cells) != 5 || len(cells[0]) != 4 {
		t.Fatalf("the sheet has %d rows of %d", len(cells), len(cells[0]))
	}
	opened, d, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	opened.Stages.Prefetch = Buffer{Items: 1}
	opened.Input.Mean, opened.Input.Std = []float32{0, 0, 0}, []float32{1, 1, 1}
	pix := inputs(t, opened.Pipeline(t.Context(), d.Train, nil, nil, Start{}))
	for i := range 8 { // rows of the batch: of each record two copies
		shown := cells[i/2][1+i%2]
		at := shown.Bounds().Min
		for p := range 64 {
			const side = cellSide / 8
			red, _, _, _ := shown.At(at.X+p%8*side, at.Y+p/8*side).RGBA()
			if want := pix[(i*64+p)*3] * 255; math.Abs(float64(want)-float64(red>>8)) > 0.01 {
				t.Fatalf("pixel %d of copy %d of record %d is %d on the sheet, %v in training", p, i%2, i/2, red>>8, want)
			}
		}
	}
}

func TestASheetOfAPathShowsEveryPictureAndWhatIsDamaged(t *testing.T) {
	path := photos(t)
	if err := os.WriteFile(filepath.Join(path, "1", "broken.jpg"), []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	parts, err := DefaultRegistry().WholeParts(path)
	if err != nil {
		t.Fatal(err)
	}
	var b, again, other bytes.Buffer
	for to, seed := range map[*bytes.Buffer]uint64{&b: 1, &again: 1, &other: 2} {
		if err := parts[0].Show(t.Context(), to, 64, seed); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(b.Bytes(), again.Bytes()) || bytes.Equal(b.Bytes(), other.Bytes()) {
		t.Error("the seed does not decide the sheet")
	}
	red := 0
	for _, row := range cellsOf(t, b.Bytes()) {
		for _, c := range row {
			if r, g, _, _ := c.At(c.Bounds().Min.X, c.Bounds().Min.Y).RGBA(); r>>8 == 200 && g>>8 == 90 {
				red++
			}
		}
	}
	if cells := cellsOf(t, b.Bytes()); red != 1 || len(cells) != 4 || len(cells[0]) != 5 {
		t.Errorf("%d pictures are damaged, on %d rows of %d", red, len(cells), len(cells[0]))
	}
}

func TestEveryAugmentationIsOnTheSheetOfAugmentations(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range exemplars() {
		if check := c.Value.(interface{ Check() error }).Check(); check != nil {
			t.Errorf("%s: %v", c.Name, check)
		}
		shown[c.Name] = true
	}
	for name := range DefaultRegistry().Augmentations {
		if !shown[name] {
			t.Errorf("%s is missing", name)
		}
	}
	var b bytes.Buffer
	if err := ShowAugmentations(t.Context(), &b, photo(t, 300, 200, 1), 4); err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, b.Bytes())
	if len(cells) != len(exemplars())+len(mixtures()) {
		t.Errorf("the sheet has %d rows", len(cells))
	}
	for i, row := range cells {
		if changed := !samePicture(row[0], row[1]) || !samePicture(row[0], row[2]) || !samePicture(row[0], row[3]) || !samePicture(row[0], row[4]); !changed {
			t.Errorf("row %d shows no change", i)
		}
	}
	if err := ShowAugmentations(t.Context(), &b, []byte("<html>"), 4); err == nil {
		t.Error("a web page is augmented")
	}
}

func samePicture(a, b image.Image) bool {
	for y := range cellSide {
		for x := range cellSide {
			if a.At(a.Bounds().Min.X+x, a.Bounds().Min.Y+y) != b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y) {
				return false
			}
		}
	}
	return true
}
