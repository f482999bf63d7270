package data_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
)

func TestFormatJoinsExamplesInABatch(t *testing.T) {
	white := data.Picture{Pix: []uint8{255, 255, 255}, Width: 1, Height: 1}
	black := data.Picture{Pix: []uint8{0, 0, 0}, Width: 1, Height: 1}
	format := data.Format{Mean: []float32{0.5, 0.5, 0.5}, Std: []float32{0.5, 0.25, 0.125}}
	for _, test := range []struct {
		name            string
		group           []data.Example
		inputs, targets data.Array
	}{
		{
			"pictures of classes",
			[]data.Example{{Input: white, Target: data.Class(1)}, {Input: black, Target: data.Class(0)}},
			data.Array{Shape: []int{2, 1, 1, 3}, F32: []float32{1, 2, 4, -1, -2, -4}},
			data.Array{Shape: []int{2}, I32: []int32{1, 0}},
		},
		{
			"a picture of mixed classes",
			[]data.Example{{Input: black, Target: data.Soft{0.5, 0.25, 0.25}}},
			data.Array{Shape: []int{1, 1, 1, 3}, F32: []float32{-1, -2, -4}},
			data.Array{Shape: []int{1, 3}, F32: []float32{0.5, 0.25, 0.25}},
		},
		{
			"texts",
			[]data.Example{{Input: data.Tokens{5, 6}, Target: data.Tokens{6, 7}}, {Input: data.Tokens{1, 2}, Target: data.Tokens{2, 3}}},
			data.Array{Shape: []int{2, 2}, I32: []int32{5, 6, 1, 2}},
			data.Array{Shape: []int{2, 2}, I32: []int32{6, 7, 2, 3}},
		},
	} {
		for i := range test.group {
			test.group[i].Origin = data.Origin{Index: 10 * i, Read: int64(i), Copy: i}
			test.group[i].Reads = int64(7 - i)
		}
		b, err := format.Batch(test.group)
		if err != nil || len(b.Inputs) != 1 || len(b.Targets) != 1 {
			t.Fatalf("%s: %+v, %v", test.name, b, err)
		}
		for what, arrays := range map[string][2]data.Array{"inputs": {b.Inputs[0], test.inputs}, "targets": {b.Targets[0], test.targets}} {
			got, want := arrays[0], arrays[1]
			if !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.F32, want.F32) || !slices.Equal(got.I32, want.I32) {
				t.Errorf("the %s of %s are %+v, want %+v", what, test.name, got, want)
			}
		}
		for i, o := range b.Origins {
			if o != test.group[i].Origin {
				t.Errorf("row %d of %s is of %+v, want %+v", i, test.name, o, test.group[i].Origin)
			}
		}
		if b.Reads != 7 || b.Ordinal != 0 || b.Weights.Shape != nil || len(b.Origins) != len(test.group) {
			t.Errorf("%s: Reads %d, Ordinal %d, weights %+v", test.name, b.Reads, b.Ordinal, b.Weights)
		}
	}
}

