package train

import (
	"fmt"
	"io"

	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/nn"
)

// Save writes weights and running statistics to a safetensors file, with
// PyTorch's names and layouts, atomically. note is free text for its header.
func Save(path string, p *nn.Params, note map[string]string) error {
	f := safetensors.File{Metadata: note}
	for _, t := range p.Export() {
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
	}
	return WriteFile(path, func(w io.Writer) error { return safetensors.Write(w, f) })
}

// Load reads what Save or PyTorch wrote into the parameters of a model whose
// graph has been built. Every name and shape must agree.
func Load(path string, p *nn.Params) error {
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return fmt.Errorf("train: loading weights: %w", err)
	}
	tensors := make([]nn.Tensor, len(f.Tensors))
	for i, t := range f.Tensors {
		tensors[i] = nn.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data}
	}
	if err := p.Import(tensors); err != nil {
		return fmt.Errorf("train: loading weights from %s: %w", path, err)
	}
	return nil
}
