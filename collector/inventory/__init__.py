"""What a host is: processors, memory, devices and how they are linked, network, system, container, toolkits, source.

Each value comes from its real tool or file. What cannot be told is left out, and `absent` says why; nothing is guessed.
What differs from one moment to the next (clocks, free memory) is telemetry's, not the inventory's.
"""
