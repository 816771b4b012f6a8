"""Every parameter an address may have; `table` holds them all."""
