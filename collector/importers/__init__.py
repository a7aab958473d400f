"""Reading what others have published or recorded, one module for each format."""
