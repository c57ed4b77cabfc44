package signed

import (
	"fmt"
	"strings"

	"formledger/relay"
	"formledger/relay/netcause"
)

// Explain says in one sentence what an operator should change or look at, after
// a call to the relay at url that ended so.
func Explain(cause relay.Cause, url string) string {
	if text, ok := remedies(url)[cause.Code]; ok {
		return text
	}
	switch code, unsigned := strings.CutPrefix(cause.Code, "http_"); {
	case unsigned && code == "401":
		return fmt.Sprintf("%s does not know our key, or the address by which it is called: compare the key files of both ends, and the relay's public_url.", url)
	case unsigned && code[0] == '3':
		return fmt.Sprintf("%s redirects (%s): name the address that it leads to.", url, code)
	case unsigned:
		return fmt.Sprintf("%s answers %s without the relay's signature: a proxy in front of it, or another program; see whether the relay runs.", url, code)
	case strings.HasPrefix(cause.Stage, stageRelay):
		return fmt.Sprintf("The relay says %q (%s): its own doctor and log tell more.", cause.Code, cause.Stage)
	}
	return fmt.Sprintf("The call to %s broke at %q (%s).", url, cause.Stage, cause.Code)
}

// remedies are sentences for causes that mean the same at every stage.
func remedies(url string) map[string]string {
	return map[string]string{
		netcause.Refused:       fmt.Sprintf("Nothing listens at %s: see whether the relay runs, and check the address.", url),
		netcause.Unreachable:   fmt.Sprintf("%s cannot be reached from this machine: check address, network and firewall.", url),
		netcause.DNS:           fmt.Sprintf("The name in %s cannot be looked up: check its spelling and this machine's DNS.", url),
		netcause.Untrusted:     fmt.Sprintf("The certificate of %s is not signed by an authority that this machine trusts: name the file of its own authority as ca_file, or renew it there.", url),
		netcause.WrongName:     fmt.Sprintf("The certificate of %s is for another name: use the name that stands in it.", url),
		netcause.Expired:       fmt.Sprintf("The certificate of %s is not valid today: renew it there, or set this machine's clock.", url),
		netcause.NotTLS:        fmt.Sprintf("%s does not speak TLS: put a web server with HTTPS in front of the relay, or check the port.", url),
		netcause.Timeout:       fmt.Sprintf("%s does not answer in time: see whether it is overloaded, or a firewall swallows the call.", url),
		netcause.Closed:        fmt.Sprintf("%s closed the connection without an answer: its log tells why.", url),
		netcause.Reset:         fmt.Sprintf("%s reset the connection without an answer: its log tells why.", url),
		codeNoEpoch:            fmt.Sprintf("%s has not told who it is, so nothing was sent: formledger doctor tells why.", url),
		codeNoKey:              "None of the relay keys is valid today: make new ones with formledger keygen relay, for both ends.",
		codeUnverified:         fmt.Sprintf("What answers at %s is not the relay, or has other keys: compare the key files of both ends.", url),
		codeDeadline:           "The call's own time ran out: it has to be longer than the relay's conversation with its mail server.",
		codeLapsed:             "The lease had run out before anything was sent: the machine is overloaded, slept, or its clock jumped.",
		CodeExpired:            "The relay takes the call for too old: set the clocks of both machines.",
		CodeTooEarly:           "The relay takes the call for one from the future: set the clocks of both machines.",
		"from_not_allowed":     "The relay does not let this key send from the form's From address: add it to the caller's from in the relay's configuration.",
		"to_not_allowed":       "The relay does not let this key send to the form's To address: add it to the caller's to in the relay's configuration.",
		"busy":                 "The relay was still at work on the same enquiry, from an earlier try: it may be sent again in a few minutes.",
		"other_content":        "The relay has accepted another content under the same ID: it was changed, or the ledger was replaced by an older copy.",
		"message_too_large":    "The message is larger than the relay takes: lower the form's limits.",
		"not_rendered":         "The relay cannot make a mail of it: an address or the subject of the form is at fault.",
		"too_many_recipients":  "The message has more recipients than the relay takes: shorten the form's to.",
		"wrong_epoch":          "The relay's memory is another one than when it was last asked: the next call will know it.",
		"daily_limit":          "The relay has sent as much for this key today as it may.",
		relay.CodeEpochChanged: "The relay's memory was lost or replaced: the message may or may not have been sent before.",
	}
}
