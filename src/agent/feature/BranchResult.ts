import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { Decision } from "../context/AgentContext.ts";
import type { RecordedRequirements, RunSettings } from "../state/RunState.ts";

/** What a branch that has ended leaves to the join. */
export interface BranchResult {
  readonly output: unknown;
  /** What it added to the history, in order. */
  readonly added: readonly NumberedMessage[];
  /** Its whole history. Absent: that of the fork, and then `added`. */
  readonly history?: readonly NumberedMessage[];
  /** The keys of the storage that it changed; `undefined`: deleted. */
  readonly storage: ReadonlyMap<string, { readonly value: unknown } | undefined>;
  readonly settings: RunSettings;
  /** The decisions that it recorded. */
  readonly decisions: readonly Decision[];
  readonly requirements: RecordedRequirements;
  /** How many nodes it completed, those of its own branches included. */
  readonly iterations: number;
}
