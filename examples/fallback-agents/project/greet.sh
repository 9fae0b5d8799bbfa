#!/bin/sh
# Greets the world.
echo "Hello, World!"
