package data_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

// labels is a source of records that hold their own number and are of the
// class it lists.
type labels []int

func (l labels) Len() int        { return len(l) }
func (l labels) Label(i int) int { return l[i] }
func (l labels) Classes() []string {
	return make([]string, slices.Max(l)+1)
}
func (l labels) Name(i int) string { return "record " + string(rune('a'+i%26)) }
func (l labels) Read(_ context.Context, i int) (data.Example, error) {
	return data.Example{Input: data.Tokens{int32(i)}, Target: data.Class(l[i])}, nil
}

// bare is a source that knows no classes.
type bare struct{ n int }

func (b bare) Len() int { return b.n }
func (b bare) Read(_ context.Context, i int) (data.Example, error) {
	return data.Example{Input: data.Tokens{int32(i)}}, nil
}

// records are the numbers of the records of a part, in its order.
func records(t interface{ Fatal(...any) }, src data.Source) []int {
	var out []int
	for i := range src.Len() {
		e, err := src.Read(context.Background(), i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, int(e.Input.(data.Tokens)[0]))
	}
	return out
}

// subset is what text names of src.
func subset(t interface{ Fatal(...any) }, src data.Source, text string, seed uint64) data.Source {
	s, err := data.ParseSlice(text)
	if err != nil {
		t.Fatal(err)
	}
	part, err := data.Subset(src, s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// balanced has n records of each of k classes, class by class, as on disk.
func balanced(n, k int) labels {
	var l labels
	for c := range k {
		l = append(l, slices.Repeat([]int{c}, n)...)
	}
	return l
}

func TestBothPartsOfASplitHaveEveryClassInItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 60), 1, 12).Draw(t, "sizes")
		var l labels
		for c, n := range sizes {
			l = append(l, slices.Repeat([]int{c}, n)...)
		}
		if len(l) < 2 {
			return
		}
		cut := rapid.IntRange(1, len(l)-1).Draw(t, "cut")
		seed := rapid.Uint64().Draw(t, "seed")
		s := data.Slice{Base: "train", To: strconv.Itoa(cut)}
		rest := data.Slice{Base: "train", From: strconv.Itoa(cut)}
		a, err := data.Subset(l, s, seed)
		if err != nil {
			t.Fatal(err)
		}
		b, err := data.Subset(l, rest, seed)
		if err != nil {
			t.Fatal(err)
		}
		all := append(records(t, a), records(t, b)...)
		slices.Sort(all)
		for i, r := range all {
			if i != r {
				t.Fatalf("record %d is in both parts or in neither", min(i, r))
			}
		}
		if a.Len() != cut || len(all) != len(l) {
			t.Fatalf("the parts have %d and %d records, want %d and %d", a.Len(), b.Len(), cut, len(l)-cut)
		}
		for _, part := range []data.Source{a, b} {
			counts := make([]int, len(sizes))
			for i := range part.Len() {
				counts[part.(data.Labelled).Label(i)]++
			}
			for c, n := range counts {
				share := float64(sizes[c]) * float64(part.Len()) / float64(len(l))
				if math.Abs(float64(n)-share) >= 1+1e-9 {
					t.Fatalf("%d of %d records of class %d are in the part of %d of %d: want %.2f", n, sizes[c], c, part.Len(), len(l), share)
				}
			}
		}
	})
}

func TestASplitOfEqualClassesHasEquallyManyOfEach(t *testing.T) {
	src := balanced(50, 10)
	for _, test := range []struct {
		text string
		each int
	}{{"train[:450]", 45}, {"train[90%:]", 5}, {"train[:2%]", 1}, {"train[100:200]", 10}} {
		part := subset(t, src, test.text, 0)
		counts := make([]int, 10)
		for i := range part.Len() {
			counts[part.(data.Labelled).Label(i)]++
		}
		for c, n := range counts {
			if n != test.each {
				t.Errorf("%s has %d records of class %d, want %d", test.text, n, c, test.each)
			}
		}
	}
}

func TestASubsetStandsAsItsSourceDoesAndItsSeedDecidesWhatIsInIt(t *testing.T) {
	src := balanced(50, 4)
	first := records(t, subset(t, src, "train[:100]", 0))
	if !slices.IsSorted(first) {
		t.Error("the records of a subset are not in the order of the source")
	}
	if !slices.Equal(first, records(t, subset(t, src, "train[:100]", 0))) {
		t.Error("one seed gives two splits")
	}
	other := records(t, subset(t, src, "train[:100]", 1))
	if slices.Equal(first, other) {
		t.Error("two seeds give one split")
	}
	if contiguous := first[len(first)-1]-first[0] == len(first)-1; contiguous {
		t.Error("a split is taken from the order on disk")
	}
	part := subset(t, src, "train[:100]", 0)
	for i, r := range first {
		if part.(data.Labelled).Label(i) != src[r] || part.(data.Named).Name(i) != src.Name(r) {
			t.Fatalf("record %d of the subset has another class or name than record %d of the source", i, r)
		}
	}
	if n := len(part.(data.Labelled).Classes()); n != 4 {
		t.Errorf("the subset has %d classes, want 4", n)
	}
	if whole := subset(t, src, "train", 0); !slices.Equal(records(t, whole), records(t, src)) {
		t.Error("the whole is not the source")
	}
}

