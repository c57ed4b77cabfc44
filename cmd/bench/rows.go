package main

import "slices"

// mode is what the child serves.
type mode string

const (
	modeBaseline mode = "baseline" // no ledger
	modeBare     mode = "bare"     // no ledger, and nothing is handed to the relay
	modeProduct  mode = "product"
	modeSingle   mode = "single" // one commit per statement
	modeMail     mode = "mail"   // the product, into a local mail server
	modeMailBare mode = "mail-bare"
	modeKept     mode = "kept"    // policy queue, into a local mail server
	modeAway     mode = "away"    // policy queue, and the mail server is away
	modeBacklog  mode = "backlog" // policy queue, and nothing but what waits
)

// row is one kind of measurement.
type row struct {
	letter  string
	name    string
	meaning string
	server  mode
	random  bool // UUIDv4 instead of UUIDv7
	replay  bool // IDs that were accepted before
	recalls bool // the answer says that it is the recorded outcome
	queued  bool // the answer says that it is stored, and nothing was sent
	drains  bool // nobody posts: the courier sends what waits, with a number of senders
}

var allRows = []row{
	{letter: "a", name: "baseline", server: modeBaseline,
		meaning: "the same router, middleware, checks and mail rendering, but nothing is recorded or sent"},
	{letter: "b", name: "product", server: modeProduct,
		meaning: "formledger over SQLite on this disk, with a relay that accepts at once"},
	{letter: "c", name: "single commits", server: modeSingle,
		meaning: "as b, but every claim and every settle is a commit of its own"},
	{letter: "d", name: "replays", server: modeProduct, replay: true, recalls: true,
		meaning: "as b, but posting again what was accepted before"},
	{letter: "r", name: "random IDs", server: modeProduct, random: true,
		meaning: "as b, with UUIDv4 IDs; all other rows use UUIDv7, as our own client does"},
	{letter: "n", name: "bare", server: modeBare, recalls: true,
		meaning: "as a, but answered as a repeat is, without rendering a mail: what d does besides reading"},
	{letter: "m", name: "mails", server: modeMail,
		meaning: "formledger over SQLite on this disk, each mail sent over SMTP into a sink in the same process"},
	{letter: "w", name: "mails, bare", server: modeMailBare,
		meaning: "as m, but nothing is recorded: the same handler without a ledger"},
	{letter: "k", name: "mails, queue", server: modeKept,
		meaning: "as m, but under policy queue: stored first, with the words sealed, and sent by the courier's 4 senders"},
	{letter: "q", name: "queued", server: modeAway, queued: true,
		meaning: "policy queue while the mail server is away: every enquiry is stored durably, and answered 202"},
	{letter: "s", name: "courier", server: modeBacklog, drains: true,
		meaning: "policy queue: the courier alone, sending what waits into the sink, with 1, 4 and 16 senders"},
}

// makes reports whether so many submissions make so many relay calls. A mail server
// that is away is tried by a few of them, and the others are not even tried.
func (r row) makes(calls int64, submissions int) bool {
	switch {
	case r.recalls:
		return calls == 0
	case r.queued:
		return calls <= 10
	}
	return calls == int64(submissions)
}

func letters() string {
	all := ""
	for _, r := range allRows {
		all += r.letter
	}
	return all
}

// keeps reports whether the mode's form keeps words, so that a courier sends them.
func (m mode) keeps() bool { return m == modeKept || m == modeAway || m == modeBacklog }

// recorded reports whether the mode has a ledger.
func (m mode) recorded() bool { return m != modeBaseline && m != modeBare && m != modeMailBare }

// ratio compares the rates of two rows.
type ratio struct{ of, to string }

var allRatios = []ratio{{"b", "a"}, {"b", "c"}, {"d", "a"}, {"r", "a"}, {"b", "n"}, {"d", "n"}, {"m", "w"}, {"q", "b"}, {"k", "m"}}

// ratiosOf are those whose rows are both measured.
func ratiosOf(rows []row) []ratio {
	has := func(letter string) bool {
		return slices.ContainsFunc(rows, func(r row) bool { return r.letter == letter })
	}
	var chosen []ratio
	for _, r := range allRatios {
		if has(r.of) && has(r.to) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}
