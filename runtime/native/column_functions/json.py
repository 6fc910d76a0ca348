"""JSON texts in generated columnar code: there is nothing, as the table of functions says."""
