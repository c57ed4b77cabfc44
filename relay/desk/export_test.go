package desk

// TelegramAt is a channel to a Telegram at another address.
func TelegramAt(api, address string) (Channel, error) {
	c, err := newTelegram(address)
	if t, ok := c.(*telegram); ok {
		t.api = api + t.api[len(telegramAPI)-len("/bot"):]
	}
	return c, err
}
