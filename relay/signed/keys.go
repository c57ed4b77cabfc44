package signed

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Direction is who signs with a key. Each direction has keys of its own, so that
// whoever can only check answers cannot make calls, and no answer can be handed
// back as a call.
type Direction string

// The two directions.
const (
	Call Direction = "call" // the form server signs, the relay checks
	Ack  Direction = "ack"  // the relay signs, the form server checks
)

// secretBytes is the length of a secret: a block of SHA-256, which is what
// HMAC uses whole (RFC 2104 section 3), and what some implementers demand.
const secretBytes = 64

// Key is one secret of one direction.
type Key struct {
	Name      string // shared by the two keys of a pair
	Direction Direction
	NotBefore time.Time // zero: always was
	NotAfter  time.Time // zero: for ever
	secret    []byte
}

// ID is the key's name on the wire: "<name>.<direction>".
func (k Key) ID() string { return k.Name + "." + string(k.Direction) }

// String and GoString keep the secret out of whatever prints a key.
func (k Key) String() string { return k.ID() }

// GoString is as String.
func (k Key) GoString() string { return k.ID() }

// validAt reports whether the key counts at a time.
func (k Key) validAt(t time.Time) bool {
	return !t.Before(k.NotBefore) && (k.NotAfter.IsZero() || t.Before(k.NotAfter))
}

// Keys are the keys of one form server and its relay, in the order of their
// file. Both ends have the same. Immutable and safe for concurrent use.
type Keys struct{ keys []Key }

var (
	// ErrNoKey: no pair is valid now, or not the key that is needed.
	ErrNoKey = errors.New("no key is valid at this time")

	keyName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)
)

// ParseKeys reads a key file: a line for each key with its name, "call" or
// "ack", the time from which and the time until which it counts, and its secret
// in base64. A time is a day, an RFC 3339 time, or "-" for no limit. Empty lines
// and lines that begin with # are comments. Errors never contain a secret.
func ParseKeys(text string) (*Keys, error) {
	all := &Keys{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := parseKey(line)
		if err == nil {
			err = all.add(k)
		}
		if err != nil {
			return nil, fmt.Errorf("relay keys, line %d: %w", i+1, err)
		}
	}
	return all, all.complete()
}

func parseKey(line string) (Key, error) {
	parts := strings.Fields(line)
	if len(parts) != 5 {
		return Key{}, errors.New("a line is: name, call or ack, not before, not after, and the secret in base64")
	}
	k := Key{Name: parts[0], Direction: Direction(parts[1])}
	if !keyName.MatchString(k.Name) { // not quoted: it may be a secret in the wrong column
		return Key{}, errors.New("a key's name is 1–32 of a–z, 0–9 and hyphen")
	}
	if k.Direction != Call && k.Direction != Ack {
		return Key{}, fmt.Errorf("key %q: its second word is neither call nor ack", k.Name)
	}
	var err error
	if k.NotBefore, err = parseTime(parts[2]); err != nil {
		return Key{}, fmt.Errorf("key %q, not before: %w", k.Name, err)
	}
	if k.NotAfter, err = parseTime(parts[3]); err != nil {
		return Key{}, fmt.Errorf("key %q, not after: %w", k.Name, err)
	}
	if !k.NotAfter.IsZero() && !k.NotBefore.Before(k.NotAfter) {
		return Key{}, fmt.Errorf("key %q ends before it begins", k.Name)
	}
	k.secret, err = base64.StdEncoding.Strict().DecodeString(parts[4])
	if err != nil || len(k.secret) < secretBytes {
		return Key{}, fmt.Errorf("key %q: its secret is not %d bytes or more in base64", k.Name, secretBytes)
	}
	return k, nil
}

func parseTime(text string) (time.Time, error) {
	if text == "-" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil { // not quoted either
		return time.Time{}, errors.New("neither a day like 2026-11-30, nor a time like 2026-11-30T12:00:00Z, nor -")
	}
	return at, nil
}

func (all *Keys) add(k Key) error {
	for _, other := range all.keys {
		if other.ID() == k.ID() {
			return fmt.Errorf("key %q stands in the file twice for the direction %s", k.Name, k.Direction)
		}
		if string(other.secret) == string(k.secret) {
			return fmt.Errorf("keys %q and %q have the same secret; every key needs its own", other.ID(), k.ID())
		}
	}
	all.keys = append(all.keys, k)
	return nil
}

// complete wants both keys of every pair.
func (all *Keys) complete() error {
	if len(all.keys) == 0 {
		return errors.New("there is no relay key in the file; formledger keygen relay makes one")
	}
	for _, k := range all.keys {
		if _, ok := all.byID(k.Name + "." + string(k.Direction.other())); !ok {
			return fmt.Errorf("key %q has no line for the direction %s", k.Name, k.Direction.other())
		}
	}
	return nil
}

func (d Direction) other() Direction {
	if d == Call {
		return Ack
	}
	return Call
}

func (all *Keys) byID(id string) (Key, bool) {
	for _, k := range all.keys {
		if k.ID() == id {
			return k, true
		}
	}
	return Key{}, false
}

// signer is the key that a form server signs its calls with: of the first pair
// in the file that is valid, both ways. A call that nobody could answer would
// only make doubt.
func (all *Keys) signer(now time.Time) (Key, error) {
	for _, k := range all.keys {
		if _, answered := all.valid(k.Name+"."+string(Ack), Ack, now); answered && k.Direction == Call && k.validAt(now) {
			return k, nil
		}
	}
	return Key{}, ErrNoKey
}

// valid finds a key of a direction by its ID, if it counts at the time.
func (all *Keys) valid(id string, d Direction, now time.Time) (Key, bool) {
	k, ok := all.byID(id)
	return k, ok && k.Direction == d && k.validAt(now)
}

// String and GoString keep the secrets out of whatever prints the keys.
func (all *Keys) String() string { return strings.Join(all.Names(), ", ") }

// GoString is as String.
func (all *Keys) GoString() string { return all.String() }

// Names lists the pairs, for people.
func (all *Keys) Names() []string {
	var names []string
	for _, k := range all.keys {
		if k.Direction == Call {
			names = append(names, k.Name)
		}
	}
	return names
}

// Check fails with ErrNoKey if no pair is valid at the time.
func (all *Keys) Check(now time.Time) error {
	_, err := all.signer(now)
	return err
}

// NewKeyFile is the text of a key file with one fresh pair, valid from the
// given day on. Both ends need the same text.
func NewKeyFile(random io.Reader, from time.Time) (string, error) {
	name := make([]byte, 4)
	if _, err := io.ReadFull(random, name); err != nil {
		return "", fmt.Errorf("drawing a relay key: %w", err)
	}
	var text strings.Builder
	text.WriteString("# Keys between a form server and its relay; both ends have the same lines:\n" +
		"# name, direction, not before, not after, secret in base64.\n")
	for _, d := range []Direction{Call, Ack} {
		secret := make([]byte, secretBytes)
		if _, err := io.ReadFull(random, secret); err != nil {
			return "", fmt.Errorf("drawing a relay key: %w", err)
		}
		fmt.Fprintf(&text, "k-%s %s %s - %s\n", hex.EncodeToString(name), d, from.UTC().Format(time.DateOnly), base64.StdEncoding.EncodeToString(secret))
	}
	return text.String(), nil
}
