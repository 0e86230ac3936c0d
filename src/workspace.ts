export { merge, type MergeOptions } from "./workspace/merge/merge.ts";
export type { ConflictRegion, ConflictSide, MergeResult } from "./workspace/merge/MergeResult.ts";
export type { MergeLabels } from "./workspace/merge/renderChunks.ts";
export type { Versions } from "./workspace/merge/Versions.ts";
