//go:build !amd64 || purego

package jpeg

// Without assembly no path but Generic is ever taken.

func (r *reader) blocksSIMD([]job, int, []int16, []uint8, *[3]int32, int) bool {
	panic("jpeg: no assembly")
}

func inverseSIMD(Path, []byte, int, []int16, []uint8, *quantTable, int) bool {
	panic("jpeg: no assembly")
}

func verticalSIMD(Path, []int16, []byte, int, []int16) { panic("jpeg: no assembly") }

func turnSIMD([]int16, []int16, int) { panic("jpeg: no assembly") }

func horizontalSIMD(Path, []int16, []int16, []int32, []int16, int, int) { panic("jpeg: no assembly") }

func fromYCbCrSIMD(Path, []byte, []int16, []int16, []int16) { panic("jpeg: no assembly") }

func fromRGBSIMD(Path, []byte, []int16, []int16, []int16) { panic("jpeg: no assembly") }

func spreadSIMD([]byte, []byte, int) { panic("jpeg: no assembly") }

func normalizeSIMD(Path, []float32, []byte, *[3]float32, *[3]float32) { panic("jpeg: no assembly") }
