package main

import "formledger/ledger/enquiry"

// pageOrigin is the site that the enquiries come from.
const pageOrigin = "https://www.example.com"

// contactForm is an ordinary contact form, as the demo has it.
func contactForm() enquiry.Definition {
	return enquiry.Definition{
		Name: "contact", Title: "Contact us", Subject: "Enquiry from the website",
		To: enquiry.Recipients{"office@example.com"}, From: "Example website <website@example.com>",
		Origins: []string{pageOrigin}, Contact: "Please call 01 234 5678.",
		Fields: []enquiry.Field{
			{Name: "name", Kind: enquiry.Text, Label: "Your name", Rules: "required,max=200"},
			{Name: "email", Kind: enquiry.Email, Label: "Your e-mail address", Rules: "required"},
			{Name: "services", Kind: enquiry.Multi, Label: "What is it about?",
				Options: []string{"Advice", "Repair", "A new installation"}},
			{Name: "message", Kind: enquiry.Textarea, Label: "Your message", Rules: "required"},
		},
	}
}
