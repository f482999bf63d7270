package shards

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/reprise-ml/reprise/data/folder"
)

// member is a file in an archive, and where its bytes are.
type member struct {
	name         string
	shard        int32
	offset, size int64
}

// isClass reports whether a file of that name holds the class of a pair.
func isClass(name string) bool { return strings.ToLower(path.Ext(name)) == ".cls" }

const block = 512

// index lists the pictures and classes of a tar archive of size bytes, in
// their order. It reads headers only.
func index(r io.ReaderAt, size int64) ([]member, error) {
	section := io.NewSectionReader(r, 0, size)
	in := tar.NewReader(section)
	var members []member
	places := map[string]int{}
	last, end := "", int64(0) // the member before, and where it ends
	for {
		h, err := in.Next()
		at, _ := section.Seek(0, io.SeekCurrent)
		switch {
		case err == io.EOF && at >= end+block:
			return members, nil
		case err == io.EOF && last == "":
			return nil, errors.New("the file is empty")
		case err != nil && at < block:
			return nil, errors.New("no tar archive: the file is shorter than the header of a member")
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("the archive is cut off after %s", after(last))
		case err != nil:
			return nil, fmt.Errorf("no tar archive, or damaged after %s: %w", after(last), err)
		}
		if h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeGNUSparse {
			end = at + (h.Size+block-1)/block*block
		} else {
			end = at
		}
		last = h.Name
		m := member{name: clean(h.Name), offset: at, size: h.Size}
		picture := folder.IsPicture(m.name)
		sparse := isSparse(h)
		if sparse {
			end = at
		}
		if !picture && !isClass(m.name) || slices.ContainsFunc(strings.Split(m.name, "/"), folder.IsHidden) {
			continue
		}
		switch h.Typeflag {
		case tar.TypeLink, tar.TypeSymlink:
			target := clean(h.Linkname)
			if h.Typeflag == tar.TypeSymlink {
				target = clean(path.Join(path.Dir(m.name), h.Linkname))
			}
			i, ok := places[target]
			if !ok {
				return nil, fmt.Errorf("%s is a link to %s, which is not in the archive before it", h.Name, h.Linkname)
			}
			m.offset, m.size = members[i].offset, members[i].size
		case tar.TypeReg, tar.TypeGNUSparse:
			switch {
			case sparse:
				return nil, fmt.Errorf("%s is stored as a sparse file, which is not supported", h.Name)
			case m.size > folder.MaxFile:
				return nil, fmt.Errorf("%s has %d bytes, more than %d", h.Name, m.size, folder.MaxFile)
			case m.size > size-m.offset:
				return nil, fmt.Errorf("the archive is cut off in %s, after %d of its %d bytes", h.Name, size-m.offset, m.size)
			}
		default:
			continue
		}
		if _, ok := places[m.name]; ok {
			return nil, fmt.Errorf("%s is in the archive twice", h.Name)
		}
		places[m.name] = len(members)
		members = append(members, m)
	}
}

// clean is a path without a slash in front and dots in it.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

func after(name string) string {
	if name == "" {
		return "the beginning"
	}
	return name
}

// isSparse reports whether the bytes of a member are not all there.
func isSparse(h *tar.Header) bool {
	if h.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}
