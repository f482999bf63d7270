package experiments

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// SpecError is what is wrong with a Spec, where that shows only with the data
// and the model it names.
type SpecError struct{ error }

// Unwrap returns the error itself.
func (e SpecError) Unwrap() error { return e.error }

// document is a Spec as a file has it: it may extend another file's.
type document struct {
	Extends string `yaml:"extends"`
	Spec    `yaml:",inline"`
}

// Load reads the Spec in a YAML file. A file may name another as extends, of
// which it changes what it mentions; sets, each of the form key.key=value,
// change more, in their order. An unknown key is an error, as is a value out
// of range. What is not mentioned has its default.
func (r Registry) Load(path string, sets ...string) (Spec, error) {
	d := document{Spec: defaults()}
	if err := r.load(path, &d, nil); err != nil {
		return Spec{}, err
	}
	if d.Name == "" {
		d.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return r.finish(d.Spec, path, sets)
}

// Parse is Load for a text that came from elsewhere; name is for messages.
func (r Registry) Parse(name, text string, sets ...string) (Spec, error) {
	d := document{Spec: defaults()}
	if err := r.decode(name, []byte(text), &d); err != nil {
		return Spec{}, err
	}
	if d.Extends != "" {
		return Spec{}, fmt.Errorf("%s: extends: goes with a file only", name)
	}
	return r.finish(d.Spec, name, sets)
}

func (r Registry) load(path string, to *document, above []string) error {
	if slices.Contains(above, path) {
		return fmt.Errorf("%s: extends: a circle: %s", above[0], strings.Join(append(above, path), " → "))
	}
	text, err := readSpec(path)
	if err != nil {
		if len(above) > 0 {
			return fmt.Errorf("%s: extends: %w", above[len(above)-1], err)
		}
		return err
	}
	var own document
	if err := r.decode(path, text, &own); err != nil {
		return err
	}
	if own.Extends != "" {
		parent := own.Extends
		if !filepath.IsAbs(parent) {
			parent = filepath.Join(filepath.Dir(path), parent)
		}
		if err := r.load(parent, to, append(above, path)); err != nil {
			return err
		}
	}
	to.Name = ""
	return r.decode(path, text, to)
}

// readSpec reads a file, but no more of it than shows that it is no spec.
func readSpec(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the spec: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2<<20))
	if err != nil {
		return nil, fmt.Errorf("reading the spec: %w", err)
	}
	return text, nil
}

// finish applies sets and defaults, and checks the outcome.
func (r Registry) finish(s Spec, name string, sets []string) (Spec, error) {
	for _, set := range sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok || key == "" {
			return Spec{}, fmt.Errorf("--set %s: want key=value, such as echo.factor=2", set)
		}
		var text strings.Builder
		for depth, k := range strings.Split(key, ".") {
			if depth > 0 {
				fmt.Fprintf(&text, "\n%*s", 2*depth, "")
			}
			text.WriteString(k + ": ")
		}
		text.WriteString(value)
		if err := r.decode("--set "+key, []byte(text.String()), &s); err != nil {
			return Spec{}, err
		}
	}
	early := s.Echo.Check() // of a factor without a strategy, which the defaults would hide
	s = s.derived()
	var errs []error
	if early != nil && s.Echo.Check() == nil {
		errs = append(errs, fmt.Errorf("%s: %w", name, early))
	}
	for _, err := range s.problems() {
		errs = append(errs, fmt.Errorf("%s: %w", name, err))
	}
	return s, errors.Join(errs...)
}

// Write writes s as YAML, in full, so that Parse reads it back.
func (s Spec) Write(w io.Writer) error {
	var buf bytes.Buffer // the encoder loses errors of writing
	if err := yaml.NewEncoder(&buf, yaml.Indent(2)).Encode(s); err != nil {
		return fmt.Errorf("experiments: writing the spec: %w", err)
	}
	_, err := w.Write(buf.Bytes())
	return err
}
