package ledger

// Mistyped lists the references that differ in one symbol from a text whose
// check symbol is wrong, as ParseReference finds: at each place exactly one other
// symbol makes it right, so there are twelve at most. Of any other text it lists
// none.
func Mistyped(text string) []Reference {
	s, err := readSymbols(text)
	if err != nil || checkSymbol(s[:symbols-1]) == s[symbols-1] {
		return nil
	}
	var near []Reference
	for i, typed := range s {
		for other := range byte(len(crockford)) {
			s[i] = other
			if other != typed && checkSymbol(s[:symbols-1]) == s[symbols-1] {
				near = append(near, spell(s))
			}
		}
		s[i] = typed
	}
	return near
}
