package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// telegram tells somebody in a chat of Telegram, by an address as the library
// writes it: telegram://123:token@telegram?chats=@channel,456.
type telegram struct {
	api   string // holds the token
	chats []string
}

const telegramAPI = "https://api.telegram.org/bot"

func newTelegram(address string) (Channel, error) {
	u, err := url.Parse(address)
	if err != nil || u.User == nil || u.User.String() == "" {
		return nil, errors.New("alert: the address of the service telegram is not like telegram://token@telegram?chats=123456789")
	}
	key, _ := u.User.Password()
	var chats []string
	for _, chat := range strings.Split(u.Query().Get("chats")+","+u.Query().Get("channels"), ",") {
		if chat = strings.TrimSpace(chat); chat != "" {
			chats = append(chats, chat)
		}
	}
	if len(chats) == 0 || key == "" {
		return nil, errors.New("alert: the address of the service telegram names no chats, as in telegram://token@telegram?chats=123456789")
	}
	return &telegram{telegramAPI + url.PathEscape(u.User.Username()+":"+key) + "/sendMessage", chats}, nil
}

// Name is telegram.
func (t *telegram) Name() string { return "telegram" }

// Raise writes into each chat. If one of them does not get it, it has failed.
// Source: https://core.telegram.org/bots/api#sendmessage
func (t *telegram) Raise(ctx context.Context, a Alert) error {
	ctx, cancel := context.WithTimeout(ctx, alertTime)
	defer cancel()
	var first error
	for _, chat := range t.chats {
		if err := t.write(ctx, chat, a.Title()+"\n\n"+a.Text(longText)); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (t *telegram) write(ctx context.Context, chat, text string) error {
	body, err := json.Marshal(map[string]any{"chat_id": chat, "text": text, "link_preview_options": map[string]bool{"is_disabled": true}})
	if err != nil {
		return &AlertError{codeUnreachable, "the alert could not be written"}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.api, bytes.NewReader(body))
	if err != nil {
		return &AlertError{codeUnreachable, "the request could not be made"}
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := oneRequest().Do(r)
	if err != nil {
		return asError(alertError(err))
	}
	answer.Body.Close()
	return nil
}
