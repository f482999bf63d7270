package kernel

import "testing"

func TestTransposeMovesEveryElement(t *testing.T) {
	everyPath(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 1}, {3, 5}, {8, 8}, {16, 16}, {17, 40}, {33, 15}, {48, 31}} {
			rows, columns := s[0], s[1]
			src, dst := random(rows*(columns+3), 1), garbage(columns*(rows+2))
			transpose(dst, rows+2, src, columns+3, rows, columns)
			for k := range columns {
				for j := range rows + 2 {
					switch got := dst[k*(rows+2)+j]; {
					case j >= rows && got == got:
						t.Fatalf("%v: wrote %v beyond the rows", s, got)
					case j < rows && got != src[j*(columns+3)+k]:
						t.Fatalf("%v: [%d][%d] is %v, want %v", s, k, j, got, src[j*(columns+3)+k])
					}
				}
			}
		}
	})
}
