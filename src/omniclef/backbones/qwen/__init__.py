"""The Clef family on the transformers classes: Clef-omni (Qwen3-Omni thinker), Clef and Clef-flash (Qwen3.5)."""
