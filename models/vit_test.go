package models

import (
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/reprise-ml/reprise/nn"
	"github.com/reprise-ml/reprise/train"
)

// smallViT is the vision transformer of testdata/transformer.py.
var smallViT = ViT{Layers: 2, Width: 12, Heads: 3, Patch: 4, Classes: 10}

func TestVisionTransformersHaveThePublishedNumberOfParameters(t *testing.T) {
	for size, want := range map[string]int{"tiny": 5717416, "small": 22050664, "base": 86567656} {
		v, err := ViTOf(size, 1000)
		if err != nil {
			t.Fatal(err)
		}
		w := v.Width
		formula := 16*16*3*w + w + w + 197*w + v.Layers*(12*w*w+13*w) + 2*w + 1000*w + 1000
		if formula != want {
			t.Errorf("%s has %d parameters by the formula, published are %d", size, formula, want)
		}
		if size != "tiny" {
			continue // drawing them takes long
		}
		var p nn.Params
		s := nn.NewScope(&p, nn.Config{})
		x := gorgonia.NewTensor(s.Graph(), tensor.Float32, 4, gorgonia.WithName("x"), gorgonia.WithShape(1, 224, 224, 3))
		model(t, v).Apply(s, gorgonia.Nodes{x})
		if got := p.Count(); got != want || s.Err() != nil {
			t.Errorf("%s has %d parameters, published are %d; error %v", size, got, want, s.Err())
		}
	}
}

func TestAVisionTransformerThatCannotBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*ViT)
		want   string
	}{
		{func(v *ViT) { v.Layers = 0 }, "layers 0"},
		{func(v *ViT) { v.Patch = 0 }, "patch 0"},
		{func(v *ViT) { v.Heads = 7 }, "width 12 does not divide into 7 heads"},
		{func(v *ViT) { v.Pool = "max" }, `pool "max", want class or mean`},
		{func(v *ViT) { v.Dropout = -1 }, "dropout -1"},
	} {
		v := smallViT
		c.change(&v)
		if _, err := v.Model(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	if _, err := ViTOf("huge", 10); err == nil {
		t.Error("size huge, and no error")
	}
	s := nn.NewScope(new(nn.Params), nn.Config{})
	x := gorgonia.NewTensor(s.Graph(), tensor.Float32, 4, gorgonia.WithName("x"), gorgonia.WithShape(1, 18, 16, 3))
	model(t, smallViT).Apply(s, gorgonia.Nodes{x})
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "in patches of 4") {
		t.Errorf("18 pixels in patches of 4: error %v", err)
	}
}

func TestMeanPoolingHasNoClassTokenAndTrains(t *testing.T) {
	v := smallViT
	v.Pool, v.Dropout = "mean", 0.1
	var p nn.Params
	g := newGraphOf(t, model(t, v), &p, 4, 16, nn.Config{Train: true})
	g.setBatch()
	if p.Lookup("class_token") != nil {
		t.Error("there is a class token")
	}
	velocity := map[string][]float32{}
	first, last := g.run(t), 0.0
	for range 20 {
		g.sgd(velocity, 0.02)
		last = g.run(t)
	}
	if !(last < first/2) {
		t.Errorf("the loss went from %v to %v", first, last)
	}
}

func TestWeightsOfOtherVisionTransformersLoad(t *testing.T) {
	for name, replace := range map[string]*strings.Replacer{
		"torchvision":             strings.NewReplacer(),
		"torchvision before 0.13": strings.NewReplacer(".mlp.0.", ".mlp.linear_1.", ".mlp.3.", ".mlp.linear_2."),
		"timm": strings.NewReplacer("conv_proj.", "patch_embed.proj.", "class_token", "cls_token", "encoder.pos_embedding", "pos_embed", "encoder.layers.encoder_layer_", "blocks.",
			"ln_1", "norm1", "ln_2", "norm2", "self_attention.in_proj_", "attn.qkv.", "self_attention.out_proj", "attn.proj", ".mlp.0.", ".mlp.fc1.", ".mlp.3.", ".mlp.fc2.", "encoder.ln.", "norm.", "heads.head.", "head."),
	} {
		t.Run(name, func(t *testing.T) {
			p := params16(t)
			state, names := map[string][]int{}, map[string]string{}
			for _, w := range p.Export() {
				names[w.Name] = replace.Replace(w.Name)
				state[names[w.Name]] = w.Shape
			}
			path := filepath.Join(t.TempDir(), "vit.safetensors")
			writeState(t, path, state)
			if err := train.Load(path, p); err != nil {
				t.Fatal(err)
			}
			for _, w := range p.Export() {
				for i, u := range formula(names[w.Name], len(w.Data)) {
					if w.Data[i] != float32(u) {
						t.Fatalf("%s: value %d is %v, the file has %v", w.Name, i, w.Data[i], u)
					}
				}
			}
			delete(state, names["encoder.ln.bias"])
			state["blocks.1.attn.q_norm.weight"] = []int{4}
			writeState(t, path, state)
			err := train.Load(path, p)
			if err == nil || !strings.Contains(err.Error(), "missing encoder.ln.bias") || !strings.Contains(err.Error(), "unexpected blocks.1.attn.q_norm.weight") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func params16(t *testing.T) *nn.Params {
	t.Helper()
	var p nn.Params
	newGraphOf(t, model(t, smallViT), &p, 1, 16, nn.Config{})
	return &p
}
