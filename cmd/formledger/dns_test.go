//go:build linux

package main

import (
	"context"
	"net"
	"strings"
	"testing"
)

// fakeDNS are TXT records by name. A name that it does not know is not there;
// nil does not answer at all.
type fakeDNS map[string][]string

func (d fakeDNS) LookupTXT(_ context.Context, name string) ([]string, error) {
	if d == nil {
		return nil, &net.DNSError{Err: "i/o timeout", Name: name, IsTimeout: true}
	}
	if records, known := d[name]; known {
		return records, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func goodDNS() fakeDNS {
	return fakeDNS{"shop.example": {"other=1", "v=spf1 mx -all"}, "_dmarc.shop.example": {"v=DMARC1; p=none"},
		"k1._domainkey.shop.example": {"v=DKIM1; k=ed25519; p=11qYAYKx"}}
}

func TestTheDoctorLooksForTheDKIMKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dns                   fakeDNS
		selector, state, says string
	}{
		"found":       {goodDNS(), "k1", "ok", "k1._domainkey.shop.example"},
		"other key":   {goodDNS(), "k2", "warn", "no key at k2._domainkey.shop.example"},
		"no selector": {goodDNS(), "", "warn", "not looked up"},
	} {
		found := examineDomain(t.Context(), c.dns, "shop.example", c.selector)
		t.Log(name)
		about(t, found, "DKIM of shop.example").says(t, c.state, c.says)
	}
	if f := examineDKIM(t.Context(), fakeDNS(nil), "shop.example", "k1"); f.State != "warn" || !strings.Contains(f.Detail, unanswered) {
		t.Errorf("without DNS: %+v", f)
	}
}

func TestTheDoctorAsksDNS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dns         fakeDNS
		spf, dmarc  string
		says        string
		onlyOneLine bool
	}{
		"found":     {goodDNS(), "ok", "ok", "v=spf1", false},
		"capitals":  {fakeDNS{"shop.example": {"V=SPF1 -all"}, "_dmarc.shop.example": {"v=dmarc1; p=none"}}, "ok", "ok", "V=SPF1", false},
		"no policy": {fakeDNS{"shop.example": {"v=spf1 -all"}}, "ok", "warn", "v=spf1", false},
		"no SPF":    {fakeDNS{"shop.example": {"other=1"}, "_dmarc.shop.example": {"v=DMARC1; p=none"}}, "warn", "ok", "no record", false},
		"not found": {fakeDNS{}, "warn", "warn", "no record", false},
		"no answer": {nil, "warn", "", "DNS does not answer", true},
	} {
		found := examineDomain(t.Context(), c.dns, "shop.example", "k1")
		about(t, found, "SPF of shop.example").says(t, c.spf, c.says)
		if c.onlyOneLine {
			if len(found) != 1 {
				t.Errorf("%s: %+v", name, found)
			}
			continue
		}
		dmarc := about(t, found, "DMARC of shop.example")
		dmarc.says(t, c.dmarc)
		if c.dmarc == "warn" {
			dmarc.says(t, "warn", "_dmarc.shop.example", "v=DMARC1; p=none")
		}
	}
	s := stocked(t)
	for _, f := range s.diagnosis(fakeDNS(nil)) {
		if f.State == "fail" {
			t.Errorf("a silent DNS is no failure: %+v", f)
		}
	}
}
