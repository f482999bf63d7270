package text_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/data/text"
	"github.com/reprise-ml/reprise/echo"
)

func streams(t testing.TB, c text.Config, paths ...string) *text.Streams {
	t.Helper()
	s, err := c.Stream(paths)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// collect reads a stream, decoded, up to its end, an error, or n examples.
func collect(ctx context.Context, examples data.Seq[data.Example], n int) (es []data.Example, err error) {
	for e, err := range data.Decode(ctx, examples, 2, nil) {
		if err != nil {
			return es, err
		}
		if es = append(es, e); len(es) == n {
			break
		}
	}
	return es, nil
}

// packedFiles is a set of files of so many lines, plain and packed.
func packedFiles(t testing.TB, lines ...int) []string {
	files := map[string]string{}
	for f, n := range lines {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d-%d\n", f, i)
			if i%7 == 3 {
				b.WriteString(" \n")
			}
		}
		pack := []func(string) string{func(s string) string { return s }, gz, zst}[f%3]
		files[fmt.Sprintf("file-%02d", f)] = pack(b.String())
	}
	_, paths := write(t, files)
	return paths
}

func TestAStreamHasTheRecordsOfTheSource(t *testing.T) {
	paths := packedFiles(t, 40, 90, 25)
	for _, layout := range text.Layouts() {
		c := text.Config{Tokenizer: text.Bytes{}, Context: 16, Layout: layout}
		s := streams(t, c, paths...)
		for shard, path := range paths {
			want := shown(all(t, open(t, c, path)))
			for _, from := range []int{0, 1, len(want) / 2, len(want) - 1, len(want), len(want) + 5} {
				es, err := collect(t.Context(), s.Open(t.Context(), shard, int64(from)), -1)
				if err != nil || !slices.Equal(shown(es), append([]string{}, want[min(from, len(want)):]...)) && len(es)+min(from, len(want)) > 0 {
					t.Errorf("%s, file %d from %d: %q, %v, want %q", layout, shard, from, shown(es), err, want[min(from, len(want)):])
				}
			}
			if len(want) < 5 {
				t.Errorf("%s: file %d has %d records", layout, shard, len(want))
			}
		}
		if s.Shards() != len(paths) {
			t.Errorf("%d shards", s.Shards())
		}
	}
}

func TestAPassOfTheStreamsHasEveryLineOnce(t *testing.T) {
	paths := packedFiles(t, 40, 90, 25, 0, 61)
	s := data.Stream{Shards: streams(t, text.Config{Tokenizer: text.Bytes{}, Context: 16}, paths...), Cycle: 3}
	const n = 40 + 90 + 25 + 61
	es, err := collect(t.Context(), data.Interleave(t.Context(), s, data.Permuted, 1, nil), 2*n)
	if err != nil {
		t.Fatal(err)
	}
	first, second := shown(es[:n]), shown(es[n:])
	if slices.Equal(first, second) {
		t.Error("both passes have one order")
	}
	slices.Sort(first)
	slices.Sort(second)
	if len(slices.Compact(slices.Clone(first))) != n || !slices.Equal(first, second) {
		t.Error("a pass does not have every line once")
	}
	for i, e := range es {
		if e.Origin.Read != int64(i) || e.Origin.Copy != 0 {
			t.Fatalf("example %d has the origin %+v", i, e.Origin)
		}
		again, err := s.Read(t.Context(), e.Origin.Index)
		if err == nil {
			again, err = again.Input.(data.Encoded).Unpack(again)
		}
		if err != nil || !reflect.DeepEqual(again.Input, e.Input) {
			t.Fatalf("%s is %v, %v, was %v", s.Name(e.Origin.Index), again.Input, err, e.Input)
		}
	}
}

// batches forms batches of lines echoed at a place, as a pipeline does.
func batches(t *rapid.T, src any, place echo.Strategy, factor echo.Factor, workers, n int) []data.Batch {
	spec := echo.Spec{Strategy: place, Factor: factor}
	ctx := context.Background()
	var examples data.Seq[data.Example]
	switch src := src.(type) {
	case data.Stream:
		examples = data.Interleave(ctx, src, data.Permuted, 3, nil)
	case data.Source:
		examples = data.Read(ctx, data.Order(src.Len(), data.Permuted, 3), workers, data.FromSource(src), nil)
	}
	examples = echo.Repeat(examples, spec.At(echo.Read), 4)
	examples = data.Decode(ctx, examples, workers, nil)
	examples = echo.Repeat(examples, spec.At(echo.Example), 4)
	examples = data.Shuffle(examples, 20, 5)
	all := data.Batches(examples, 6, data.Format{Context: 12}.Batch)
	all = echo.Repeat(data.Prefetch(all, 2), spec.At(echo.Batch), 4)
	var out []data.Batch
	for b, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, b); len(out) == n {
			break
		}
	}
	return out
}

