import type { Wait } from "../visit/NodeExecution.ts";

/** How a line ended: with its output, with unanswered requests, or stopped. */
export type LineEnd = { readonly output: unknown } | Wait | { readonly stopped: true };
