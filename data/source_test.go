package data_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reprise-ml/reprise/data"
)

// lost is a source of records that cannot be read.
type lost struct{ data.Source }

func (lost) Read(context.Context, int) (data.Example, error) { return data.Example{}, errTest }

// entitled is a source that names its records.
type entitled struct{ data.Source }

func (entitled) Name(i int) string { return "cat/" + string(rune('a'+i)) + ".jpg" }

// lostFile is a file that cannot be read.
type lostFile struct{ lost }

func (lostFile) Name(i int) string { return entitled{}.Name(i) }

func TestARecordThatCannotBeReadIsNamed(t *testing.T) {
	for _, test := range []struct {
		src  data.Source
		want string
	}{
		{lost{}, "data: record 2: " + errTest.Error()},
		{lostFile{}, "data: cat/c.jpg: " + errTest.Error()},
	} {
		_, err := data.FromSource(test.src)(context.Background(), data.Origin{Index: 2, Read: 9})
		if !errors.Is(err, errTest) || err.Error() != test.want {
			t.Errorf("error is %v, want %s", err, test.want)
		}
	}
}

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
