package echo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/echo"
)

func TestAFactorIsWrittenAndReadAsANumberOrAuto(t *testing.T) {
	for text, want := range map[string]echo.Factor{"2.5": 2.5, "1": 1, "auto": echo.Auto} {
		var f echo.Factor
		if err := f.UnmarshalText([]byte(text)); err != nil || f != want || f.String() != text {
			t.Errorf("%s is read as %v, %v", text, f, err)
		}
		out, err := json.Marshal(want)
		if err != nil || strings.Trim(string(out), `"`) != text {
			t.Errorf("%v is written as %s, %v", want, out, err)
		}
		var back echo.Factor
		if err := json.Unmarshal(out, &back); err != nil || back != want {
			t.Errorf("%s is read back as %v, %v", out, back, err)
		}
	}
	for _, text := range []string{"", "-1", "two", "Auto"} {
		var f echo.Factor
		if err := f.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "or auto") {
			t.Errorf("%q is read as %v, %v", text, f, err)
		}
	}
}
