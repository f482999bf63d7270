// Package text reads text for language models. See [Config] for what becomes
// an example.
//
// A set of text is a file, or a directory of files with one or more parts; a
// file is plain, or packed with gzip or zstd. One that fits is read at random
// ([Config.Open]); one that does not is read as streams ([Config.Stream]).
//
// The target of an example is its input moved on by one token: the two share
// memory, and both are shorter than the context where the text is. The batch
// pads them (data.Format.Context).
package text
