import type { Wait } from "../visit/NodeExecution.ts";

export type LineEnd = { readonly output: unknown } | Wait | { readonly stopped: true };
