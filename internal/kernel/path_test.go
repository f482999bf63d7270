package kernel

import (
	"strings"
	"testing"
)

// everyPath runs a test on each path this machine has.
func everyPath(t *testing.T, f func(t *testing.T)) {
	for _, p := range Paths() {
		t.Run(p.String(), func(t *testing.T) {
			usePath(t, p)
			f(t)
		})
	}
}

// usePath makes p the active path until the test ends.
func usePath(t testing.TB, p Path) {
	was := activePath
	activePath = func() Path { return p }
	t.Cleanup(func() { activePath = was })
}

func TestTheEnvironmentForcesAPath(t *testing.T) {
	all, some := []Path{Generic, AVX2, AVX512}, []Path{Generic, AVX2}
	for _, c := range []struct {
		name      string
		available []Path
		want      Path
		err       string
	}{
		{"", all, AVX512, ""},
		{"", some, AVX2, ""},
		{"", []Path{Generic}, Generic, ""},
		{"go", all, Generic, ""},
		{"avx2", all, AVX2, ""},
		{"avx512", all, AVX512, ""},
		{"avx512", some, 0, "REPRISE_KERNEL=avx512: this machine or build has no such path, only go, avx2"},
		{"sse", all, 0, "REPRISE_KERNEL=sse is not a path: want go, avx2, avx512"},
	} {
		got, err := choosePath(c.name, c.available)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q of %v: error %v, want %q", c.name, c.available, err, c.err)
			}
		} else if got != c.want || err != nil {
			t.Errorf("%q of %v: %v, %v, want %v", c.name, c.available, got, err, c.want)
		}
	}
}

func TestTheActivePathIsAvailable(t *testing.T) {
	for _, p := range Paths() {
		if p == ActivePath() {
			return
		}
	}
	t.Errorf("path %v is not among %v", ActivePath(), Paths())
}
