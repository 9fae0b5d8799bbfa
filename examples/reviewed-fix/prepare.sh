#!/bin/sh
# Copies project/ to work/ and makes a Git repository of it. Prints the id of its first commit.
# Running it again starts from scratch, so that a run that was stopped here can repeat it.
set -eu
cd "$(dirname "$0")"

rm -rf work
cp -R project work
cd work
git init -q
git config user.name "Outpost example"
git config user.email "example@localhost"
git config commit.gpgsign false
git config core.hooksPath /dev/null
git add .
git commit -q -m "Import the project"
git rev-parse --short HEAD
