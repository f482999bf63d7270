package main

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shapes writes a synthetic data set of 24 pictures in dir/shapes.
func shapes(t *testing.T, dir string) (files []string) {
	t.Helper()
	out, errs, code := reprise(t, dir, "data", "synth", "shapes", "--classes", "2", "--size", "16", "--examples", "16", "--held", "4")
	if code != 0 || !strings.Contains(out, "wrote 24 files to shapes") {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	files, err := filepath.Glob(filepath.Join(dir, "shapes", "train", "*", "*.jpg"))
	if err != nil || len(files) != 16 {
		t.Fatal(files, err)
	}
	return files
}

func TestDataVerifyListsWhatIsDamagedAndMarksWhatIsClean(t *testing.T) {
	dir := t.TempDir()
	files := shapes(t, dir)
	out, errs, code := reprise(t, dir, "data", "verify", "shapes")
	if code != 0 || !strings.HasPrefix(out, "all 24 records are good\n") || !strings.Contains(out, filepath.Join("shapes", ".reprise-clean.json")) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(files[3], []byte("\x1f\x8b\x08 packed"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(spec, "synth: {classes: 2, size: 8, examples: 64, held: 20}", "folder: {path: shapes}", 1)
	if text == spec {
		t.Fatal("the spec is another one")
	}
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"shapes"}, {"-c", "run.yaml"}} {
		out, errs, code = reprise(t, dir, append([]string{"data", "verify"}, args...)...)
		if code != exitBadRecords || !strings.Contains(out, filepath.Base(files[3])+": data: no JPEG, PNG, GIF or WebP: it is packed with gzip\n1 of 24 records are damaged\n") {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	out, _, code = reprise(t, dir, "data", "verify", "shapes", "--json")
	var v struct {
		Source  string
		Records int
		Bad     []struct{ Part, Name, Error string }
		Mark    string
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != exitBadRecords || v.Source != "folder" || v.Records != 24 || len(v.Bad) != 1 || v.Bad[0].Part != "train" || v.Mark != "" {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

func TestDataStatsAndShowTellOfAPathAndOfASpec(t *testing.T) {
	dir := t.TempDir()
	files := shapes(t, dir)
	out, errs, code := reprise(t, dir, "data", "stats", "shapes")
	if code != 0 || strings.Count(out, " records, 2 classes") != 3 || !strings.Contains(out, "train: 16 records") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	out, _, code = reprise(t, dir, "data", "stats", "shapes", "--json")
	var stats []struct {
		Part    string
		Records int
		Mean    []float64
	}
	if err := json.Unmarshal([]byte(out), &stats); err != nil || code != 0 || len(stats) != 3 || stats[1].Part != "train" || len(stats[1].Mean) != 3 {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "run.yaml"), []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	for sheet, args := range map[string][]string{
		"path.png":          {"shapes", "--part", "test", "--n", "3"},
		"spec.png":          {"-c", "run.yaml", "--n", "2", "--copies", "3", "--seed", "5"},
		"augmentations.png": {"--augmentations", files[0]},
	} {
		out, errs, code := reprise(t, dir, append([]string{"data", "show", "-o", sheet}, args...)...)
		if code != 0 || out != "wrote "+sheet+"\n" {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
			continue
		}
		f, err := os.Open(filepath.Join(dir, sheet))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(f); err != nil {
			t.Errorf("%s: %v", sheet, err)
		}
		f.Close()
	}
}

func TestWrongUsesOfDataAreRefused(t *testing.T) {
	dir := t.TempDir()
	shapes(t, dir)
	for want, args := range map[string][]string{
		"want the PATH of a data set, or -c run.yaml": {"verify"},
		"want the PATH of a data set":                 {"stats", "shapes", "-c", "run.yaml"},
		`--part is "dev", want one of test, train`:    {"show", "shapes", "--part", "dev"},
		"--n is -1":                         {"show", "shapes", "--n", "-1"},
		"--augmentations goes with neither": {"show", "shapes", "--augmentations", "cat.jpg"},
		"accepts 1 arg(s), received 0; see reprise data s": {"synth"},
	} {
		if _, errs, code := reprise(t, dir, append([]string{"data"}, args...)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d: %s, want %s", args, code, errs, want)
		}
	}
	if _, errs, code := reprise(t, dir, "data", "verify", "nowhere"); code != exitError || !strings.Contains(errs, "nowhere") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
