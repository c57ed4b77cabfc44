package enquiry

// Required reports whether a declared field has to be filled in.
func (f *Form) Required(name string) bool {
	fld := f.byName[name]
	return fld != nil && fld.required
}
