package experiments

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/train/report"
)

// markName is the file, in the directory of a data set, that says that all
// its records can be decoded.
const markName = ".reprise-clean.json"

// mark is the content of that file: what was verified. Any change of the name,
// size or time of a file makes another Sum.
type mark struct {
	Format  int            `json:"format"` // 2
	Source  string         `json:"source"` // kind of the data set
	Parts   map[string]int `json:"parts"`  // records of each part
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Sum     string         `json:"sha256"`           // of the names, sizes and times of the files
	Strict  []string       `json:"strict,omitempty"` // names of records to decode whole, since they are good but odd: data.Picture.Indivisible
	Version string         `json:"version"`
}

// Filed is a Source of files that can be marked as clean.
type Filed interface {
	Source
	Root() (string, error)    // directory or file of the data set
	Files() ([]string, error) // that it is read from
}

// covered is the present state of the files of a data set.
type covered struct {
	source, root string
	files        int
	bytes        int64
	sum          string
}

// coverage returns the state of the files of c, or nil where it has none.
func coverage(c Choice[Source]) (*covered, error) {
	source, ok := c.Value.(Filed)
	if !ok {
		return nil, nil
	}
	root, err := source.Root()
	if err != nil {
		return nil, err
	}
	files, err := source.Files()
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	sum := sha256.New()
	v := &covered{source: c.Name, root: root, files: len(files)}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return nil, fmt.Errorf("experiments: %w", err)
		}
		name, err := filepath.Rel(root, f) // so that a data set can be moved
		if err != nil {
			return nil, fmt.Errorf("experiments: %w", err)
		}
		fmt.Fprintf(sum, "%q %d %d\n", filepath.ToSlash(name), info.Size(), info.ModTime().UnixNano())
		v.bytes += info.Size()
	}
	v.sum = hex.EncodeToString(sum.Sum(nil))
	return v, nil
}

// marksOf returns the files where the mark of the data set at root may be: in
// the directory of the data set, if it is one, and in the user's cache.
func marksOf(root string) []string {
	var places []string
	if info, err := os.Stat(root); err == nil && info.IsDir() {
		places = append(places, filepath.Join(root, markName))
	}
	full, err := filepath.Abs(root)
	if err != nil {
		return places
	}
	if cache, err := os.UserCacheDir(); err == nil {
		name := fmt.Sprintf("%s-%.8x.json", filepath.Base(full), sha256.Sum256([]byte(full)))
		places = append(places, filepath.Join(cache, "reprise", "clean", strings.Trim(name, ".")))
	}
	return places
}

// write writes the mark at the first place that can be written to, and
// returns that.
func (v *covered) write(parts map[string]int, strict []string) (string, error) {
	errs := []error{errors.New("experiments: the mark of a clean data set cannot be written")}
	for _, path := range marksOf(v.root) {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = report.WriteJSON(path, mark{2, v.source, parts, v.files, v.bytes, v.sum, strict, Version()})
		}
		if err == nil {
			return path, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// remove removes the marks there are.
func (v *covered) remove() error {
	for _, path := range marksOf(v.root) {
		if err := os.Remove(path); err != nil && exists(path) {
			return fmt.Errorf("experiments: removing an old mark: %w", err)
		}
	}
	return nil
}

// markOf returns the mark of a data set of which Verify found every record
// good and no file has changed since, or nil.
func markOf(c Choice[Source]) (*mark, error) {
	source, ok := c.Value.(Filed)
	if !ok {
		return nil, nil
	}
	root, err := source.Root()
	if err != nil {
		return nil, err
	}
	var now *covered
	for _, path := range marksOf(root) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // there is no mark
		}
		var m mark
		if json.Unmarshal(text, &m) != nil || m.Format != 2 {
			continue
		}
		if now == nil { // only now, since it asks for the state of every file
			if now, err = coverage(c); err != nil {
				return nil, err
			}
		}
		if m.Source == now.source && m.Sum == now.sum {
			return &m, nil
		}
	}
	return nil, nil
}

// sound returns a reader that reads records of src as read does, and tells of
// pictures that m vouches for.
func (m *mark) sound(src data.Source, read data.Reader) data.Reader {
	if m == nil {
		return read
	}
	strict := map[string]bool{}
	for _, name := range m.Strict {
		strict[name] = true
	}
	return func(ctx context.Context, o data.Origin) (data.Example, error) {
		e, err := read(ctx, o)
		if p, ok := e.Input.(data.Picture); ok && (len(strict) == 0 || !strict[data.RecordName(src, o.Index)]) {
			p.Sound = true
			e.Input = p
		}
		return e, err
	}
}
