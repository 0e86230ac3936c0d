import type { RunDelta } from "../../agent/feature/RunRequest.ts";

/** A chunk as a store holds it, with the length of the text of its kind before it. */
export type StoredChunk = RunDelta & { readonly at?: number };