func TestASourceThatKnowsNoClassesIsSplitAtRandom(t *testing.T) {
	a, b := subset(t, bare{101}, "train[:30%]", 3), subset(t, bare{101}, "train[30%:]", 3)
	if a.Len() != 30 || b.Len() != 71 {
		t.Errorf("the parts have %d and %d records, want 30 and 71", a.Len(), b.Len())
	}
	all := append(records(t, a), records(t, b)...)
	if slices.Sort(all); all[0] != 0 || all[100] != 100 || len(slices.Compact(all)) != 101 {
		t.Error("the parts do not make up the whole")
	}
	if l, ok := a.(data.Labelled); ok && (len(l.Classes()) != 0 || l.Label(0) != 0) {
		t.Error("a part of what has no classes has some")
	}
	if name := a.(data.Named).Name(0); !strings.HasPrefix(name, "record ") {
		t.Errorf("a part of what has no names has %q", name)
	}
}

func TestTheRangeOfASliceIsCountedInRecordsOrPercent(t *testing.T) {
	for _, test := range []struct {
		text     string
		n        int
		from, to int
	}{
		{"train", 50, 0, 50},
		{"train[:]", 50, 0, 50},
		{"train[:45]", 50, 0, 45},
		{"train[45:]", 50, 45, 50},
		{"train[7:8]", 50, 7, 8},
		{"train[90%:]", 50, 45, 50},
		{"train[:10%]", 55, 0, 5},
		{"train[10%:]", 55, 5, 55},
		{"train[12.5%:50%]", 64, 8, 32},
		{"train[0%:100%]", 7, 0, 7},
		{"train", data.Endless, 0, data.Endless},
	} {
		s, err := data.ParseSlice(test.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if from, to, err := s.Range(test.n); err != nil || from != test.from || to != test.to {
			t.Errorf("%s of %d goes from %d to %d (%v), want %d to %d", test.text, test.n, from, to, err, test.from, test.to)
		}
	}
}

func TestPercentagesLeaveNoGapAndNoOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		p := strconv.FormatFloat(float64(rapid.IntRange(1, 9999).Draw(t, "p"))/100, 'f', -1, 64) + "%"
		_, to, err := data.Slice{Base: "a", To: p}.Range(n)
		if err != nil {
			return // no records
		}
		from, _, err := data.Slice{Base: "a", From: p}.Range(n)
		if err != nil || from != to {
			t.Fatalf("up to %s of %d is up to %d, from it on from %d (%v)", p, n, to, from, err)
		}
	})
}

func TestAPercentageOfRoundNumbersIsExact(t *testing.T) {
	for hundredths := 1; hundredths <= 10_000; hundredths++ {
		p := strconv.FormatFloat(float64(hundredths)/100, 'f', -1, 64) + "%"
		if _, to, err := (data.Slice{Base: "a", To: p}).Range(50_000); err != nil || to != 5*hundredths {
			t.Fatalf("%s of 50000 is %d (%v), want %d", p, to, err, 5*hundredths)
		}
	}
}

func TestASliceIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{"train", "train[:45000]", "train[90%:]", "train[1:2]", "train[2.5%:50%]", "val_2/x"} {
		s, err := data.ParseSlice(text)
		if err != nil || s.String() != text {
			t.Errorf("%s is read as %v (%v)", text, s, err)
		}
	}
	for _, text := range []string{
		"", "[:5]", "train[", "train[]", "train[5]", "train[:5", "train[-1:]", "train[a:b]", "train[:5][:6]",
		"train[1:2:3]", "train[:%]", "train[: 5]", "train[:1e3]", "train[.5%:]", "train]",
	} {
		if s, err := data.ParseSlice(text); err == nil || !strings.HasPrefix(err.Error(), "data: split is ") {
			t.Errorf("%q is read as %v (%v)", text, s, err)
		}
	}
}

func TestARangeOutsideTheRecordsOrEmptyIsRefused(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"train[:51]", 50, "data: train[:51] reaches to record 51, and train has 50"},
		{"train[51:]", 50, "data: train[51:] reaches to record 51, and train has 50"},
		{"train[:99999999999999999999]", 50, "reaches to record 99999999999999999999"},
		{"train[:101%]", 50, "data: train[:101%]: 101% is more than 100%"},
		{"train[5:5]", 50, "data: train[5:5] holds no records: it goes from 5 to 5"},
		{"train[6:5]", 50, "holds no records"},
		{"train[:1%]", 50, "holds no records"},
		{"train", 0, "holds no records"},
		{"train[:5]", data.Endless, "cuts a source that has no end"},
	} {
		s, err := data.ParseSlice(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Range(test.n); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s of %d: error is %v, want one with %q", test.text, test.n, err, test.want)
		}
		if test.n > 0 {
			if _, err := data.Subset(bare{test.n}, s, 0); err == nil {
				t.Errorf("%s of %d is made a subset", test.text, test.n)
			}
		}
	}
}

func TestSlicesThatShareRecordsAreRefused(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"train[:45]", "train[45:]", ""},
		{"train[:90%]", "train[90%:]", ""},
		{"train", "test", ""},
		{"train[:45]", "train[44:]", "data: train[:45] and train[44:] have 1 records in common"},
		{"train", "train[90%:]", "data: train and train[90%:] have 5 records in common"},
		{"train", "train", "50 records in common"},
		{"train[:45]", "train[60:]", "reaches to record 60"},
		{"train[60:]", "train[:45]", "reaches to record 60"},
	} {
		a, err := data.ParseSlice(test.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := data.ParseSlice(test.b)
		if err != nil {
			t.Fatal(err)
		}
		switch err := data.Disjoint(a, b, 50); {
		case test.want == "" && err != nil:
			t.Errorf("%s and %s: %v", test.a, test.b, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s and %s: error is %v, want one with %q", test.a, test.b, err, test.want)
		}
	}
}
