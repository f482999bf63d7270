package experiments

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// free are the keys of a Spec, and the sections, that a run may have other
// values of when it is resumed: none of them decides a bit of its outcome.
var free = []string{
	"pipeline.readers", "pipeline.workers", "pipeline.prefetch", "pipeline.cache", "train.compute_threads", "log.progress", "data.max_bad", "checkpoint",
}

// deciding returns the values in a Spec, given as YAML, that decide the
// outcome, by their keys.
func deciding(text []byte) (map[string]string, error) {
	var spec map[string]any
	if err := yaml.Unmarshal(text, &spec); err != nil {
		return nil, err
	}
	out := map[string]string{}
	flatten("", spec, out)
	return out, nil
}

// flatten writes the leaves below v to out. A list is a leaf.
func flatten(key string, v any, out map[string]string) {
	if slices.Contains(free, key) {
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		out[key] = fmt.Sprint(v)
		return
	}
	for k, below := range m {
		if key != "" {
			k = key + "." + k
		}
		flatten(k, below, out)
	}
}

// sameRun reports, as an error, the keys by which a Spec would not make the
// run of another: those of which the values, that decide its bits, differ. Both
// are YAML as Write has it.
func sameRun(now, before []byte) error {
	a, err := deciding(now)
	if err != nil {
		return err
	}
	b, err := deciding(before)
	if err != nil {
		return err
	}
	var differ []string
	for _, key := range slices.Sorted(maps.Keys(a)) {
		switch v, ok := b[key]; {
		case !ok:
			differ = append(differ, fmt.Sprintf("%s is %s, and was not set", key, a[key]))
		case v != a[key]:
			differ = append(differ, fmt.Sprintf("%s is %s, and was %s", key, a[key], v))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[key]; !ok {
			differ = append(differ, fmt.Sprintf("%s is not set, and was %s", key, b[key]))
		}
	}
	if len(differ) > 0 {
		return errors.New(strings.Join(differ, "; "))
	}
	return nil
}

// fingerprint is a checksum of the values that decide the outcome.
func (s Spec) fingerprint() (string, error) {
	text, err := s.text()
	if err != nil {
		return "", err
	}
	values, err := deciding(text)
	if err != nil {
		return "", fmt.Errorf("experiments: %w", err)
	}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(sum, "%q: %q\n", key, values[key])
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
