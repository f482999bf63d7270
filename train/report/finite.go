package report

import (
	"math"
	"reflect"
)

// finite returns the struct s without those of its *float64 that are NaN or
// infinite, which JSON cannot write: they become nil.
func finite[T any](s T) T {
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		f, ok := v.Field(i).Interface().(*float64)
		if ok && f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			v.Field(i).SetZero()
		}
	}
	return s
}
