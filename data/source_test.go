package data_test

import (
	"context"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// entitled is a source that names its records.
type entitled struct{ data.Source }

func (entitled) Name(i int) string { return "cat/" + string(rune('a'+i)) + ".jpg" }

func TestFromSourceReadsTheRecordOfAnOrigin(t *testing.T) {
	read := data.FromSource(bare{10})
	for i := range 10 {
		e, err := read(context.Background(), data.Origin{Index: i, Read: int64(100 - i)})
		if err != nil || e.Input.(data.Tokens)[0] != int32(i) {
			t.Errorf("record %d is %+v, %v", i, e, err)
		}
	}
}

func TestARecordIsNamedByItsSourceOrByItsNumber(t *testing.T) {
	if got := data.RecordName(bare{5}, 3); got != "record 3" {
		t.Errorf("the name is %q", got)
	}
	if got := data.RecordName(entitled{bare{5}}, 3); got != "cat/d.jpg" {
		t.Errorf("the name is %q", got)
	}
}
