package data

// Encoded is an input that a source yields as it is stored, and that takes
// work to use: a [Picture], or a line of text. The echo of reads repeats it.
type Encoded interface {
	Value
	// Unpack returns what becomes of e, whose Input the receiver is, when it
	// is decoded. It must not write to what e holds.
	Unpack(e Example) (Example, error)
}
