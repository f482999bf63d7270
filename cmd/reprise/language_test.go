package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reprise-ml/reprise/internal/safetensors"
	"github.com/reprise-ml/reprise/train/report"
)

const language = `
data: {source: {text: {path: rhyme.txt, context: 16}}}
pipeline: {shuffle: 8}
model: {transformer: {layers: 1, width: 16, heads: 2}}
train: {batch: 8, optimizer: adamw, rate: {start: 0.01}}
stop: {max_steps: 12}
evaluate: {every: 6 steps, batch: 8}
`

func TestALanguageModelIsTrainedEvaluatedAndSpeaks(t *testing.T) {
	dir := folder(t)
	for name, content := range map[string]string{"lm.yaml": language, "rhyme.txt": strings.Repeat("one two\nbuckle my shoe\nthree four\nknock at the door\n", 25)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr, code := reprise(t, dir, "train", "lm.yaml", "--target", "val_loss<=9")
	if code != 0 || !strings.Contains(stdout, "nats a token") || !strings.Contains(stdout, "val_loss<=9 reached") || !strings.Contains(stderr, "val_perplexity") || strings.Contains(stdout+stderr, "val_error") {
		t.Errorf("train: exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, _, code = reprise(t, dir, "eval", "runs/lm", "--json")
	var parts []map[string]any
	if err := json.Unmarshal([]byte(stdout), &parts); err != nil || code != 0 || len(parts) != 1 {
		t.Fatalf("eval: exit code %d, stdout %s, %v", code, stdout, err)
	}
	if keys := slices.Sorted(maps.Keys(parts[0])); !slices.Equal(keys, []string{"examples", "loss", "part", "perplexity", "split", "tokens"}) {
		t.Errorf("eval has the fields %v", keys)
	}
	if stdout, _, code = reprise(t, dir, "eval", "runs/lm"); code != 0 || !strings.Contains(stdout, "nats a token, perplexity ") {
		t.Errorf("eval prints %s", stdout)
	}

	generate := []string{"generate", "runs/lm", "--prompt", "one", "--tokens", "20", "--temperature", "1", "--top-k", "40", "--seed", "7", "--ignore-end"}
	first, _, code := reprise(t, dir, generate...)
	if code != 0 || !strings.HasPrefix(first, "one") || !strings.HasSuffix(first, "\n") || len(first) != len("one")+20+1 {
		t.Errorf("generate: exit code %d, %q", code, first)
	}
	if again, _, _ := reprise(t, dir, generate...); again != first {
		t.Errorf("the same seed makes %q and %q", first, again)
	}
	generate[11] = "8"
	if other, _, _ := reprise(t, dir, generate...); other == first {
		t.Errorf("another seed makes the same, %q", other)
	}
	generate[11] = "7"
	stdout, _, code = reprise(t, dir, append(generate, "--json")...)
	var made struct {
		Prompt, Text string
		Tokens       int
		Seed         int
	}
	if err := json.Unmarshal([]byte(stdout), &made); err != nil || code != 0 || made.Prompt != "one" || made.Tokens != 20 || made.Seed != 7 {
		t.Errorf("generate --json: exit code %d, %s, %v", code, stdout, err)
	}
	if text := strings.ToValidUTF8(strings.TrimSuffix(strings.TrimPrefix(first, "one"), "\n"), "�"); len(text) > 0 && !strings.HasPrefix(made.Text, text[:1]) {
		t.Errorf("as JSON %q is made, else %q", made.Text, first)
	}
}

func TestWhatCannotSpeakSaysWhy(t *testing.T) {
	dir := folder(t)
	if _, stderr, code := reprise(t, dir, "train", "run.yaml"); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.CopyFS(filepath.Join(dir, "bare"), os.DirFS(filepath.Join(dir, "runs/run"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "bare", "best.safetensors")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"runs/run", "--prompt", "a"}, exitUsage, "no run of a language model: its data is of synth"},
		{[]string{"bare"}, exitError, "has no best.safetensors"},
		{[]string{"."}, exitError, "no run directory"},
		{[]string{"runs/run", "--tokens", "0"}, exitUsage, "--tokens is 0"},
		{[]string{"runs/run", "--temperature", "-1"}, exitUsage, "--temperature is -1"},
		{[]string{"runs/run", "--top-k", "-1"}, exitUsage, "--top-k is -1"},
		{nil, exitUsage, "accepts 1 arg"},
	} {
		stdout, stderr, code := reprise(t, dir, append([]string{"generate"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.stderr) || stdout != "" {
			t.Errorf("generate %v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.stderr, stdout, stderr)
		}
	}
	if _, stderr, code := reprise(t, dir, "train", "run.yaml", "--out", "x", "--set", "model=transformer"); code != exitUsage || !strings.Contains(stderr, "model.transformer: is a language model") {
		t.Errorf("a language model on pictures: exit code %d\n%s", code, stderr)
	}
}

func TestStepsAreMeasuredInJSON(t *testing.T) {
	for model, tokens := range map[string]bool{"transformer:layers=1,width=16,heads=2,context=8,vocab=32": true, "vit:layers=1,width=16,heads=2,patch=8": false} {
		stdout, stderr, code := reprise(t, t.TempDir(), "bench", "step", "--model", model, "--batch", "2", "--seconds", "0.01", "--json")
		var fields map[string]any
		if err := json.Unmarshal([]byte(stdout), &fields); err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %s%s, %v", model, code, stdout, stderr, err)
		}
		for _, f := range []string{"tokens_per_second", "tokens_per_second_best"} {
			if v, ok := fields[f].(float64); ok != tokens || ok && v <= 0 {
				t.Errorf("%s: %s is %v", model, f, fields[f])
			}
		}
	}
}

// timm gives the weights of a vision transformer their names in timm.
var timm = strings.NewReplacer("conv_proj.", "patch_embed.proj.", "class_token", "cls_token", "encoder.pos_embedding", "pos_embed",
	"encoder.layers.encoder_layer_", "blocks.", ".ln_1.", ".norm1.", ".ln_2.", ".norm2.", ".self_attention.in_proj_", ".attn.qkv.",
	".self_attention.out_proj.", ".attn.proj.", ".mlp.0.", ".mlp.fc1.", ".mlp.3.", ".mlp.fc2.", "encoder.ln.", "norm.", "heads.head.", "head.")

func TestAVisionTransformerBeginsWithWeightsOfTimm(t *testing.T) {
	dir := folder(t)
	set := []string{"--set", "model={vit: {layers: 1, width: 16, heads: 2, patch: 4}}", "--set", "train.optimizer=adam", "--set", "stop.max_steps=2", "--json"}
	stdout, stderr, code := reprise(t, dir, append([]string{"train", "run.yaml"}, set...)...)
	var trained report.Summary
	if err := json.Unmarshal([]byte(stdout), &trained); err != nil || code != 0 {
		t.Fatalf("exit code %d, %s%s, %v", code, stdout, stderr, err)
	}
	own, err := safetensors.ReadFile(filepath.Join(dir, "runs/run/best.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, f safetensors.File) {
		var text bytes.Buffer
		if err := safetensors.Write(&text, f); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var other safetensors.File
	for _, w := range own.Tensors {
		w.Name = timm.Replace(w.Name)
		other.Tensors = append(other.Tensors, w)
	}
	write("timm.safetensors", other)
	evaluated, _, _ := reprise(t, dir, "eval", "runs/run", "--json")
	named, stderr, code := reprise(t, dir, "eval", "timm.safetensors", "-c", "runs/run/config.yaml", "--json")
	if code != 0 || named != evaluated {
		t.Errorf("with names of timm: exit code %d, %s%s, want %s", code, named, stderr, evaluated)
	}
	if _, stderr, code := reprise(t, dir, append([]string{"train", "run.yaml", "--out", "again", "--init", "timm.safetensors"}, set...)...); code != 0 {
		t.Errorf("--init: exit code %d, %s", code, stderr)
	}
	at := slices.IndexFunc(other.Tensors, func(w safetensors.Tensor) bool { return w.Name == "blocks.0.norm2.bias" })
	if at < 0 {
		t.Fatal("there is no blocks.0.norm2.bias")
	}
	other.Tensors[at].Name = "blocks.7.norm2.bias"
	write("wrong.safetensors", other)
	_, stderr, code = reprise(t, dir, append([]string{"train", "run.yaml", "--out", "wrong", "--init", "wrong.safetensors"}, set...)...)
	if code != exitError || !strings.Contains(stderr, "encoder.layers.encoder_layer_0.ln_2.bias") || !strings.Contains(stderr, "7.norm2.bias") && !strings.Contains(stderr, "encoder_layer_7.ln_2.bias") {
		t.Errorf("a name too much and one too few: exit code %d, %s", code, stderr)
	}
}
