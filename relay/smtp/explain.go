package smtp

import (
	"fmt"
	"slices"
	"strings"

	"formledger/relay"
)

// Explain says in one sentence what an operator should change about the
// configuration, or look at, after a call that ended so.
func Explain(cause relay.Cause, c Config) string {
	if c, err := c.complete(); err == nil {
		return explain(cause, c)
	}
	return explain(cause, c)
}

func explain(cause relay.Cause, c Config) string {
	if text := explainStage(cause, c); text != "" {
		return text
	}
	server := c.address()
	if text, ok := remedies(c)[cause.Code]; ok {
		return text
	}
	if code, ok := strings.CutPrefix(cause.Code, "smtp_"); ok {
		return explainReply(code, cause.Stage, server)
	}
	return fmt.Sprintf("The conversation with %s broke at %q (%s): read it for what the server said last.", server, cause.Stage, cause.Code)
}

// explainStage knows what a cause means at one stage alone. A server that
// expects TLS keeps silent until it comes, or answers EHLO with a TLS alert.
func explainStage(cause relay.Cause, c Config) string {
	silent := slices.Contains([]string{codeTimeout, codeGarbage, codeClosed, codeReset}, cause.Code)
	switch {
	case cause.Stage == stageBanner && (silent || cause.Code == codeDeadline) && c.TLS != Implicit:
		return fmt.Sprintf("%s does not greet as an SMTP server does: if it expects TLS from the first byte, as port %d does, set the TLS mode to %q; else check host and port.",
			c.address(), ports()[Implicit], Implicit)
	case cause.Stage == stageConnect && cause.Code == codeTimeout:
		return fmt.Sprintf("%s cannot be reached in time: check host and port, and whether a firewall lets this machine send mail (many providers block port 25).", c.address())
	case cause.Stage == stageDot && cause.Code == codeLapsed:
		return "The lease ran out before the message was whole, so it was not sent: the machine slept, or the deadlines are longer than the lease."
	case cause.Stage == stageDot && (silent || cause.Code == codeTooLong):
		return fmt.Sprintf("%s had the whole message and did not answer for it (%s): look for the reference in the mailbox and in the server's log, before anything is sent again.",
			c.address(), cause.Code)
	}
	return ""
}

// remedies are sentences for causes that mean the same at every stage.
func remedies(c Config) map[string]string {
	server := c.address()
	return map[string]string{
		codeRefused:     fmt.Sprintf("Nothing listens at %s: check host and port (usual are %d with %q and %d with %q).", server, ports()[StartTLS], StartTLS, ports()[Implicit], Implicit),
		codeUnreachable: fmt.Sprintf("%s cannot be reached from this machine: check host, port, network and firewall.", server),
		codeDNS:         fmt.Sprintf("The name %q cannot be looked up: check its spelling and this machine's DNS.", c.Host),
		codeNotTLS:      fmt.Sprintf("%s does not speak TLS from the first byte: set the TLS mode to %q (usual on port %d), or the port to %d.", server, StartTLS, ports()[StartTLS], ports()[Implicit]),
		codeNoStartTLS:  fmt.Sprintf("%s does not offer STARTTLS: use the port and TLS mode that its operator names; %q sends everything readable.", server, Plain),
		codeUntrusted:   fmt.Sprintf("The certificate of %s is not signed by an authority that this machine trusts: give the file of its own authority, or renew it there.", server),
		codeName:        fmt.Sprintf("The certificate of %s is for another name than %q: set the host to the name in the certificate.", server, c.Host),
		codeExpired:     fmt.Sprintf("The certificate of %s is not valid today: renew it there, or set this machine's clock.", server),
		codeTLS:         fmt.Sprintf("%s and this machine find no common TLS: it needs to speak TLS 1.2 or later.", server),
		codeAuthRefused: fmt.Sprintf("%s refuses the login of %q: check user name and password; some providers want a password made for this program.", server, c.Username),
		codeNoAuth:      fmt.Sprintf("%s offers no login that is supported here, or not the configured mechanism: remove the mechanism, or user name and password if none is needed.", server),
		codeAuthFailed:  fmt.Sprintf("The login at %s could not be completed: try another mechanism, such as PLAIN.", server),
		codeAddress:     "An address of the form cannot stand in an SMTP command: write sender and recipients as name@domain.",
		codeNoUTF8:      fmt.Sprintf("%s does not take addresses outside ASCII (SMTPUTF8): use another address, or another server.", server),
		codeNo8Bit:      fmt.Sprintf("%s does not take text outside ASCII (8BITMIME), and the message holds some.", server),
		codeTooLarge:    fmt.Sprintf("The message is larger than %s takes: lower the form's limits, or raise the server's.", server),
		codeTooLong:     fmt.Sprintf("%s sends replies without end: it is no SMTP server, or a broken one; check host and port.", server),
		codeDeadline:    "The call's own time ran out: it has to be longer than all deadlines of the conversation together.",
		codeLapsed:      "The lease had run out before anything was sent: the machine is overloaded, slept, or its clock jumped.",
		codeBody:        "The message could not be read to its end, so nothing was sent.",
	}
}

func explainReply(code, stage, server string) string {
	when := strings.ToUpper(stage)
	switch {
	case code == "530" || code == "534" || code == "535" || code == "538":
		return fmt.Sprintf("%s wants a login before it takes mail: set user name and password.", server)
	case stage == stageMail && strings.HasPrefix(code, "5"):
		return fmt.Sprintf("%s refuses the sender (%s to MAIL): the login may have to own the form's From address.", server, code)
	case stage == stageRcpt && strings.HasPrefix(code, "5"):
		return fmt.Sprintf("%s refuses the recipient (%s to RCPT): check the form's To address, and that the server relays for this machine or login.", server, code)
	case strings.HasPrefix(code, "5"):
		return fmt.Sprintf("%s refuses (%s at %s): its words in the conversation say why.", server, code, when)
	}
	return fmt.Sprintf("%s cannot for the moment (%s at %s): try again later.", server, code, when)
}
