package desk

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/email/smtp"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"

	"formledger/relay/netcause"
)

// Service tells somebody through a service that the library shoutrrr knows, by an
// address such as ntfy://ntfy.sh/topic, which holds secrets.
//
// There are those of its services whose success can be believed, by the source of
// v0.13.2. Its telegram takes a Telegram that is not reached for a success, so that
// one is our own; its discord sends again by itself for minutes; its zulip panics
// where nothing is reached; its logger tells nobody.
type Service struct {
	name    string
	address string
	most    int           // bytes of a text
	hanging chan struct{} // sends that the library has not come back from
}

const (
	mostHanging = 3 // connections that a mail server may leave hanging, say
	longText    = 3500
	shortText   = 1000
)

// longest are the services there are, with the bytes that each takes of a text.
func longest() map[string]int {
	return map[string]int{
		"googlechat": longText, "gotify": longText, "matrix": longText, "mattermost": longText, "ntfy": longText,
		"pushover": shortText, "rocketchat": longText, "slack": longText, "smtp": longText, "teams": longText,
	}
}

// ServiceNames are the services there are.
func ServiceNames() []string {
	names := []string{"telegram"}
	for name := range longest() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// NewService checks an address. It connects to nothing, and its errors do not hold
// the address.
func NewService(address string) (Channel, error) {
	name := ServiceOf(address)
	if name == "telegram" {
		return newTelegram(address)
	}
	most, known := longest()[name]
	if !known {
		return nil, fmt.Errorf("alert: there is no service %q; there are %s", name, strings.Join(ServiceNames(), ", "))
	}
	s := &Service{name: name, address: address, most: most, hanging: make(chan struct{}, mostHanging)}
	if name == "matrix" { // whose set-up logs in
		return s, nil
	}
	if _, err := s.open(); err != nil {
		return nil, fmt.Errorf("alert: the address of the service %s is not as https://shoutrrr.nickfedor.com describes it", name)
	}
	return s, nil
}

// ServiceOf is the name of an address's service; empty if it is no address.
func ServiceOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme
}

// Name is that of the service.
func (s *Service) Name() string { return s.name }

// Raise sends once. The library takes no context, and its mail has no deadline
// once it is connected: what hangs is left behind, and too many of those refuse.
func (s *Service) Raise(ctx context.Context, a Alert) error {
	select {
	case s.hanging <- struct{}{}:
	default:
		return &AlertError{codeBusy, "the receiver has left earlier alerts hanging"}
	}
	sent := make(chan error, 1)
	go func() {
		defer func() { <-s.hanging }()
		sent <- s.send(a)
	}()
	over := time.NewTimer(alertTime)
	defer over.Stop()
	select {
	case err := <-sent:
		return asError(alertError(err))
	case <-over.C:
		return tooLate()
	case <-ctx.Done():
		return tooLate()
	}
}

// asError keeps a nil *AlertError from becoming an error.
func asError(e *AlertError) error {
	if e == nil {
		return nil
	}
	return e
}

// send opens the service anew: some keep the title of an earlier message. Its
// panics are errors, so that none ends the server.
func (s *Service) send(a Alert) (err error) {
	defer func() {
		if recover() != nil {
			err = &AlertError{codeUnreachable, "the service failed"}
		}
	}()
	service, err := s.open()
	if err != nil {
		return err
	}
	params := types.Params{"title": a.Title()}
	if s.name == "smtp" && !strings.Contains(strings.ToLower(s.address), "starttls=") {
		params["requirestarttls"] = "yes"
	}
	err = service.Send(a.Text(s.most), &params)
	if errors.Is(err, smtp.ErrServerNoStartTLS) {
		return &AlertError{netcause.NotTLS, "the mail server offers no TLS; starttls=no in the address allows that"}
	}
	return err
}

// open sets a service up, with our own client where it can be given one: the
// library's follow redirects, and keep connections for ever.
func (s *Service) open() (types.Service, error) {
	service, err := (&router.ServiceRouter{}).Locate(s.address)
	if err != nil {
		return nil, err
	}
	switch known := service.(type) {
	case *ntfy.Service:
		known.SetHTTPClient(oneRequest())
	case *gotify.Service:
		*known.GetHTTPClient() = *oneRequest()
	case *mattermost.Service:
		*known.GetHTTPClient() = *oneRequest()
	case *rocketchat.Service:
		known.Client = oneRequest()
	case *pushover.Service:
		known.Client = oneRequest()
	}
	return service, nil
}

// PlainService reports whether an address asks for a connection without TLS.
func PlainService(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for name, values := range u.Query() {
		name, value := strings.ToLower(name), strings.ToLower(values[0])
		yes := slices.Contains([]string{"yes", "true", "1"}, value)
		if name == "scheme" && value == "http" || name == "disabletls" && yes || name == "encryption" && value == "none" ||
			strings.HasSuffix(name, "usestarttls") && !yes || name == "starttls" && !yes {
			return true
		}
	}
	return false
}
