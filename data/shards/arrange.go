package shards

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/reprise-ml/reprise/data/folder"
)

// maxClasses bounds the number of a class in a pair.
const maxClasses = 1 << 20

// arrange sorts the members into parts and classes.
func (a *Archive) arrange(members []member, names string) error {
	a.layout, a.parts = folder.Layout{}, map[string][]record{}
	if len(members) == 0 {
		return errors.New("there are no .jpg, .jpeg, .png, .gif or .webp files in it")
	}
	if a.pairs = slices.ContainsFunc(members, func(m member) bool { return isClass(m.name) }); a.pairs {
		return a.pair(members, names)
	}
	if names != "" {
		return errors.New("class names are given, and its pictures are in directories of classes and not in pairs")
	}
	return a.classify(members)
}

// classify takes the classes from directories.
func (a *Archive) classify(members []member) error {
	prefix := shared(members)
	type place struct {
		record
		part, class string
	}
	places := make([]place, 0, len(members))
	parted := false
	for _, m := range members {
		part := a.partOf(m.shard)
		class, rest, ok := strings.Cut(m.name[len(prefix):], "/")
		if within, _, deep := strings.Cut(rest, "/"); deep && folder.IsPart(class) {
			part, class = class, within
		}
		if !ok {
			continue // beside the directories
		}
		parted = parted || part != folder.All
		places = append(places, place{record{member: m}, part, class})
	}
	if len(places) == 0 {
		return fmt.Errorf("%s is in no directory, want one for each class", members[0].name)
	}
	// As in package folder, what is beside parts does not count.
	if parted {
		places = slices.DeleteFunc(places, func(p place) bool { return p.part == folder.All })
	}
	classes := map[string]map[string]bool{}
	for _, p := range places {
		if classes[p.part] == nil {
			classes[p.part] = map[string]bool{}
		}
		if !classes[p.part][p.class] {
			classes[p.part][p.class] = true
			a.layout[p.part] = append(a.layout[p.part], p.class)
			a.names = append(a.names, p.class)
		}
	}
	for _, of := range a.layout {
		slices.Sort(of)
	}
	slices.Sort(a.names)
	a.names = slices.Compact(a.names)
	for _, p := range places {
		class, _ := slices.BinarySearch(a.names, p.class)
		p.record.class = int32(class)
		a.parts[p.part] = append(a.parts[p.part], p.record)
	}
	for _, records := range a.parts {
		slices.SortStableFunc(records, func(a, b record) int { return strings.Compare(a.name, b.name) })
	}
	return nil
}

// shared returns the directories that all members are in, with a slash at the
// end, but for parts and the last, the class.
func shared(members []member) string {
	prefix := ""
	for {
		first, _, _ := strings.Cut(members[0].name[len(prefix):], "/")
		next := prefix + first + "/"
		if folder.IsPart(first) || slices.ContainsFunc(members, func(m member) bool {
			return !strings.HasPrefix(m.name, next) || !strings.Contains(m.name[len(next):], "/")
		}) {
			return prefix
		}
		prefix = next
	}
}

// partOf returns the part that an archive's name speaks of.
func (a *Archive) partOf(shard int32) string {
	words := strings.FieldsFunc(filepath.Base(a.shards[shard].path), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if i := slices.IndexFunc(words, folder.IsPart); i >= 0 {
		return words[i]
	}
	return folder.All
}

// pair joins pictures with their classes.
func (a *Archive) pair(members []member, names string) error {
	type key struct {
		shard int32
		name  string // the path up to the first dot of the file's name
	}
	type couple struct{ picture, class *member }
	couples := map[key]*couple{}
	var order []key
	for i := range members {
		m := &members[i]
		dir, file := path.Split(m.name)
		name, _, _ := strings.Cut(file, ".")
		k := key{m.shard, dir + name}
		c := couples[k]
		if c == nil {
			c = &couple{}
			couples[k] = c
			order = append(order, k)
		}
		to := &c.picture
		if isClass(m.name) {
			to = &c.class
		}
		if *to != nil {
			return fmt.Errorf("%s: %s and %s have one key, %s", a.shards[m.shard].path, (*to).name, m.name, k.name)
		}
		*to = m
	}
	highest := int32(0)
	for _, k := range order {
		c := couples[k]
		switch {
		case c.picture == nil:
			return fmt.Errorf("%s: %s has no picture beside it", a.shards[k.shard].path, c.class.name)
		case c.class == nil:
			return fmt.Errorf("%s: %s has no .cls file beside it", a.shards[k.shard].path, c.picture.name)
		}
		class, err := a.number(*c.class)
		if err != nil {
			return err
		}
		highest = max(highest, class)
		part := a.partOf(k.shard)
		for _, dir := range strings.Split(path.Dir(c.picture.name), "/") {
			if folder.IsPart(dir) {
				part = dir
				break
			}
		}
		a.parts[part] = append(a.parts[part], record{*c.picture, class})
	}
	if stray := a.parts[folder.All]; len(stray) > 0 && len(a.parts) > 1 {
		return fmt.Errorf("%s: %s is in no part, and others are", a.shards[stray[0].shard].path, stray[0].name)
	}
	if err := a.nameClasses(int(highest)+1, names); err != nil {
		return err
	}
	for part := range a.parts {
		a.layout[part] = a.names
	}
	return nil
}

// number reads the class of a pair.
func (a *Archive) number(m member) (int32, error) {
	const most = 32 // bytes
	s := a.shards[m.shard]
	if m.size > most {
		return 0, fmt.Errorf("%s: %s has %d bytes, want the number of a class", s.path, m.name, m.size)
	}
	b, err := s.read(m)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	if err != nil || n >= maxClasses {
		return 0, fmt.Errorf("%s: %s holds %q, want the number of a class, 0 to %d", s.path, m.name, b, maxClasses-1)
	}
	return int32(n), nil
}

// nameClasses names n classes by the lines of a file, or by their numbers.
func (a *Archive) nameClasses(n int, file string) error {
	if file == "" {
		width := len(strconv.Itoa(n - 1))
		for c := range n {
			a.names = append(a.names, fmt.Sprintf("%0*d", width, c))
		}
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("class names: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			a.names = append(a.names, line)
		}
	}
	if len(a.names) < n {
		return fmt.Errorf("%s has %d class names, and there is a class %d", file, len(a.names), n-1)
	}
	sorted := slices.Sorted(slices.Values(a.names))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return fmt.Errorf("%s has the class name %q twice", file, sorted[i])
		}
	}
	return nil
}
