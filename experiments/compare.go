package experiments

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/reprise-ml/reprise/echo"
	"github.com/reprise-ml/reprise/nn/op"
	"github.com/reprise-ml/reprise/train"
	"github.com/reprise-ml/reprise/train/report"
)

// Comparison is one Spec, trained with several strategies and seeds that are
// paired: each strategy has every seed.
type Comparison struct {
	Spec       Spec
	Strategies []echo.Strategy
	Factors    []echo.Factor // of every strategy but none
	Seeds      int           // Spec.Seed and those that follow it; 0 means 1
	Dir        string        // a directory a run is made in it

	Progress func(label string, s Spec) *report.Progress // of one run; nil shows nothing
	Notice   func(string)                                // as that of Run
}

// Arm is what the runs of one row of a comparison have in common.
type Arm struct {
	Strategy echo.Strategy `json:"strategy"`
	Factor   echo.Factor   `json:"factor"`
}

// String writes a as "example ×2".
func (a Arm) String() string {
	if a.Strategy == echo.None {
		return "none"
	}
	return fmt.Sprintf("%s ×%v", a.Strategy, a.Factor)
}

// Arms returns the rows: none first where it is asked for, and each other
// strategy once a factor. A strategy that would train as another does is left
// out, and named in notices.
func (c Comparison) Arms() (arms []Arm, notices []string, err error) {
	asked := map[echo.Strategy]bool{}
	for _, s := range c.Strategies {
		if err := (echo.Spec{Strategy: s, Factor: 1}).Check(); err != nil {
			return nil, nil, err
		}
		asked[s] = true
	}
	for _, f := range c.Factors {
		if err := f.Check(); err != nil {
			return nil, nil, err
		}
	}
	for _, s := range echo.Strategies() {
		if !asked[s] {
			continue
		}
		if s == echo.None {
			arms = append(arms, Arm{echo.None, 1})
			continue
		}
		one := c.Spec
		one.Echo.Strategy = s
		if err := one.echoesNothing(); err != nil {
			notices = append(notices, fmt.Sprintf("%s is left out: %v", s, err))
			continue
		}
		if s == echo.Read && asked[echo.Example] {
			notices = append(notices, "read trains bit for bit as example does; its row differs in cost only")
		}
		for _, f := range c.Factors {
			switch arm := (Arm{s, f}); {
			case slices.Contains(arms, arm):
			case f == 1 && asked[echo.None]:
				notices = append(notices, fmt.Sprintf("%s with factor 1 is left out: it is none", s))
			default:
				arms = append(arms, arm)
			}
		}
	}
	if len(arms) == 0 {
		return nil, nil, errors.New("nothing to compare: no strategy is left")
	}
	return arms, notices, nil
}

// finished reports whether a run that ended so need not be made again.
func finished(s report.Status) bool {
	return s == report.Done || s == report.TargetMet || s == report.Budget || s == report.Diverging
}

// Run makes every run that is not finished in Dir already, one after the
// other, and returns the table of them all. A run that diverged or missed
// the target is in the table; another failure ends the comparison.
func (c Comparison) Run(ctx context.Context) (Table, error) {
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	arms, notices, err := c.Arms()
	if err != nil {
		return Table{}, err
	}
	for _, n := range notices {
		c.Notice(n)
	}
	s := c.Spec
	if h := s.Train.Rate.Horizon; !h.IsZero() && h.Unit == Steps && s.Train.Rate.Schedule != "constant" {
		c.Notice(fmt.Sprintf("train.rate.horizon is %v for every row: at the same number of fresh examples the rows then have different learning rates", h))
	}
	if e := &s.Evaluate.Every; e.Unit == Steps {
		*e = Span{e.N * float64(s.Train.Batch), Fresh}
		c.Notice(fmt.Sprintf("a comparison evaluates by fresh examples: evaluate.every is %v", *e))
	}
	if s, err = c.settle(ctx, s); err != nil {
		return Table{}, err
	}
	t := Table{Target: s.Stop.Target.String(), Metric: ValError, Rows: make([]Row, len(arms))}
	for i, arm := range arms {
		t.Rows[i].Arm = arm
	}
	seeds := max(c.Seeds, 1)
	for n := range seeds {
		for i, arm := range arms {
			if len(arms)*seeds > 1 {
				c.Notice(fmt.Sprintf("run %d of %d: %v, seed %d", n*len(arms)+i+1, len(arms)*seeds, arm, s.Seed+uint64(n)))
			}
			summary, err := c.one(ctx, s, arm, n)
			if err != nil {
				return Table{}, fmt.Errorf("%v, seed %d: %w", arm, s.Seed+uint64(n), err)
			}
			t.Rows[i].Runs = append(t.Rows[i].Runs, summary)
			if summary.FinalValPerplexity != nil {
				t.Metric = ValLoss
			}
		}
	}
	t.summarise()
	return t, report.WriteJSON(filepath.Join(c.Dir, "table.json"), t)
}

