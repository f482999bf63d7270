package train

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/nn"
)

// The files of a checkpoint.
const (
	modelFile     = "model.safetensors"     // weights and running statistics, as Save writes them
	optimizerFile = "optimizer.safetensors" // the buffers of the optimizer and the like
	stateFile     = "state.json"            // everything else, and checksums of all three
)

// checkpointVersion is the form of a checkpoint, the field version of its
// state.json.
const checkpointVersion = 1

// Checkpoint is what a run is resumed from.
type Checkpoint struct {
	Step      int64
	Model     []nn.Tensor // weights and running statistics: Params.Export
	Optimizer []nn.Tensor // the buffers of the optimizer and the like
	State     any         // everything else, as JSON; to be read into a pointer
}

// Checkpoints is a folder of checkpoints, each a folder named by its step:
// step-00002000. It must exist, and one process at a time may write to it.
type Checkpoints struct {
	Dir  string
	Keep int // latest checkpoints kept, at least 1
}

// Folder is where the checkpoint of a step is.
func (c Checkpoints) Folder(step int64) string {
	return filepath.Join(c.Dir, fmt.Sprintf("step-%08d", step))
}

// Steps lists the checkpoints there are, good or damaged, the latest first.
func (c Checkpoints) Steps() ([]int64, error) {
	held, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("train: checkpoints: %w", err)
	}
	var steps []int64
	for _, e := range held {
		var step int64
		if _, err := fmt.Sscanf(e.Name(), "step-%d", &step); err == nil && c.Folder(step) == filepath.Join(c.Dir, e.Name()) {
			steps = append(steps, step)
		}
	}
	slices.SortFunc(steps, func(a, b int64) int { return cmp.Compare(b, a) })
	return steps, nil
}

// Owns reports whether a name in the folder of checkpoints is that of a
// checkpoint, whole or half written.
func (c Checkpoints) Owns(name string) bool {
	name, hidden := strings.CutPrefix(name, ".")
	if hidden {
		name, hidden = strings.CutSuffix(name, ".tmp")
		if !hidden {
			return false
		}
	}
	var step int64
	_, err := fmt.Sscanf(name, "step-%d", &step)
	return err == nil && filepath.Base(c.Folder(step)) == name
}

// Save writes a checkpoint, so that a crash at any moment leaves either all of
// it under its name or none: it goes to a temporary folder, is flushed to
// storage, and is renamed. Then the earliest checkpoints go, so that Keep are
// left; later ones, which were found damaged, go too. A failure leaves what
// there was.
func (c Checkpoints) Save(p Checkpoint) error {
	if err := c.save(p); err != nil {
		return fmt.Errorf("train: checkpoint of step %d in %s: %w", p.Step, c.Dir, err)
	}
	return nil
}

func (c Checkpoints) save(p Checkpoint) (err error) {
	folder := c.Folder(p.Step)
	temporary := filepath.Join(c.Dir, "."+filepath.Base(folder)+".tmp")
	if err := c.clean(); err != nil {
		return err
	}
	if err := os.Mkdir(temporary, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(temporary)
		}
	}()
	state, err := json.Marshal(p.State)
	if err != nil {
		return fmt.Errorf("%s: %w", stateFile, err)
	}
	seal := sealed{Version: checkpointVersion, Files: map[string]string{}, State: state}
	for name, tensors := range map[string][]nn.Tensor{modelFile: p.Model, optimizerFile: p.Optimizer} {
		f := safetensors.File{Metadata: map[string]string{"format": "pt", "step": fmt.Sprint(p.Step)}}
		for _, t := range tensors {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
		}
		sum := sha256.New()
		err := writeNew(filepath.Join(temporary, name), func(w io.Writer) error { return safetensors.Write(io.MultiWriter(w, sum), f) })
		if err != nil {
			return err
		}
		seal.Files[name] = hexadecimal(sum)
	}
	seal.Sum = seal.sum()
	if err := writeNew(filepath.Join(temporary, stateFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(seal) }); err != nil {
		return err
	}
	if err := syncFolder(temporary); err != nil {
		return err
	}
	if err := os.RemoveAll(folder); err != nil { // a damaged one
		return err
	}
	if err := os.Rename(temporary, folder); err != nil {
		return err
	}
	if err := syncFolder(c.Dir); err != nil {
		return err
	}
	return c.prune(p.Step)
}

// clean removes what a killed process left half written.
func (c Checkpoints) clean() error {
	left, err := filepath.Glob(filepath.Join(c.Dir, ".step-*.tmp"))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// prune removes all checkpoints but the Keep latest up to a step.
func (c Checkpoints) prune(step int64) error {
	steps, err := c.Steps()
	kept := 0
	for _, s := range steps {
		if s <= step && kept < max(c.Keep, 1) {
			kept++
			continue
		}
		err = errors.Join(err, os.RemoveAll(c.Folder(s)))
	}
	return err
}

// Load reads the checkpoint of a step, and its State into what state points
// to. A checkpoint that is not whole, byte for byte, is an error.
func (c Checkpoints) Load(step int64, state any) (Checkpoint, error) {
	p, err := c.load(step, state)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("train: checkpoint %s: %w", c.Folder(step), err)
	}
	return p, nil
}

func (c Checkpoints) load(step int64, state any) (Checkpoint, error) {
	p := Checkpoint{Step: step, State: state}
	text, err := os.ReadFile(filepath.Join(c.Folder(step), stateFile))
	if err != nil {
		return p, err
	}
	var seal sealed
	if err := json.Unmarshal(text, &seal); err != nil {
		return p, fmt.Errorf("%s: %w", stateFile, err)
	}
	if seal.Version != checkpointVersion {
		return p, fmt.Errorf("%s: version is %d, want %d", stateFile, seal.Version, checkpointVersion)
	}
	if seal.Sum != seal.sum() {
		return p, fmt.Errorf("%s: its checksum is wrong", stateFile)
	}
	for name, to := range map[string]*[]nn.Tensor{modelFile: &p.Model, optimizerFile: &p.Optimizer} {
		if *to, err = readTensors(filepath.Join(c.Folder(step), name), seal.Files[name]); err != nil {
			return p, err
		}
	}
	if err := json.Unmarshal(seal.State, state); err != nil {
		return p, fmt.Errorf("%s: state: %w", stateFile, err)
	}
	return p, nil
}

// readTensors reads a file that must have a checksum.
func readTensors(path, want string) ([]nn.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	file, err := safetensors.Read(io.TeeReader(f, sum), info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if hexadecimal(sum) != want {
		return nil, fmt.Errorf("%s: its checksum is wrong", filepath.Base(path))
	}
	tensors := make([]nn.Tensor, len(file.Tensors))
	for i, t := range file.Tensors {
		tensors[i] = nn.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data}
	}
	return tensors, nil
}

// sealed is the content of state.json.
type sealed struct {
	Version int               `json:"version"`
	Sum     string            `json:"sum"`   // SHA-256 of what follows
	Files   map[string]string `json:"files"` // SHA-256 of the other files
	State   json.RawMessage   `json:"state"`
}

// sum is what Sum must be.
func (s sealed) sum() string {
	sum := sha256.New()
	for _, name := range []string{modelFile, optimizerFile} {
		fmt.Fprintf(sum, "%s %s\n", name, s.Files[name])
	}
	var state bytes.Buffer
	if err := json.Compact(&state, s.State); err != nil {
		return ""
	}
	sum.Write(state.Bytes())
	return hexadecimal(sum)
}

func hexadecimal(sum hash.Hash) string { return hex.EncodeToString(sum.Sum(nil)) }
