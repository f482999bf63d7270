package experiments

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/synth"
)

// WriteFolder writes a synthetic data set to a new or empty directory, as a
// folder of JPEG files: dir/train/CLASS/00000000.jpg, dir/validation/… and
// dir/test/…. It returns how many files it wrote.
func (s *Synth) WriteFolder(ctx context.Context, dir string) (files int, err error) {
	if s.Examples == 0 {
		return 0, fmt.Errorf("experiments: the number of examples is missing")
	}
	if held, err := os.ReadDir(dir); err == nil && len(held) > 0 {
		return 0, fmt.Errorf("experiments: %s is not empty", dir)
	}
	for _, base := range synth.Bases() {
		src, err := s.Open(base)
		if err != nil {
			return files, err
		}
		classes := src.(data.Labelled).Classes()
		for _, class := range classes {
			if err := os.MkdirAll(filepath.Join(dir, base, class), 0o755); err != nil {
				return files, err
			}
		}
		written := data.Map(ctx, data.Once(src.Len()), runtime.GOMAXPROCS(0), func(ctx context.Context, o data.Origin) (string, error) {
			e, err := src.Read(ctx, o.Index)
			if err != nil {
				return "", err
			}
			path := filepath.Join(dir, base, classes[e.Target.(data.Class)], fmt.Sprintf("%08d.jpg", o.Index))
			return path, os.WriteFile(path, e.Input.(data.Picture).Encoded, 0o644)
		})
		for _, err := range written {
			if err != nil {
				return files, fmt.Errorf("experiments: %w", err)
			}
			files++
		}
	}
	return files, nil
}
