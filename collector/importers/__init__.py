"""Reading what others have published, one module for each format.

An importer takes what a source says under the source's own definitions. What is known to be wrong with them stands
beside each value; what cannot be true is not taken as a value at all.
"""
