package datatest

import (
	"context"
	"fmt"
	"testing"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/synth"
)

// Files returns synthetic JPEG files by their paths, PART/CLASS/NUMBER.jpg,
// as stand-ins for a data set in folders: examples of each class in each of
// the parts train and test.
func Files(t testing.TB, classes, examples int) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, part := range []string{"train", "test"} {
		src, err := synth.Config{Classes: classes, Size: 16, Examples: classes * examples}.Open(part)
		if err != nil {
			t.Fatal(err)
		}
		for i := range src.Len() {
			e, err := src.Read(context.Background(), i)
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s/%s/%04d.jpg", part, src.Classes()[src.Label(i)], i/classes)
			files[name] = e.Input.(data.Picture).Encoded
		}
	}
	return files
}
