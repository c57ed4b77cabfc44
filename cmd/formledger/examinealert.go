package main

import (
	"net/url"
	"strings"

	"formledger/relay/desk"
)

// examineAlert looks at the ways on which somebody is told. It tells nobody.
func examineAlert(cfg config) []finding {
	channels, err := cfg.channels()
	switch {
	case err != nil:
		return []finding{fail("alert", err.Error(), "correct the table [alert], or the addresses of its services")}
	case len(channels) == 0:
		return []finding{warn("alert", "nobody is told when a reference needs you; it only stands in formledger queue",
			"set url and secret_file, or services_file, in [alert]; or look at the queue every day")}
	}
	var all []finding
	if strings.HasPrefix(cfg.Alert.URL, "http://") {
		all = append(all, warn("alert", "it goes to "+desk.HostOf(cfg.Alert.URL)+" without https, so that it can be read on the way",
			"use an https:// address, unless the network is your own"))
	}
	for _, address := range cfg.Alert.services {
		if desk.PlainService(address) {
			all = append(all, warn("alert", "it goes to "+desk.ServiceOf(address)+" without TLS, so that it and the password can be read on the way",
				"let the service be reached by TLS, unless the network is your own"))
		}
	}
	if cfg.sameMailServer() {
		all = append(all, warn("alert", "it goes only through "+cfg.SMTP.Host+", the mail server of the forms: while that fails, nobody is told",
			"add a channel that is no mail, or another mail server"))
	}
	if len(all) == 0 {
		all = append(all, ok("alert", "goes to "+cfg.alertsGo()+"; it holds no word of a message. formledger alert test tries it"))
	}
	return all
}

// alertsGo names the channels without their secrets.
func (c config) alertsGo() string {
	var all []string
	if c.Alert.URL != "" {
		all = append(all, desk.HostOf(c.Alert.URL)+", signed")
	}
	for _, address := range c.Alert.services {
		all = append(all, desk.ServiceOf(address))
	}
	return strings.Join(all, "; ")
}

// sameMailServer reports whether all alerts are mails through the server that the
// forms' mail goes through.
func (c config) sameMailServer() bool {
	if c.SMTP == nil || c.Alert.URL != "" {
		return false
	}
	for _, address := range c.Alert.services {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "smtp" || !strings.EqualFold(u.Hostname(), c.SMTP.Host) {
			return false
		}
	}
	return true
}
