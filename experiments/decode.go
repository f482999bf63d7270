package experiments

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// decoder fills a Spec from YAML. What the document does not mention stays,
// so that documents can be laid over each other. It goes through the syntax
// tree that the YAML library makes, and not through the library's own
// decoding, for three things: an error names file, line and key together
// with the nearest valid key; every number may be written as 64k or 1e6; and
// a [Choice] is looked up in a registry.
type decoder struct {
	file     string
	registry Registry
	errs     []error
}

// decode lays the YAML document text over the struct that to points to.
func (r Registry) decode(file string, text []byte, to any) error {
	const most = 1 << 20
	if len(text) > most {
		return fmt.Errorf("experiments: %s: is larger than a spec may be, %d bytes", file, most)
	}
	f, err := parser.ParseBytes(bytes.TrimPrefix(text, []byte("\ufeff")), 0)
	if err != nil {
		return fmt.Errorf("experiments: %s: %w", file, err)
	}
	if len(f.Docs) > 1 {
		return fmt.Errorf("experiments: %s: holds %d documents, want one", file, len(f.Docs))
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil
	}
	d := decoder{file: file, registry: r}
	d.value(f.Docs[0].Body, reflect.ValueOf(to).Elem(), "")
	return errors.Join(d.errs...)
}

// fail records what is wrong at a node.
func (d *decoder) fail(n ast.Node, path, format string, args ...any) {
	where := d.file
	if p := position(n); p != nil {
		where = fmt.Sprintf("%s:%d:%d", d.file, p.Line, p.Column)
	}
	if path != "" {
		where += ": " + path
	}
	d.errs = append(d.errs, fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...)))
}

func position(n ast.Node) *token.Position {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if n.GetToken() == nil {
		return nil
	}
	return n.GetToken().Position
}

// entries returns the pairs of a mapping.
func entries(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// scalar returns the text of a string, number or boolean.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		d.fail(n, path, "anchors, aliases and tags of YAML are not supported; extends shares settings between files, and quotes make a text of it")
		return
	}
	if _, ok := n.(*ast.NullNode); ok {
		v.SetZero()
		return
	}
	if c, ok := v.Addr().Interface().(chooser); ok {
		d.choice(n, c, path)
		return
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if text, ok := scalar(n); !ok {
			d.fail(n, path, "want a single value")
		} else if err := u.UnmarshalText([]byte(text)); err != nil {
			d.fail(n, path, "%v", err)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, v.Elem(), path)
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Array:
		d.array(n, v, path)
	case reflect.Slice:
		d.sequence(n, v, path)
	default:
		text, ok := scalar(n)
		if !ok {
			d.fail(n, path, "want %s", kindName(v.Type()))
			return
		}
		if err := setScalar(v, text); err != nil {
			d.fail(n, path, "%v", err)
		}
	}
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) {
	pairs, ok := entries(n)
	if !ok {
		d.fail(n, path, "want keys and values")
		return
	}
	fields := fieldsOf(v)
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		field, ok := fields[key]
		if !ok {
			d.fail(pair.Key, path, "unknown key %q%s", key, suggest(key, slices.Sorted(maps.Keys(fields))))
			continue
		}
		d.value(pair.Value, field, join(path, key))
	}
}

func (d *decoder) sequence(n ast.Node, v reflect.Value, path string) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		d.fail(n, path, "want a list, such as [a, b]")
		return
	}
	items := reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values))
	for i, item := range list.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if _, ok := item.(*ast.NullNode); ok {
			d.fail(item, at, "is empty")
			continue
		}
		d.value(item, items.Index(i), at)
	}
	v.Set(items)
}

func (d *decoder) array(n ast.Node, v reflect.Value, path string) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) != v.Len() {
		d.fail(n, path, "want a list of %d values", v.Len())
		return
	}
	for i, item := range list.Values {
		d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

func (d *decoder) choice(n ast.Node, c chooser, path string) {
	name, ok := scalar(n)
	at := n
	var settings ast.Node
	if !ok {
		pairs, _ := entries(n)
		if len(pairs) != 1 {
			d.fail(n, path, "want a name, or one name with its settings, such as {name: {setting: 1}}")
			return
		}
		at, settings, name = pairs[0].Key, pairs[0].Value, pairs[0].Key.GetToken().Value
	}
	to, known := c.choose(d.registry, name)
	if !to.IsValid() {
		d.fail(at, path, "unknown name %q%s", name, suggest(name, known))
		return
	}
	if settings != nil {
		d.value(settings, to.Elem(), join(path, name))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fieldsOf returns the fields of a struct by their YAML names, those of
// inlined structs too.
func fieldsOf(v reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case strings.Contains(options, "inline"):
			maps.Copy(fields, fieldsOf(v.Field(i)))
		case !f.IsExported() || name == "-":
		case name == "":
			fields[strings.ToLower(f.Name)] = v.Field(i)
		default:
			fields[name] = v.Field(i)
		}
	}
	return fields
}

func setScalar(v reflect.Value, text string) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		t, err := parseDuration(text)
		v.SetInt(int64(t))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		v.SetBool(b)
	case reflect.Float32, reflect.Float64:
		x, err := parseNumber(text)
		if err != nil {
			var b Bytes // of a bandwidth, say
			if b.UnmarshalText([]byte(text)) == nil {
				x, err = float64(b), nil
			}
		}
		v.SetFloat(x)
		return err
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := parseCount(text)
		if err == nil && v.OverflowInt(n) {
			err = fmt.Errorf("%s is too large", text)
		}
		v.SetInt(n)
		return err
	case reflect.Uint, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		if n, err := strconv.ParseUint(text, 10, v.Type().Bits()); err == nil {
			v.SetUint(n)
			return nil
		}
		n, err := parseCount(text)
		if err == nil && (n < 0 || v.OverflowUint(uint64(n))) {
			err = fmt.Errorf("%s is out of range", text)
		}
		v.SetUint(uint64(n))
		return err
	default:
		return fmt.Errorf("a %s cannot be set from a single value", v.Type())
	}
	return nil
}

func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}

// suggest names the known word nearest to a wrong one, and all of them where
// none is near.
func suggest(word string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	best, distance := "", len(word)/2+1
	for _, k := range known {
		if e := edits(word, k); e < distance {
			best, distance = k, e
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; want one of " + strings.Join(known, ", ")
}

// edits is the Levenshtein distance of two words.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		above := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			above, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, above+cost)
		}
	}
	return row[len(b)]
}
