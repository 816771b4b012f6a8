"""Who adds noise, what is sent, who takes the leading directions, and what that promises."""
