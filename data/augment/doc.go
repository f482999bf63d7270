// Package augment makes new pictures of old ones: random crops, flips, colour
// changes, and the resizing that goes before evaluation.
//
// Each augmentation is a struct of data, a [data.Augmentation], that can be
// printed and saved; Check tells what is wrong with its fields. What it draws
// comes from the generator it is given, in the same number of values whatever
// the picture, so that the draws of those after it do not depend on the
// pictures. It never writes to what it was given; the result may share memory
// with it.
//
// The usual lists are, for CIFAR,
//
//	PadCrop{Pad: 4}, Flip{}
//
// for ImageNet
//
//	RandomResizedCrop{Size: 224}, Flip{}
//
// and for evaluation there
//
//	Resize{Size: 256}, CenterCrop{Size: 224}
//
// [RandAugment] or [TrivialAugment] goes after these, and what erases last.
// Mixing pictures with one another is the business of a whole batch: [Mix].
//
// What cuts comes first: it converts only the pixels that it keeps.
//
// Resampling is bilinear with antialiasing, as PIL's BILINEAR: where a picture
// gets smaller, the filter grows so that every pixel counts. Of a JPEG it acts
// on the planes, each at its own resolution. Pixels are 8-bit at every step,
// and colour changes give PIL's values.
package augment
