package data

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
)

// Slice names a part of a data set: "train" is all of the part called train,
// "train[:45000]" 45,000 of its records, "train[90%:]" the last tenth. Which
// records those are is up to [Subset].
type Slice struct {
	Base     string
	From, To string // a number of records, a percentage, or "" for the end
}

var sliceForm = regexp.MustCompile(`^([^\[\]]+?)(?:\[(\d*|\d+(?:\.\d+)?%):(\d*|\d+(?:\.\d+)?%)\])?$`)

// ParseSlice reads the form that [Slice] shows.
func ParseSlice(s string) (Slice, error) {
	m := sliceForm.FindStringSubmatch(s)
	if m == nil {
		return Slice{}, fmt.Errorf("data: split is %q, want a name, or a name and a range such as train[:45000] or train[90%%:]", s)
	}
	return Slice{m[1], m[2], m[3]}, nil
}

// String is the form that ParseSlice reads.
func (s Slice) String() string {
	if s.From == "" && s.To == "" {
		return s.Base
	}
	return fmt.Sprintf("%s[%s:%s]", s.Base, s.From, s.To)
}

// Range returns the first number of s and the one after its last, of n
// records. It fails where s reaches past n or holds nothing.
func (s Slice) Range(n int) (from, to int, err error) {
	to = n
	for _, b := range []struct {
		text  string
		value *int
	}{{s.From, &from}, {s.To, &to}} {
		if b.text == "" {
			continue
		}
		if n == Endless {
			return 0, 0, fmt.Errorf("data: %v cuts a source that has no end", s)
		}
		if p, ok := cutPercent(b.text); ok {
			*b.value = int(p*float64(n)/100 + 1e-6) // 0.03% of 50000 is 14.99…
			if p > 100 {
				return 0, 0, fmt.Errorf("data: %v: %s is more than 100%%", s, b.text)
			}
			continue
		}
		if *b.value, err = strconv.Atoi(b.text); err != nil || *b.value > n {
			return 0, 0, fmt.Errorf("data: %v reaches to record %s, and %s has %d", s, b.text, s.Base, n)
		}
	}
	if n != Endless && from >= to {
		return 0, 0, fmt.Errorf("data: %v holds no records: it goes from %d to %d", s, from, to)
	}
	return from, to, nil
}

func cutPercent(s string) (float64, bool) {
	if s[len(s)-1] != '%' {
		return 0, false
	}
	p, err := strconv.ParseFloat(s[:len(s)-1], 64)
	return p, err == nil
}

// Disjoint reports, as an error, two slices of one base, of n records, that
// have records in common.
func Disjoint(a, b Slice, n int) error {
	if a.Base != b.Base || n == Endless {
		return nil
	}
	af, at, err := a.Range(n)
	if err != nil {
		return err
	}
	bf, bt, err := b.Range(n)
	if err != nil {
		return err
	}
	if shared := min(at, bt) - max(af, bf); shared > 0 {
		return fmt.Errorf("data: %v and %v have %d records in common", a, b, shared)
	}
	return nil
}

// Part is a part of a source.
type Part struct {
	Source
	records []int // of Source, in its order
}

// Subset returns the records of src that s names. They come from a fixed
// permutation, seeded by seed alone and, where src is [Labelled], stratified:
// any range of it has every class in its share, to within a record at each
// end. Within the subset, records stand as in src. Subsets by one seed and
// disjoint ranges are disjoint.
func Subset(src Source, s Slice, seed uint64) (Source, error) {
	n := src.Len()
	from, to, err := s.Range(n)
	if err != nil {
		return nil, err
	}
	if from == 0 && to == n {
		return src, nil
	}
	records := slices.Clone(stratified(src, seed)[from:to])
	slices.Sort(records)
	return &Part{src, records}, nil
}

// stratified permutes the records of src so that the first k of all n have
// each class in its share to within a record: the j-th of the m records of a
// class, in random order, stands no earlier than after (j-1)·n/m records and
// no later than after j·n/m. Of those that may come next it is the one most
// urgent (Steiner and Yeomans 1993), of the equally urgent that of the class
// that seed prefers.
func stratified(src Source, seed uint64) []int {
	classes := 1
	label := func(int) int { return 0 }
	if l, ok := src.(Labelled); ok {
		classes, label = len(l.Classes()), l.Label
	}
	n := src.Len()
	r := rand.New(rand.NewPCG(mix(seed), 1))
	members := make([][]int, classes)
	for _, i := range r.Perm(n) {
		c := label(i)
		members[c] = append(members[c], i)
	}
	due := make([][]place, n) // by the number of records before
	for c, preference := range r.Perm(classes) {
		m := len(members[c])
		for j, record := range members[c] {
			first := j * n / m
			due[first] = append(due[first], place{((j+1)*n + m - 1) / m, preference, record})
		}
	}
	var waiting places
	records := make([]int, n)
	for i := range records {
		for _, p := range due[i] {
			heap.Push(&waiting, p)
		}
		records[i] = heap.Pop(&waiting).(place).record
	}
	return records
}

// place is a record that waits for its place in a permutation, of which the
// latest is the last-th.
type place struct{ last, preference, record int }

// places is a heap, the most urgent first.
type places []place

func (p places) Len() int      { return len(p) }
func (p places) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *places) Push(v any)   { *p = append(*p, v.(place)) }

func (p places) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(p[i].last, p[j].last), cmp.Compare(p[i].preference, p[j].preference)) < 0
}

func (p *places) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// Len implements [Source].
func (p *Part) Len() int { return len(p.records) }

// Read implements [Source].
func (p *Part) Read(ctx context.Context, i int) (Example, error) {
	return p.Source.Read(ctx, p.records[i])
}

// Classes implements [Labelled]; it is empty where the whole has no classes.
func (p *Part) Classes() []string {
	if l, ok := p.Source.(Labelled); ok {
		return l.Classes()
	}
	return nil
}

// Label implements [Labelled].
func (p *Part) Label(i int) int {
	if l, ok := p.Source.(Labelled); ok {
		return l.Label(p.records[i])
	}
	return 0
}

// Name implements [Named].
func (p *Part) Name(i int) string { return RecordName(p.Source, p.records[i]) }
