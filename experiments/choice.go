package experiments

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Choice is one of the things a [Registry] knows under a name, with its
// settings. In YAML it is the name alone, or {name: {setting: value, …}}.
type Choice[T any] struct {
	Name  string
	Value T
}

// IsZero reports whether nothing was chosen.
func (c Choice[T]) IsZero() bool { return c.Name == "" }

// MarshalYAML writes c in its YAML form.
func (c Choice[T]) MarshalYAML() (any, error) {
	if c.Name == "" || !reflect.ValueOf(c.Value).IsValid() {
		return c.Name, nil
	}
	// Settings are written where they are zero too: the name alone would leave
	// those of a default.
	if text, err := yaml.Marshal(c.Value); err != nil || string(text) == "{}\n" {
		return c.Name, err
	}
	return yaml.MapSlice{{Key: c.Name, Value: c.Value}}, nil
}

// chooser is a *Choice[T] of any T.
type chooser interface {
	choose(r Registry, name string) (settings reflect.Value, known []string)
}

// choose makes c the thing called name. Its settings are a pointer to a
// struct, filled where c was that thing already; without such a thing they
// are invalid, and known holds the names there are.
func (c *Choice[T]) choose(r Registry, name string) (settings reflect.Value, known []string) {
	for _, kind := range []any{r.Sources, r.Augmentations, r.Models, r.Optimizers} {
		things, ok := kind.(map[string]func() T)
		if !ok {
			continue
		}
		fresh, ok := things[name]
		if !ok {
			return reflect.Value{}, slices.Sorted(maps.Keys(things))
		}
		value := fresh()
		if c.Name == name {
			reflect.ValueOf(value).Elem().Set(reflect.ValueOf(c.Value).Elem())
		}
		*c = Choice[T]{name, value}
		return reflect.ValueOf(value), nil
	}
	return reflect.Value{}, nil
}

// ParseModel reads a model in one line, as a flag has it: its name, or
// name:key=value,key=value with its settings. A value may be a list: [64,32].
func (r Registry) ParseModel(text string) (Choice[Model], error) {
	name, settings, _ := strings.Cut(text, ":")
	yaml := name
	if settings != "" {
		yaml += ":"
	}
	for settings != "" {
		var setting string
		setting, settings = cutList(settings)
		key, value, ok := strings.Cut(setting, "=")
		if !ok {
			return Choice[Model]{}, fmt.Errorf("--model %s: %q sets nothing; want key=value, such as depth=20", text, setting)
		}
		yaml += "\n  " + key + ": " + value
	}
	var c Choice[Model]
	if err := r.decode("--model", []byte(yaml), &c); err != nil {
		return c, err
	}
	if c.IsZero() {
		return c, errors.New("--model: want the name of a model, such as resnet_cifar:depth=20")
	}
	return c, nil
}

// cutList cuts at the first comma outside of brackets.
func cutList(s string) (first, rest string) {
	depth := 0
	for i, c := range s {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
