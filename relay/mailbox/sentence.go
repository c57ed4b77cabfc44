package mailbox

import (
	"fmt"

	"formledger/relay/netcause"
)

// sentence says what an operator should change or look at.
func (s *session) sentence(code string) string {
	server := s.config.address()
	if text := s.sentenceOfStage(code, server); text != "" {
		return text
	}
	if text, ok := remedies(s.config, server)[code]; ok {
		return text
	}
	return fmt.Sprintf("The connection to %s broke while %s (%s).", server, s.stage, code)
}

// sentenceOfStage knows what a code means at one stage alone. A server that
// expects TLS from the first byte keeps silent until it comes.
func (s *session) sentenceOfStage(code, server string) string {
	switch {
	case code == CodeCancelled, code == CodeTurnedAway, code == CodeTooMuch:
		return ""
	case s.stage == atGreeting && s.config.TLS != Implicit:
		return fmt.Sprintf("%s does not greet as an IMAP server does: if it expects TLS from the first byte, as port %d does, set the TLS mode to %q; else check host and port.",
			server, ports()[Implicit], Implicit)
	case s.stage == atGreeting && code == CodeNotIMAP:
		return fmt.Sprintf("%s does not greet as an IMAP server does: check host and port.", server)
	case s.stage == atConnect && code == netcause.Timeout:
		return fmt.Sprintf("%s cannot be reached in time: check host and port, and whether a firewall lets this machine through.", server)
	case s.stage == atFolders && (code == CodeNotIMAP || code == CodeTooMuch) && len(s.config.Folders) == 0:
		return fmt.Sprintf("%s lists its folders in a way that cannot be read: name the folders to search in the configuration.", server)
	}
	return ""
}

// remedies are sentences for what means the same at every stage.
func remedies(c Config, server string) map[string]string {
	usual := fmt.Sprintf("%d with %q, %d with %q", ports()[Implicit], Implicit, ports()[StartTLS], StartTLS)
	all := map[string]string{
		netcause.Refused:     fmt.Sprintf("Nothing listens at %s: check host and port (usual are %s).", server, usual),
		netcause.Unreachable: fmt.Sprintf("%s cannot be reached from this machine: check host, port, network and firewall.", server),
		netcause.DNS:         fmt.Sprintf("The name %q cannot be looked up: check its spelling and this machine's DNS.", c.Host),
		netcause.Timeout:     fmt.Sprintf("%s did not get done in time: try again, or give the search more time.", server),
		netcause.NotTLS:      fmt.Sprintf("%s does not speak TLS here: check TLS mode and port (usual are %s).", server, usual),
		netcause.TLS:         fmt.Sprintf("%s and this machine found no common way to encrypt: the server may be too old for TLS 1.2.", server),
		netcause.Untrusted:   fmt.Sprintf("Nobody whom this machine trusts has signed the certificate of %s: check the host, or add its authority to the trusted ones.", server),
		netcause.WrongName:   fmt.Sprintf("The certificate of %s is for another name than %q: set the host to the name that the provider gives.", server, c.Host),
		netcause.Expired:     fmt.Sprintf("The certificate of %s is out of date: its owner has to renew it, or this machine's clock is wrong.", server),
	}
	for code, text := range remediesOfIMAP(c, server) {
		all[code] = text
	}
	return all
}

func remediesOfIMAP(c Config, server string) map[string]string {
	noLogin := fmt.Sprintf("%s takes no password here: it wants another way to log in, such as OAuth, which the mailbox search does not have.", server)
	if c.TLS == None {
		noLogin = fmt.Sprintf("%s takes no password without TLS: set the TLS mode to %q or %q.", server, StartTLS, Implicit)
	}
	return map[string]string{
		CodeNoStartTLS:   fmt.Sprintf("%s does not offer STARTTLS: set the TLS mode to %q (usual on port %d).", server, Implicit, ports()[Implicit]),
		CodeTurnedAway:   fmt.Sprintf("%s turns us away for now.", server),
		CodeLoginRefused: fmt.Sprintf("%s refuses the user name or the password: check both. Many providers want a password made for one app, or IMAP switched on in the account.", server),
		CodeLoginLater:   fmt.Sprintf("%s cannot check the password at the moment: try again later.", server),
		CodeNoLogin:      noLogin,
		CodeNotListed:    fmt.Sprintf("%s does not list its folders: name the folders to search in the configuration.", server),
		CodeNotIMAP:      fmt.Sprintf("%s answers in a way that is not IMAP, or not as we know it: check host and port.", server),
		CodeTooMuch:      fmt.Sprintf("%s sends far more than a search can need.", server),
		CodeCancelled:    "The search was called off.",
	}
}
