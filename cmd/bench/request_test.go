package main

import (
	"bytes"
	"encoding/json"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRequest(t *testing.T) {
	random := mathrand.NewChaCha8([32]byte{1})
	one, two := randomID(random), randomID(random)
	r := newRequest("127.0.0.1:1")
	r.fill(one)
	first := slices.Clone(r.bytes)
	r.fill(two)
	if bytes.Equal(first, r.bytes) {
		t.Error("two IDs give the same request")
	}
	r.fill(one)
	if !bytes.Equal(first, r.bytes) {
		t.Error("one ID gives two requests")
	}
	_, body, _ := strings.Cut(string(r.bytes), "\r\n\r\n")
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	if fields["submission_id"] != one.String() || string(r.idText()) != one.String() {
		t.Errorf("the request carries %v instead of %s", fields["submission_id"], one)
	}
	if strings.Contains(body, "#") {
		t.Errorf("a serial was not filled in: %s", body)
	}
}

func TestIDs(t *testing.T) {
	random := mathrand.NewChaCha8([32]byte{2})
	if id := randomID(random); id.Version() != 4 || id.Variant().String() != "RFC4122" {
		t.Errorf("%s is no UUIDv4", id)
	}
	now := time.UnixMilli(0x0123456789ab)
	id := timeID(random, now)
	if id.Version() != 7 || id.Variant().String() != "RFC4122" || !strings.HasPrefix(id.String(), "01234567-89ab-7") {
		t.Errorf("%s is no UUIDv7 of %s", id, now)
	}
	if id == timeID(random, now) {
		t.Error("two IDs of one moment are the same")
	}
}
