package enquiry

import (
	"slices"
	"strings"
)

// Raw is a submission as decoded and not yet normalized: field names in order
// of first appearance, each with its values in order. Absent, null and "" are
// one: nothing downstream tells them apart. The zero value is empty.
type Raw struct {
	names  []string
	values map[string][]string
}

// Add appends values to the field called name. Without values it does nothing.
func (r *Raw) Add(name string, values ...string) {
	if len(values) == 0 {
		return
	}
	if r.values == nil {
		r.values = make(map[string][]string)
	}
	if _, known := r.values[name]; !known {
		r.names = append(r.names, name)
	}
	r.values[name] = append(r.values[name], values...)
}

// Values returns the values of a field in order, nil if it is absent. The
// slice is the Raw's own: read it only.
func (r Raw) Values(name string) []string { return r.values[name] }

// First returns the first value of a field, "" if it is absent.
func (r Raw) First(name string) string {
	if values := r.values[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Names returns the field names in order of first appearance.
func (r Raw) Names() []string { return slices.Clone(r.names) }

// isOutside reports whether a field never becomes part of the enquiry: the ID,
// and names starting with _, which forms use for tokens, traps and settings.
func isOutside(name string) bool {
	return name == "submission_id" || strings.HasPrefix(name, "_")
}

// enquiryNames returns the names that are part of the enquiry.
func (r Raw) enquiryNames() []string {
	return slices.DeleteFunc(r.Names(), isOutside)
}