func TestExamplesThatMakeNoBatchAreReportedWithTheirRecords(t *testing.T) {
	good := data.Example{Input: data.Tokens{1, 2}, Target: data.Class(1)}
	for _, test := range []struct {
		bad    data.Example // row 1 of 2, of record 31; row 0 is of 30
		format data.Format
		want   string
	}{
		{data.Example{Input: data.Tokens{1}, Target: data.Class(1)}, data.Format{}, "data: inputs of a batch: row 1 has length 1, row 0 has 2 (its records are 30, 31)"},
		{data.Example{Input: data.Tokens{1, 2}, Target: data.Soft{1}}, data.Format{}, "data: targets of a batch: row 1 is a data.Soft, row 0 a data.Class (its records are 30, 31)"},
		{data.Example{Target: data.Class(1)}, data.Format{}, "data: inputs of a batch: row 1 is a <nil>, row 0 a data.Tokens (its records are 30, 31)"},
	} {
		group := []data.Example{good, test.bad}
		for i := range group {
			group[i].Origin.Index = 30 + i
		}
		if b, err := test.format.Batch(group); err == nil || err.Error() != test.want || b.Origins != nil {
			t.Errorf("%+v, error %v, want %s", b, err, test.want)
		}
	}
	for want, e := range map[string]data.Example{
		"data: inputs of a batch: record 5 has none":  {Target: data.Class(1)},
		"data: targets of a batch: record 5 has none": {Input: data.Tokens{1}},
		"data: inputs of a batch: row 0 is not decoded (its records are 5)": {
			Input: data.Picture{Encoded: []byte("x")}, Target: data.Class(1),
		},
		"data: inputs of a batch: mean and std have 2 values, want one for each of 3 channels (its records are 5)": {
			Input: data.Picture{Pix: make([]uint8, 3), Width: 1, Height: 1}, Target: data.Class(1),
		},
	} {
		e.Origin.Index = 5
		format := data.Format{}
		if strings.Contains(want, "std") {
			format.Std = []float32{1, 2}
		}
		if _, err := format.Batch([]data.Example{e}); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
	var many []data.Example
	for i := range 20 {
		many = append(many, data.Example{Input: data.Tokens(make([]int32, i)), Target: data.Class(0), Origin: data.Origin{Index: i}})
	}
	want := "data: inputs of a batch: row 1 has length 1, row 0 has 0 (its records are 0, 1, 2, 3, 4, 5, 6, 7, …)"
	if _, err := (data.Format{}).Batch(many); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestFormattingABatchWritesToNoExample(t *testing.T) {
	p := data.Picture{Pix: []uint8{1, 2, 3}, Width: 1, Height: 1}
	e := data.Example{Input: p, Target: data.Soft{1, 0}}
	b, err := data.Format{}.Batch([]data.Example{e, e.Echo(1)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Inputs[0].F32 {
		b.Inputs[0].F32[i] = float32(math.Inf(1))
	}
	b.Targets[0].F32[0] = 7
	if !slices.Equal(p.Pix, []uint8{1, 2, 3}) || e.Target.(data.Soft)[0] != 1 {
		t.Error("a batch shares memory with its examples")
	}
}

func TestACopyOfABatchSharesItsArraysAndKeepsItsCounts(t *testing.T) {
	b := data.Batch{
		Inputs:  []data.Array{{Shape: []int{2, 1}, I32: []int32{1, 2}}},
		Targets: []data.Array{{Shape: []int{2}, I32: []int32{3, 4}}},
		Weights: data.Array{Shape: []int{2}, F32: []float32{1, 0}},
		Origins: []data.Origin{{Index: 1, Read: 2}, {Index: 3, Read: 4, Copy: 5}},
		Reads:   6, Ordinal: 7,
	}
	for n, fresh := range []int{1, 0, 0} {
		c := b.Echo(n)
		if &c.Inputs[0].I32[0] != &b.Inputs[0].I32[0] || &c.Targets[0].I32[0] != &b.Targets[0].I32[0] || &c.Weights.F32[0] != &b.Weights.F32[0] {
			t.Errorf("copy %d has memory of its own", n)
		}
		if want := []data.Origin{b.Origins[0].Echo(n), b.Origins[1].Echo(n)}; !slices.Equal(c.Origins, want) {
			t.Errorf("the origins of copy %d are %v, want %v", n, c.Origins, want)
		}
		if c.Reads != 6 || c.Ordinal != 7 || c.Fresh() != fresh {
			t.Errorf("copy %d has Reads %d, Ordinal %d and %d fresh rows, want 6, 7 and %d", n, c.Reads, c.Ordinal, c.Fresh(), fresh)
		}
		if draws(c.Rand(3)) != draws(c.Origins[0].Rand(3)) {
			t.Errorf("copy %d draws otherwise than its first origin", n)
		}
	}
	if b.Origins[0].Copy != 0 || b.Origins[1].Copy != 5 {
		t.Error("echoing changed the batch")
	}
}

func TestFreshAndDuplicatesAreCountedByRow(t *testing.T) {
	for _, test := range []struct {
		origins           []data.Origin
		fresh, duplicates int
	}{
		{nil, 0, 0},
		{[]data.Origin{{Read: 1}, {Read: 2}}, 2, 0},
		{[]data.Origin{{Read: 1}, {Read: 1, Copy: 1}}, 1, 1},
		{[]data.Origin{{Read: 1, Copy: 2}, {Read: 1, Copy: 1}, {Read: 1}}, 1, 2},
		{[]data.Origin{{Index: 5, Read: 1}, {Index: 5, Read: 2}}, 2, 0}, // one record, read in two epochs
	} {
		b := data.Batch{Origins: test.origins}
		if b.Fresh() != test.fresh || b.Duplicates() != test.duplicates {
			t.Errorf("%v: %d fresh and %d duplicates, want %d and %d", test.origins, b.Fresh(), b.Duplicates(), test.fresh, test.duplicates)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var b data.Batch
		for _, read := range rapid.SliceOf(rapid.Int64Range(0, 9)).Draw(t, "reads") {
			b.Origins = append(b.Origins, data.Origin{Read: read})
		}
		want := 0
		for i, o := range b.Origins {
			if slices.ContainsFunc(b.Origins[:i], func(p data.Origin) bool { return p.Read == o.Read }) {
				want++
			}
		}
		if got := b.Duplicates(); got != want {
			t.Fatalf("%d duplicates, want %d", got, want)
		}
	})
}
