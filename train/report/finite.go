package report

import (
	"math"
	"reflect"
)

// finite returns the struct s without those of its *float64 that are NaN or
// infinite, which JSON cannot write: they become nil.
func finite[T any](s T) T {
	v := reflect.ValueOf(&s).Elem()
	for _, field := range fields(v.Type()) {
		at := v.FieldByIndex(field.Index)
		f, ok := at.Interface().(*float64)
		if ok && f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			at.SetZero()
		}
	}
	return s
}
