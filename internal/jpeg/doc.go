// Package jpeg decodes JPEG files into planes and cuts, resizes and flips pictures straight from them.
//
// A [Decoder] reads baseline, extended and progressive Huffman files of 8 bits with one component or three, sampled in
// the ratios 4:4:4, 4:2:2, 4:4:0 and 4:2:0, with or without restart markers. Everything else is [ErrUnsupported], and so
// is what only a lenient reader accepts: the caller falls back to image/jpeg, also after any other error, and takes its
// verdict as final. What is decoded here image/jpeg decodes too, to pixels that differ by rounding.
//
// A [Resampler] makes 8-bit RGB or normalised float32 of a part of the planes: a triangle filter with antialiasing, as
// PIL's BILINEAR, applied to each plane at its own resolution, and colours at the target's.
//
// Both are reusable, one for each goroutine, and allocate only to grow. Results are the same bits on every [Path].
//
// Markers, tables and procedures are those of ITU-T T.81.
package jpeg
