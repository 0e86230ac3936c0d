import type { Output } from "../terminal/Output.ts";

/** Returns what continues a wait whose time is over. `undefined` before that time. */
export function dueText(output: Output, dueAt: string | undefined): string | undefined {
  if (dueAt === undefined || Date.parse(dueAt) > output.io.now()) return undefined;
  return `due ${output.ago(dueAt)}: resume it`;
}
