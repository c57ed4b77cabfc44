package mailbox

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ports are the usual ones; they also list the modes that exist.
func ports() map[string]int { return map[string]int{Implicit: 993, StartTLS: 143, None: 143} }

// Check finds what cannot work, without connecting, and says it in sentences.
func (c Config) Check() error {
	_, err := c.complete()
	return err
}

// complete fills in the defaults.
func (c Config) complete() (Config, error) {
	if c.TLS == "" {
		c.TLS = Implicit
	}
	port, known := ports()[c.TLS]
	if !known {
		return c, fmt.Errorf("the TLS mode of the mailbox is %q, and must be %q, %q or %q", c.TLS, Implicit, StartTLS, None)
	}
	if c.Port == 0 {
		c.Port = port
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return c, errors.Join(c.checkServer(), c.checkLogin(), c.checkFolders())
}

func (c Config) checkServer() error {
	switch {
	case c.Host == "" || !visibleASCII(c.Host) || strings.ContainsAny(c.Host, "/@"):
		return fmt.Errorf("the host of the mailbox is %q, and must be a name or an IP address, in ASCII", c.Host)
	case c.Port < 1 || c.Port > 65535:
		return fmt.Errorf("the port of the mailbox is %d, and must be from 1 to 65535", c.Port)
	case c.Timeout < 0:
		return fmt.Errorf("the time for a mailbox search is %s, and must not be negative", c.Timeout)
	case c.TLS == None && !loopback(c.Host):
		return fmt.Errorf("the TLS mode %q is only for a mailbox on this machine: elsewhere the password could be read on the way", None)
	}
	return nil
}

// checkLogin: a NUL would end a field of SASL PLAIN early (RFC 4616 section 2).
func (c Config) checkLogin() error {
	switch {
	case c.Username == "" || c.Password == "":
		return errors.New("the mailbox needs a user name and a password")
	case strings.ContainsFunc(c.Username+c.Password, unicode.IsControl) || !utf8.ValidString(c.Username+c.Password):
		return errors.New("the user name or the password of the mailbox holds a character that cannot be typed")
	}
	return nil
}

func (c Config) checkFolders() error {
	for _, name := range c.Folders {
		if name == "" || len(name) > 500 || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
			return fmt.Errorf("the mailbox folder %q: no folder can be called that", name)
		}
	}
	if len(c.Folders) > maxFolders {
		return fmt.Errorf("the mailbox has %d folders to search, and may have %d", len(c.Folders), maxFolders)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) address() string { return net.JoinHostPort(c.name(), strconv.Itoa(c.Port)) }

func (c Config) name() string { return strings.Trim(c.Host, "[]") }