func TestReadAndExampleEchoOfTextGiveTheSameBatchesForAnyNumberOfWorkers(t *testing.T) {
	paths := packedFiles(t, 40, 90, 25)
	c := text.Config{Tokenizer: trained(t, 30, "10-10 20-20 30-30 11-12"), Context: 12}
	random := open(t, c, paths...)
	stream := data.Stream{Shards: streams(t, c, paths...), Cycle: 2}
	rapid.Check(t, func(t *rapid.T) {
		factor := echo.Factor(rapid.SampledFrom([]float64{1, 1.5, 2, 3.25}).Draw(t, "factor"))
		for _, src := range []any{random, stream} {
			byExample := batches(t, src, echo.Example, factor, 1, 12)
			byRead := batches(t, src, echo.Read, factor, rapid.IntRange(1, 6).Draw(t, "workers"), 12)
			if !reflect.DeepEqual(byExample, byRead) {
				t.Fatalf("%T: they differ", src)
			}
			byBatch := batches(t, src, echo.Batch, 2, 3, 4)
			if !reflect.DeepEqual(byBatch[0].Inputs, byBatch[1].Inputs) || reflect.DeepEqual(byBatch[1].Inputs, byBatch[2].Inputs) || byBatch[1].Fresh() != 0 {
				t.Fatalf("%T: batches are not repeated", src)
			}
		}
	})
}

func TestDamageInTheMiddleOfAFileIsNamedOrBorne(t *testing.T) {
	whole := packedFiles(t, 30, 30)
	var long strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&long, "line %d %x\n", i, i*i*7919)
	}
	packed := []byte(gz(long.String()))
	packed[len(packed)/2] ^= 0xff
	if err := os.WriteFile(whole[1], packed, 0o644); err != nil {
		t.Fatal(err)
	}
	s := data.Stream{Shards: streams(t, text.Config{Tokenizer: text.Bytes{}, Context: 16}, whole...), Cycle: 2}
	es, err := collect(t.Context(), data.Interleave(t.Context(), s, data.Sequential, 1, nil), -1)
	if err == nil || len(es) < 1000 || !strings.Contains(err.Error(), "file-01: record ") {
		t.Errorf("after %d examples: %v, want an error that names the file and the record", len(es), err)
	}
	var faults []string
	bear := func(o data.Origin, err error) error {
		faults = append(faults, fmt.Sprintf("%s: %v", s.Name(o.Index), err))
		return nil
	}
	good := len(es)
	es, err = collect(t.Context(), data.Interleave(t.Context(), s, data.Sequential, 1, bear), good+100)
	if err != nil || len(es) != good+100 || len(faults) == 0 {
		t.Errorf("borne: %d examples, %d faults, %v", len(es), len(faults), err)
	}
}

func TestStreamsWithoutRecordsAreAnError(t *testing.T) {
	_, paths := write(t, map[string]string{"a": "", "b": "\n \n"})
	s := data.Stream{Shards: streams(t, text.Config{Tokenizer: text.Bytes{}, Context: 16}, paths...), Cycle: 2}
	if _, err := collect(t.Context(), data.Interleave(t.Context(), s, data.Permuted, 1, nil), -1); err == nil || !strings.Contains(err.Error(), "no records") {
		t.Error(err)
	}
	if _, err := s.Read(t.Context(), 0); err == nil {
		t.Error("there is a record 0")
	}
	if _, err := s.Read(t.Context(), 2<<40); err == nil {
		t.Error("there is a stream 2 of 2")
	}
	if _, err := (text.Config{Tokenizer: text.Bytes{}, Context: 1}).Stream(nil); err == nil {
		t.Error("there are streams without files")
	}
}

func TestALineThatIsTooLongIsASingleFaultOfAStream(t *testing.T) {
	_, paths := write(t, map[string]string{"a": "one\n" + strings.Repeat("x", text.MaxLine+1) + "\ntwo\n"})
	s := data.Stream{Shards: streams(t, text.Config{Tokenizer: text.Bytes{}, Context: 16}, paths...)}
	var met []string
	faults := func(o data.Origin, err error) error {
		met = append(met, err.Error())
		return nil
	}
	var es []data.Example
	for e, err := range data.Decode(t.Context(), data.Interleave(t.Context(), s, data.Permuted, 1, faults), 1, faults) {
		if err != nil {
			t.Fatal(err)
		}
		if es = append(es, e); len(es) == 2 {
			break
		}
	}
	if got := shown(es); !slices.Equal(got, []string{"$one|one$", "$two|two$"}) || len(met) == 0 || !strings.Contains(met[0], "a:2: the line has") {
		t.Errorf("%q, with %q", got, met)
	}
}

func TestLeavingAStreamLeavesNothingBehind(t *testing.T) {
	paths := packedFiles(t, 400, 400, 400)
	s := data.Stream{Shards: streams(t, text.Config{Tokenizer: text.Bytes{}, Context: 16}, paths...), Cycle: 3}
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range data.Interleave(ctx, s, data.Permuted, 1, nil) {
		if n++; n == 50 {
			cancel()
		}
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
	}
	if n < 50 || n > 1000 {
		t.Errorf("%d records came", n)
	}
	for range data.Interleave(t.Context(), s, data.Permuted, 1, nil) {
		break
	}
	for wait := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Since(wait) > 5*time.Second {
			t.Fatalf("%d goroutines, there were %d", runtime.NumGoroutine(), before)
		}
	}
}

func TestLargeSetsAreThoseBeyondAGibibyte(t *testing.T) {
	_, paths := write(t, map[string]string{"a": "x", "b.gz": gz("x")})
	for size, want := range map[int64]bool{1 << 20: false, 1<<30 + 1: true} {
		if err := os.Truncate(paths[0], size); err != nil { // sparse
			t.Fatal(err)
		}
		if got, err := text.Large(paths); err != nil || got != want {
			t.Errorf("%d bytes: %v, %v", size, got, err)
		}
	}
	if err := os.Truncate(paths[0], 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(paths[1], 1<<28+1); err != nil {
		t.Fatal(err)
	}
	if got, err := text.Large(paths); err != nil || !got {
		t.Errorf("packed: %v, %v", got, err)
	}
}
