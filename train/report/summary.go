package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/reprise-ml/reprise/train"
)

// Status is how a run ended.
type Status string

// The ends of a run.
const (
	Done        Status = "done"        // its length was trained; no target was set
	TargetMet   Status = "target"      // the target was reached
	Budget      Status = "budget"      // its length was trained without reaching the target
	Diverging   Status = "diverged"    // the loss was not finite, or grew without end
	Interrupted Status = "interrupted" // by a signal
	Failed      Status = "failed"      // by an error
)

// Summary is the content of summary.json. What does not apply is absent, and so
// is what is not a finite number, such as the loss of a run that diverged.
type Summary struct {
	Name     string  `json:"name"`
	Status   Status  `json:"status"`
	Error    string  `json:"error,omitempty"` // of the status failed and diverged
	Strategy string  `json:"strategy"`
	Factor   float64 `json:"factor,omitempty"` // absent where it sets itself
	Seed     uint64  `json:"seed"`
	Target   string  `json:"target,omitempty"`

	// At the evaluation that met the target.
	FreshToTarget    *int64   `json:"fresh_to_target,omitempty"`
	ReadsToTarget    *int64   `json:"reads_to_target,omitempty"`
	ExamplesToTarget *int64   `json:"examples_to_target,omitempty"`
	StepsToTarget    *int64   `json:"steps_to_target,omitempty"`
	WallToTarget     *float64 `json:"wall_to_target,omitempty"` // seconds from the first step, without evaluation
	CPUToTarget      *float64 `json:"cpu_to_target,omitempty"`

	FillSeconds   float64 `json:"fill_seconds"` // before the first step, while the buffers filled
	Steps         int64   `json:"steps"`
	Examples      int64   `json:"examples"`
	FreshExamples int64   `json:"fresh_examples"`
	Reads         int64   `json:"reads"`
	BadReads      int64   `json:"bad_reads"`                  // of them, reads of damaged records, which were skipped
	BadRecords    int     `json:"bad_records"`                // distinct damaged records met
	Resumes       int     `json:"resumes"`                    // from a checkpoint, after the run had been interrupted or killed
	ResumeReads   int64   `json:"resume_reads"`               // made again to fill the buffers at those; not in reads
	Turned        int     `json:"exif_turned,omitempty"`      // distinct training pictures whose EXIF orientation is not upright
	Lenient       bool    `json:"lenient_decoding,omitempty"` // the data was marked as clean, and what was not needed of a file was not read
	EchoFactor    float64 `json:"echo_factor"`                // examples / fresh_examples
	WallSeconds   float64 `json:"wall_seconds"`
	WaitSeconds   float64 `json:"wait_seconds"`
	StepSeconds   float64 `json:"step_seconds"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	Rates
	WorkerCores        *float64 `json:"worker_cores,omitempty"`        // cores that decoding and augmenting kept busy over the first 50 steps
	PeakRSS            int64    `json:"peak_rss_bytes,omitempty"`      // most memory the process had at once; absent where the system does not tell
	PredictedRSS       int64    `json:"predicted_rss_bytes,omitempty"` // what explain had said of that; garbage is collected to stay below it
	FinalLoss          *float64 `json:"final_loss,omitempty"`          // of the last step
	FinalValLoss       *float64 `json:"final_val_loss,omitempty"`
	FinalValError      *float64 `json:"final_val_error,omitempty"`
	FinalValPerplexity *float64 `json:"final_val_perplexity,omitempty"` // of text: e to the power of the loss
	BestValLoss        *float64 `json:"best_val_loss,omitempty"`
	BestValError       *float64 `json:"best_val_error,omitempty"`
	BestValPerplexity  *float64 `json:"best_val_perplexity,omitempty"`
	BestStep           *int64   `json:"best_step,omitempty"` // of best.safetensors, the least val_error, of text the least val_loss
	TestLoss           *float64 `json:"test_loss,omitempty"` // of the best weights
	TestError          *float64 `json:"test_error,omitempty"`
	TestPerplexity     *float64 `json:"test_perplexity,omitempty"`
}

// WriteSummary writes summary.json to a directory, atomically.
func WriteSummary(dir string, s Summary) error {
	return WriteJSON(filepath.Join(dir, "summary.json"), finite(s))
}

// ReadSummary reads the summary.json of a directory.
func ReadSummary(dir string) (Summary, error) {
	var s Summary
	if err := ReadJSON(filepath.Join(dir, "summary.json"), &s); err != nil {
		return Summary{}, err
	}
	return s, nil
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("report: %s: %w", path, err)
	}
	return nil
}

// WriteJSON writes v, indented, to a file that holds either what it held
// before or all of v.
func WriteJSON(path string, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report: %s: %w", path, err)
	}
	return train.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(text.Bytes())
		return err
	})
}
