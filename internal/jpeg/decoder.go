package jpeg

import (
	"errors"
	"image"
)

// What Decode fails with. Neither is a verdict: image/jpeg may decode the file all the same.
var (
	ErrUnsupported = errors.New("jpeg: a kind of file that is not decoded here")
	ErrDamaged     = errors.New("jpeg: the file is damaged or not whole")
	ErrTooLarge    = errors.New("jpeg: the picture has more pixels than are allowed, or than its file can hold")
)

// Options are those of [Decoder.Decode]. The zero Options decode all of a file, to its end.
type Options struct {
	// Crop is the part that is needed; empty means all. Blocks outside it are not transformed.
	Crop image.Rectangle
	// Lenient leaves the file below Crop unread, so that damage there goes unnoticed.
	Lenient bool
	// MaxPixels is the largest picture, width times height; 0 means 1<<27.
	MaxPixels int
}

// maxPixels is the default of Options.MaxPixels.
const maxPixels = 1 << 27

// pixelsPerByte is more than a byte of a file can stand for: a block of 8×8, of a component at half the resolution
// both ways, takes at least a bit.
const pixelsPerByte = 8 * 64

// Config is what the header of a file tells.
type Config struct {
	Width, Height  int
	Components     int // 1 or 3
	RatioX, RatioY int // pixels that a sample of the colours covers: 1 or 2
	Progressive    bool
}

// Decoder decodes JPEG files. The zero value is ready. It may be used again, but not by several goroutines at once.
type Decoder struct {
	Path Path // the instructions to use; the zero value is the fastest

	frame    frame
	quant    [4]quantTable
	dc, ac   [4]huffman
	defined  struct{ quant, dc, ac [4]bool } // by this file
	restart  int                             // MCUs from one restart marker to the next; 0 is none
	jfif     bool
	adobe    bool
	rgb      bool // of Adobe's marker
	scans    int
	data     []byte // memory of reader.data
	segments []segment
	reader   reader
	coef     []int16 // blocks, in the order of [transposed]
	last     []uint8 // of each block of coef the last position that is not zero
	jobs     [maxBlocks]job
	pred     [3]int32 // DC values, of the components of a scan
	dirty    bool     // blocks of coef may not be zeros
	window   window
	planes   *Planes
	lenient  bool
}

// component is one of the components of a frame.
type component struct {
	id, quant  byte
	h, v       int      // sampling factors
	wide, high int      // size in blocks, as scans of it alone have it
	stride     int      // blocks in a row of a progressive picture
	offset     int      // of its blocks in coef
	precision  [64]int8 // of each coefficient, the lowest bit known; 0 when whole
	q          *quantTable
}

// frame is the header of a picture.
type frame struct {
	found         bool
	baseline      bool
	progressive   bool
	width, height int
	n             int // components
	c             [3]component
	h, v          int // the largest sampling factors: those of the first component
	across, down  int // size in MCUs
}

// window is the part of a frame that is transformed, in MCUs.
type window struct{ x0, y0, x1, y1 int }

// Config reads the header of a file. It fails as Decode does.
func (d *Decoder) Config(b []byte) (Config, error) {
	err := d.read(b, true)
	if err != nil {
		return Config{}, err
	}
	f := &d.frame
	c := Config{Width: f.width, Height: f.height, Components: f.n, RatioX: 1, RatioY: 1, Progressive: f.progressive}
	if f.n == 3 {
		c.RatioX, c.RatioY = f.h/f.c[1].h, f.v/f.c[1].v
	}
	return c, nil
}

// Decode decodes file b into p, whose memory it reuses. It fails with [ErrUnsupported], [ErrDamaged] or [ErrTooLarge];
// the content of p is then undefined. Whether a file is good does not depend on o.Crop unless o.Lenient.
func (d *Decoder) Decode(p *Planes, b []byte, o Options) error {
	if err := d.read(b, true); err != nil {
		return err
	}
	f := &d.frame
	limit := o.MaxPixels
	if limit == 0 {
		limit = maxPixels
	}
	if f.width*f.height > limit || f.width*f.height/pixelsPerByte > len(b) {
		return ErrTooLarge
	}
	d.lenient, d.planes = o.Lenient, p
	d.prepare(o.Crop)
	err := d.read(b, false)
	d.planes = nil
	return err
}

// prepare sizes the planes and says which MCUs to transform.
func (d *Decoder) prepare(crop image.Rectangle) {
	f, p := &d.frame, d.planes
	all := image.Rect(0, 0, f.width, f.height)
	if crop = crop.Intersect(all); crop.Empty() {
		crop = all
	}
	w, h := 8*f.h, 8*f.v
	d.window = window{crop.Min.X / w, crop.Min.Y / h, (crop.Max.X + w - 1) / w, (crop.Max.Y + h - 1) / h}
	across, down := d.window.x1-d.window.x0, d.window.y1-d.window.y0
	p.Width, p.Height = f.width, f.height
	p.Rect = image.Rect(d.window.x0*w, d.window.y0*h, d.window.x1*w, d.window.y1*h).Intersect(all)
	p.Y, p.YStride = resize(p.Y, across*f.c[0].h, down*f.c[0].v)
	p.RatioX, p.RatioY = 1, 1
	if f.n == 1 {
		p.Cb, p.Cr, p.CStride = p.Cb[:0], p.Cr[:0], 0
		return
	}
	p.RatioX, p.RatioY = f.h/f.c[1].h, f.v/f.c[1].v
	p.Cb, p.CStride = resize(p.Cb, across*f.c[1].h, down*f.c[1].v)
	p.Cr, _ = resize(p.Cr, across*f.c[2].h, down*f.c[2].v)
}

// resize makes room for wide×high blocks in plane. Rows have room for an even number of blocks, since two are
// transformed at once, and there is a vector after the last, which a [Resampler] reads.
func resize(plane []byte, wide, high int) (p []byte, stride int) {
	stride = 8 * even(wide)
	n := 8*high*stride + width
	if cap(plane) < n {
		plane = make([]byte, n)
	}
	return plane[:n], stride
}

// plane is component i of the planes.
func (d *Decoder) plane(i int) (plane []byte, stride int) {
	switch i {
	case 0:
		return d.planes.Y, d.planes.YStride
	case 1:
		return d.planes.Cb, d.planes.CStride
	default:
		return d.planes.Cr, d.planes.CStride
	}
}
