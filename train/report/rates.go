package report

// Rates say how the pipeline and the step keep up with each other, and how
// often and at what distance what was read is used. In a line of metrics they
// are of the time since the last line of training, in a summary of the whole
// run. See package echo, type Balance, for what t_up and t_down are.
type Rates struct {
	TUp         *float64 `json:"t_up,omitempty"`        // seconds for a batch of fresh data left of the echo
	TDown       *float64 `json:"t_down,omitempty"`      // seconds for a batch right of it
	R           *float64 `json:"r,omitempty"`           // t_up / t_down
	Utilisation *float64 `json:"utilisation,omitempty"` // share of the time that the step computes
	Repeats     *float64 `json:"repeats,omitempty"`     // rows a read, of the reads that were used for the first time
	Lag         *float64 `json:"lag,omitempty"`         // mean of the steps from a use of a read to the next; 0 within a batch
}
