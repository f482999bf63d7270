package shards

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// shard is an archive that is not packed, or no longer.
type shard struct {
	path string // as it was given
	r    io.ReaderAt
	file *os.File // to close; nil if it is held in memory
}

func (s *shard) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// read returns the bytes of a member. The error names both.
func (s *shard) read(m member) ([]byte, error) {
	b := make([]byte, m.size)
	if n, err := s.r.ReadAt(b, m.offset); n < len(b) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%s: %s: %w", s.path, m.name, err)
	}
	return b, nil
}

// unpacker opens the archives of one data set.
type unpacker struct {
	Config
	held int64 // bytes in memory
}

// open opens and indexes an archive.
func (u *unpacker) open(path string) (*shard, []member, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	var magic [2]byte
	if err == nil {
		_, err = f.ReadAt(magic[:], 0)
	}
	if err == io.EOF {
		err = errors.New("the file is empty")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if magic != [2]byte{0x1f, 0x8b} {
		members, err := index(f, info.Size())
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		return &shard{path, f, f}, members, nil
	}
	defer f.Close()
	s, members, err := u.unpack(path, f, info)
	if err != nil {
		return nil, nil, err
	}
	if now, err := f.Stat(); err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		s.close()
		return nil, nil, errors.New("it changed while it was unpacked")
	}
	return s, members, nil
}

// unpack unpacks an archive to the cache, if it is not there, or to memory.
func (u *unpacker) unpack(path string, f *os.File, info os.FileInfo) (*shard, []member, error) {
	if u.InMemory {
		return u.hold(path, f)
	}
	dir, err := u.cache()
	if err != nil {
		s, members, holdErr := u.hold(path, f)
		if errors.Is(holdErr, errTooLarge) {
			holdErr = fmt.Errorf("%w, and there is no cache: %w", holdErr, err)
		}
		return s, members, holdErr
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	// Versions of one archive differ in what comes after the sum.
	key := fmt.Sprintf("%s-%.8x-", filepath.Base(path), sha256.Sum256([]byte(full)))
	cached := filepath.Join(dir, fmt.Sprintf("%s%d-%d.tar", key, info.Size(), info.ModTime().UnixNano()))
	if s, members, err := openCached(path, cached); err == nil {
		return s, members, nil
	}
	if err := inflate(f, dir, cached); err != nil {
		return nil, nil, err
	}
	forget(dir, key, filepath.Base(cached))
	return openCached(path, cached)
}

// cache returns a directory that can be written to.
func (u *unpacker) cache() (string, error) {
	dir := u.CacheDir
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "reprise", "shards")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	probe, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return "", err
	}
	probe.Close()
	return dir, os.Remove(probe.Name())
}

// openCached opens an archive that has been unpacked.
func openCached(path, cached string) (*shard, []member, error) {
	f, err := os.Open(cached)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	var members []member
	if err == nil {
		members, err = index(f, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return &shard{path, f, f}, members, nil
}

// inflate unpacks f to a file that is there whole and sound or not at all.
func inflate(f *os.File, dir, cached string) (err error) {
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(dir, "unpacking-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			out.Close()
			os.Remove(out.Name())
		}
	}()
	n, err := io.Copy(out, z)
	if err != nil {
		return unpacking(n, err)
	}
	if _, err := index(out, n); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), cached)
}

// forget removes other versions of an archive from the cache. One that is in
// use may stay.
func forget(dir, key, current string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), key) && e.Name() != current {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

var errTooLarge = errors.New("it unpacks to more than is held in memory")

// hold unpacks an archive to memory.
func (u *unpacker) hold(path string, f *os.File) (*shard, []member, error) {
	limit := u.Memory
	if limit == 0 {
		limit = 512 << 20
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(z, limit-u.held+1))
	if err != nil {
		return nil, nil, unpacking(n, err)
	}
	if u.held += n; u.held > limit {
		return nil, nil, fmt.Errorf("%w, %d bytes", errTooLarge, limit)
	}
	r := bytes.NewReader(b.Bytes())
	members, err := index(r, n)
	if err != nil {
		return nil, nil, err
	}
	return &shard{path: path, r: r}, members, nil
}

// unpacking says where a packed archive is damaged.
func unpacking(n int64, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the archive is cut off: its packed bytes end after %d unpacked: %w", n, err)
	}
	return fmt.Errorf("unpacking, after %d bytes: %w", n, err)
}
