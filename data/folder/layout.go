package folder

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// All is the name of the only part of a data set without parts.
const All = "all"

// IsPart reports whether a directory of that name holds a part of a data set
// rather than a class.
func IsPart(name string) bool {
	switch strings.ToLower(name) {
	case "train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval":
		return true
	}
	return false
}

// IsPicture reports whether a file of that name is taken for a picture.
func IsPicture(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".jpg", ".jpeg", ".png", ".gif", ".webp":
		return true
	}
	return false
}

// IsHidden reports whether a file or directory of that name is passed over: one
// that begins with a dot, and __MACOSX, which archives made on a Mac hold.
func IsHidden(name string) bool { return strings.HasPrefix(name, ".") || name == "__MACOSX" }

// Layout holds the names of the classes found in each part of a data set.
type Layout map[string][]string

// Bases returns the names of the parts, sorted.
func (l Layout) Bases() []string { return slices.Sorted(maps.Keys(l)) }

// Find fails where l has no part of that name. The error names those it has.
func (l Layout) Find(base string) error {
	if _, ok := l[base]; ok {
		return nil
	}
	if classes, ok := l[All]; ok {
		return fmt.Errorf("it has no parts, so no %q: its directories are the classes %s, and its base is %s", base, few(classes), All)
	}
	if len(l) == 0 {
		return errors.New("it has no parts and no classes")
	}
	return fmt.Errorf("it has no part %q, it has %s", base, strings.Join(l.Bases(), ", "))
}

// Classes returns the class names of the data set, sorted. They are the same
// for every part: the classes of all parts together. A part that shares no
// class with the training part (or with the first of the names, without one)
// is not labelled by class, as the test pictures of Tiny-ImageNet: it counts
// for nothing, and asking for it is an error.
func (l Layout) Classes(base string) ([]string, error) {
	if err := l.Find(base); err != nil {
		return nil, err
	}
	reference := l.Bases()[0]
	for _, name := range l.Bases() {
		if strings.HasPrefix(strings.ToLower(name), "train") {
			reference = name
			break
		}
	}
	known := map[string]bool{}
	for _, class := range l[reference] {
		known[class] = true
	}
	union := maps.Clone(known)
	for name, classes := range l {
		if !slices.ContainsFunc(classes, func(class string) bool { return known[class] }) {
			if name == base {
				return nil, fmt.Errorf("part %s has no class in common with part %s: it has %s, that has %s", base, reference, few(classes), few(l[reference]))
			}
			continue
		}
		for _, class := range classes {
			union[class] = true
		}
	}
	return slices.Sorted(maps.Keys(union)), nil
}

// few writes the first of some names.
func few(names []string) string {
	if len(names) > 4 {
		names = append(slices.Clone(names[:4]), "…")
	}
	return strings.Join(names, ", ")
}
