package text

import "sync"

// The bounds of a cache: words of up to cachedWord bytes, and as many as
// cacheShards·cachedWords.
const (
	cachedWord  = 64
	cachedWords = 1024
	cacheShards = 32
)

// cache holds the tokens of words that were met lately. It is safe to use
// from several goroutines, and holds a few MiB at most.
type cache [cacheShards]struct {
	mu    sync.RWMutex
	words map[string][]int32
}

func newCache() *cache {
	c := new(cache)
	for i := range c {
		c[i].words = map[string][]int32{}
	}
	return c
}

// shard is the place of a word: FNV-1a of its bytes.
func shard(word []byte) uint32 {
	h := uint32(2166136261)
	for _, b := range word {
		h = (h ^ uint32(b)) * 16777619
	}
	return h % cacheShards
}

func (c *cache) get(word []byte) ([]int32, bool) {
	s := &c[shard(word)]
	s.mu.RLock()
	defer s.mu.RUnlock()
	tokens, ok := s.words[string(word)]
	return tokens, ok
}

// put keeps the tokens of a word, which must not be written to afterwards. A
// full shard is emptied first.
func (c *cache) put(word []byte, tokens []int32) {
	s := &c[shard(word)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.words) >= cachedWords {
		clear(s.words)
	}
	s.words[string(word)] = tokens
}
