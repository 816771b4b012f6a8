"""Activities of the classroom, one module each."""
