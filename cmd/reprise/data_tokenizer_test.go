package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATokenizerIsTrainedAndLookedAt(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("she sells sea shells by the sea shore\n", 50)
	if err := os.WriteFile(filepath.Join(dir, "sea.txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := reprise(t, dir, "data", "tokenizer", "train", "sea.txt", "--merges", "15", "-o", "sea.tiktoken", "--json")
	var made struct {
		File          string
		Vocabulary    int
		Bytes         int
		BytesPerToken float64 `json:"bytes_per_token"`
	}
	if err := json.Unmarshal([]byte(stdout), &made); code != 0 || err != nil || made.File != "sea.tiktoken" || made.Vocabulary != 272 || made.Bytes != len(text) || made.BytesPerToken < 3 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	tokens, _, code := reprise(t, dir, "data", "tokenizer", "encode", "sea.tiktoken", "she sells gulls")
	if code != 0 || !strings.HasPrefix(tokens, "[") {
		t.Fatalf("exit code %d: %s", code, tokens)
	}
	if back, stderr, code := reprise(t, dir, "data", "tokenizer", "decode", "sea.tiktoken", tokens); code != 0 || back != "she sells gulls" {
		t.Errorf("exit code %d: %q, %s", code, back, stderr)
	}
	if line, stderr, code := reprise(t, dir, "data", "tokenizer", "train", "sea.txt", "--merges", "5"); code != 0 || !strings.HasPrefix(line, "tokenizer.tiktoken: a vocabulary of 262, ") {
		t.Errorf("exit code %d: %s%s", code, line, stderr)
	}
}

func TestWrongCallsOfTheTokenizerSayWhatTheyWant(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   string
		code   int
		stderr string
	}{
		{"data tokenizer train", 2, "requires at least 1 arg"},
		{"data tokenizer train none.txt", 1, "there is no none.txt"},
		{"data tokenizer train none.txt --merges 0", 2, "--merges is 0"},
		{"data tokenizer encode none.tiktoken x", 1, "want bytes, a .tiktoken file"},
		{"data tokenizer decode bytes x", 2, "want a list of numbers"},
		{"data tokenizer decode bytes [257]", 2, "no token 257 in a vocabulary of 257"},
		{"data tokenizer encode", 2, "accepts between 1 and 2 arg"},
		{"data", 0, ""},
		{"data tokenizer", 0, ""},
	} {
		_, stderr, code := reprise(t, dir, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stderr, c.stderr) {
			t.Errorf("reprise %s: exit code %d, want %d; %s", c.args, code, c.code, stderr)
		}
	}
}
