import type { SaverKind } from "./contestants.ts";
import type { Talker } from "./conversations.ts";

/** What one process is asked to measure. */
export type Job =
  | { readonly kind: "times" | "heap"; readonly contestant: string; readonly steps: number }
  | { readonly kind: "load"; readonly steps: number; readonly messages: number }
  | { readonly kind: "turns"; readonly talker: Talker }
  | { readonly kind: "pruneTurns" }
  | { readonly kind: "calls" }
  | { readonly kind: "merge" }
  | { readonly kind: "drift" }
  | { readonly kind: "rebase" }
  | { readonly kind: "sqlite"; readonly steps: number }
  | { readonly kind: "postgres"; readonly steps: number }
  | { readonly kind: "lines" }
  | { readonly kind: "tree" }
  | { readonly kind: "inspect"; readonly of: "write" | "look" | "page" }
  | { readonly kind: "graphReads"; readonly saver: SaverKind }
  | { readonly kind: "commands" }
  | { readonly kind: "timeline" }
  | { readonly kind: "graphAppends" }
  | { readonly kind: "aiSdkSteps" }
  | { readonly kind: "resume" }
  | { readonly kind: "fork" }
  | { readonly kind: "replay" }
  | { readonly kind: "fixtures" }
  | { readonly kind: "archive"; readonly of: "steps" | "values" }
  | { readonly kind: "archiveMemory"; readonly of: "values" | "export" | "import" }
  | { readonly kind: "lock" }
  | { readonly kind: "capture" }
  | { readonly kind: "restore" }
  | { readonly kind: "prune" }
  | { readonly kind: "queue" }
  | { readonly kind: "waits" }
  | { readonly kind: "cost"; readonly of: Cost };

/** Figures that have targets of their own. */
export const costs = [
  "shortRuns",
  "nodesInMemory",
  "itemsInMemory",
  "taskLists",
  "queuesBesideDbos",
  "emptyStores",
  "capturesBesideGit",
  "pagesOf2000",
  "secretSaves",
] as const;
export type Cost = (typeof costs)[number];
