//go:build !unix

package main

// ignoreFileLimit does nothing: no such signal is known here.
func ignoreFileLimit() {}
