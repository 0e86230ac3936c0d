import type { NumberedMessage } from "../../checkpoint/messages/MessageHistory.ts";
import type { Decision } from "../context/AgentContext.ts";
import type { RecordedRequirements, RunSettings } from "../state/RunState.ts";

export interface BranchResult {
  readonly output: unknown;
  readonly added: readonly NumberedMessage[];
  /** The whole history. `undefined` if the branch only added the messages in `added`. */
  readonly history?: readonly NumberedMessage[];
  /** The changed storage keys. `undefined` marks a deleted key. */
  readonly storage: ReadonlyMap<string, { readonly value: unknown } | undefined>;
  readonly settings: RunSettings;
  readonly decisions: readonly Decision[];
  readonly requirements: RecordedRequirements;
  /** The number of nodes that the branch completed, including nested branches. */
  readonly iterations: number;
}
