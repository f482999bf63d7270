package exec

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPlacesOfSpansThatMeetInTimeDoNotMeetInMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOf(rapid.Custom(func(t *rapid.T) span {
			first := rapid.IntRange(0, 30).Draw(t, "first")
			return span{first, first + rapid.IntRange(0, 10).Draw(t, "length"), rapid.IntRange(0, 100).Draw(t, "size")}
		})).Draw(t, "spans")
		offsets, size := place(spans)
		var sum, peak int
		for i, a := range spans {
			if offsets[i] < 0 || offsets[i]%line != 0 || offsets[i]+a.size > size {
				t.Fatalf("span %d at %d of %d", i, offsets[i], size)
			}
			alive := 0
			for j, b := range spans {
				if b.first <= a.first && a.first <= b.last {
					alive += b.size
				}
				if i != j && a.meets(b) && offsets[i] < offsets[j]+b.size && offsets[j] < offsets[i]+a.size {
					t.Fatalf("spans %d and %d share memory", i, j)
				}
			}
			peak = max(peak, alive)
			sum += (a.size + line - 1) / line * line
		}
		if size < peak || size > sum {
			t.Fatalf("%d floats; the most alive at once are %d, all together %d", size, peak, sum)
		}
	})
}
