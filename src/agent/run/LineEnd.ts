import type { Wait } from "../visit/NodeExecution.ts";

/** How a line ended: with its output, with requests that nobody has answered, or because it was stopped. */
export type LineEnd = { readonly output: unknown } | Wait | { readonly stopped: true };
