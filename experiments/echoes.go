package experiments

import (
	"github.com/reprise-ml/reprise/data"
	"github.com/reprise-ml/reprise/echo"
)

// Items that an automatic factor holds for copying: as many examples as a batch has, or so many batches.
const recentBatches = 4

// echoes is the echo of a pipeline that may begin in the middle.
type echoes struct {
	echo.Stage
	from Start
}

// echoes returns the echo of s; ready tells how many batches wait for the step.
func (s Spec) echoes(at Start, ready *data.Gauge) echoes {
	a := echo.Automatic{Recent: recentBatches, Replay: at.Choices, Record: at.Record}
	if s.Echo.Strategy != echo.Batch {
		a.Recent, a.Fill, a.Ready = s.Train.Batch, s.Stages.Shuffle.Items, ready
	}
	return echoes{echo.Stage{Spec: s.Echo, Seed: s.stage("echo"), Automatic: a}, at}
}

// at is in, echoed if place is that of e.
//
// It is here, too, that hollow examples join the others: after all echoes, or, since the copies of an automatic
// factor do not follow their item at once, right before it.
func (e echoes) at(in data.Seq[data.Example], place echo.Strategy) data.Seq[data.Example] {
	join := echo.Augmentation
	if e.Factor == echo.Auto && e.Strategy != echo.Batch {
		join = e.Strategy
	}
	if place == join {
		hollow := e.from.Hollow()
		if e.Factor != echo.Auto {
			hollow = echo.At(echo.At(hollow, echo.Read, e.Stage), echo.Example, e.Stage)
		}
		in = e.from.Refill(in, hollow)
	}
	return echo.At(in, place, e.Stage)
}
