"""Backbones: whatever turns a record into hidden rows for the joint schema head."""
