package synth

import (
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// Results of experiments compare only while this holds; it is about the
// pictures before they are encoded, since the encoder is the Go version's.
func TestPicturesAreThoseOfEarlierVersions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors may round otherwise")
	}
	h := fnv.New64a()
	for i, k := range (Config{Classes: shapes * textures}).kinds() {
		h.Write(draw(k, 48, false, data.Origin{Read: int64(i)}.Rand(0)).Pix)
	}
	if got, want := h.Sum64(), uint64(0x67331ca8dbfe469e); got != want {
		t.Errorf("the hash of 64 pictures is %#x, want %#x", got, want)
	}
}

func TestKindsFillASquareOfShapesAndTextures(t *testing.T) {
	for n := 2; n <= shapes*textures; n++ {
		ks := Config{Classes: n}.kinds()
		names := map[string]bool{}
		ofShape, ofTexture := map[shape]int{}, map[texture]int{}
		for _, k := range ks {
			names[k.String()] = true
			ofShape[k.shape]++
			ofTexture[k.texture]++
		}
		if len(ks) != n || len(names) != n {
			t.Errorf("%d kinds have %d names", n, len(names))
		}
		if !slices.IsSortedFunc(ks, func(a, b kind) int { return strings.Compare(a.String(), b.String()) }) {
			t.Errorf("%d kinds are not sorted", n)
		}
		if d := len(ofShape) - len(ofTexture); d < 0 || d > 1 {
			t.Errorf("%d kinds have %d shapes and %d textures", n, len(ofShape), len(ofTexture))
		}
	}
}

func TestDistancesAreTrueNearOutlinesOfUnitSize(t *testing.T) {
	const steps = 200
	for s := range shape(shapes) {
		inside, reach := 0, 0.0
		for y := range steps {
			for x := range steps {
				u, v := 3*(float64(x)+0.5)/steps-1.5, 3*(float64(y)+0.5)/steps-1.5
				d := s.distance(u, v)
				if d < 0 {
					inside++
					reach = max(reach, math.Hypot(u, v))
				}
				// No distance grows faster than one walks.
				if e := s.distance(u+1e-4, v+1e-4); math.Abs(e-d) > 1.01e-4*math.Sqrt2 {
					t.Errorf("the distance to a %v grows by %.2f a unit at %.2f, %.2f", s, math.Abs(e-d)/1e-4/math.Sqrt2, u, v)
				}
			}
		}
		area := 9 * float64(inside) / steps / steps
		if area < 1 || area > 2.7 || reach < 0.85 || reach > 1.15 {
			t.Errorf("a %v has the area %.2f and reaches to %.2f", s, area, reach)
		}
	}
}

func TestTexturesShowBothColours(t *testing.T) {
	const radius, period = 40.0, 0.55
	for x := range texture(textures) {
		sum := 0.0
		for i := range 80 {
			for j := range 80 {
				u, v := (float64(i)-39.5)/radius, (float64(j)-39.5)/radius
				a := x.at(u, v, period, radius)
				if !(a >= 0 && a <= 1) {
					t.Fatalf("%v is %v at %v, %v", x, a, u, v)
				}
				sum += a
			}
		}
		if share := sum / (80 * 80); x.String() != "plain" && (share < 0.2 || share > 0.8) {
			t.Errorf("%v are %.2f of the second colour", x, share)
		}
	}
}