// settle calibrates the storage, once for all arms, and keeps the Spec in
// compare.yaml. A Dir that another Spec was compared in is refused.
func (c Comparison) settle(ctx context.Context, s Spec) (Spec, error) {
	path := filepath.Join(c.Dir, "compare.yaml")
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return s, fmt.Errorf("comparison: %w", err)
	}
	before, err := os.ReadFile(path)
	if err == nil {
		if s.Storage, err = s.Storage.measuredAs(before); err != nil {
			return s, fmt.Errorf("comparison: %s: %w", path, err)
		}
		now, err := s.text()
		if err != nil {
			return s, err
		}
		if err := sameRun(now, before); err != nil {
			return s, SpecError{fmt.Errorf("comparison: %s holds one of another spec: %w; want another directory (--out)", c.Dir, err)}
		}
		return s, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return s, fmt.Errorf("comparison: %w", err)
	}
	r := Run{Spec: s, Notice: c.Notice}
	if err := r.open(ctx); err != nil {
		return s, err
	}
	pool := op.NewPool(int(s.Train.ComputeThreads))
	defer pool.Close()
	if err := r.prepare(pool); err != nil {
		return s, err
	}
	calibrated, err := r.calibrate(ctx)
	if err != nil {
		return s, err
	}
	s.Storage = calibrated.Storage
	return s, train.WriteFile(path, s.Write)
}

// same reports, as an error, a run in dir of another seed or strategy than s.
func (c Comparison) same(dir string, s Spec) error {
	var earlier struct {
		Seed uint64    `yaml:"seed"`
		Name string    `yaml:"name"`
		Echo echo.Spec `yaml:"echo"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &earlier)
	}
	if err == nil && (earlier.Seed != s.Seed || earlier.Name != s.Name || earlier.Echo != s.Echo) {
		err = errors.New("its config.yaml is not of this comparison")
	}
	if err != nil {
		return fmt.Errorf("comparison: the run in %s: %w; want another directory (--out)", dir, err)
	}
	return nil
}

// text is s as YAML.
func (s Spec) text() ([]byte, error) {
	var buf bytes.Buffer
	err := s.Write(&buf)
	return buf.Bytes(), err
}

// one makes the run of an arm with the n-th seed, goes on with it, or reads
// what it found.
func (c Comparison) one(ctx context.Context, s Spec, arm Arm, n int) (report.Summary, error) {
	s.Echo.Strategy, s.Echo.Factor = arm.Strategy, arm.Factor
	if arm.Factor != echo.Auto {
		s.Echo.Max = 0
	}
	s.Echo = s.Echo.WithDefaults()
	if arm.Strategy != echo.Batch {
		s.Echo.ShuffleBatches = 0
	}
	s.Seed += uint64(n)
	s.Name = fmt.Sprintf("%s-%v-seed-%d", arm.Strategy, arm.Factor, s.Seed)
	dir := filepath.Join(c.Dir, s.Name)
	if summary, err := report.ReadSummary(dir); err == nil && finished(summary.Status) {
		if err := c.same(dir, s); err != nil {
			return summary, err
		}
		c.Notice(fmt.Sprintf("%s is finished already", s.Name))
		return summary, nil
	}
	run := Run{Spec: s, Dir: dir, Resume: true, Notice: c.Notice}
	if c.Progress != nil {
		run.Progress = c.Progress(fmt.Sprintf("%v, seed %d", arm, s.Seed), s)
	}
	summary, err := run.Train(ctx)
	if err != nil && summary.Status != report.Diverging {
		return summary, err
	}
	return summary, nil
}
