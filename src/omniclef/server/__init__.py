"""The HTTP server: the wires that existing clients speak, in front of an engine. Knows nothing of tensors."""
