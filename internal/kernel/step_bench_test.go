package kernel

import (
	"fmt"
	"testing"
)

// BenchmarkTransformerProducts are the products of a small transformer: 2,048 tokens.
func BenchmarkTransformerProducts(b *testing.B) {
	for _, s := range []LinearShape{{2048, 256, 768}, {2048, 256, 256}, {2048, 256, 1024}, {2048, 1024, 256}, {2048, 256, 8192}} {
		x, w, y, bias := random(s.N*s.In, 1), random(s.Out*s.In, 2), random(s.N*s.Out, 3), random(s.Out, 4)
		for name, f := range map[string]func(p *Pool) func(){
			"forward": func(p *Pool) func() { l := NewLinearForward(p, s); return func() { l.Run(y, x, w, bias) } },
			"data":    func(p *Pool) func() { l := NewLinearBackwardData(p, s); return func() { l.Run(x, w, y) } },
			"weights": func(p *Pool) func() { l := NewLinearBackwardWeights(p, s); return func() { l.Run(w, bias, x, y) } },
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", s.In, s.Out, name), func(b *testing.B) {
				p := NewPool(0)
				defer p.Close()
				benchProducts(b, 2*float64(s.N*s.In*s.Out), f(p))
			})
		}
	}
}
