#!/usr/bin/env node
/** `drizzle-queue`: the command. What it does is in `cli/`. */
