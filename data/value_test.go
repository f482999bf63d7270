package data_test

import (
	"slices"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

func TestValuesOfOneKindStackToOneArray(t *testing.T) {
	for _, test := range []struct {
		rows []data.Value
		want data.Array
	}{
		{[]data.Value{data.Class(3)}, data.Array{Shape: []int{1}, I32: []int32{3}}},
		{[]data.Value{data.Class(3), data.Class(0), data.Class(2)}, data.Array{Shape: []int{3}, I32: []int32{3, 0, 2}}},
		{[]data.Value{data.Soft{0.25, 0.75}, data.Soft{1, 0}}, data.Array{Shape: []int{2, 2}, F32: []float32{0.25, 0.75, 1, 0}}},
		{[]data.Value{data.Tokens{1, 2, 3}, data.Tokens{4, 5, 6}}, data.Array{Shape: []int{2, 3}, I32: []int32{1, 2, 3, 4, 5, 6}}},
		{[]data.Value{data.Tokens{}, data.Tokens{}}, data.Array{Shape: []int{2, 0}, I32: []int32{}}},
	} {
		got, err := test.rows[0].Stack(test.rows, data.Format{})
		if err != nil || !slices.Equal(got.Shape, test.want.Shape) || !slices.Equal(got.F32, test.want.F32) || !slices.Equal(got.I32, test.want.I32) {
			t.Errorf("%v stack to %+v, %v, want %+v", test.rows, got, err, test.want)
		}
		if (got.F32 == nil) == (got.I32 == nil) {
			t.Errorf("%v stack to %+v, want one of F32 and I32", test.rows, got)
		}
	}
}

func TestAStackHasMemoryOfItsOwn(t *testing.T) {
	tokens, soft := data.Tokens{1, 2}, data.Soft{1, 0}
	a, _ := tokens.Stack([]data.Value{tokens}, data.Format{})
	b, _ := soft.Stack([]data.Value{soft}, data.Format{})
	tokens[0], soft[0] = 9, 9
	if a.I32[0] != 1 || b.F32[0] != 1 {
		t.Error("a stack shares the memory of its rows")
	}
}

func TestValuesThatDoNotStackAreReported(t *testing.T) {
	for _, test := range []struct {
		rows []data.Value
		want string
	}{
		{[]data.Value{data.Class(1), data.Soft{1}}, "row 1 is a data.Soft, row 0 a data.Class"},
		{[]data.Value{data.Class(1), data.Class(1), nil}, "row 2 is a <nil>, row 0 a data.Class"},
		{[]data.Value{data.Soft{1}, data.Class(1)}, "row 1 is a data.Class, row 0 a data.Soft"},
		{[]data.Value{data.Soft{1, 0}, data.Soft{1, 0, 0}}, "row 1 has length 3, row 0 has 2"},
		{[]data.Value{data.Tokens{1}, data.Soft{1}}, "row 1 is a data.Soft, row 0 a data.Tokens"},
		{[]data.Value{data.Tokens{1, 2}, data.Tokens{1, 2}, data.Tokens{1}}, "row 2 has length 1, row 0 has 2"},
	} {
		if a, err := test.rows[0].Stack(test.rows, data.Format{}); err == nil || err.Error() != test.want || a.Shape != nil {
			t.Errorf("%v stack to %+v, %v, want %s", test.rows, a, err, test.want)
		}
	}
}
