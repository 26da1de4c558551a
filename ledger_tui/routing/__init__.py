"""The host's sessions as they belong together: what lost its way, who may take it back, and how."""
